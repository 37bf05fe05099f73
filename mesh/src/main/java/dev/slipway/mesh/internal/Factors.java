// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh.internal;

import java.util.stream.IntStream;

/** Prime factors, ascending. */
final class Factors {
    /** A way to find the prime factors of a number. */
    @FunctionalInterface
    interface Finder {
        int[] factors(int number);
    }

    private Factors() {}

    static int[] of(int number) {
        IntStream.Builder factors = IntStream.builder();
        int rest = number;
        for (int p = 2; (long) p * p <= rest; p++) {
            while (rest % p == 0) {
                factors.add(p);
                rest /= p;
            }
        }
        if (rest > 1) {
            factors.add(rest);
        }
        return factors.build().toArray();
    }

    /**
     * As {@code mesh_utils} of JAX 0.10.2 finds them: where a prime above the root of the number (plus one) is left over,
     * only that one. So 10 has the factor 5, and 28 the factor 7.
     */
    static int[] asJaxFindsThem(int number) {
        int[] factors = of(number);
        int root = (int) Math.sqrt(number);
        int largest = factors.length == 0 ? 1 : factors[factors.length - 1];
        return largest > root + 1 ? new int[] {largest} : factors;
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh.internal;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Sizes of axes, as arrays to reckon with and as text for messages. */
final class Sizes {
    private Sizes() {}

    static int[] array(List<Integer> sizes) {
        return sizes.stream().mapToInt(Integer::intValue).toArray();
    }

    static List<Integer> list(int[] sizes) {
        return IntStream.of(sizes).boxed().toList();
    }

    /** The product of the sizes; saturates rather than overflows. */
    static long product(int[] sizes) {
        long product = 1;
        for (int size : sizes) {
            product = size > 0 && product > Long.MAX_VALUE / size ? Long.MAX_VALUE : product * size;
        }
        return product;
    }

    /** {@code (data=2, model=4)}. */
    static String describe(List<String> axes, List<Integer> sizes) {
        return IntStream.range(0, sizes.size())
                .mapToObj(i -> axes.get(i) + "=" + sizes.get(i))
                .collect(Collectors.joining(", ", "(", ")"));
    }

    static String describe(List<String> axes, int[] sizes) {
        return describe(axes, list(sizes));
    }
}

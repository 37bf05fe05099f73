// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench.conformance;

import dev.slipway.stablehlo.ComplexType;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.TensorType;
import java.util.Locale;
import java.util.Optional;

/** Compares values as the operations of StableHLO's {@code check} dialect do. */
final class Comparison {
    private Comparison() {}

    /** How values differ; empty where the expectation holds. */
    static Optional<String> differences(CheckedProgram.Check check, DenseElements actual, DenseElements expected) {
        DenseElements left = parts(actual);
        DenseElements right = parts(expected);
        int wrong = 0;
        String first = "";
        for (long i = 0; i < left.size(); i++) {
            if (!holds(check, left, right, i)) {
                if (wrong++ == 0) {
                    first = "element " + i + " is " + show(left, i) + ", expected " + show(right, i)
                            + (left.type().element() instanceof FloatType ? ", " + ulps(left, right, i) + " ulps" : "");
                }
            }
        }
        return wrong == 0
                ? Optional.empty()
                : Optional.of(String.format(
                        Locale.ROOT,
                        "%s of %s: %d of %d differ, %s",
                        check.kind(),
                        check.type(),
                        wrong,
                        left.size(),
                        first));
    }

    /** Complex numbers as twice as many real ones. */
    private static DenseElements parts(DenseElements elements) {
        if (!(elements.type().element() instanceof ComplexType complex)) {
            return elements;
        }
        return DenseElements.ofBytes(TensorType.of(complex.element(), 2 * elements.size()), Plain.bytes(elements));
    }

    private static boolean holds(CheckedProgram.Check check, DenseElements left, DenseElements right, long i) {
        ElementType element = left.type().element();
        if (!(element instanceof FloatType)) {
            return left.longAt(i) == right.longAt(i);
        }
        double actual = left.doubleAt(i);
        double expected = right.doubleAt(i);
        return switch (check.kind()) {
            case "expect_almost_eq" ->
                actual == expected
                        || (Double.isNaN(actual) && Double.isNaN(expected))
                        || Math.abs(actual - expected) <= check.tolerance();
            case "expect_close" -> {
                long ulps = ulps(left, right, i);
                yield check.leastUlps() <= ulps && ulps <= check.mostUlps();
            }
            default -> actual == expected || (Double.isNaN(actual) && Double.isNaN(expected));
        };
    }

    /** How many numbers of the type lie between two; the largest count where one is not finite and the other is another. */
    private static long ulps(DenseElements left, DenseElements right, long i) {
        long a = left.bits(i, 0);
        long b = right.bits(i, 0);
        double actual = left.doubleAt(i);
        double expected = right.doubleAt(i);
        if (a == b || (Double.isNaN(actual) && Double.isNaN(expected))) {
            return 0;
        }
        if (!Double.isFinite(actual) || !Double.isFinite(expected)) {
            return Long.MAX_VALUE;
        }
        long sign = 1L << (((FloatType) left.type().element()).width() - 1);
        long fromZeroA = a & ~sign;
        long fromZeroB = b & ~sign;
        return (a & sign) != (b & sign) ? fromZeroA + fromZeroB : Math.abs(fromZeroA - fromZeroB);
    }

    private static String show(DenseElements elements, long i) {
        return elements.type().element() instanceof FloatType
                ? Double.toString(elements.doubleAt(i))
                : Long.toString(elements.longAt(i));
    }
}

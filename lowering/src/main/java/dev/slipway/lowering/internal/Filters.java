// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.Value;
import java.util.Arrays;
import java.util.List;

/**
 * Which tokens of a distribution stay. Every filter keeps what reaches a threshold, so ties at the edge all stay, and
 * finds the threshold bit by bit: 32 passes over {@code [..., vocabulary]} in one small loop whatever the limit is, where
 * a sort costs {@code log2(vocabulary)} passes of swaps and a top-k its {@code k} in the program.
 */
final class Filters {
    private Filters() {}

    /** Says of each row whether what a mask keeps is enough; monotone: more is enough too. */
    @FunctionalInterface
    private interface Enough {
        Value of(Ops o, Value mask);
    }

    /** The {@code k} greatest and their equals, {@code i1}; {@code k} is {@code i32} over the outer dimensions. */
    static Value topK(Ops o, Value x, Value k) {
        int last = o.rank(x) - 1;
        return atLeast(
                o, x, (c, mask) -> c.compare(c.sum(c.convert(mask, ElementType.I32), last), k, ComparisonDirection.GE));
    }

    /**
     * The greatest whose {@code probabilities} add up to {@code p}, one at least, and their equals, {@code i1}.
     *
     * @param x what ranks them; the probabilities themselves, or anything of their shape
     * @param p {@code f32} over the outer dimensions
     */
    static Value topP(Ops o, Value x, Value probabilities, Value p) {
        int last = o.rank(x) - 1;
        // No token at all would do for a share of 0, and for a subnormal one, which XLA:CPU compares as 0.
        Value share = o.maximum(p, Float.MIN_NORMAL);
        return atLeast(
                o,
                x,
                (c, mask) -> c.compare(
                        c.sum(c.b().select(mask, probabilities, c.splat(0, probabilities)), last),
                        share,
                        ComparisonDirection.GE));
    }

    /** Keeps what is at or above the greatest threshold that keeps enough; everything where none does. */
    private static Value atLeast(Ops o, Value x, Enough enough) {
        long[] shape = o.shape(x);
        int last = shape.length - 1;
        long[] outer = Arrays.copyOf(shape, last);
        Value ordered = ordered(o, x);
        List<Value> found = o.loop(
                List.of(o.scalar(ElementType.UI32, 0x80000000L), o.zeros(ElementType.UI32, outer)),
                (c, it) -> c.compare(it.get(0), c.scalar(ElementType.UI32, 0), ComparisonDirection.NE),
                (c, it) -> {
                    Value bit = it.get(0);
                    Value candidate = c.b().or(it.get(1), c.broadcast(bit, outer));
                    Value mask =
                            c.compare(ordered, c.broadcast(candidate, shape, Ops.range(last)), ComparisonDirection.GE);
                    return List.of(
                            c.b().shiftRightLogical(bit, c.scalar(ElementType.UI32, 1)),
                            c.b().select(enough.of(c, mask), candidate, it.get(1)));
                });
        return o.compare(ordered, o.broadcast(found.get(1), shape, Ops.range(last)), ComparisonDirection.GE);
    }

    /** Bit patterns {@code ui32} in the order of the numbers. */
    private static Value ordered(Ops o, Value x) {
        long[] shape = o.shape(x);
        Value bits = o.b().bitcastConvert(x, ElementType.UI32);
        Value sign = o.constant(ElementType.UI32, 0x80000000L, shape);
        // Not GE: -0 equals 0, and goes with the positive numbers.
        Value negative = o.compare(bits, sign, ComparisonDirection.GT);
        return o.b().select(negative, o.b().not(bits), o.b().or(bits, sign));
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Cosine and sine of the angles that rotary positions turn queries and keys by. Source: Su et al., RoFormer,
 * section 3.4.2.
 */
sealed interface Angles {
    /** Turns the leading elements of heads {@code [batch, length, heads, head_dim]}. */
    Value turn(Ops o, Value x);

    /**
     * The angles of positions.
     *
     * @param positions {@code i32[batch, length]}
     * @param frequencies in radians per position, {@code f32[n]}
     * @param stretched cosine and sine with their factor
     * @param element what cosine and sine are rounded to, and heads turn in
     * @param pairs makes angles from cosine and sine, {@code [batch, length, n]}: {@link Halves} or {@link Neighbours}
     */
    static Angles of(
            Ops o,
            Value positions,
            Value frequencies,
            UnaryOperator<Value> stretched,
            ElementType element,
            Pairs pairs) {
        Value p = o.convert(positions, ElementType.F32);
        long[] shape = {o.size(p, 0), o.size(p, 1), o.size(frequencies, 0)};
        Value angles = o.multiply(o.broadcast(p, shape, 0, 1), o.broadcast(frequencies, shape, 2));
        Value cosine = stretched.apply(o.b().cosine(angles));
        Value sine = stretched.apply(o.b().sine(angles));
        return pairs.of(o.convert(cosine, element), o.convert(sine, element));
    }

    /** Which elements of a head turn together. */
    @FunctionalInterface
    interface Pairs {
        Angles of(Value cosine, Value sine);
    }

    /**
     * Pairs {@code (i, i + dims / 2)}.
     *
     * @param cosine {@code [batch, length, dims / 2]}
     * @param sine {@code [batch, length, dims / 2]}
     */
    record Halves(Value cosine, Value sine) implements Angles {
        @Override
        public Value turn(Ops o, Value x) {
            long[] shape = o.shape(x);
            long half = o.size(cosine, 2);
            Value turned = o.convert(x, cosine.tensorType().element());
            Value a = o.sliceAxis(turned, 3, 0, half);
            Value b = o.sliceAxis(turned, 3, half, 2 * half);
            Value cos = o.broadcast(cosine, o.shape(a), 0, 1, 3);
            Value sin = o.broadcast(sine, o.shape(a), 0, 1, 3);
            List<Value> parts = new ArrayList<>();
            parts.add(o.b().subtract(o.b().multiply(a, cos), o.b().multiply(b, sin)));
            parts.add(o.b().add(o.b().multiply(b, cos), o.b().multiply(a, sin)));
            if (2 * half < shape[3]) {
                parts.add(o.sliceAxis(turned, 3, 2 * half, shape[3]));
            }
            return o.convert(o.b().concatenate(parts, 3), x.tensorType().element());
        }
    }

    /**
     * Pairs {@code (2i, 2i + 1)}, which make up whole heads. Each element's neighbour comes by a product with a matrix of
     * ones, which is exact: strides and transposes in the last dimension are three times the code on a TPU. The order of
     * elements stays, since scores do not depend on it.
     *
     * @param cosine of each angle twice, {@code [batch, length, head_dim]}
     * @param sine of each angle twice, {@code [batch, length, head_dim]}
     */
    record Neighbours(Value cosine, Value sine) implements Angles {
        @Override
        public Value turn(Ops o, Value x) {
            ElementType element = x.tensorType().element();
            ElementType turned = cosine.tensorType().element();
            long size = o.size(x, 3);
            Value row = o.iota(ElementType.I32, 0, size, size);
            Value column = o.iota(ElementType.I32, 1, size, size);
            Value one = o.int32(1, size, size);
            Value pairs = o.compare(o.b().xor(row, one), column, ComparisonDirection.EQ);
            Value even = o.compare(o.b().and(column, one), o.int32(0, size, size), ComparisonDirection.EQ);
            Value sign = o.b().select(even, o.constant(element, -1, size, size), o.constant(element, 1, size, size));
            Value neighbours = o.dot(x, o.b().select(pairs, sign, o.splat(0, sign)), 3, 0, turned);
            long[] shape = o.shape(x);
            Value kept = o.b().multiply(o.convert(x, turned), o.broadcast(cosine, shape, 0, 1, 3));
            Value moved = o.b().multiply(neighbours, o.broadcast(sine, shape, 0, 1, 3));
            return o.convert(o.b().add(kept, moved), element);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.RandomSource;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.RngAlgorithm;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * JAX's random numbers as StableHLO, bit for bit. Source: the definitions of jax 0.10.2 with {@code
 * jax_threefry_partitionable}.
 *
 * @param source how keys look and who makes the bits
 */
record Prng(RandomSource source) {
    private static final int PARITY = 0x1BD11BDA;
    private static final int[][] ROTATIONS = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    private static final double TINY = Float.MIN_NORMAL;

    /** The type of a key. */
    TensorType keyType() {
        return TensorType.of(ElementType.UI32, source.keyWords());
    }

    /** {@code split(key, count)}: new keys, each shaped as the key. */
    List<Value> split(Ops o, Value key, int count) {
        // New key i is threefry of each half of the key with the counter (0, i).
        Value words = hash(o, key, o.iota(ElementType.UI32, 1, source.keyWords() / 2, count));
        return IntStream.range(0, count)
                .mapToObj(i -> o.b().reshape(o.sliceAxis(words, 1, i, i + 1), source.keyWords()))
                .toList();
    }

    /** {@code fold_in(key, data)}. */
    Value foldIn(Ops o, Value key, long data) {
        Value counter = o.b().constant(TensorType.of(ElementType.UI32, source.keyWords() / 2, 1), data);
        return o.b().reshape(hash(o, key, counter), source.keyWords());
    }

    /** Threefry of each half of a key with counters {@code ui32[halves, n]}: words {@code [halves, n, 2]}. */
    private Value hash(Ops o, Value key, Value counters) {
        long[] shape = o.shape(counters);
        Value halves = o.b().reshape(key, shape[0], 2);
        Value k0 = o.broadcast(o.b().reshape(o.sliceAxis(halves, 1, 0, 1), shape[0]), shape, 0);
        Value k1 = o.broadcast(o.b().reshape(o.sliceAxis(halves, 1, 1, 2), shape[0]), shape, 0);
        Value[] words = threefry(o, k0, k1, o.zeros(ElementType.UI32, shape), counters);
        return o.b().concatenate(
                        2,
                        o.b().reshape(words[0], shape[0], shape[1], 1),
                        o.b().reshape(words[1], shape[0], shape[1], 1));
    }

    /**
     * Threefry-2x32 with 20 rounds on words of any shape, both words of the result. A loop of five groups of four rounds:
     * written out, the key's splits would be most of the operations of a sampling program.
     */
    private static Value[] threefry(Ops o, Value k0, Value k1, Value x0, Value x1) {
        long[] shape = o.shape(x0);
        Value k2 = o.b().xor(o.b().xor(k0, k1), o.constant(ElementType.UI32, PARITY, shape));
        Value zero = o.scalar(ElementType.UI32, 0);
        List<Value> start = new ArrayList<>(List.of(zero, o.b().add(x0, k0), o.b().add(x1, k1), k1, k2, k0));
        for (int[] rotations : ROTATIONS) {
            for (int rotation : rotations) {
                start.add(o.scalar(ElementType.UI32, rotation));
            }
        }
        List<Value> end = o.loop(
                start,
                (c, it) -> c.compare(it.get(0), c.scalar(ElementType.UI32, 5), ComparisonDirection.LT),
                (c, it) -> {
                    Value group = c.add(it.get(0), 1);
                    Value y0 = it.get(1);
                    Value y1 = it.get(2);
                    for (Value rotation : it.subList(6, 10)) {
                        y0 = c.b().add(y0, y1);
                        y1 = c.b().xor(y0, rotateLeft(c, y1, rotation));
                    }
                    y0 = c.b().add(y0, it.get(3));
                    y1 = c.b().add(c.b().add(y1, it.get(4)), c.broadcast(group, shape));
                    List<Value> carried = new ArrayList<>(List.of(group, y0, y1, it.get(4), it.get(5), it.get(3)));
                    carried.addAll(it.subList(10, 14));
                    carried.addAll(it.subList(6, 10));
                    return carried;
                });
        return new Value[] {end.get(1), end.get(2)};
    }

    private static Value rotateLeft(Ops o, Value x, Value bits) {
        long[] shape = o.shape(x);
        Value left = o.broadcast(bits, shape);
        Value right = o.b().subtract(o.constant(ElementType.UI32, 32, shape), left);
        return o.b().or(o.b().shiftLeft(x, left), o.b().shiftRightLogical(x, right));
    }

    /** Random bits of an unsigned element type, e.g. {@code ui32}. */
    Value bits(Ops o, Value key, ElementType element, long... shape) {
        RngAlgorithm algorithm = switch (source) {
            case RBG -> RngAlgorithm.DEFAULT;
            case PHILOX -> RngAlgorithm.PHILOX;
            case THREE_FRY -> RngAlgorithm.THREE_FRY;
            case THREEFRY2X32 -> null;
        };
        if (algorithm != null) {
            Value state = o.b().bitcastConvert(o.b().reshape(key, 2, 2), ElementType.UI64);
            return o.b().rngBitGenerator(algorithm, state, TensorType.of(element, shape))
                    .get(1);
        }
        long count = Arrays.stream(shape).reduce(1, (a, b) -> a * b);
        Value k0 = o.broadcast(o.b().reshape(o.sliceAxis(key, 0, 0, 1)), new long[] {count});
        Value k1 = o.broadcast(o.b().reshape(o.sliceAxis(key, 0, 1, 2)), new long[] {count});
        Value[] words = threefry(o, k0, k1, o.zeros(ElementType.UI32, count), o.iota(ElementType.UI32, 0, count));
        Value flat;
        if (element.equals(ElementType.UI64)) {
            Value high = o.convert(words[0], element);
            flat = o.b().or(o.b().shiftLeft(high, o.constant(element, 32, count)), o.convert(words[1], element));
        } else {
            flat = o.convert(o.b().xor(words[0], words[1]), element);
        }
        return o.b().reshape(flat, shape);
    }

    /** Uniform {@code f32} numbers in {@code [low, 1)}. */
    Value uniform(Ops o, Value key, double low, long... shape) {
        Value mantissa = o.b().or(
                        o.b().shiftRightLogical(
                                        bits(o, key, ElementType.UI32, shape), o.constant(ElementType.UI32, 9, shape)),
                        o.constant(ElementType.UI32, 0x3F800000, shape));
        Value unit = o.add(o.b().bitcastConvert(mantissa, ElementType.F32), -1);
        return low == 0 ? unit : o.maximum(o.add(o.multiply(unit, 1 - low), low), low);
    }

    /** Gumbel noise {@code f32}. */
    Value gumbel(Ops o, Value key, long... shape) {
        Value u = uniform(o, key, TINY, shape);
        return o.b().negate(o.b().log(o.b().negate(o.b().log(u))));
    }

    /** A draw from {@code softmax(logits)} over the last dimension, {@code i32}. */
    Value categorical(Ops o, Value key, Value logits) {
        return draw(o, key, logits).getFirst();
    }

    /** A draw from {@code softmax(logits)} over the last dimension, {@code i32}, and its logit. */
    List<Value> draw(Ops o, Value key, Value logits) {
        return o.best(o.add(logits, gumbel(o, key, o.shape(logits))), o.rank(logits) - 1, List.of(logits));
    }
}

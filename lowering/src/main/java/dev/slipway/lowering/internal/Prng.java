// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.RandomSource;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.RngAlgorithm;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
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
        Value keys = hash(o, key, o.iota(ElementType.UI32, 0, count));
        return IntStream.range(0, count)
                .mapToObj(i -> o.b().reshape(o.sliceAxis(keys, 0, i, i + 1), source.keyWords()))
                .toList();
    }

    /** {@code fold_in(key, data)}. */
    Value foldIn(Ops o, Value key, long data) {
        return o.b().reshape(hash(o, key, o.b().constant(TensorType.of(ElementType.UI32, 1), data)), source.keyWords());
    }

    /**
     * Threefry of each half of a key with the counters (0, c): for each {@code c} of {@code ui32[n]} a new key, {@code [n,
     * words of a key]}. Each place works out both words of its block and keeps its own, so that XLA makes one fusion of it
     * all.
     */
    private Value hash(Ops o, Value key, Value counters) {
        long[] shape = {o.shape(counters)[0], source.keyWords() / 2, 2};
        Value zeros = o.zeros(ElementType.UI32, shape);
        Words words = threefry(
                o,
                o.broadcast(everyOther(o, key, 0), shape, 1),
                o.broadcast(everyOther(o, key, 1), shape, 1),
                zeros,
                o.broadcast(counters, shape, 0));
        Value first = o.compare(o.iota(ElementType.UI32, 2, shape), zeros, ComparisonDirection.EQ);
        return o.b().reshape(o.b().select(first, words.first(), words.second()), shape[0], source.keyWords());
    }

    private static Value everyOther(Ops o, Value key, long first) {
        return o.b().slice(key, new long[] {first}, o.shape(key), new long[] {2});
    }

    /** The two words of a threefry block, of one shape. */
    private record Words(Value first, Value second) {}

    /**
     * Threefry-2x32 with 20 rounds on words of any shape. Written out: a loop's constants would be carried in scalars of their
     * own, each of which libtpu copies through memory (docs/performance.md).
     */
    private static Words threefry(Ops o, Value k0, Value k1, Value x0, Value x1) {
        Map<Integer, Value> constants = new HashMap<>();
        IntFunction<Value> constant =
                n -> constants.computeIfAbsent(n, value -> o.constant(ElementType.UI32, value, o.shape(x0)));
        Value k2 = o.b().xor(o.b().xor(k0, k1), constant.apply(PARITY));
        Value[] keys = {k0, k1, k2};
        Value y0 = o.b().add(x0, k0);
        Value y1 = o.b().add(x1, k1);
        for (int group = 1; group <= 5; group++) {
            for (int rotation : ROTATIONS[(group - 1) % 2]) {
                y0 = o.b().add(y0, y1);
                Value left = o.b().shiftLeft(y1, constant.apply(rotation));
                Value right = o.b().shiftRightLogical(y1, constant.apply(32 - rotation));
                y1 = o.b().xor(y0, o.b().or(left, right));
            }
            y0 = o.b().add(y0, keys[group % 3]);
            y1 = o.b().add(o.b().add(y1, keys[(group + 1) % 3]), constant.apply(group));
        }
        return new Words(y0, y1);
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
        Words words = threefry(o, k0, k1, o.zeros(ElementType.UI32, count), o.iota(ElementType.UI32, 0, count));
        Value flat;
        if (element.equals(ElementType.UI64)) {
            Value high = o.convert(words.first(), element);
            flat = o.b().or(o.b().shiftLeft(high, o.constant(element, 32, count)), o.convert(words.second(), element));
        } else {
            flat = o.convert(o.b().xor(words.first(), words.second()), element);
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

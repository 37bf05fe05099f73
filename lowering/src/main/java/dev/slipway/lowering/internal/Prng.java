// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.Value;
import java.util.List;

/**
 * JAX's random numbers as StableHLO, bit for bit: {@code rbg} keys {@code ui32[4]}, two threefry2x32 keys side by side,
 * split by threefry and drawn from by XLA's bit generator. Source: the definitions of jax 0.10.2 with
 * {@code jax_threefry_partitionable}.
 */
final class Prng {
    private static final int PARITY = 0x1BD11BDA;
    private static final int[][] ROTATIONS = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    private static final double TINY = Float.MIN_NORMAL;

    private Prng() {}

    /** Both halves of a split: what to carry on with and what to use now, {@code ui32[4]} each. */
    record Split(Value carry, Value use) {}

    /** {@code carry, use = split(key)}. */
    static Split split(Ops o, Value key) {
        // Axes: [half of the key, new key]; the counter of new key i is (0, i).
        long[] shape = {2, 2};
        Value halves = o.b().reshape(key, 2, 2);
        Value k0 = o.broadcast(o.b().reshape(o.sliceAxis(halves, 1, 0, 1), 2), shape, 0);
        Value k1 = o.broadcast(o.b().reshape(o.sliceAxis(halves, 1, 1, 2), 2), shape, 0);
        Value counter = o.iota(ElementType.UI32, 1, shape);
        Value[] words = threefry(o, k0, k1, o.zeros(ElementType.UI32, shape), counter);
        // [half, new key] words -> per new key: half 0's two words, half 1's two words.
        Value both = o.b().concatenate(List.of(o.b().reshape(words[0], 2, 2, 1), o.b().reshape(words[1], 2, 2, 1)), 2);
        Value keys = o.b().reshape(o.transpose(both, 1, 0, 2), 2, 4);
        return new Split(o.b().reshape(o.sliceAxis(keys, 0, 0, 1), 4), o.b().reshape(o.sliceAxis(keys, 0, 1, 2), 4));
    }

    /** Threefry-2x32 with 20 rounds on words of any shape, both words of the result. */
    static Value[] threefry(Ops o, Value k0, Value k1, Value x0, Value x1) {
        long[] shape = o.shape(x0);
        Value[] keys = {k0, k1, o.b().xor(o.b().xor(k0, k1), o.constant(ElementType.UI32, PARITY, shape))};
        x0 = o.b().add(x0, keys[0]);
        x1 = o.b().add(x1, keys[1]);
        for (int group = 0; group < 5; group++) {
            for (int rotation : ROTATIONS[group % 2]) {
                x0 = o.b().add(x0, x1);
                x1 = o.b().xor(x0, rotateLeft(o, x1, rotation));
            }
            x0 = o.b().add(x0, keys[(group + 1) % 3]);
            x1 = o.b().add(o.b().add(x1, keys[(group + 2) % 3]), o.constant(ElementType.UI32, group + 1, shape));
        }
        return new Value[] {x0, x1};
    }

    private static Value rotateLeft(Ops o, Value x, int bits) {
        long[] shape = o.shape(x);
        return o.b().or(
                        o.b().shiftLeft(x, o.constant(ElementType.UI32, bits, shape)),
                        o.b().shiftRightLogical(x, o.constant(ElementType.UI32, 32 - bits, shape)));
    }

    /** Uniform {@code f32} numbers in {@code [tiny, 1)}. */
    static Value uniform(Ops o, Value key, long... shape) {
        Value state = o.b().bitcastConvert(o.b().reshape(key, 2, 2), ElementType.UI64);
        Value bits = o.randomBits(state, shape);
        Value mantissa = o.b().or(
                        o.b().shiftRightLogical(bits, o.constant(ElementType.UI32, 9, shape)),
                        o.constant(ElementType.UI32, 0x3F800000, shape));
        Value unit = o.add(o.b().bitcastConvert(mantissa, ElementType.F32), -1);
        return o.maximum(o.add(o.multiply(unit, 1 - TINY), TINY), TINY);
    }

    /** Gumbel noise {@code f32}. */
    static Value gumbel(Ops o, Value key, long... shape) {
        Value u = uniform(o, key, shape);
        return o.b().negate(o.b().log(o.b().negate(o.b().log(u))));
    }
}

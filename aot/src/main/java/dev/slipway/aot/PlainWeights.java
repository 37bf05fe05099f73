// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.lowering.Blocks;
import dev.slipway.stablehlo.ElementType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Writes matrices in {@link Blocks} of numbers as they are: pairs of bfloat16, or float32. */
final class PlainWeights implements MatrixWriter {
    private final int bits;
    private final long out;
    private final MemorySegment words;

    /**
     * @param bits of a number: 16 or 32
     * @param out outputs of the whole matrix, all joined ones together
     * @param words {@code i32[in / 32, 16, out]} or {@code f32[in / 32, 32, out]}
     */
    PlainWeights(int bits, long out, MemorySegment words) {
        this.bits = bits;
        this.out = out;
        this.words = words;
    }

    @Override
    public ElementType reads() {
        return bits == 16 ? ElementType.BF16 : ElementType.F32;
    }

    @Override
    public void write(MemorySegment numbers, long in, long first, long count) {
        for (long tile = 0; tile < count; tile += TILE) {
            int size = (int) Math.min(TILE, count - tile);
            for (long b = 0; b < in / Blocks.SIZE; b++) {
                for (int w = 0; w < bits; w++) {
                    long row = (b * bits + w) * out + first + tile;
                    for (int i = 0; i < size; i++) {
                        words.setAtIndex(
                                ValueLayout.JAVA_INT, row + i, word(numbers, (tile + i) * in + b * Blocks.SIZE + w));
                    }
                }
            }
        }
    }

    private int word(MemorySegment numbers, long at) {
        return bits == 16
                ? Short.toUnsignedInt(numbers.getAtIndex(ValueLayout.JAVA_SHORT, at))
                        | (numbers.getAtIndex(ValueLayout.JAVA_SHORT, at + bits) << bits)
                : numbers.getAtIndex(ValueLayout.JAVA_INT, at);
    }
}

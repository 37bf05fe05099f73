// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.lowering.Blocks;
import dev.slipway.stablehlo.ElementType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Writes matrices in {@link Blocks}. The steps of numbers that were quantised in such blocks are found again from the
 * numbers alone, whatever the file's encoding was, so nothing is lost; other numbers are rounded to the nearest of 256
 * (or 16) steps between the block's least and greatest.
 */
final class BlockWeights implements MatrixWriter {
    /** How far from a whole step a number may be, in steps, and still be taken for one. */
    private static final float TOLERANCE = 1f / 1024;

    private final int bits;
    private final long out;
    private final MemorySegment steps;
    private final MemorySegment step;
    private final MemorySegment offset;

    /**
     * @param bits of a step: 4 or 8
     * @param out outputs of the whole matrix, all joined ones together
     * @param steps {@code i32[in / 32, bits, out]}
     * @param step {@code f32[in / 32, out]}
     * @param offset {@code f32[in / 32, out]}
     */
    BlockWeights(int bits, long out, MemorySegment steps, MemorySegment step, MemorySegment offset) {
        this.bits = bits;
        this.out = out;
        this.steps = steps;
        this.step = step;
        this.offset = offset;
    }

    @Override
    public ElementType reads() {
        return ElementType.F32;
    }

    @Override
    public void write(MemorySegment numbers, long in, long first, long count) {
        Block[] blocks = new Block[TILE];
        for (int i = 0; i < TILE; i++) {
            blocks[i] = new Block(bits);
        }
        for (long tile = 0; tile < count; tile += TILE) {
            int size = (int) Math.min(TILE, count - tile);
            for (long b = 0; b < in / Blocks.SIZE; b++) {
                long at = b * out + first + tile;
                for (int i = 0; i < size; i++) {
                    blocks[i].find(numbers, (tile + i) * in + b * Blocks.SIZE);
                    step.setAtIndex(ValueLayout.JAVA_FLOAT, at + i, blocks[i].step);
                    offset.setAtIndex(ValueLayout.JAVA_FLOAT, at + i, blocks[i].offset);
                }
                for (int w = 0; w < bits; w++) {
                    long row = (b * bits + w) * out + first + tile;
                    for (int i = 0; i < size; i++) {
                        steps.setAtIndex(ValueLayout.JAVA_INT, row + i, blocks[i].word(w));
                    }
                }
            }
        }
    }

    /** One block's numbers, and the steps that they are. */
    private static final class Block {
        private final float[] numbers = new float[Blocks.SIZE];
        private final byte[] steps = new byte[Blocks.SIZE];
        private final int bits;
        private float step;
        private float offset;

        Block(int bits) {
            this.bits = bits;
        }

        /** The steps {@code w}, {@code w + bits}, ... from the lowest bits on. */
        int word(int w) {
            int word = 0;
            for (int k = Blocks.SIZE - bits; k >= 0; k -= bits) {
                word = (word << bits) | (steps[k + w] & ((1 << bits) - 1));
            }
            return word;
        }

        void find(MemorySegment from, long index) {
            MemorySegment.copy(from, ValueLayout.JAVA_FLOAT, 4 * index, numbers, 0, Blocks.SIZE);
            float least = Float.POSITIVE_INFINITY;
            float greatest = Float.NEGATIVE_INFINITY;
            for (float number : numbers) {
                least = Math.min(least, number);
                greatest = Math.max(greatest, number);
            }
            int count = count(least, greatest);
            step = (greatest - least) / count;
            float inverse = step == 0 ? 0 : 1 / step;
            // Steps from 0 rather than from the least where the numbers allow it: then the offset is exactly 0.
            float zero = least * inverse;
            int low = Math.round(zero);
            boolean symmetric = bits == 8
                    && low >= Byte.MIN_VALUE
                    && low + count <= Byte.MAX_VALUE
                    && Math.abs(zero - low) <= TOLERANCE;
            if (!symmetric) {
                low = count <= Byte.MAX_VALUE ? 0 : Byte.MIN_VALUE;
            }
            offset = symmetric ? 0 : least - low * step;
            for (int k = 0; k < Blocks.SIZE; k++) {
                steps[k] = (byte) (low + Math.round((numbers[k] - least) * inverse));
            }
        }

        /**
         * The fewest steps between least and greatest of which each number is a whole one; the most there can be if there
         * are none. Up to 15 are tried as they are; beyond, multiples stand for fewer.
         */
        private int count(float least, float greatest) {
            for (int count = 1; count < 16; count++) {
                if (whole(least, count / (greatest - least))) {
                    return count;
                }
            }
            if (bits == 4) {
                return 15;
            }
            for (int count = 128; count < 255; count++) {
                if (whole(least, count / (greatest - least))) {
                    return count;
                }
            }
            return 255;
        }

        private boolean whole(float least, float inverse) {
            for (float number : numbers) {
                float steps = (number - least) * inverse;
                if (!(Math.abs(steps - Math.round(steps)) <= TOLERANCE)) {
                    return false;
                }
            }
            return true;
        }
    }
}

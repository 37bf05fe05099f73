// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.lowering.ParameterSource;
import dev.slipway.stablehlo.ElementType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.OptionalInt;
import java.util.SplittableRandom;

/** Weights that every run draws alike. */
final class RandomWeights {
    static final ParameterSource F32 = (name, target, type) -> {
        SplittableRandom random = new SplittableRandom(name.hashCode());
        for (long i = 0; i < target.byteSize() / 4; i++) {
            target.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) random.nextGaussian(0, 0.2));
        }
    };

    /** The same rounded to bfloat16, in which they are said to be stored. */
    static final ParameterSource BF16 = new ParameterSource() {
        @Override
        public void read(String name, MemorySegment target, ElementType type) {
            boolean half = type.equals(ElementType.BF16);
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment numbers = half ? arena.allocate(2 * target.byteSize(), 4) : target;
                F32.read(name, numbers, ElementType.F32);
                for (long i = 0; i < numbers.byteSize() / 4; i++) {
                    int bits = numbers.getAtIndex(ValueLayout.JAVA_INT, i);
                    if (half) {
                        target.setAtIndex(ValueLayout.JAVA_SHORT, i, (short) (bits >> 16));
                    } else {
                        numbers.setAtIndex(ValueLayout.JAVA_INT, i, bits & 0xFFFF0000);
                    }
                }
            }
        }

        @Override
        public OptionalInt storedBits(String name) {
            return OptionalInt.of(16);
        }
    };

    private RandomWeights() {}
}

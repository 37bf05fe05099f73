// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import dev.slipway.stablehlo.ElementType;
import java.lang.foreign.MemorySegment;
import java.util.OptionalInt;

/** Where a program's parameters come from, e.g. a checkpoint. Called by several threads at once. */
@FunctionalInterface
public interface ParameterSource {
    /**
     * Writes a weight in row-major order of its logical shape.
     *
     * @param name as {@link dev.slipway.lowering.Parameters} has it, a layer's with {@code layers/N/} in front
     * @param target exactly as long as the weight
     * @param type the elements to write
     */
    void read(String name, MemorySegment target, ElementType type);

    /**
     * How many bits each number of a weight is stored in: at most 8 where blocks of 32 inputs share a step and an offset, as
     * in GGUF's {@code Q4_1} and {@code Q8_0}; 16 where they are bfloat16; empty for other weights. Programs for this CPU
     * take matrices so where all are, at a half to an eighth of the memory traffic and without loss.
     */
    default OptionalInt storedBits(String name) {
        return OptionalInt.empty();
    }
}

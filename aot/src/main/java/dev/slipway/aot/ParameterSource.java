// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.stablehlo.ElementType;
import java.lang.foreign.MemorySegment;

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
     * Whether all matrices are stored in blocks of 32 inputs with at most 256 steps each, as in GGUF's {@code Q4_1} and
     * {@code Q8_0}: then programs for this CPU take them so, at a quarter of the memory traffic and without loss.
     */
    default boolean inBlocks() {
        return false;
    }
}

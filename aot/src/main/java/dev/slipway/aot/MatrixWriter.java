// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.stablehlo.ElementType;
import java.lang.foreign.MemorySegment;

/** Writes matrices in {@link dev.slipway.lowering.Blocks}, outputs at a time. */
interface MatrixWriter {
    /** Outputs that are laid out at a time: those of one block stand side by side, in whole cache lines. */
    int TILE = 64;

    /** The elements that it takes. */
    ElementType reads();

    /**
     * Writes some outputs.
     *
     * @param numbers {@code [count, in]}
     * @param first which output of the whole matrix the first of them is
     */
    void write(MemorySegment numbers, long in, long first, long count);
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import dev.slipway.stablehlo.ElementType;

/**
 * How a program is written for a target: the same mathematics, other instructions.
 *
 * @param layers one body for all layers, or one copy each
 * @param weights element type of the parameters as the program takes them
 * @param compute element type of activations; norms, rotary angles, softmax and logits are float32 whatever it is
 * @param cache element type of keys and values at rest
 */
public record Form(Layers layers, ElementType weights, ElementType compute, ElementType cache) {
    /** How the layers are written. */
    public enum Layers {
        /**
         * One {@code while} over stacked weights {@code [layers, ...]}: the program's size, and the time to compile it, do
         * not grow with depth.
         */
        SCANNED,
        /** Each layer by itself, weights apart: larger to compile, nothing is sliced while running. */
        UNROLLED
    }

    /** Scanned, everything in one element type. */
    public static Form scanned(ElementType type) {
        return new Form(Layers.SCANNED, type, type, type);
    }

    /** Unrolled, everything in one element type. */
    public static Form unrolled(ElementType type) {
        return new Form(Layers.UNROLLED, type, type, type);
    }

    /** This form with layers written so. */
    public Form withLayers(Layers other) {
        return new Form(other, weights, compute, cache);
    }

    /** This form with keys and values at rest in another element type. */
    public Form withCache(ElementType type) {
        return new Form(layers, weights, compute, type);
    }
}

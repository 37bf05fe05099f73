// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.stablehlo.Value;

/** All weights of a model by the names of {@link dev.slipway.lowering.Parameters}, however the program takes them. */
interface ModelWeights extends DecoderEmitter.Weights {
    /** The weights of the layer with a run-time index {@code i32[]}, where the parameters have all layers stacked. */
    DecoderEmitter.Weights layer(Ops o, Value index);

    /** Whether heads come with pairs (2i, 2i + 1) for the rotary positions rather than (i, i + half). */
    default boolean interleaved() {
        return false;
    }
}

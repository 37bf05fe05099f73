// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

/** How the next token is chosen from the logits. */
public sealed interface Sampling {
    /** The most likely token; the lowest id where several are. The key is not used. */
    record Greedy() implements Sampling {}

    /**
     * A draw from {@code softmax(logits / temperature)}, with the temperature of each row given at run time as the input
     * {@code "temperature"}, {@code f32[batch]}; a row with temperature 0 is greedy.
     */
    record Temperature() implements Sampling {}
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import com.google.common.collect.ImmutableSet;
import java.util.OptionalInt;

/**
 * The ids that steer decoding.
 *
 * @param bos what begins a sequence
 * @param eos what ends one
 * @param pad what fills a batch
 * @param stops all ids that end a model's turn, {@code eos} first
 */
public record SpecialTokens(OptionalInt bos, OptionalInt eos, OptionalInt pad, ImmutableSet<Integer> stops) {
    /** Where a model says nothing of its tokens. */
    public static final SpecialTokens NONE =
            new SpecialTokens(OptionalInt.empty(), OptionalInt.empty(), OptionalInt.empty(), ImmutableSet.of());
}

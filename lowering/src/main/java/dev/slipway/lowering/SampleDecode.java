// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import com.google.common.collect.ImmutableList;

/**
 * AXLearn's {@code sample_decode}, reproduced token for token, its oddities included: {@code docs/decoding.md} lists
 * them, and what the program of {@link DecodeOptions} does instead. Source: {@code axlearn/common} at 34aed43c.
 *
 * <p>The prefix {@code i32[B, T]} is as wide as rows may grow. Column {@code j} of the results is token {@code j + 1}.
 *
 * @param entry what is traced
 * @param numDecodes continuations of each prompt; they share their first token
 * @param modifiers steps between log-probabilities and the draw, in order
 * @param stop when a row ends; not asked about the first token
 * @param padId what stands in the prefix behind a prompt, and in the results behind the last token
 */
public record SampleDecode(
        Entry entry, int numDecodes, ImmutableList<LogitsModifier> modifiers, StopCondition stop, int padId) {
    /** What is traced. */
    public enum Entry {
        /** {@code InferenceRunner}'s method: splits the key, returns the new one. This is what is compiled ahead of time. */
        RUNNER,
        /** {@code causal_lm.Model}'s method: uses the key as it is, returns none. */
        MODEL
    }

    /**
     * @throws LoweringException if {@code numDecodes} is not positive
     */
    public SampleDecode {
        if (numDecodes < 1) {
            throw new LoweringException("num_decodes %d; at least one is expected".formatted(numDecodes));
        }
    }

    /** What {@code compile_inference_programs} compiles: one decode, no modifiers, EOS (1) stops, pads are 0. */
    public static SampleDecode axlearn() {
        return new SampleDecode(Entry.RUNNER, 1, ImmutableList.of(), StopCondition.token(1), 0);
    }

    /** This decode traced from another entry. */
    public SampleDecode withEntry(Entry other) {
        return new SampleDecode(other, numDecodes, modifiers, stop, padId);
    }

    /** This decode with several continuations of each prompt. */
    public SampleDecode withNumDecodes(int count) {
        return new SampleDecode(entry, count, modifiers, stop, padId);
    }

    /** This decode with these modifiers. */
    public SampleDecode withModifiers(LogitsModifier... others) {
        return new SampleDecode(entry, numDecodes, ImmutableList.copyOf(others), stop, padId);
    }

    /** This decode with another end. */
    public SampleDecode withStop(StopCondition other) {
        return new SampleDecode(entry, numDecodes, modifiers, other, padId);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import org.jspecify.annotations.Nullable;

/**
 * AXLearn's {@code beam_search_decode}: the {@code numDecodes} best finished hypotheses of each prompt, and those still
 * alive. Source: {@code axlearn/common/decoding.py} at 34aed43c.
 *
 * @param numDecodes hypotheses
 * @param penalty what a finished hypothesis' log-probability is divided by
 * @param eosId the token that finishes a hypothesis
 * @param padId what stands in the prefix behind a prompt
 * @param merge how live hypotheses that say the same are merged; null to keep them apart
 */
public record BeamSearch(
        int numDecodes,
        BrevityPenalty penalty,
        int eosId,
        int padId,
        @Nullable PrefixMerge merge) {
    /**
     * @throws LoweringException if {@code numDecodes} is not positive
     */
    public BeamSearch {
        if (numDecodes < 1) {
            throw new LoweringException("num_decodes %d; at least one is expected".formatted(numDecodes));
        }
    }

    /** What {@code compile_inference_programs} compiles: one hypothesis, no penalty, EOS 1, pads 0. */
    public static BeamSearch axlearn() {
        return new BeamSearch(1, BrevityPenalty.NONE, 1, 0, null);
    }

    /** This search for several hypotheses. */
    public BeamSearch withNumDecodes(int count) {
        return new BeamSearch(count, penalty, eosId, padId, merge);
    }

    /** This search with another penalty. */
    public BeamSearch withPenalty(BrevityPenalty other) {
        return new BeamSearch(numDecodes, other, eosId, padId, merge);
    }

    /** This search with hypotheses merged that say the same. */
    public BeamSearch withMerge(PrefixMerge other) {
        return new BeamSearch(numDecodes, penalty, eosId, padId, other);
    }

    /**
     * Hypotheses whose tokens are the same once repeats and blanks are left out say the same: the best of them takes the
     * probability of all. Source: {@code CommonPrefixMerger} in {@code axlearn/audio/decoder_asr.py}; Graves et al.,
     * Connectionist Temporal Classification, section 3.1.
     *
     * @param blankId the token that says nothing; one that is no token, e.g. -1, to leave out repeats only
     */
    public record PrefixMerge(int blankId) {}

    /**
     * The divisor of a score by length, the tokens before EOS, prompt included.
     *
     * @param alpha 0 for none
     */
    public record BrevityPenalty(Kind kind, double alpha) {
        /** A divisor of 1. */
        public static final BrevityPenalty NONE = new BrevityPenalty(Kind.T5, 0);

        public BrevityPenalty {
            if (!Float.isFinite((float) alpha)) {
                throw new LoweringException(
                        "a brevity penalty with alpha %s; a number that float32 holds is expected".formatted(alpha));
            }
        }

        /** {@code a}, {@code b} and {@code alpha} of the formula {@code ((a + length) / b) ** alpha}. */
        public float[] arguments() {
            return switch (kind) {
                case T5 -> new float[] {5, 6, (float) alpha};
                case HF -> new float[] {0, 1, (float) alpha};
            };
        }

        /** Whose formula. */
        public enum Kind {
            /** {@code ((5 + length) / 6) ** alpha}. */
            T5,
            /** {@code length ** alpha}. */
            HF
        }
    }
}

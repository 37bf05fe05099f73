// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

/**
 * AXLearn's {@code beam_search_decode}: the {@code numDecodes} best finished hypotheses of each prompt, and those still
 * alive. Source: {@code axlearn/common/decoding.py} at 34aed43c.
 *
 * @param numDecodes hypotheses
 * @param penalty what a finished hypothesis' log-probability is divided by
 * @param eosId the token that finishes a hypothesis
 * @param padId what stands in the prefix behind a prompt
 */
public record BeamSearch(int numDecodes, BrevityPenalty penalty, int eosId, int padId) {
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
        return new BeamSearch(1, new BrevityPenalty(BrevityPenalty.Kind.T5, 0), 1, 0);
    }

    /** This search for several hypotheses. */
    public BeamSearch withNumDecodes(int count) {
        return new BeamSearch(count, penalty, eosId, padId);
    }

    /** This search with another penalty. */
    public BeamSearch withPenalty(BrevityPenalty other) {
        return new BeamSearch(numDecodes, other, eosId, padId);
    }

    /**
     * The divisor of a score by length, the tokens before EOS, prompt included.
     *
     * @param alpha 0 for none
     */
    public record BrevityPenalty(Kind kind, double alpha) {
        public BrevityPenalty {
            if (!Double.isFinite(alpha)) {
                throw new LoweringException("a brevity penalty with alpha %s; a number is expected".formatted(alpha));
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

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

/**
 * A step that AXLearn puts between log-probabilities and the draw. What a step removes is set to -1e7; nothing is
 * normalised again. Source: {@code axlearn/common/logit_modifiers.py} at 34aed43c.
 */
public sealed interface LogitsModifier {
    /** Divides by a temperature, at least 1e-4. */
    record Temperature(float value) implements LogitsModifier {
        public Temperature {
            if (!(value >= 1e-4f) || Float.isInfinite(value)) {
                throw new LoweringException("temperature %s; a number from 1e-4 on is expected".formatted(value));
            }
        }
    }

    /** Keeps the {@code k} greatest, and all that equal the last of them. */
    record TopK(int k) implements LogitsModifier {
        public TopK {
            if (k < 1) {
                throw new LoweringException("top-k of %d; at least 1 is expected".formatted(k));
            }
        }
    }

    /** Keeps the greatest alone, the lowest id where several are: greedy decoding. */
    record Greedy() implements LogitsModifier {}

    /** Keeps the greatest whose probabilities add up to {@code p}, and all that equal the last of them. */
    record TopP(float p) implements LogitsModifier {
        public TopP {
            if (!(p > 0 && p <= 1)) {
                throw new LoweringException("top-p of %s; a number in (0, 1] is expected".formatted(p));
            }
        }
    }
}

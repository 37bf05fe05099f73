// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import dev.slipway.stablehlo.ElementType;
import java.util.Locale;

/**
 * Something that each row of a batch can be told when the program runs, so that changing it compiles nothing: an input
 * {@code input_batch/NAME} whose first dimension is the batch. A program takes those of its {@link DecodeOptions} only,
 * since each costs a little in every step.
 *
 * <p>They act on the logits in this order: penalties, bias, allowed tokens, minimum length, temperature, top-k, top-p,
 * min-p, typical-p; each filter sees the distribution that those before it left. Scores are log-probabilities of the
 * model before any of them.
 */
public enum Control {
    /**
     * Divisor of the logits, {@code f32[batch]}; the next token is then drawn rather than chosen. 0 makes a row greedy.
     */
    TEMPERATURE(Kind.FLOAT, 1),
    /** Keeps the {@code k} likeliest tokens and their equals, {@code i32[batch]}; 0 or less keeps all. */
    TOP_K(Kind.WHOLE, 1),
    /**
     * Keeps the likeliest tokens that together have a probability of at least {@code p}, and their equals, {@code
     * f32[batch]}; 1 keeps all, 0 the likeliest.
     */
    TOP_P(Kind.FLOAT, 1),
    /** Keeps tokens with at least this share of the likeliest one's probability, {@code f32[batch]}; 0 keeps all. */
    MIN_P(Kind.FLOAT, 1),
    /**
     * Keeps the tokens whose surprise is nearest to the entropy and that together have at least this probability, {@code
     * f32[batch]}; 1 keeps all. Source: Meister et al., Locally Typical Sampling.
     */
    TYPICAL_P(Kind.FLOAT, 1),
    /**
     * Logits of tokens in the prompt or generated are divided by it where positive and multiplied where negative, {@code
     * f32[batch]}; 1 does nothing. Source: Keskar et al., CTRL.
     */
    REPETITION_PENALTY(Kind.FLOAT, 1),
    /** Taken from the logits of tokens that were generated, {@code f32[batch]}; 0 does nothing. */
    PRESENCE_PENALTY(Kind.FLOAT, 1),
    /** Taken from a token's logit once for each time it was generated, {@code f32[batch]}; 0 does nothing. */
    FREQUENCY_PENALTY(Kind.FLOAT, 1),
    /** Added to the logits, {@code f32[batch, vocabulary]}. */
    LOGIT_BIAS(Kind.FLOAT, 2),
    /** The only tokens that may come next, {@code i1[batch, vocabulary]}. */
    ALLOWED_TOKENS(Kind.FLAG, 2),
    /**
     * Sequences of tokens that end a row when it has generated them, {@code i32[batch, count, window]} with {@link
     * DecodeOptions.StopSpace}; shorter ones have -1 in front, and -1 throughout is none. What is in the prompt does not
     * count.
     */
    STOP_SEQUENCES(Kind.WHOLE, 3),
    /**
     * No row ends at a stop token or sequence before it has generated so many tokens, {@code i32[batch]}. A stop token that
     * alone is allowed is generated and ends nothing.
     */
    MIN_LENGTH(Kind.WHOLE, 1),
    /** Rows end when they have generated so many tokens, {@code i32[batch]}. */
    MAX_LENGTH(Kind.WHOLE, 1);

    /** Logits divided by less may become infinite, of which none is the greatest. */
    public static final float LEAST_TEMPERATURE = 1e-30f;

    private enum Kind {
        FLOAT,
        WHOLE,
        FLAG
    }

    private final Kind kind;
    private final int rank;

    Control(Kind kind, int rank) {
        this.kind = kind;
        this.rank = rank;
    }

    /** The path of the input, e.g. {@code input_batch/top_k}. */
    public String path() {
        return ProgramPaths.INPUT_BATCH + name().toLowerCase(Locale.ROOT);
    }

    /**
     * Refuses a number that makes a row's distribution none: at which logits become infinite or no number, or no token is
     * kept.
     *
     * @param value one of the input's, where its element type is {@code f32}
     * @throws LoweringException with the control, the value and what is expected
     */
    public void check(float value) {
        String expected = switch (this) {
            case TEMPERATURE -> value <= 0 || value >= LEAST_TEMPERATURE ? "" : "0 (greedy) or at least 1e-30";
            case MIN_P -> value <= 1 ? "" : "1 or less";
            case REPETITION_PENALTY -> value > 0 && value <= Float.MAX_VALUE ? "" : "a positive number";
            case PRESENCE_PENALTY, FREQUENCY_PENALTY -> Float.isFinite(value) ? "" : "a finite number";
            case LOGIT_BIAS -> value <= Float.MAX_VALUE ? "" : "a number, or negative infinity";
            default -> Float.isNaN(value) ? "a number" : "";
        };
        if (!expected.isEmpty()) {
            throw new LoweringException(
                    "%s of %s; %s is expected".formatted(name().toLowerCase(Locale.ROOT), value, expected));
        }
    }

    /** Element type of the input. */
    public ElementType element() {
        return switch (kind) {
            case FLOAT -> ElementType.F32;
            case WHOLE -> ElementType.I32;
            case FLAG -> ElementType.I1;
        };
    }

    /** Shape of the input for a batch. */
    public long[] shape(long batch, int vocabulary, DecodeOptions options) {
        return switch (rank) {
            case 1 -> new long[] {batch};
            case 2 -> new long[] {batch, vocabulary};
            default ->
                new long[] {
                    batch, options.stopSpace().count(), options.stopSpace().window()
                };
        };
    }
}

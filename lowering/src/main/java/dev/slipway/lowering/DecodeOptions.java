// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import com.google.common.primitives.ImmutableIntArray;

/**
 * What a decode program does, fixed when it is lowered.
 *
 * @param maxLength how long a row may grow, prompt included; {@code T} of the results {@code [batch, num_decodes, T]}
 * @param numDecodes independent continuations of each prompt
 * @param sampling how the next token is chosen
 * @param stopIds tokens that end a row; the token itself is kept
 * @param padId what stands in the prefix behind a prompt and in the results behind the last token; negative by default,
 *     so that it is no token
 * @param startId the one token that an empty prompt is read as
 */
public record DecodeOptions(
        int maxLength, int numDecodes, Sampling sampling, ImmutableIntArray stopIds, int padId, int startId) {
    /**
     * @throws LoweringException if a size is not positive
     */
    public DecodeOptions {
        if (maxLength < 1) {
            throw new LoweringException("max length %d; at least one token is expected".formatted(maxLength));
        }
        if (numDecodes < 1) {
            throw new LoweringException("num decodes %d; at least one is expected".formatted(numDecodes));
        }
    }

    /** Greedy decoding of one continuation up to a length, without stop tokens. */
    public static DecodeOptions greedy(int maxLength) {
        return new DecodeOptions(maxLength, 1, new Sampling.Greedy(), ImmutableIntArray.of(), -1, 0);
    }

    /** These options with tokens that end a row. */
    public DecodeOptions withStopIds(int... ids) {
        return new DecodeOptions(maxLength, numDecodes, sampling, ImmutableIntArray.copyOf(ids), padId, startId);
    }

    /** These options with another way to choose tokens. */
    public DecodeOptions withSampling(Sampling other) {
        return new DecodeOptions(maxLength, numDecodes, other, stopIds, padId, startId);
    }

    /** These options with several continuations of each prompt. */
    public DecodeOptions withNumDecodes(int count) {
        return new DecodeOptions(maxLength, count, sampling, stopIds, padId, startId);
    }

    /** These options with another length. */
    public DecodeOptions withMaxLength(int length) {
        return new DecodeOptions(length, numDecodes, sampling, stopIds, padId, startId);
    }

    /** These options with another pad. */
    public DecodeOptions withPadId(int id) {
        return new DecodeOptions(maxLength, numDecodes, sampling, stopIds, id, startId);
    }

    /** These options with the token that an empty prompt is read as. */
    public DecodeOptions withStartId(int id) {
        return new DecodeOptions(maxLength, numDecodes, sampling, stopIds, padId, id);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import com.google.common.primitives.ImmutableIntArray;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What a decode program does, fixed when it is lowered; what each row is told when it runs are {@link Control}s.
 *
 * {@snippet :
 * DecodeOptions options = DecodeOptions.greedy(512)
 *         .with(o -> o.stopIds(2).controls(Control.TEMPERATURE, Control.TOP_P).random(RandomSource.PHILOX));
 * }
 *
 * @param maxLength how long a row may grow, prompt included; {@code T} of the results {@code [batch, num_decodes, T]}
 * @param numDecodes independent continuations of each prompt
 * @param stopIds tokens that end a row; the token itself is kept
 * @param padId what stands in the prefix behind a prompt and in the results behind the last token; negative by default,
 *     so that it is no token. One that is a token is read as itself within a prompt
 * @param startId the one token that an empty prompt is read as
 * @param controls what each row is told at run time
 * @param stopSpace room for {@link Control#STOP_SEQUENCES}
 * @param random where random numbers come from
 * @param topLogProbs how many of the likeliest tokens are reported with each token; 0 for none
 * @param stepsPerCall how many tokens one call of {@code decode_step} gives
 * @param prefillChunk how many columns of the prompts are read in one pass; 0 for what the {@link Form} says. The
 *     prefix's width must be a multiple of it, or less
 * @param penalty what {@code beam_search_decode} divides finished hypotheses' scores by
 * @param merge which live hypotheses {@code beam_search_decode} merges; null for none
 */
public record DecodeOptions(
        int maxLength,
        int numDecodes,
        ImmutableIntArray stopIds,
        int padId,
        int startId,
        ImmutableSet<Control> controls,
        StopSpace stopSpace,
        RandomSource random,
        int topLogProbs,
        int stepsPerCall,
        int prefillChunk,
        BeamSearch.BrevityPenalty penalty,
        BeamSearch.@Nullable PrefixMerge merge) {
    /**
     * Room for stop sequences.
     *
     * @param count how many a row may have
     * @param window how long one may be
     */
    public record StopSpace(int count, int window) {
        public StopSpace {
            atLeast("stop sequences", count, 1);
            atLeast("window of stop sequences", window, 1);
        }
    }

    /**
     * @throws LoweringException if a size is too small
     */
    public DecodeOptions {
        atLeast("max length", maxLength, 1);
        atLeast("num decodes", numDecodes, 1);
        atLeast("top log-probs", topLogProbs, 0);
        atLeast("steps per call", stepsPerCall, 1);
        atLeast("prefill chunk", prefillChunk, 0);
        controls = Sets.immutableEnumSet(controls);
    }

    private static void atLeast(String what, int value, int least) {
        if (value < least) {
            throw new LoweringException("%s %d; at least %d is expected".formatted(what, value, least));
        }
    }

    /** Greedy decoding of one continuation up to a length, without stop tokens. */
    public static DecodeOptions greedy(int maxLength) {
        return new DecodeOptions(
                maxLength,
                1,
                ImmutableIntArray.of(),
                -1,
                0,
                ImmutableSet.of(),
                new StopSpace(4, 8),
                RandomSource.RBG,
                0,
                1,
                0,
                BeamSearch.BrevityPenalty.NONE,
                null);
    }

    /** Whether rows draw their tokens, rather than take the likeliest. */
    public boolean sampling() {
        return controls.contains(Control.TEMPERATURE);
    }

    /** These options with some changed. */
    public DecodeOptions with(Consumer<Builder> changes) {
        Builder builder = new Builder(this);
        changes.accept(builder);
        return builder.build();
    }

    /** Changes to options; see the record's components. */
    public static final class Builder {
        private int maxLength;
        private int numDecodes;
        private ImmutableIntArray stopIds;
        private int padId;
        private int startId;
        private ImmutableSet<Control> controls;
        private StopSpace stopSpace;
        private RandomSource random;
        private int topLogProbs;
        private int stepsPerCall;
        private int prefillChunk;
        private BeamSearch.BrevityPenalty penalty;
        private BeamSearch.@Nullable PrefixMerge merge;

        private Builder(DecodeOptions from) {
            this.maxLength = from.maxLength;
            this.numDecodes = from.numDecodes;
            this.stopIds = from.stopIds;
            this.padId = from.padId;
            this.startId = from.startId;
            this.controls = from.controls;
            this.stopSpace = from.stopSpace;
            this.random = from.random;
            this.topLogProbs = from.topLogProbs;
            this.stepsPerCall = from.stepsPerCall;
            this.prefillChunk = from.prefillChunk;
            this.penalty = from.penalty;
            this.merge = from.merge;
        }

        public Builder maxLength(int length) {
            this.maxLength = length;
            return this;
        }

        public Builder numDecodes(int count) {
            this.numDecodes = count;
            return this;
        }

        public Builder stopIds(int... ids) {
            this.stopIds = ImmutableIntArray.copyOf(ids);
            return this;
        }

        public Builder padId(int id) {
            this.padId = id;
            return this;
        }

        public Builder startId(int id) {
            this.startId = id;
            return this;
        }

        public Builder controls(Control... given) {
            this.controls = ImmutableSet.copyOf(given);
            return this;
        }

        public Builder stopSpace(int count, int window) {
            this.stopSpace = new StopSpace(count, window);
            return this;
        }

        public Builder random(RandomSource source) {
            this.random = source;
            return this;
        }

        public Builder topLogProbs(int count) {
            this.topLogProbs = count;
            return this;
        }

        public Builder stepsPerCall(int steps) {
            this.stepsPerCall = steps;
            return this;
        }

        public Builder prefillChunk(int columns) {
            this.prefillChunk = columns;
            return this;
        }

        public Builder penalty(BeamSearch.BrevityPenalty other) {
            this.penalty = other;
            return this;
        }

        public Builder merge(BeamSearch.@Nullable PrefixMerge other) {
            this.merge = other;
            return this;
        }

        private DecodeOptions build() {
            return new DecodeOptions(
                    maxLength,
                    numDecodes,
                    stopIds,
                    padId,
                    startId,
                    controls,
                    stopSpace,
                    random,
                    topLogProbs,
                    stepsPerCall,
                    prefillChunk,
                    penalty,
                    merge);
        }
    }

    /** These options with tokens that end a row. */
    public DecodeOptions withStopIds(int... ids) {
        return with(o -> o.stopIds(ids));
    }

    /** These options with these controls. */
    public DecodeOptions withControls(Control... given) {
        return with(o -> o.controls(given));
    }

    /** These options with several continuations of each prompt. */
    public DecodeOptions withNumDecodes(int count) {
        return with(o -> o.numDecodes(count));
    }

    /** These options with the token that an empty prompt is read as. */
    public DecodeOptions withStartId(int id) {
        return with(o -> o.startId(id));
    }
}

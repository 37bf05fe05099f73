// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

/**
 * Paths of the arguments and results that programs have beside their parameters: see {@link DecodePrograms} and {@link
 * AxlearnPrograms} for which program has which, and {@link Control#path} for those of the controls.
 */
public final class ProgramPaths {
    /** The key of the random numbers. */
    public static final String KEY = "prng_key";

    /** The key to carry on with. */
    public static final String NEW_KEY = "new_key";

    /** Front of everything in the input batch. */
    static final String INPUT_BATCH = "input_batch/";

    /** The prompts, {@code i32[batch, width]}. */
    public static final String PREFIX = INPUT_BATCH + InputBatchSpec.PREFIX;

    /** The column of the cache that all rows write next, {@code i32[]}. */
    public static final String COLUMN = "column";

    /** The row that {@code insert} replaces, {@code i32[]}. */
    public static final String SLOT = "slot";

    /** Logits of the first new token, {@code f32[batch, vocabulary]}. */
    public static final String LOGITS = "logits";

    /** The chosen tokens of a call of {@code decode_step}, {@code i32[batch, steps]}. */
    public static final String TOKENS = "tokens";

    /** Front of the tensors that make up the rows' state. */
    public static final String STATE = "state/";

    /** Front of the numbered tensors of the cache. */
    public static final String CACHE = "cache/";

    /** Front of the state and the cache of the row that {@code insert} brings in. */
    public static final String ROW = "row/";

    /** The longest that rows may grow, {@code i32[]}, where an AXLearn program is told so when it runs. */
    public static final String LIMIT = "options/limit";

    /** How many rows count, {@code i32[]}; the others are padding. */
    public static final String ROWS = "options/rows";

    /** The brevity penalty, {@code f32[3]}: see {@link BeamSearch.BrevityPenalty#arguments}. */
    public static final String PENALTY = "options/penalty";

    /** Kinds of the modifiers, {@code i32[steps]}: see {@link CaseShape.Arguments}. */
    public static final String MODIFIER_KINDS = "options/modifier_kinds";

    /** Values of the modifiers, {@code f32[steps]}. */
    public static final String MODIFIER_VALUES = "options/modifier_values";

    /** Stop sequences, {@code i32[sequences, window]}. */
    public static final String STOP_SEQUENCES = "options/stop_sequences";

    /** How many tokens a row may generate, {@code i32[]}. */
    public static final String MAX_LENGTH = "options/max_length";

    private ProgramPaths() {}
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import com.google.common.collect.ImmutableList;
import dev.slipway.lowering.internal.Program;
import dev.slipway.lowering.internal.SampleDecodeLowerer;
import dev.slipway.lowering.internal.ScoreLowerer;
import dev.slipway.lowering.internal.ServingLowerer;
import dev.slipway.lowering.internal.Signature;
import dev.slipway.mesh.Mesh;
import dev.slipway.stablehlo.ElementType;

/**
 * The decode programs of a model on a mesh.
 *
 * <p>The rows of a batch are independent of each other. Programs take the parameters first (but for {@code insert}), then
 * what the table says; KEY is {@code prng_key}, {@code ui32[4]} or {@code ui32[2]}, CONTROLS are the {@link Control}s of the
 * options, STATE is {@code state/tokens i32[B]}, {@code state/positions i32[B]}, {@code state/generated i32[B]}, {@code
 * state/done i1[B]} and what the controls need, CACHE is {@code cache/0}, {@code cache/1}, ...
 *
 * <table><caption>Programs</caption>
 * <tr><th>method</th><th>takes</th><th>gives</th></tr>
 * <tr><td>{@code sample_decode}</td><td>KEY, {@code prefix i32[B, P]}, CONTROLS</td>
 *     <td>{@code new_key}, {@code sequences i32[B, N, T]}, {@code token_scores f32[B, N, T]}, TOP</td></tr>
 * <tr><td>{@code prefill}</td><td>the same</td><td>{@code new_key}, {@code logits f32[B, V]}, {@code scores f32[B]}, TOP,
 *     STATE, CACHE</td></tr>
 * <tr><td>{@code decode_step}</td><td>KEY, {@code column i32[]}, CONTROLS, STATE, CACHE (all but the controls given
 *     up)</td><td>{@code new_key}, {@code column}, {@code tokens i32[B, S]}, {@code scores f32[B, S]}, TOP, STATE,
 *     CACHE</td></tr>
 * <tr><td>{@code insert}</td><td>{@code column i32[]}, {@code slot i32[]}, under {@code row/} the STATE and CACHE that
 *     {@code prefill} gave for one row, STATE, CACHE (given up)</td><td>STATE, CACHE with the row in the slot</td></tr>
 * <tr><td>{@code score}</td><td>{@code prefix i32[B, P]}</td><td>{@code token_scores f32[B, P]}: of each token after those
 *     before it, 0 for the first and for pads; TOP</td></tr>
 * </table>
 *
 * <p>{@code beam_search_decode} is that of {@link AxlearnPrograms}, whose rows grow as long as the prefix is wide. Of the options
 * it takes decodes, the first stop token, pad, start token, penalty and merging; it has no controls and no TOP.
 *
 * <p>TOP is {@code top_tokens i32[..., n]} and {@code top_log_probs f32[..., n]} where the options ask for them. {@code
 * column} is the column of the cache that all rows write next: the prefix's width modulo {@code T} behind a prefill, then
 * what the last call gave.
 *
 * <p>{@code P} is the prefix's width, {@code T} the maximum length, {@code N} the number of decodes. Prompts stand at the
 * left of the prefix, pads behind them. Column {@code j} of the sequences is token {@code j}; behind a row's last token
 * stand pads, and scores are 0 on the prompt and behind the end. There TOP is pads and zeros, too.
 */
public final class DecodePrograms {
    private final DecoderConfig config;
    private final Form form;
    private final DecodeOptions options;
    private final Mesh mesh;
    private final ShardingRules rules;

    private DecodePrograms(DecoderConfig config, Form form, DecodeOptions options, Mesh mesh, ShardingRules rules) {
        this.config = config;
        this.form = form;
        this.options = options;
        this.mesh = mesh;
        this.rules = rules;
        if (options.maxLength() > config.maxPositions()) {
            throw new LoweringException(
                    "max length %d is beyond the %d positions that this %s was made for; let rows grow no longer"
                            .formatted(options.maxLength(), config.maxPositions(), config.family()));
        }
    }

    /**
     * Programs of a model.
     *
     * @throws LoweringException if the maximum length is beyond the model's positions
     */
    public static DecodePrograms of(
            DecoderConfig config, Form form, DecodeOptions options, Mesh mesh, ShardingRules rules) {
        return new DecodePrograms(config, form, options, mesh, rules);
    }

    /**
     * The whole decode as one program: prefill in one pass, then a {@code while} loop that ends when every row has.
     *
     * @throws LoweringException if the batch is not what the program takes, or the prefix is wider than the maximum length
     * @throws dev.slipway.mesh.ShardingException if a given partition does not divide
     */
    public InferenceProgram sampleDecode(InputBatchSpec batch) {
        return new SampleDecodeLowerer(signature(batch)).lower();
    }

    /** Reads prompts and gives the cache and the first token; see {@link #sampleDecode} for errors. */
    public InferenceProgram prefill(InputBatchSpec batch) {
        return new ServingLowerer(signature(batch)).prefill();
    }

    /** Feeds each row its last token and chooses the next, some times over; see {@link #sampleDecode} for errors. */
    public InferenceProgram decodeStep(InputBatchSpec batch) {
        return new ServingLowerer(signature(batch)).decodeStep();
    }

    /**
     * Replaces one row of the state and the cache.
     *
     * @param batch {@code prefix i32[B, P]}: B rows are there, and the prefix of the one that comes in is P wide
     */
    public InferenceProgram insert(InputBatchSpec batch) {
        return new ServingLowerer(signature(batch)).insert();
    }

    /** Scores given texts; see {@link #sampleDecode} for errors. */
    public InferenceProgram score(InputBatchSpec batch) {
        return new ScoreLowerer(signature(batch)).lower();
    }

    /**
     * The program of a name.
     *
     * @throws LoweringException if there is none of this name, and as {@link #sampleDecode}
     */
    public InferenceProgram lower(String method, InputBatchSpec batch) {
        return switch (method) {
            case "sample_decode" -> sampleDecode(batch);
            case "prefill" -> prefill(batch);
            case "decode_step" -> decodeStep(batch);
            case "insert" -> insert(batch);
            case "score" -> score(batch);
            case "beam_search_decode" ->
                AxlearnPrograms.of(config, form, mesh, rules).beamSearchDecode(beamSearch(), options.startId(), batch);
            default ->
                throw new LoweringException(
                        "no method \"%s\"; there are sample_decode, prefill, insert, decode_step, score and beam_search_decode"
                                .formatted(method));
        };
    }

    /** A beam search for as many hypotheses as there are decodes, ended by the first stop token. */
    private BeamSearch beamSearch() {
        if (options.stopIds().isEmpty()) {
            throw new LoweringException("a beam search needs a stop token that ends hypotheses; the options have none");
        }
        return new BeamSearch(
                options.numDecodes(), options.penalty(), options.stopIds().get(0), options.padId(), options.merge());
    }

    /** The parameters that these programs take first, {@code insert} apart, in order. */
    public ImmutableList<TensorSpec> parameterSpecs() {
        return Program.parameters(config, form, mesh, rules, ParameterLayout.SLIPWAY);
    }

    private Signature signature(InputBatchSpec batch) {
        return new Signature(
                config, form, options, mesh, rules, batch.require(InputBatchSpec.PREFIX, ElementType.I32, 2));
    }
}

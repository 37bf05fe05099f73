// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import dev.slipway.lowering.internal.Lowerer;
import dev.slipway.mesh.Mesh;

/**
 * The decode programs of a model on a mesh.
 *
 * <p>All take the parameters first, then a {@code ui32[4]} key, then the input batch; the rows of a batch are independent.
 *
 * <table><caption>Programs</caption>
 * <tr><th>method</th><th>takes</th><th>gives</th></tr>
 * <tr><td>{@code sample_decode}</td><td>key, {@code prefix i32[B, P]}, {@code temperature f32[B]} if sampling</td>
 *     <td>new key, {@code sequences i32[B, N, T]}, {@code token_scores f32[B, N, T]}</td></tr>
 * <tr><td>{@code prefill}</td><td>the same</td><td>new key, {@code logits f32[B, V]}, {@code tokens i32[B]},
 *     {@code scores f32[B]}, {@code lengths i32[B]}, the cache</td></tr>
 * <tr><td>{@code decode_step}</td><td>key, {@code step i32[]}, {@code tokens i32[B]}, {@code lengths i32[B]},
 *     {@code temperature f32[B]} if sampling, the cache (given up)</td><td>new key, {@code tokens i32[B]}, {@code scores
 *     f32[B]}, the cache</td></tr>
 * </table>
 *
 * <p>{@code P} is the prefix's width, {@code T} the maximum length, {@code N} the number of decodes. Prompts stand at the
 * left of the prefix, pads behind them. Column {@code j} of the sequences is token {@code j}; behind a row's last token
 * stand pads, and scores are 0 on the prompt and behind the end.
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
            throw new LoweringException("max length %d is beyond the %d positions that this %s was made for"
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
        return lowerer(batch).sampleDecode();
    }

    /** Reads prompts and gives the cache and the first token; see {@link #sampleDecode} for errors. */
    public InferenceProgram prefill(InputBatchSpec batch) {
        return lowerer(batch).prefill();
    }

    /** Feeds one token to each row; see {@link #sampleDecode} for errors. */
    public InferenceProgram decodeStep(InputBatchSpec batch) {
        return lowerer(batch).decodeStep();
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
            default ->
                throw new LoweringException(
                        "no method \"%s\"; there are sample_decode, prefill and decode_step".formatted(method));
        };
    }

    private Lowerer lowerer(InputBatchSpec batch) {
        InputBatchSpec.Input prefix = batch.require(InputBatchSpec.PREFIX, dev.slipway.stablehlo.ElementType.I32, 2);
        return new Lowerer(config, form, options, mesh, rules, prefix.type(), prefix.partition());
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import com.google.common.collect.ImmutableList;
import dev.slipway.lowering.internal.BeamSearchLowerer;
import dev.slipway.lowering.internal.Reference;
import dev.slipway.lowering.internal.ReferenceLowerer;
import dev.slipway.mesh.Mesh;
import dev.slipway.stablehlo.ElementType;

/**
 * AXLearn's decode programs of a model on a mesh: the same tokens, scores and keys for the same parameters, key and prefix.
 *
 * <table><caption>Programs</caption>
 * <tr><th>method</th><th>takes after the parameters</th><th>gives</th></tr>
 * <tr><td>{@code sample_decode}</td><td>{@code prng_key ui32[4]}, {@code prefix i32[B, T]}</td>
 *     <td>{@code new_key ui32[4]}, {@code sequences i32[B, N, T]}, {@code token_scores f32[B, N, T]}</td></tr>
 * <tr><td>{@code beam_search_decode}</td><td>the same</td><td>{@code new_key}, {@code sequences i32[B, N, T]}, {@code
 *     scores f32[B, N]}, {@code live_sequences i32[B, N, T]}, {@code live_scores f32[B, N]}</td></tr>
 * </table>
 *
 * <p>With {@link SampleDecode.Entry#MODEL} there is no new key. The key is replicated, and so is the prefix unless a
 * partition is given; results are cut along their rows over {@code data} and {@code fsdp}, as far as these divide.
 */
public final class AxlearnPrograms {
    private final DecoderConfig config;
    private final Form form;
    private final Mesh mesh;
    private final ParameterLayout layout;
    private final ShardingRules rules;

    private AxlearnPrograms(DecoderConfig config, Form form, Mesh mesh, ParameterLayout layout, ShardingRules rules) {
        this.config = config;
        this.form = form;
        this.mesh = mesh;
        this.layout = layout;
        this.rules = rules;
    }

    /**
     * Programs of a model.
     *
     * @param form element types and how layers are written; with AXLearn's parameters layers are scanned whatever it says
     * @param layout how the program takes its parameters
     */
    public static AxlearnPrograms of(DecoderConfig config, Form form, Mesh mesh, ParameterLayout layout) {
        return new AxlearnPrograms(config, form, mesh, layout, ShardingRules.standard());
    }

    /** Programs that take Slipway's parameters, cut by rules of the caller's. */
    static AxlearnPrograms of(DecoderConfig config, Form form, Mesh mesh, ShardingRules rules) {
        return new AxlearnPrograms(config, form, mesh, ParameterLayout.SLIPWAY, rules);
    }

    /**
     * {@code sample_decode}.
     *
     * @throws LoweringException if the batch is not what the program takes, the prefix is wider than the model's
     *     positions, or the model has no parameters of AXLearn's layout
     */
    public InferenceProgram sampleDecode(SampleDecode options, InputBatchSpec batch) {
        return new ReferenceLowerer(reference(batch)).sampleDecode(options);
    }

    /**
     * {@code sample_decode} that takes its options behind the prefix: {@code options/modifier_kinds i32[steps]}, {@code
     * options/modifier_values f32[steps]}, {@code options/stop_sequences i32[sequences, window]}, {@code options/max_length
     * i32[]} as {@link CaseShape#arguments} gives them, and {@code options/limit i32[]}, how long rows may grow; what the
     * results have behind that column means nothing. Rows of pads may be added: they change no other row.
     */
    public InferenceProgram sampleDecode(CaseShape shape, InputBatchSpec batch) {
        return new ReferenceLowerer(reference(batch)).sampleDecode(shape);
    }

    /** {@code beam_search_decode}; see {@link #sampleDecode(SampleDecode, InputBatchSpec)} for errors. */
    public InferenceProgram beamSearchDecode(BeamSearch options, InputBatchSpec batch) {
        return new BeamSearchLowerer(reference(batch)).beamSearchDecode(options);
    }

    /**
     * {@code beam_search_decode} as one of Slipway's own.
     *
     * @param startId the token that an empty prompt is read as, rather than as its pad
     */
    InferenceProgram beamSearchDecode(BeamSearch options, int startId, InputBatchSpec batch) {
        return new BeamSearchLowerer(reference(batch)).beamSearchDecode(options, startId);
    }

    /**
     * {@code beam_search_decode} that takes behind the prefix {@code options/penalty f32[3]}, which are {@code a}, {@code b}
     * and {@code alpha} of {@code ((a + length) / b) ** alpha}, {@code options/limit i32[]}, how long rows may grow, and
     * {@code options/rows i32[]}, how many rows count; the options' penalty is not read.
     */
    public InferenceProgram beamSearchCases(BeamSearch options, InputBatchSpec batch) {
        return new BeamSearchLowerer(reference(batch)).beamSearchCases(options);
    }

    /** The parameters that these programs take first, in order. */
    public ImmutableList<TensorSpec> parameterSpecs() {
        return Reference.parameters(config, form, mesh, rules, layout);
    }

    private Reference reference(InputBatchSpec batch) {
        return new Reference(config, form, mesh, rules, layout, prefix(batch));
    }

    private InputBatchSpec.Input prefix(InputBatchSpec batch) {
        InputBatchSpec.Input prefix = batch.require(InputBatchSpec.PREFIX, ElementType.I32, 2);
        long width = prefix.type().dim(1);
        if (prefix.type().dim(0) < 1 || width < 1) {
            throw new LoweringException(
                    "prefix %s is empty; at least one row and one column are expected".formatted(prefix.type()));
        }
        if (width > config.maxPositions()) {
            throw new LoweringException(
                    "the prefix is %d wide, beyond the %d positions that this %s was made for; take a narrower one"
                            .formatted(width, config.maxPositions(), config.family()));
        }
        return prefix;
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.Control;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.lowering.LoweringException;
import dev.slipway.lowering.ParameterLayout;
import dev.slipway.lowering.ProgramPaths;
import dev.slipway.lowering.ShardingRules;
import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.PartitionSpec;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What Slipway's own decode programs have in common: their arguments and results, and the {@link Decoding} and {@link Sampler}
 * that they are put together from. {@link Reference} is the same for AXLearn's programs.
 */
public final class Signature {
    final DecoderConfig config;
    final Form form;
    final DecodeOptions options;
    final Program program;

    /** How many rows there are. */
    final long batch;

    /** How wide the prefix is. */
    final long width;

    /** How rows lie on the mesh. */
    final PartitionSpec rows;

    /** The shapes of the cache; it runs no layers. */
    final LayerStack layers;

    private final Prng prng;
    private final PartitionSpec prefixSpec;

    /**
     * @param prefix {@code i32[batch, width]}
     * @throws LoweringException if the prefix is empty or wider than rows may grow, or more likeliest tokens are asked for
     *     than there are
     */
    public Signature(
            DecoderConfig config,
            Form form,
            DecodeOptions options,
            Mesh mesh,
            ShardingRules rules,
            InputBatchSpec.Input prefix) {
        this.config = config;
        this.form = form;
        this.options = options;
        this.prng = new Prng(options.random());
        this.program = new Program(config, form, mesh, rules, ParameterLayout.SLIPWAY);
        this.batch = prefix.type().dim(0);
        this.width = prefix.type().dim(1);
        if (batch < 1 || width < 1) {
            throw new LoweringException(
                    "prefix %s is empty; at least one row and one column are expected".formatted(prefix.type()));
        }
        if (width > options.maxLength()) {
            throw new LoweringException(
                    "the prefix is %d wide but rows may grow to %d only; narrow the prefix or raise the maximum length"
                            .formatted(width, options.maxLength()));
        }
        if (options.topLogProbs() > config.vocabulary()) {
            throw new LoweringException("the %d likeliest tokens of a vocabulary of %d; ask for fewer"
                    .formatted(options.topLogProbs(), config.vocabulary()));
        }
        PartitionSpec given = prefix.partition();
        this.prefixSpec = given != null ? given : program.batchSpec("batch", 0, batch, width);
        this.rows = new PartitionSpec(List.of(prefixSpec.axes(0)));
        this.layers = new LayerStack(config, form, emitter(Exchange.NONE), Values.of(Map.of()));
    }

    // Arguments and results

    void keyArgument() {
        program.donated(ProgramPaths.KEY, prng.keyType(), PartitionSpec.replicated());
    }

    void prefixArgument() {
        program.argument(ProgramPaths.PREFIX, TensorType.of(ElementType.I32, batch, width), prefixSpec);
    }

    void controlArguments() {
        for (Control control : options.controls()) {
            program.argument(
                    control.path(),
                    TensorType.of(control.element(), control.shape(batch, config.vocabulary(), options)),
                    rows);
        }
    }

    /** The arguments of every program that reads prompts and chooses tokens. */
    void promptArguments() {
        keyArgument();
        prefixArgument();
        controlArguments();
    }

    void keyResult() {
        program.result(ProgramPaths.NEW_KEY, prng.keyType(), PartitionSpec.replicated());
    }

    /** The likeliest tokens, if they are asked for, with these dimensions in front. */
    void topResults(long... outer) {
        if (options.topLogProbs() > 0) {
            long[] shape = Arrays.copyOf(outer, outer.length + 1);
            shape[outer.length] = options.topLogProbs();
            program.result("top_tokens", TensorType.of(ElementType.I32, shape), rows);
            program.result("top_log_probs", TensorType.of(ElementType.F32, shape), rows);
        }
    }

    /** The rows' state, by name. */
    Map<String, TensorType> stateTypes(long count) {
        return Sampler.state(options, config.vocabulary(), count);
    }

    TensorType cacheType(int tensor, long count) {
        return TensorType.of(form.cache(), layers.cacheShape(tensor, count, options.maxLength()));
    }

    PartitionSpec cacheSpec(int tensor, long count) {
        return program.cacheSpec(layers.cacheRowDimension(), layers.cacheShape(tensor, count, options.maxLength()));
    }

    /** State and cache, given up to the program. */
    void stateArguments() {
        stateTypes(batch).forEach((name, type) -> program.donated(ProgramPaths.STATE + name, type, rows));
        for (int i = 0; i < layers.cacheTensors(); i++) {
            program.donated(ProgramPaths.CACHE + i, cacheType(i, batch), cacheSpec(i, batch));
        }
    }

    void stateResults() {
        stateTypes(batch).forEach((name, type) -> program.result(ProgramPaths.STATE + name, type, rows));
        for (int i = 0; i < layers.cacheTensors(); i++) {
            program.result(ProgramPaths.CACHE + i, cacheType(i, batch), cacheSpec(i, batch));
        }
    }

    /** Refuses several decodes of a prompt, for programs that keep one state per row. */
    void requireOneDecode(String method) {
        if (options.numDecodes() != 1) {
            throw new LoweringException("%s serves one decode per row, not %d; give the prompt once per decode"
                    .formatted(method, options.numDecodes()));
        }
    }

    // What programs are put together from

    private DecoderEmitter emitter(Exchange exchange) {
        return new DecoderEmitter(config, form, DecoderEmitter.Roundings.FEW, exchange);
    }

    Decoding decoding(Ops o, ModelWeights weights, long count) {
        // Rows and heads are what is cut, and at the same places in all tensors.
        PartitionSpec spec = cacheSpec(0, count);
        Exchange exchange = program.exchange(count == batch ? rows : program.batchSpec("batch", 0, count));
        return new Decoding(
                config,
                form,
                options,
                weights,
                tensor -> Modules.constrain(o, tensor, spec),
                emitter(exchange),
                () -> options.prefillChunk() > 0
                        ? options.prefillChunk()
                        : program.columnsPerPass(exchange, count, width));
    }

    /** A sampler for {@code count} rows with the controls of a program, each row's repeated for its decodes. */
    Sampler sampler(Ops o, Values inputs, long count) {
        Map<String, Value> controls = new LinkedHashMap<>();
        for (Control control : options.controls()) {
            Value given = Rows.fill(o, inputs.get(control.path()), count, 0);
            controls.put(control.path(), Rows.repeat(o, given, 0, options.numDecodes()));
        }
        return new Sampler(options, config.vocabulary(), Values.of(controls));
    }

    /** The prompts as they are read: an empty one is the start token. */
    Value started(Ops o, Value prompts) {
        return Rows.started(o, prompts, options.padId(), options.startId());
    }
}

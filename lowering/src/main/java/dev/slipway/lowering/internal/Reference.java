// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import com.google.common.collect.ImmutableList;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.lowering.ParameterLayout;
import dev.slipway.lowering.ProgramPaths;
import dev.slipway.lowering.RandomSource;
import dev.slipway.lowering.ShardingRules;
import dev.slipway.lowering.TensorSpec;
import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.PartitionSpec;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import java.util.List;

/** What AXLearn's programs have in common: their arguments, and rows as wide as the prefix. */
public final class Reference {
    final DecoderConfig config;
    private final Form form;
    final Prng prng = new Prng(RandomSource.RBG);
    final Program program;
    final long batch;
    final long width;

    /** How rows lie on the mesh. */
    final PartitionSpec rows;

    /** @param prefix {@code i32[batch, width]}, not empty */
    public Reference(
            DecoderConfig config,
            Form form,
            Mesh mesh,
            ShardingRules rules,
            ParameterLayout layout,
            InputBatchSpec.Input prefix) {
        this.config = config;
        this.form = form(form, layout);
        this.program = new Program(config, this.form, mesh, rules, layout);
        this.batch = prefix.type().dim(0);
        this.width = prefix.type().dim(1);
        this.rows = program.batchSpec("batch", 0, batch);
        program.argument(ProgramPaths.KEY, prng.keyType());
        program.argument(
                ProgramPaths.PREFIX,
                prefix.type(),
                prefix.partition() == null ? PartitionSpec.replicated() : prefix.partition());
    }

    /**
     * AXLearn's parameters are layers in one array, whatever form is asked for; and its scores are compared to the last bit, so
     * that attention is what it is there, products of matrices, and prompts attend to keys and values that no cache has
     * rounded.
     */
    private static Form form(Form form, ParameterLayout layout) {
        Form exact = form.cacheOrder() == Form.CacheOrder.KEYS_TIME_LAST
                ? form.withCacheOrder(Form.CacheOrder.HEAD_LAST)
                : form;
        if (!form.cache().equals(form.compute())) {
            exact = exact.withTokensPerPass(0);
        }
        return switch (layout) {
            case AXLEARN -> exact.withLayers(Form.Layers.SCANNED).withMatrices(Form.Matrices.OUTPUT_MAJOR);
            case SLIPWAY -> exact;
        };
    }

    /** The parameters that the programs take. */
    public static ImmutableList<TensorSpec> parameters(
            DecoderConfig config, Form form, Mesh mesh, ShardingRules rules, ParameterLayout layout) {
        return Program.parameters(config, form(form, layout), mesh, rules, layout);
    }

    /** Adds a result whose first dimension is the batch. */
    void result(String path, ElementType element, long... rest) {
        long[] shape = new long[rest.length + 1];
        shape[0] = batch;
        System.arraycopy(rest, 0, shape, 1, rest.length);
        program.result(path, TensorType.of(element, shape), rows);
    }

    /** Adds the result {@code new_key}. */
    void keyResult() {
        program.result(ProgramPaths.NEW_KEY, prng.keyType(), PartitionSpec.replicated());
    }

    private DecoderEmitter emitter(Exchange exchange) {
        return new DecoderEmitter(config, form, DecoderEmitter.Roundings.AT_EACH_OPERATION, exchange);
    }

    /** What AXLearn reads an empty prompt as: its pad. The embedding counts a negative one from its end. */
    int startId(int padId) {
        return Math.floorMod(padId, config.vocabulary());
    }

    /** The steps of decoding. */
    Decoding decoding(Ops o, ModelWeights weights, int padId, int startId) {
        DecodeOptions options =
                DecodeOptions.greedy((int) width).with(d -> d.padId(padId).startId(startId));
        LayerStack layers = new LayerStack(config, form, emitter(Exchange.NONE), weights);
        PartitionSpec cache =
                program.cacheSpec(layers.cacheRowDimension(), layers.cacheShape(0, batch, options.maxLength()));
        Exchange exchange = program.exchange(rows);
        return new Decoding(
                config,
                form,
                options,
                weights,
                tensor -> Modules.constrain(o, tensor, cache),
                emitter(exchange),
                () -> program.columnsPerPass(exchange, batch, width));
    }

    /** Reads the prompts, cut over the mesh however the prefix came. */
    Decoding.Prefilled read(Ops o, Decoding decoding, Value prefix) {
        return decoding.prefill(o, Modules.constrain(o, prefix, rows));
    }

    /** The cache with each row repeated for its decodes. */
    static List<Value> repeat(Ops o, Decoding decoding, List<Value> cache, int decodes) {
        return cache.stream()
                .map(tensor -> Rows.repeat(o, tensor, decoding.layers().cacheRowDimension(), decodes))
                .toList();
    }
}

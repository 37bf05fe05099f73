// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.LoweringException;
import dev.slipway.lowering.Sampling;
import dev.slipway.lowering.ShardingRules;
import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.PartitionSpec;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Puts the steps of {@link Decoding} together to programs. One lowerer lowers one program. */
public final class Lowerer {
    private static final String KEY = "prng_key";
    private static final String PREFIX = "input_batch/prefix";
    private static final String TEMPERATURE = "input_batch/temperature";

    private final DecoderConfig config;
    private final Form form;
    private final DecodeOptions options;
    private final Program program;
    private final long batch;
    private final long width;
    private final PartitionSpec rows;
    private final PartitionSpec prefixSpec;

    /**
     * @param prefix {@code i32[batch, width]}
     * @param partition of the prefix, null to choose
     */
    public Lowerer(
            DecoderConfig config,
            Form form,
            DecodeOptions options,
            Mesh mesh,
            ShardingRules rules,
            TensorType prefix,
            @Nullable PartitionSpec partition) {
        this.config = config;
        this.form = form;
        this.options = options;
        this.program = new Program(config, form, mesh, rules, dev.slipway.lowering.ParameterLayout.SLIPWAY);
        this.batch = prefix.dim(0);
        this.width = prefix.dim(1);
        if (batch < 1 || width < 1) {
            throw new LoweringException(
                    "prefix %s is empty; at least one row and one column are expected".formatted(prefix));
        }
        if (width > options.maxLength()) {
            throw new LoweringException(
                    "the prefix is %d wide but rows may grow to %d only; narrow the prefix or raise the maximum length"
                            .formatted(width, options.maxLength()));
        }
        this.prefixSpec = partition != null ? partition : program.batchSpec("batch", 0, batch, width);
        this.rows = new PartitionSpec(List.of(prefixSpec.axes(0)));
    }

    /** The program {@code sample_decode}. */
    public InferenceProgram sampleDecode() {
        int decodes = options.numDecodes();
        long length = options.maxLength();
        promptArguments();
        keyResult();
        program.result("sequences", TensorType.of(ElementType.I32, batch, decodes, length), rows);
        program.result("token_scores", TensorType.of(ElementType.F32, batch, decodes, length), rows);
        return program.build("sample_decode", (o, weights, inputs) -> {
            Value prefix = inputs.get(PREFIX);
            @Nullable Value temperature = inputs.find(TEMPERATURE);
            Decoding decoding = decoding(o, weights);
            Decoding.Prefilled read = decoding.prefill(o, prefix);
            long[] rowShape = {batch * decodes};

            // Each decode draws its own first token from the same logits.
            Value logits = o.broadcast(read.logits(), new long[] {batch, decodes, config.vocabulary()}, 0, 2);
            Decoding.Choice first = decoding.choose(o, logits, inputs.get(KEY), temperature);
            Value lengths = Rows.repeat(o, read.lengths(), 0, decodes);
            List<Value> cache = read.cache().stream()
                    .map(tensor -> Rows.repeat(o, tensor, decoding.layers().cacheRowDimension(), decodes))
                    .toList();
            Value room = o.int32(length, rowShape);
            Value full = o.compare(lengths, room, ComparisonDirection.GE);
            Value token = Rows.keep(o, full, o.b().reshape(first.tokens(), rowShape), options.padId());
            Value score = Rows.keep(o, full, o.b().reshape(first.scores(), rowShape), 0);
            Value done = o.b().or(
                            o.b().or(full, decoding.stops(o, token)),
                            o.compare(o.add(lengths, 1), room, ComparisonDirection.GE));
            Value zero = o.scalar(ElementType.I32, 0);

            List<Value> start = new ArrayList<>();
            start.add(zero);
            start.add(token);
            start.add(done);
            start.add(first.key());
            start.add(Rows.writeColumn(o, o.int32(options.padId(), batch * decodes, length), token, zero));
            start.add(Rows.writeColumn(o, o.zeros(ElementType.F32, batch * decodes, length), score, zero));
            int fixed = start.size();
            start.addAll(cache);
            List<Value> end = o.loop(start, (c, it) -> c.b().not(c.all(it.get(2))), (c, it) -> {
                Value step = it.get(0);
                Value ended = it.get(2);
                List<Value> fed = decoding.step(c, step, width, lengths, it.get(1), it.subList(fixed, it.size()));
                Value stepLogits = c.b().reshape(fed.getFirst(), batch, decodes, config.vocabulary());
                Decoding.Choice choice = decoding.choose(c, stepLogits, it.get(3), temperature);
                Value next = Rows.keep(c, ended, c.b().reshape(choice.tokens(), rowShape), options.padId());
                Value nextScore = Rows.keep(c, ended, c.b().reshape(choice.scores(), rowShape), 0);
                Value nextStep = c.add(step, 1);
                Value total = c.add(c.b().add(lengths, c.broadcast(nextStep, rowShape)), 1);
                List<Value> carried = new ArrayList<>();
                carried.add(nextStep);
                carried.add(next);
                carried.add(c.b().or(
                                c.b().or(ended, decoding.stops(c, next)),
                                c.compare(total, room, ComparisonDirection.GE)));
                carried.add(choice.key());
                carried.add(Rows.writeColumn(c, it.get(4), next, nextStep));
                carried.add(Rows.writeColumn(c, it.get(5), nextScore, nextStep));
                carried.addAll(fed.subList(1, fed.size()));
                return carried;
            });
            return List.of(
                    end.get(3),
                    o.b().reshape(
                                    Rows.behindPrompts(
                                            o, starts(o, Rows.repeat(o, prefix, 0, decodes)), lengths, end.get(4), 0),
                                    batch,
                                    decodes,
                                    length),
                    o.b().reshape(Rows.behindPrompts(o, null, lengths, end.get(5), 0), batch, decodes, length));
        });
    }

    /** The program {@code prefill}. */
    public InferenceProgram prefill() {
        single("prefill");
        promptArguments();
        keyResult();
        program.result("logits", TensorType.of(ElementType.F32, batch, config.vocabulary()), rows);
        program.result("tokens", TensorType.of(ElementType.I32, batch), rows);
        program.result("scores", TensorType.of(ElementType.F32, batch), rows);
        program.result("lengths", TensorType.of(ElementType.I32, batch), rows);
        cacheResults();
        return program.build("prefill", (o, weights, inputs) -> {
            Decoding decoding = decoding(o, weights);
            Decoding.Prefilled read = decoding.prefill(o, inputs.get(PREFIX));
            Decoding.Choice first = decoding.choose(
                    o,
                    o.b().reshape(read.logits(), batch, 1, config.vocabulary()),
                    inputs.get(KEY),
                    inputs.find(TEMPERATURE));
            List<Value> results = new ArrayList<>();
            results.add(first.key());
            results.add(read.logits());
            results.add(o.b().reshape(first.tokens(), batch));
            results.add(o.b().reshape(first.scores(), batch));
            results.add(read.lengths());
            results.addAll(read.cache());
            return results;
        });
    }

    /** The program {@code decode_step}. */
    public InferenceProgram decodeStep() {
        single("decode_step");
        program.argument(KEY, TensorType.of(ElementType.UI32, 4), PartitionSpec.replicated(), true);
        program.argument("step", TensorType.of(ElementType.I32), PartitionSpec.replicated(), false);
        program.argument("tokens", TensorType.of(ElementType.I32, batch), rows, false);
        program.argument("lengths", TensorType.of(ElementType.I32, batch), rows, false);
        temperatureArgument();
        LayerStack layers = layers(Values.of(Map.of()));
        TensorType cacheType = TensorType.of(form.cache(), layers.cacheShape(batch, options.maxLength()));
        for (int i = 0; i < layers.cacheTensors(); i++) {
            program.argument("cache/" + i, cacheType, cacheSpec(layers), true);
        }
        keyResult();
        program.result("tokens", TensorType.of(ElementType.I32, batch), rows);
        program.result("scores", TensorType.of(ElementType.F32, batch), rows);
        cacheResults();
        return program.build("decode_step", (o, weights, inputs) -> {
            Decoding decoding = decoding(o, weights);
            List<Value> cache = new ArrayList<>();
            for (int i = 0; i < layers.cacheTensors(); i++) {
                cache.add(inputs.get("cache/" + i));
            }
            List<Value> fed =
                    decoding.step(o, inputs.get("step"), width, inputs.get("lengths"), inputs.get("tokens"), cache);
            Decoding.Choice choice = decoding.choose(
                    o,
                    o.b().reshape(fed.getFirst(), batch, 1, config.vocabulary()),
                    inputs.get(KEY),
                    inputs.find(TEMPERATURE));
            List<Value> results = new ArrayList<>();
            results.add(choice.key());
            results.add(o.b().reshape(choice.tokens(), batch));
            results.add(o.b().reshape(choice.scores(), batch));
            results.addAll(fed.subList(1, fed.size()));
            return results;
        });
    }

    private void promptArguments() {
        program.argument(KEY, TensorType.of(ElementType.UI32, 4), PartitionSpec.replicated(), true);
        program.argument(PREFIX, TensorType.of(ElementType.I32, batch, width), prefixSpec, false);
        temperatureArgument();
    }

    private void temperatureArgument() {
        if (options.sampling() instanceof Sampling.Temperature) {
            program.argument(TEMPERATURE, TensorType.of(ElementType.F32, batch), rows, false);
        }
    }

    private void keyResult() {
        program.result("new_key", TensorType.of(ElementType.UI32, 4), PartitionSpec.replicated());
    }

    private void cacheResults() {
        LayerStack layers = layers(Values.of(Map.of()));
        TensorType type = TensorType.of(form.cache(), layers.cacheShape(batch, options.maxLength()));
        for (int i = 0; i < layers.cacheTensors(); i++) {
            program.result("cache/" + i, type, cacheSpec(layers));
        }
    }

    private PartitionSpec cacheSpec(LayerStack layers) {
        return program.cacheSpec(layers.cacheRowDimension(), layers.cacheShape(batch, options.maxLength()));
    }

    private LayerStack layers(ModelWeights weights) {
        return new LayerStack(config, form, new DecoderEmitter(config, form), weights);
    }

    private Decoding decoding(Ops o, ModelWeights weights) {
        PartitionSpec spec = cacheSpec(layers(weights));
        return new Decoding(config, form, options, weights, tensor -> Modules.constrain(o, tensor, spec));
    }

    private void single(String method) {
        if (options.numDecodes() != 1) {
            throw new LoweringException("%s serves one decode per row, not %d; give the prompt once per decode"
                    .formatted(method, options.numDecodes()));
        }
    }

    /** The prompts as they were read: an empty one is the start token. */
    private Value starts(Ops o, Value prompts) {
        long[] shape = o.shape(prompts);
        Value pad = o.compare(prompts, o.int32(options.padId(), shape), ComparisonDirection.EQ);
        return o.b().select(pad, o.int32(options.startId(), shape), prompts);
    }
}

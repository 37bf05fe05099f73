// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.ProgramPaths;
import dev.slipway.mesh.PartitionSpec;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Lowers the programs that a server calls in turn: {@code prefill}, {@code insert} and {@code decode_step}. */
public final class ServingLowerer {
    private static final int STEP = 0;
    private static final int KEY = 1;
    private static final int COLUMN = 2;

    private final Signature signature;
    private final DecodeOptions options;
    private final long batch;

    public ServingLowerer(Signature signature) {
        this.signature = signature;
        this.options = signature.options;
        this.batch = signature.batch;
    }

    /** The program {@code prefill}. */
    public InferenceProgram prefill() {
        Program program = signature.program;
        signature.requireOneDecode("prefill");
        signature.promptArguments();
        signature.keyResult();
        program.result(
                ProgramPaths.LOGITS,
                TensorType.of(ElementType.F32, batch, signature.config.vocabulary()),
                signature.rows);
        program.result("scores", TensorType.of(ElementType.F32, batch), signature.rows);
        signature.topResults(batch);
        signature.stateResults();
        return program.build("prefill", (o, weights, inputs) -> {
            Decoding decoding = signature.decoding(o, weights, batch);
            Sampler sampler = signature.sampler(o, inputs, batch);
            Value prefix = inputs.get(ProgramPaths.PREFIX);
            Decoding.Prefilled read = decoding.prefill(o, prefix);
            Map<String, Value> begin = sampler.begin(o, signature.started(o, prefix), read.lengths());
            Value logits = decoding.lastLogits(o, read);
            Sampler.Choice first = sampler.choose(o, logits, inputs.get(ProgramPaths.KEY), begin);
            List<Value> results = new ArrayList<>();
            results.add(first.key());
            results.add(logits);
            List<Value> given = sampler.given(o, begin, first);
            results.addAll(given.subList(1, given.size()));
            results.addAll(sampler.next(o, begin, first).values());
            results.addAll(read.cache());
            return results;
        });
    }

    /** The program {@code decode_step}. */
    public InferenceProgram decodeStep() {
        Program program = signature.program;
        int steps = options.stepsPerCall();
        signature.requireOneDecode("decode_step");
        signature.keyArgument();
        program.donated(ProgramPaths.COLUMN, TensorType.of(ElementType.I32), PartitionSpec.replicated());
        signature.controlArguments();
        signature.stateArguments();
        signature.keyResult();
        program.result(ProgramPaths.COLUMN, TensorType.of(ElementType.I32), PartitionSpec.replicated());
        program.result(ProgramPaths.TOKENS, TensorType.of(ElementType.I32, batch, steps), signature.rows);
        program.result("scores", TensorType.of(ElementType.F32, batch, steps), signature.rows);
        signature.topResults(batch, steps);
        signature.stateResults();
        return program.build("decode_step", (o, weights, inputs) -> {
            Decoding decoding = signature.decoding(o, weights, batch);
            Sampler sampler = signature.sampler(o, inputs, batch);
            Transcript empty = Transcript.empty(o, options, batch, steps);
            LoopState begin = new LoopState(
                    List.of(
                            o.scalar(ElementType.I32, 0),
                            inputs.get(ProgramPaths.KEY),
                            inputs.get(ProgramPaths.COLUMN)),
                    givenState(inputs),
                    empty,
                    givenCache(inputs));
            Ops.Step<List<Value>> body =
                    (c, it) -> step(c, decoding, sampler, begin.with(it)).values();
            LoopState end = begin.with(
                    steps == 1
                            ? body.build(o, begin.values())
                            : o.loop(
                                    begin.values(),
                                    (c, it) -> c.compare(it.get(STEP), c.int32(steps), ComparisonDirection.LT),
                                    body));
            List<Value> results = new ArrayList<>();
            results.add(end.head().get(KEY));
            results.add(end.head().get(COLUMN));
            results.addAll(end.transcript().tensors());
            results.addAll(end.rows().values());
            results.addAll(end.cache());
            return results;
        });
    }

    private Map<String, Value> givenState(Values inputs) {
        Map<String, Value> state = new LinkedHashMap<>();
        signature.stateTypes(batch).keySet().forEach(name -> state.put(name, inputs.get(ProgramPaths.STATE + name)));
        return state;
    }

    private List<Value> givenCache(Values inputs) {
        List<Value> cache = new ArrayList<>();
        for (int i = 0; i < signature.layers.cacheTensors(); i++) {
            cache.add(inputs.get(ProgramPaths.CACHE + i));
        }
        return cache;
    }

    private LoopState step(Ops o, Decoding decoding, Sampler sampler, LoopState now) {
        Value step = now.head().get(STEP);
        Value column = now.head().get(COLUMN);
        List<Value> fed = decoding.step(
                o,
                column,
                Sampler.get(now.rows(), Sampler.POSITIONS),
                Sampler.get(now.rows(), Sampler.TOKENS),
                now.cache());
        Sampler.Choice choice = sampler.choose(o, fed.getFirst(), now.head().get(KEY), now.rows());
        return new LoopState(
                List.of(o.add(step, 1), choice.key(), o.b().remainder(o.plus(column, 1), o.int32(options.maxLength()))),
                sampler.next(o, now.rows(), choice),
                now.transcript().put(o, sampler.given(o, now.rows(), choice), step),
                fed.subList(1, fed.size()));
    }

    /** The program {@code insert}: the batch is the server's, the prefix as wide as that of the row that comes in. */
    public InferenceProgram insert() {
        signature.requireOneDecode("insert");
        Program bare = signature.program.withoutParameters();
        bare.argument(ProgramPaths.COLUMN, TensorType.of(ElementType.I32));
        bare.argument(ProgramPaths.SLOT, TensorType.of(ElementType.I32));
        signature
                .stateTypes(1)
                .forEach((name, type) -> bare.argument(ProgramPaths.ROW + ProgramPaths.STATE + name, type));
        LayerStack layers = signature.layers;
        for (int i = 0; i < layers.cacheTensors(); i++) {
            bare.argument(ProgramPaths.ROW + ProgramPaths.CACHE + i, signature.cacheType(i, 1));
        }
        signature.stateTypes(batch).forEach((name, type) -> {
            bare.donated(ProgramPaths.STATE + name, type, signature.rows);
            bare.result(ProgramPaths.STATE + name, type, signature.rows);
        });
        for (int i = 0; i < layers.cacheTensors(); i++) {
            bare.donated(ProgramPaths.CACHE + i, signature.cacheType(i, batch), signature.cacheSpec(i, batch));
            bare.result(ProgramPaths.CACHE + i, signature.cacheType(i, batch), signature.cacheSpec(i, batch));
        }
        return bare.build("insert", (o, _, inputs) -> {
            Value slot = inputs.get(ProgramPaths.SLOT);
            List<Value> results = new ArrayList<>();
            for (String name : signature.stateTypes(batch).keySet()) {
                Value all = inputs.get(ProgramPaths.STATE + name);
                Value one = inputs.get(ProgramPaths.ROW + ProgramPaths.STATE + name);
                results.add(replace(o, all, one, slot, 0));
            }
            // The row's last prompt token stood in column width - 1; the next write is to follow it.
            Value shift = o.plus(inputs.get(ProgramPaths.COLUMN), -signature.width);
            int row = layers.cacheRowDimension();
            for (int i = 0; i < layers.cacheTensors(); i++) {
                Value one = inputs.get(ProgramPaths.ROW + ProgramPaths.CACHE + i);
                Value rolled = roll(o, one, layers.cacheColumnDimension(i), options.maxLength(), shift);
                results.add(replace(o, inputs.get(ProgramPaths.CACHE + i), rolled, slot, row));
            }
            return results;
        });
    }

    /** Writes one row of a dimension. */
    private static Value replace(Ops o, Value all, Value one, Value slot, int dimension) {
        return o.b().dynamicUpdateSlice(all, one, startingAt(o, slot, dimension, o.rank(all)));
    }

    /** Moves what a dimension begins with {@code shift} places on, what falls off its end to its beginning. */
    private static Value roll(Ops o, Value all, int dimension, long size, Value shift) {
        Value x = o.sliceAxis(all, dimension, 0, size);
        Value from = o.b().remainder(o.b().negate(o.plus(shift, -size)), o.int32(size));
        List<Value> starts = startingAt(o, from, dimension, o.rank(x));
        Value rolled = o.b().dynamicSlice(o.b().concatenate(dimension, x, x), starts, o.shape(x));
        return size == o.size(all, dimension)
                ? rolled
                : o.b().concatenate(dimension, rolled, o.sliceAxis(all, dimension, size, o.size(all, dimension)));
    }

    /** Where a slice begins: at {@code start} in one dimension, at 0 in the others. */
    private static List<Value> startingAt(Ops o, Value start, int dimension, int rank) {
        Value zero = o.scalar(ElementType.I32, 0);
        List<Value> starts = new ArrayList<>();
        for (int i = 0; i < rank; i++) {
            starts.add(i == dimension ? start : zero);
        }
        return starts;
    }
}

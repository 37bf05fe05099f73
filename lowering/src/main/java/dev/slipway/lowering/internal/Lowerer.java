// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.Control;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.LoweringException;
import dev.slipway.lowering.ParameterLayout;
import dev.slipway.lowering.ProgramPaths;
import dev.slipway.lowering.ShardingRules;
import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.PartitionSpec;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Puts the steps of {@link Decoding} and {@link Sampler} together to programs. One lowerer lowers one program. */
public final class Lowerer {
    /** Columns of which {@code score} takes the logits at once. */
    private static final long SCORE_COLUMNS = 64;

    private final DecoderConfig config;
    private final Form form;
    private final DecodeOptions options;
    private final Prng prng;
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
        this.prng = new Prng(options.random());
        this.program = new Program(config, form, mesh, rules, ParameterLayout.SLIPWAY);
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
        if (options.topLogProbs() > config.vocabulary()) {
            throw new LoweringException("the %d likeliest tokens of a vocabulary of %d; ask for fewer"
                    .formatted(options.topLogProbs(), config.vocabulary()));
        }
        this.prefixSpec = partition != null ? partition : program.batchSpec("batch", 0, batch, width);
        this.rows = new PartitionSpec(List.of(prefixSpec.axes(0)));
    }

    /** The program {@code sample_decode}. */
    public InferenceProgram sampleDecode() {
        int decodes = options.numDecodes();
        long length = options.maxLength();
        int top = options.topLogProbs();
        promptArguments();
        keyResult();
        program.result("sequences", TensorType.of(ElementType.I32, batch, decodes, length), rows);
        program.result("token_scores", TensorType.of(ElementType.F32, batch, decodes, length), rows);
        if (top > 0) {
            program.result("top_tokens", TensorType.of(ElementType.I32, batch, decodes, length, top), rows);
            program.result("top_log_probs", TensorType.of(ElementType.F32, batch, decodes, length, top), rows);
        }
        // A batch that does not divide is filled up with rows that have ended.
        long filled = rows.axes(0).isEmpty() ? roundUp(batch, program.batchParts()) : batch;
        if (filled > batch) {
            program.note("batch of %d is computed as %d, rows of pads behind it, so that it divides"
                    .formatted(batch, filled));
        }
        return program.build("sample_decode", (o, weights, inputs) -> {
            Value prefix = spread(o, fill(o, inputs.get(ProgramPaths.PREFIX), filled, options.padId()), filled);
            Decoding decoding = decoding(o, weights, filled);
            Sampler sampler = sampler(o, inputs, filled);
            Decoding.Prefilled read = decoding.prefill(o, prefix);

            // Each decode draws its own first token from the same activations.
            Value last = Rows.repeat(o, decoding.last(o, read), 0, decodes);
            Value lengths = Rows.repeat(o, read.lengths(), 0, decodes);
            Value prompts = Rows.repeat(o, started(o, prefix), 0, decodes);
            List<Value> cache = read.cache().stream()
                    .map(tensor -> Rows.repeat(o, tensor, decoding.layers().cacheRowDimension(), decodes))
                    .toList();
            Map<String, Value> begin = sampler.begin(o, Rows.repeat(o, prefix, 0, decodes), lengths);
            if (filled > batch) {
                long[] all = {filled * decodes};
                Value added = o.compare(
                        o.iota(ElementType.I32, 0, all), o.int32(batch * decodes, all), ComparisonDirection.GE);
                begin.put(Sampler.DONE, o.b().or(Sampler.get(begin, Sampler.DONE), added));
            }
            Transcript transcript = Transcript.empty(o, options, filled * decodes, length);
            List<String> names = List.copyOf(begin.keySet());
            int recordAt = 3 + names.size();
            int cacheAt = recordAt + transcript.tensors().size();

            // Head and draw stand once in the program, behind the layers, which the first step passes over: the
            // vocabulary's matrix and the random numbers are much of what is compiled. Behind and not before them,
            // since libtpu keeps in on-chip memory what a loop's body uses at its beginning.
            List<Value> start = new ArrayList<>();
            start.add(o.scalar(ElementType.I32, 0));
            start.add(o.constant(ElementType.I1, 1));
            start.add(inputs.get(ProgramPaths.KEY));
            start.addAll(begin.values());
            start.addAll(transcript.tensors());
            start.addAll(cache);
            List<Value> end = o.loop(start, (_, it) -> it.get(1), (c, it) -> {
                Value step = it.get(0);
                Map<String, Value> before = named(names, it.subList(3, recordAt));
                LayerStack.State fed = decoding.feed(
                        c,
                        decoding.column(c, c.maximum(c.plus(step, -1), 0), width),
                        Sampler.get(before, Sampler.POSITIONS),
                        Sampler.get(before, Sampler.TOKENS),
                        it.subList(cacheAt, it.size()),
                        new Decoding.Beginning(c.compare(step, c.int32(0), ComparisonDirection.EQ), last));
                Sampler.Choice choice = sampler.choose(c, decoding.logits(c, fed.x()), it.get(2), before);
                Map<String, Value> state = sampler.next(c, before, choice);
                Value going = c.any(c.b().not(Sampler.get(state, Sampler.DONE)), 0);
                List<Value> carried = new ArrayList<>(List.of(c.add(step, 1), going, choice.key()));
                carried.addAll(state.values());
                carried.addAll(new Transcript(it.subList(recordAt, cacheAt))
                        .put(c, sampler, before, choice, step)
                        .tensors());
                carried.addAll(fed.cache());
                return carried;
            });
            List<Value> results = new ArrayList<>();
            results.add(end.get(2));
            for (int i = recordAt; i < cacheAt; i++) {
                Value laid = Rows.behindPrompts(o, i == recordAt ? prompts : null, lengths, end.get(i), 0);
                long[] shape = o.shape(laid);
                long[] split = new long[shape.length + 1];
                split[0] = filled;
                split[1] = decodes;
                System.arraycopy(shape, 1, split, 2, shape.length - 1);
                results.add(o.sliceAxis(o.b().reshape(laid, split), 0, 0, batch));
            }
            return results;
        });
    }

    /** What rows have got, a column for each token: tokens, scores, and with them the likeliest tokens and theirs. */
    private record Transcript(List<Value> tensors) {
        static Transcript empty(Ops o, DecodeOptions options, long rows, long columns) {
            List<Value> tensors = new ArrayList<>();
            tensors.add(o.int32(options.padId(), rows, columns));
            tensors.add(o.zeros(ElementType.F32, rows, columns));
            if (options.topLogProbs() > 0) {
                tensors.add(o.int32(options.padId(), rows, columns, options.topLogProbs()));
                tensors.add(o.zeros(ElementType.F32, rows, columns, options.topLogProbs()));
            }
            return new Transcript(tensors);
        }

        /** This record with what a choice gave, in a column. */
        Transcript put(Ops o, Sampler sampler, Map<String, Value> before, Sampler.Choice choice, Value column) {
            List<Value> all = new ArrayList<>();
            all.add(Rows.writeColumn(o, tensors.get(0), sampler.token(o, before, choice), column));
            all.add(Rows.writeColumn(o, tensors.get(1), sampler.score(o, before, choice), column));
            if (choice.topTokens() != null && choice.topScores() != null) {
                all.add(Rows.writeColumn(o, tensors.get(2), choice.topTokens(), column));
                all.add(Rows.writeColumn(o, tensors.get(3), choice.topScores(), column));
            }
            return new Transcript(all);
        }
    }

    /** The program {@code prefill}. */
    public InferenceProgram prefill() {
        single("prefill");
        promptArguments();
        keyResult();
        program.result(ProgramPaths.LOGITS, TensorType.of(ElementType.F32, batch, config.vocabulary()), rows);
        program.result("scores", TensorType.of(ElementType.F32, batch), rows);
        topResults(batch);
        stateResults();
        return program.build("prefill", (o, weights, inputs) -> {
            Decoding decoding = decoding(o, weights, batch);
            Sampler sampler = sampler(o, inputs, batch);
            Value prefix = inputs.get(ProgramPaths.PREFIX);
            Decoding.Prefilled read = decoding.prefill(o, prefix);
            Map<String, Value> begin = sampler.begin(o, prefix, read.lengths());
            Value logits = decoding.lastLogits(o, read);
            Sampler.Choice first = sampler.choose(o, logits, inputs.get(ProgramPaths.KEY), begin);
            List<Value> results = new ArrayList<>();
            results.add(first.key());
            results.add(logits);
            results.add(sampler.score(o, begin, first));
            if (first.topTokens() != null && first.topScores() != null) {
                results.add(first.topTokens());
                results.add(first.topScores());
            }
            results.addAll(sampler.next(o, begin, first).values());
            results.addAll(read.cache());
            return results;
        });
    }

    /** The program {@code decode_step}. */
    public InferenceProgram decodeStep() {
        single("decode_step");
        int steps = options.stepsPerCall();
        keyArgument();
        program.argument(ProgramPaths.COLUMN, TensorType.of(ElementType.I32), PartitionSpec.replicated(), true);
        controlArguments();
        stateArguments("", batch, true);
        keyResult();
        program.result(ProgramPaths.COLUMN, TensorType.of(ElementType.I32), PartitionSpec.replicated());
        program.result(ProgramPaths.TOKENS, TensorType.of(ElementType.I32, batch, steps), rows);
        program.result("scores", TensorType.of(ElementType.F32, batch, steps), rows);
        topResults(batch, steps);
        stateResults();
        return program.build("decode_step", (o, weights, inputs) -> {
            Decoding decoding = decoding(o, weights, batch);
            Sampler sampler = sampler(o, inputs, batch);
            List<String> names = List.copyOf(stateTypes(batch).keySet());
            int recordAt = 3 + names.size();
            Transcript empty = Transcript.empty(o, options, batch, steps);
            int cacheAt = recordAt + empty.tensors().size();
            List<Value> start = new ArrayList<>();
            start.add(o.scalar(ElementType.I32, 0));
            start.add(inputs.get(ProgramPaths.KEY));
            start.add(inputs.get(ProgramPaths.COLUMN));
            names.forEach(name -> start.add(inputs.get(ProgramPaths.STATE + name)));
            start.addAll(empty.tensors());
            for (int i = 0; i < layers().cacheTensors(); i++) {
                start.add(inputs.get(ProgramPaths.CACHE + i));
            }
            Ops.Step<List<Value>> body = (c, it) -> {
                Map<String, Value> before = named(names, it.subList(3, recordAt));
                List<Value> fed = decoding.step(
                        c,
                        it.get(2),
                        Sampler.get(before, Sampler.POSITIONS),
                        Sampler.get(before, Sampler.TOKENS),
                        it.subList(cacheAt, it.size()));
                Sampler.Choice choice = sampler.choose(c, fed.getFirst(), it.get(1), before);
                List<Value> carried = new ArrayList<>();
                carried.add(c.add(it.get(0), 1));
                carried.add(choice.key());
                carried.add(c.b().remainder(c.plus(it.get(2), 1), c.int32(options.maxLength())));
                carried.addAll(sampler.next(c, before, choice).values());
                carried.addAll(new Transcript(it.subList(recordAt, cacheAt))
                        .put(c, sampler, before, choice, it.get(0))
                        .tensors());
                carried.addAll(fed.subList(1, fed.size()));
                return carried;
            };
            List<Value> end = steps == 1
                    ? body.build(o, start)
                    : o.loop(start, (c, it) -> c.compare(it.get(0), c.int32(steps), ComparisonDirection.LT), body);
            List<Value> results = new ArrayList<>();
            results.add(end.get(1));
            results.add(end.get(2));
            results.addAll(end.subList(recordAt, cacheAt));
            results.addAll(end.subList(3, recordAt));
            results.addAll(end.subList(cacheAt, end.size()));
            return results;
        });
    }

    /** The program {@code insert}: the batch is the server's, the prefix as wide as that of the row that comes in. */
    public InferenceProgram insert() {
        single("insert");
        Program bare = program.withoutParameters();
        bare.argument(ProgramPaths.COLUMN, TensorType.of(ElementType.I32));
        bare.argument(ProgramPaths.SLOT, TensorType.of(ElementType.I32));
        stateTypes(1).forEach((name, type) -> bare.argument(ProgramPaths.ROW + ProgramPaths.STATE + name, type));
        LayerStack layers = layers();
        for (int i = 0; i < layers.cacheTensors(); i++) {
            bare.argument(ProgramPaths.ROW + ProgramPaths.CACHE + i, cacheType(i, 1));
        }
        stateTypes(batch).forEach((name, type) -> {
            bare.argument(ProgramPaths.STATE + name, type, rows, true);
            bare.result(ProgramPaths.STATE + name, type, rows);
        });
        for (int i = 0; i < layers.cacheTensors(); i++) {
            bare.argument(ProgramPaths.CACHE + i, cacheType(i, batch), cacheSpec(i, batch), true);
            bare.result(ProgramPaths.CACHE + i, cacheType(i, batch), cacheSpec(i, batch));
        }
        return bare.build("insert", (o, _, inputs) -> {
            Value slot = inputs.get(ProgramPaths.SLOT);
            List<Value> results = new ArrayList<>();
            for (String name : stateTypes(batch).keySet()) {
                results.add(replace(
                        o,
                        inputs.get(ProgramPaths.STATE + name),
                        inputs.get(ProgramPaths.ROW + ProgramPaths.STATE + name),
                        slot,
                        0));
            }
            // The row's last prompt token stood in column width - 1; the next write is to follow it.
            Value shift = o.plus(inputs.get(ProgramPaths.COLUMN), -width);
            int row = layers.cacheRowDimension();
            for (int i = 0; i < layers.cacheTensors(); i++) {
                Value rolled = roll(
                        o,
                        inputs.get(ProgramPaths.ROW + ProgramPaths.CACHE + i),
                        layers.cacheColumnDimension(i),
                        options.maxLength(),
                        shift);
                results.add(replace(o, inputs.get(ProgramPaths.CACHE + i), rolled, slot, row));
            }
            return results;
        });
    }

    /** Writes one row of a dimension. */
    private static Value replace(Ops o, Value all, Value one, Value slot, int dimension) {
        Value zero = o.scalar(ElementType.I32, 0);
        List<Value> starts = new ArrayList<>();
        for (int i = 0; i < o.rank(all); i++) {
            starts.add(i == dimension ? slot : zero);
        }
        return o.b().dynamicUpdateSlice(all, one, starts);
    }

    /** Moves what a dimension begins with {@code shift} places on, what falls off its end to its beginning. */
    private static Value roll(Ops o, Value all, int dimension, long size, Value shift) {
        Value x = o.sliceAxis(all, dimension, 0, size);
        Value from = o.b().remainder(o.b().negate(o.plus(shift, -size)), o.int32(size));
        Value zero = o.scalar(ElementType.I32, 0);
        List<Value> starts = new ArrayList<>();
        for (int i = 0; i < o.rank(x); i++) {
            starts.add(i == dimension ? from : zero);
        }
        Value rolled = o.b().dynamicSlice(o.b().concatenate(dimension, x, x), starts, o.shape(x));
        return size == o.size(all, dimension)
                ? rolled
                : o.b().concatenate(dimension, rolled, o.sliceAxis(all, dimension, size, o.size(all, dimension)));
    }

    /** The program {@code score}. */
    public InferenceProgram score() {
        program.argument(ProgramPaths.PREFIX, TensorType.of(ElementType.I32, batch, width), prefixSpec, false);
        program.result("token_scores", TensorType.of(ElementType.F32, batch, width), rows);
        topResults(batch, width);
        return program.build("score", (o, weights, inputs) -> {
            Value prefix = inputs.get(ProgramPaths.PREFIX);
            Decoding decoding = decoding(o, weights, batch);
            Decoding.Prefilled read = decoding.prefillWhole(o, prefix);
            long columns = Math.min(SCORE_COLUMNS, width);
            long blocks = roundUp(width, columns) / columns;
            long[] shape = {batch, blocks * columns};
            // Column c of the activations, prompts at the right, says how likely column c + 1 is.
            Value first = o.b().subtract(o.int32(width, batch), read.lengths());
            Value next = o.plus(
                    o.b().subtract(
                                    o.iota(ElementType.I32, 1, batch, width),
                                    o.broadcast(first, new long[] {batch, width}, 0)),
                    1);
            Value given = o.takeAlongRows(started(o, prefix), o.b().clamp(o.int32(0), next, o.int32(width - 1)));
            Value targets = o.padColumns(given, shape[1]);
            Value x = read.activations();
            x = o.b().pad(
                            x,
                            o.scalar(x.tensorType().element(), 0),
                            new long[] {0, 0, 0},
                            new long[] {0, shape[1] - width, 0},
                            new long[] {0, 0, 0});
            Value activations = x;
            Value zero = o.scalar(ElementType.I32, 0);
            Transcript empty = Transcript.empty(o, options, batch, shape[1]);
            List<Value> start = new ArrayList<>(List.of(zero));
            start.addAll(empty.tensors().subList(1, empty.tensors().size()));
            List<Value> end = o.loop(
                    start, (c, it) -> c.compare(it.get(0), c.int32(shape[1]), ComparisonDirection.LT), (c, it) -> {
                        Value column = it.get(0);
                        Value some = c.b().dynamicSlice(activations, List.of(zero, column, zero), new long[] {
                            batch, columns, config.width()
                        });
                        Value logits = decoding.logits(c, c.b().reshape(some, batch * columns, config.width()));
                        Value logProbabilities = c.logSoftmax(logits);
                        Value target = c.b().dynamicSlice(targets, List.of(zero, column), new long[] {batch, columns});
                        Value score = c.pick(logProbabilities, c.b().reshape(target, batch * columns));
                        List<Value> carried = new ArrayList<>();
                        carried.add(c.plus(column, columns));
                        carried.add(c.b().dynamicUpdateSlice(
                                        it.get(1), c.b().reshape(score, batch, columns), List.of(zero, column)));
                        if (options.topLogProbs() > 0) {
                            List<Value> best = c.b().chlo().topK(logProbabilities, options.topLogProbs());
                            long[] block = {batch, columns, options.topLogProbs()};
                            carried.add(c.b().dynamicUpdateSlice(
                                            it.get(2), c.b().reshape(best.get(1), block), List.of(zero, column, zero)));
                            carried.add(c.b().dynamicUpdateSlice(
                                            it.get(3), c.b().reshape(best.get(0), block), List.of(zero, column, zero)));
                        }
                        return carried;
                    });
            // Back to the left: token j's score stands one column before it.
            Value token = o.iota(ElementType.I32, 1, batch, width);
            Value column = o.maximum(o.plus(o.add(token, o.broadcast(first, new long[] {batch, width}, 0)), -1), 0);
            Value inside = o.b().and(
                            o.compare(token, o.splat(0, token), ComparisonDirection.GT),
                            o.compare(
                                    token,
                                    o.broadcast(read.lengths(), new long[] {batch, width}, 0),
                                    ComparisonDirection.LT));
            List<Value> results = new ArrayList<>();
            for (int i = 1; i < end.size(); i++) {
                Value moved = o.takeAlongRows(end.get(i), o.b().minimum(column, o.int32(width - 1, batch, width)));
                Value outside = o.splat(i == 2 ? options.padId() : 0, moved);
                results.add(o.b().select(o.broadcast(inside, o.shape(moved), 0, 1), moved, outside));
            }
            if (options.topLogProbs() > 0) {
                return List.of(results.get(0), results.get(1), results.get(2));
            }
            return results;
        });
    }

    private static long roundUp(long value, long step) {
        return (value + step - 1) / step * step;
    }

    private void promptArguments() {
        keyArgument();
        program.argument(ProgramPaths.PREFIX, TensorType.of(ElementType.I32, batch, width), prefixSpec, false);
        controlArguments();
    }

    private void keyArgument() {
        program.argument(ProgramPaths.KEY, prng.keyType(), PartitionSpec.replicated(), true);
    }

    private void controlArguments() {
        for (Control control : options.controls()) {
            program.argument(
                    control.path(),
                    TensorType.of(control.element(), control.shape(batch, config.vocabulary(), options)),
                    rows,
                    false);
        }
    }

    private void keyResult() {
        program.result(ProgramPaths.NEW_KEY, prng.keyType(), PartitionSpec.replicated());
    }

    /** The likeliest tokens, if they are asked for, with these dimensions in front. */
    private void topResults(long... outer) {
        if (options.topLogProbs() > 0) {
            long[] shape = java.util.Arrays.copyOf(outer, outer.length + 1);
            shape[outer.length] = options.topLogProbs();
            program.result("top_tokens", TensorType.of(ElementType.I32, shape), rows);
            program.result("top_log_probs", TensorType.of(ElementType.F32, shape), rows);
        }
    }

    private Map<String, TensorType> stateTypes(long count) {
        return Sampler.state(options, config.vocabulary(), count);
    }

    private void stateArguments(String prefix, long count, boolean donated) {
        stateTypes(count)
                .forEach((name, type) -> program.argument(prefix + ProgramPaths.STATE + name, type, rows, donated));
        for (int i = 0; i < layers().cacheTensors(); i++) {
            program.argument(prefix + ProgramPaths.CACHE + i, cacheType(i, count), cacheSpec(i, count), donated);
        }
    }

    private void stateResults() {
        stateTypes(batch).forEach((name, type) -> program.result(ProgramPaths.STATE + name, type, rows));
        for (int i = 0; i < layers().cacheTensors(); i++) {
            program.result(ProgramPaths.CACHE + i, cacheType(i, batch), cacheSpec(i, batch));
        }
    }

    private TensorType cacheType(int tensor, long count) {
        return TensorType.of(form.cache(), layers().cacheShape(tensor, count, options.maxLength()));
    }

    private PartitionSpec cacheSpec(int tensor, long count) {
        LayerStack layers = layers();
        return program.cacheSpec(layers.cacheRowDimension(), layers.cacheShape(tensor, count, options.maxLength()));
    }

    private LayerStack layers() {
        Values none = Values.of(Map.of());
        return new LayerStack(config, form, new DecoderEmitter(config, form, Exchange.NONE), none);
    }

    private Decoding decoding(Ops o, ModelWeights weights, long count) {
        // Rows and heads are what is cut, and at the same places in all tensors.
        PartitionSpec spec = cacheSpec(0, count);
        Exchange exchange = program.exchange(count == batch ? rows : program.batchSpec("batch", 0, count));
        return new Decoding(
                config,
                form,
                options,
                weights,
                tensor -> Modules.constrain(o, tensor, spec),
                exchange,
                () -> options.prefillChunk() > 0
                        ? options.prefillChunk()
                        : program.columnsPerPass(exchange, count, width));
    }

    /** A sampler with the controls of a program, each row's repeated for its decodes. */
    private Sampler sampler(Ops o, Values inputs, long filled) {
        Map<String, Value> controls = new LinkedHashMap<>();
        for (Control control : options.controls()) {
            Value given = fill(o, inputs.get(control.path()), filled, 0);
            controls.put(control.path(), Rows.repeat(o, given, 0, options.numDecodes()));
        }
        return new Sampler(options, config.vocabulary(), Values.of(controls));
    }

    /** Adds rows of one value until there are {@code count}. */
    private static Value fill(Ops o, Value x, long count, double value) {
        long missing = count - o.size(x, 0);
        if (missing == 0) {
            return x;
        }
        long[] none = new long[o.rank(x)];
        long[] high = none.clone();
        high[0] = missing;
        return o.b().pad(x, o.scalar(x.tensorType().element(), value), none, high, none);
    }

    /** Spreads rows over the mesh that its argument could not be spread over. */
    private Value spread(Ops o, Value x, long filled) {
        return filled == batch ? x : Modules.constrain(o, x, program.batchSpec("batch", 0, o.shape(x)));
    }

    private static Map<String, Value> named(List<String> names, List<Value> values) {
        Map<String, Value> named = new LinkedHashMap<>();
        for (int i = 0; i < names.size(); i++) {
            named.put(names.get(i), values.get(i));
        }
        return named;
    }

    private void single(String method) {
        if (options.numDecodes() != 1) {
            throw new LoweringException("%s serves one decode per row, not %d; give the prompt once per decode"
                    .formatted(method, options.numDecodes()));
        }
    }

    /** The prompts as they are read: an empty one is the start token. */
    private Value started(Ops o, Value prompts) {
        long[] shape = o.shape(prompts);
        Value pad = o.compare(prompts, o.int32(options.padId(), shape), ComparisonDirection.EQ);
        return o.b().select(pad, o.int32(options.startId(), shape), prompts);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.LoweringException;
import dev.slipway.lowering.internal.DecoderEmitter.Positions;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The steps of decoding.
 *
 * <p>Prompts are moved to the right end of the prefix before they are read, so that all rows end in the same column and
 * every later step writes one column for all of them, in place, wherever their prompts begin. The cache is a ring of
 * {@code maxLength} columns: column {@code c} of a row whose prompt begins at column {@code first} holds position
 * {@code (c - first) mod maxLength}. A row that wraps around meets only columns in front of its prompt, since prompt and
 * continuation together are no longer than the ring.
 */
final class Decoding {
    /** In how many parts the tokens of a pass are looked up. */
    private static final long LOOKUPS = 4;

    private final DecoderConfig config;
    private final DecodeOptions options;
    private final DecoderEmitter emitter;
    private final LayerStack layers;
    private final Form form;
    private final ModelWeights weights;
    private final UnaryOperator<Value> shardCache;
    private final LongSupplier columnsPerPass;

    /**
     * @param shardCache pins a new cache tensor's sharding
     * @param columnsPerPass of the prompts; asked for only where they may be read in passes
     */
    Decoding(
            DecoderConfig config,
            Form form,
            DecodeOptions options,
            ModelWeights weights,
            UnaryOperator<Value> shardCache,
            DecoderEmitter emitter,
            LongSupplier columnsPerPass) {
        this.config = config;
        this.form = form;
        this.options = options;
        this.weights = weights;
        this.emitter = emitter;
        this.layers = new LayerStack(config, form, emitter, weights);
        this.shardCache = shardCache;
        this.columnsPerPass = columnsPerPass;
    }

    LayerStack layers() {
        return layers;
    }

    /**
     * What is known after the prompts are read.
     *
     * @param activations behind the layers, {@code [batch, columns, width]}: of all columns, or of the last one
     * @param lengths of the prompts, {@code i32[batch]}, at least 1
     * @param cache see {@link LayerStack}
     */
    record Prefilled(Value activations, Value lengths, List<Value> cache) {}

    /** Lengths {@code i32[batch]} of the prompts in a prefix {@code i32[batch, width]} that pads follow. */
    Value lengths(Ops o, Value prefix) {
        long[] shape = o.shape(prefix);
        Value column = o.add(o.iota(ElementType.I32, 1, shape), 1);
        Value given = o.compare(prefix, o.int32(options.padId(), shape), ComparisonDirection.NE);
        Value last = o.b().select(given, column, o.int32(1, shape));
        return o.max(last, 1);
    }

    /** Reads prompts {@code i32[batch, width]}, in one pass or several. */
    Prefilled prefill(Ops o, Value prefix) {
        return prefill(o, prefix, columnsPerPass.getAsLong());
    }

    /** Reads prompts {@code i32[batch, width]} in one pass, so that the activations of all columns are there. */
    Prefilled prefillWhole(Ops o, Value prefix) {
        return prefill(o, prefix, o.size(prefix, 1));
    }

    private Prefilled prefill(Ops o, Value prefix, long columns) {
        long batch = o.size(prefix, 0);
        long width = o.size(prefix, 1);
        long[] shape = {batch, width};
        Value lengths = lengths(o, prefix);
        Value first = o.b().subtract(o.int32(width, batch), lengths);
        Value positions = o.b().subtract(o.iota(ElementType.I32, 1, shape), o.broadcast(first, shape, 0));
        Value prompts = Rows.started(o, prefix, options.padId(), options.startId());
        Value ids = o.takeAlongRows(prompts, o.maximum(positions, 0));

        List<Value> empty = new ArrayList<>();
        for (int i = 0; i < layers.cacheTensors(); i++) {
            empty.add(shardCache.apply(o.zeros(form.cache(), layers.cacheShape(i, batch, options.maxLength()))));
        }
        LayerStack.State state = columns < width
                ? inPasses(o, columns, ids, positions, first, empty)
                : layers.run(
                        o,
                        new LayerStack.Pass.Prefill(),
                        new Positions(positions, positions),
                        new LayerStack.State(emitter.embed(o, weights, ids, positions), empty));
        return new Prefilled(state.x(), lengths, state.cache());
    }

    /**
     * Reads the prompts some columns at a time, from the first column on in which some prompt has begun; gives the
     * activations of the last column.
     */
    private LayerStack.State inPasses(Ops o, long columns, Value ids, Value positions, Value first, List<Value> empty) {
        long batch = o.size(ids, 0);
        long width = o.size(ids, 1);
        if (width % columns != 0) {
            throw new LoweringException(
                    "a prefix %d wide cannot be read %d columns at a time; make it a multiple of that"
                            .formatted(width, columns));
        }
        long[] ring = {batch, options.maxLength()};
        Value held = inCache(o, o.b().subtract(o.iota(ElementType.I32, 1, ring), o.broadcast(first, ring, 0)));
        Value zero = o.scalar(ElementType.I32, 0);
        Value each = o.int32(columns);
        Value begun = o.b().multiply(o.b().divide(o.b().reduceMin(first, 0), each), each);
        List<Value> start = new ArrayList<>();
        start.add(begun);
        start.add(o.zeros(form.compute(), batch, 1, config.width()));
        start.addAll(empty);
        List<Value> end =
                o.loop(start, (c, it) -> c.compare(it.get(0), c.int32(width), ComparisonDirection.LT), (c, it) -> {
                    Value column = it.get(0);
                    long[] sizes = {batch, columns};
                    Value someIds = c.b().dynamicSlice(ids, List.of(zero, column), sizes);
                    Value somePositions = c.b().dynamicSlice(positions, List.of(zero, column), sizes);
                    LayerStack.State state = layers.run(
                            c,
                            new LayerStack.Pass.Step(column, null),
                            new Positions(somePositions, held),
                            new LayerStack.State(embedInParts(c, someIds, somePositions), it.subList(2, it.size())));
                    List<Value> carried = new ArrayList<>();
                    carried.add(c.plus(column, columns));
                    carried.add(c.sliceAxis(state.x(), 1, columns - 1, columns));
                    carried.addAll(state.cache());
                    return carried;
                });
        return new LayerStack.State(end.get(1), end.subList(2, end.size()));
    }

    /**
     * Looks up the tokens of a pass {@code i32[batch, columns]}, some columns at a time: libtpu unrolls a lookup over
     * its tokens, which for a whole pass is a tenth of a program's code.
     */
    private Value embedInParts(Ops o, Value ids, Value positions) {
        long batch = o.size(ids, 0);
        long columns = o.size(ids, 1);
        long part = columns % LOOKUPS == 0 ? columns / LOOKUPS : columns;
        if (part == columns) {
            return emitter.embed(o, weights, ids, positions);
        }
        Value zero = o.int32(0);
        Value empty = o.zeros(form.compute(), batch, columns, config.width());
        return o.loop(
                        List.of(zero, empty),
                        (c, it) -> c.compare(it.get(0), c.int32(columns), ComparisonDirection.LT),
                        (c, it) -> {
                            List<Value> at = List.of(zero, it.get(0));
                            long[] sizes = {batch, part};
                            Value some = emitter.embed(
                                    c,
                                    weights,
                                    c.b().dynamicSlice(ids, at, sizes),
                                    c.b().dynamicSlice(positions, at, sizes));
                            return List.of(
                                    c.plus(it.get(0), part),
                                    c.b().dynamicUpdateSlice(it.get(1), some, List.of(zero, it.get(0), zero)));
                        })
                .get(1);
    }

    /** Activations {@code [batch, width]} of the last column that was read. */
    Value last(Ops o, Prefilled read) {
        Value x = read.activations();
        long columns = o.size(x, 1);
        return o.b().reshape(o.sliceAxis(x, 1, columns - 1, columns), o.size(x, 0), config.width());
    }

    /** Logits {@code f32[batch, vocabulary]} behind the last column that was read. */
    Value lastLogits(Ops o, Prefilled read) {
        return logits(o, last(o, read));
    }

    /**
     * Feeds one token to each row, with a cache that an argument brought.
     *
     * @param column that all rows write, {@code i32[]}
     * @param positions of the tokens, {@code i32[rows]}
     * @param tokens {@code i32[rows]}
     * @return logits {@code f32[rows, vocabulary]}, then the cache
     */
    List<Value> step(Ops o, Value column, Value positions, Value tokens, List<Value> cache) {
        return withLogits(o, feed(o, new LayerStack.Pass.Step(column, null), positions, tokens, cache));
    }

    private List<Value> withLogits(Ops o, LayerStack.State state) {
        List<Value> results = new ArrayList<>();
        results.add(logits(o, state.x()));
        results.addAll(state.cache());
        return results;
    }

    /**
     * What a loop's first step, which has no token to feed, gives in place of a token's activations.
     *
     * @param first whether this is that step, {@code i1[]}
     * @param last activations of the prompts' last tokens, {@code [rows, width]}
     */
    record Beginning(Value first, Value last) {}

    /**
     * Feeds one token to each row, without the head, with a cache that began in the program.
     *
     * @param beginning null where every step has a token to feed. In the first step the column may get values that mean
     *     nothing, so it must be the one that the next step writes
     * @return activations {@code [rows, width]} and the cache
     */
    LayerStack.State feed(
            Ops o, Value column, Value positions, Value tokens, List<Value> cache, @Nullable Beginning beginning) {
        Value going = beginning == null ? null : o.b().not(beginning.first());
        LayerStack.State fed = feed(o, new LayerStack.Pass.Step(column, going), positions, tokens, cache);
        return beginning == null
                ? fed
                : new LayerStack.State(o.b().select(beginning.first(), beginning.last(), fed.x()), fed.cache());
    }

    private LayerStack.State feed(Ops o, LayerStack.Pass.Step pass, Value positions, Value tokens, List<Value> cache) {
        long rows = o.size(tokens, 0);
        long columns = options.maxLength();
        long[] ring = {rows, columns};
        Value ids = o.b().reshape(o.maximum(tokens, 0), rows, 1);
        Value queries = o.b().reshape(positions, rows, 1);
        // A column holds the position that it was written at: as far before this one as its column is before this
        // one's.
        Value back =
                o.modulo(o.b().subtract(o.broadcast(pass.column(), ring), o.iota(ElementType.I32, 1, ring)), columns);
        Value held = inCache(o, o.b().subtract(o.broadcast(positions, ring, 0), back));

        Value x = emitter.embed(o, weights, ids, queries);
        LayerStack.State state = layers.run(o, pass, new Positions(queries, held), new LayerStack.State(x, cache));
        return new LayerStack.State(o.b().reshape(state.x(), rows, config.width()), state.cache());
    }

    /** Positions of the ring's columns and of those behind it, which hold nothing. */
    private Value inCache(Ops o, Value held) {
        long behind = layers.cacheColumns(options.maxLength()) - options.maxLength();
        return behind == 0
                ? held
                : o.b().pad(held, o.int32(-1), new long[] {0, 0}, new long[] {0, behind}, new long[] {0, 0});
    }

    /** The column that is written {@code step} steps after a prefix {@code width} wide, {@code i32[]}. */
    Value column(Ops o, Value step, long width) {
        return o.b().remainder(o.plus(step, width), o.int32(options.maxLength()));
    }

    /** {@link #feedBehind} with the head: logits {@code f32[rows, vocabulary]}, then the cache. */
    List<Value> stepBehind(Ops o, Value step, long width, Value lengths, Value tokens, List<Value> cache) {
        return withLogits(o, feedBehind(o, step, width, lengths, tokens, cache, null));
    }

    /** {@link #feed} for rows that all began with the prefix: {@code step} counts from 0 behind it. */
    LayerStack.State feedBehind(
            Ops o,
            Value step,
            long width,
            Value lengths,
            Value tokens,
            List<Value> cache,
            @Nullable Beginning beginning) {
        return feed(o, column(o, step, width), behind(o, step, lengths), tokens, cache, beginning);
    }

    private static Value behind(Ops o, Value step, Value lengths) {
        return o.b().add(lengths, o.broadcast(step, o.shape(lengths)));
    }

    /** Final norm and head, {@code [rows, width]} to {@code f32[rows, vocabulary]}. */
    Value logits(Ops o, Value x) {
        return emitter.logits(o, weights, x);
    }
}

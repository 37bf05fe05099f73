// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.Sampling;
import dev.slipway.lowering.internal.DecoderEmitter.Positions;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.List;
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
    private final DecoderConfig config;
    private final DecodeOptions options;
    private final DecoderEmitter emitter;
    private final LayerStack layers;
    private final Form form;
    private final ModelWeights weights;
    private final UnaryOperator<Value> shardCache;

    /** @param shardCache pins a new cache tensor's sharding */
    Decoding(
            DecoderConfig config,
            Form form,
            DecodeOptions options,
            ModelWeights weights,
            UnaryOperator<Value> shardCache) {
        this.config = config;
        this.form = form;
        this.options = options;
        this.weights = weights;
        this.emitter = new DecoderEmitter(config, form);
        this.layers = new LayerStack(config, form, emitter, weights);
        this.shardCache = shardCache;
    }

    LayerStack layers() {
        return layers;
    }

    /**
     * What is known after the prompts are read.
     *
     * @param logits for the first new token, {@code f32[batch, vocabulary]}
     * @param lengths of the prompts, {@code i32[batch]}, at least 1
     * @param cache see {@link LayerStack}
     */
    record Prefilled(Value logits, Value lengths, List<Value> cache) {}

    /** Lengths {@code i32[batch]} of the prompts in a prefix {@code i32[batch, width]} that pads follow. */
    Value lengths(Ops o, Value prefix) {
        long[] shape = o.shape(prefix);
        Value column = o.add(o.iota(ElementType.I32, 1, shape), 1);
        Value given = o.compare(prefix, o.int32(options.padId(), shape), ComparisonDirection.NE);
        Value last = o.b().select(given, column, o.int32(1, shape));
        return o.max(last, 1);
    }

    /** Reads prompts {@code i32[batch, width]}, all positions in one pass. */
    Prefilled prefill(Ops o, Value prefix) {
        long batch = o.size(prefix, 0);
        long width = o.size(prefix, 1);
        long[] shape = {batch, width};
        Value lengths = lengths(o, prefix);
        Value first = o.b().subtract(o.int32(width, batch), lengths);
        Value positions = o.b().subtract(o.iota(ElementType.I32, 1, shape), o.broadcast(first, shape, 0));
        Value ids = o.takeAlongRows(prefix, o.maximum(positions, 0));
        Value pads = o.compare(ids, o.int32(options.padId(), shape), ComparisonDirection.EQ);
        ids = o.b().select(pads, o.int32(options.startId(), shape), ids);

        Value x = emitter.embed(o, weights, ids, positions);
        List<Value> empty = new ArrayList<>();
        for (int i = 0; i < layers.cacheTensors(); i++) {
            empty.add(shardCache.apply(o.zeros(form.cache(), layers.cacheShape(batch, options.maxLength()))));
        }
        LayerStack.State state = layers.run(
                o, new LayerStack.Pass.Prefill(), new Positions(positions, positions), new LayerStack.State(x, empty));
        Value end = o.b().reshape(o.sliceAxis(state.x(), 1, width - 1, width), batch, config.width());
        return new Prefilled(emitter.logits(o, weights, end), lengths, state.cache());
    }

    /**
     * Feeds one token to each row.
     *
     * @param step how many tokens were generated before this one, {@code i32[]}
     * @param width columns of the prefix that the cache began with
     * @param lengths of the prompts, {@code i32[rows]}
     * @param tokens {@code i32[rows]}
     * @return logits {@code f32[rows, vocabulary]}, then the cache
     */
    List<Value> step(Ops o, Value step, long width, Value lengths, Value tokens, List<Value> cache) {
        long rows = o.size(tokens, 0);
        long columns = options.maxLength();
        long[] ring = {rows, columns};
        Value ids = o.b().reshape(o.maximum(tokens, 0), rows, 1);
        Value position = o.b().add(lengths, o.broadcast(step, new long[] {rows}));
        Value positions = o.b().reshape(position, rows, 1);
        // (column - first) mod columns, with first = width - length <= columns
        Value column = o.b().subtract(
                        o.plus(o.iota(ElementType.I32, 1, ring), columns - width),
                        o.broadcast(o.b().negate(lengths), ring, 0));
        Value held = o.b().remainder(column, o.int32(columns, ring));
        Value write = o.b().remainder(o.plus(step, width), o.int32(columns));

        Value x = emitter.embed(o, weights, ids, positions);
        LayerStack.State state = layers.run(
                o, new LayerStack.Pass.Step(write), new Positions(positions, held), new LayerStack.State(x, cache));
        List<Value> results = new ArrayList<>();
        results.add(emitter.logits(o, weights, o.b().reshape(state.x(), rows, config.width())));
        results.addAll(state.cache());
        return results;
    }

    /**
     * A chosen token for each row.
     *
     * @param tokens {@code i32[batch, decodes]}
     * @param scores log-probability of the token, {@code f32[batch, decodes]}
     * @param key to carry on with, {@code ui32[4]}
     */
    record Choice(Value tokens, Value scores, Value key) {}

    /**
     * Chooses a token from logits {@code f32[batch, decodes, vocabulary]}.
     *
     * @param temperature {@code f32[batch]}, null for greedy programs
     */
    Choice choose(Ops o, Value logits, Value key, @Nullable Value temperature) {
        long[] shape = o.shape(logits);
        Value logProbabilities = o.logSoftmax(logits);
        Value carry = key;
        Value scored = logits;
        if (options.sampling() instanceof Sampling.Temperature) {
            Prng prng = new Prng(dev.slipway.lowering.RandomSource.RBG);
            List<Value> split = prng.split(o, key, 2);
            carry = split.get(0);
            Value t = o.broadcast(java.util.Objects.requireNonNull(temperature), shape, 0);
            Value zero = o.zeros(ElementType.F32, shape);
            Value greedy = o.compare(t, zero, ComparisonDirection.LE);
            Value drawn = o.b().add(
                            o.b().divide(logits, o.b().select(greedy, o.constant(ElementType.F32, 1, shape), t)),
                            prng.gumbel(o, split.get(1), shape));
            scored = o.b().select(greedy, logits, drawn);
        }
        Value tokens = o.argMax(scored, 2);
        return new Choice(tokens, o.pick(logProbabilities, tokens), carry);
    }

    /** Whether tokens {@code i32[...]} are among those that end a row, {@code i1[...]}. */
    Value stops(Ops o, Value tokens) {
        long[] shape = o.shape(tokens);
        Value stops = o.constant(ElementType.I1, 0, shape);
        for (int id : options.stopIds().toArray()) {
            stops = o.b().or(stops, o.compare(tokens, o.int32(id, shape), ComparisonDirection.EQ));
        }
        return stops;
    }
}

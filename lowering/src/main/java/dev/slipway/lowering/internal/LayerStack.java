// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.DecoderConfig.Layer;
import dev.slipway.lowering.DecoderConfig.Rotary;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.LoweringException;
import dev.slipway.lowering.internal.DecoderEmitter.InCache;
import dev.slipway.lowering.internal.DecoderEmitter.KeysValues;
import dev.slipway.lowering.internal.DecoderEmitter.LayerView;
import dev.slipway.lowering.internal.DecoderEmitter.Positions;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Runs all layers over an activation and the KV cache, scanned or unrolled as the {@link Form} says.
 *
 * <p>The cache is a list of tensors: scanned, all keys {@code [layers, rows, kv_heads, columns, head_dim]} and all
 * values; unrolled, keys and values {@code [rows, kv_heads, columns, head_dim]} of each layer in turn, so that keys are at the
 * even places; the last two dimensions stand the other way round where the form says so. Either way a step writes one column of
 * each tensor in place.
 */
final class LayerStack {
    private static final int KEYS = 0;
    private static final int VALUES = 1;

    private final DecoderConfig config;
    private final Form form;
    private final DecoderEmitter emitter;
    private final ModelWeights weights;

    /**
     * @param weights the program's parameters by name: scanned, a layer's as {@code layers/q/weight} with the layers as
     *     first dimension; unrolled, as {@code layers/3/q/weight}
     */
    LayerStack(DecoderConfig config, Form form, DecoderEmitter emitter, ModelWeights weights) {
        this.config = config;
        this.form = form;
        this.emitter = emitter;
        this.weights = weights;
    }

    /** An activation and the cache, before or after the layers. */
    record State(Value x, List<Value> cache) {
        State {
            cache = List.copyOf(cache);
        }
    }

    /** Which columns a pass writes its keys and values to, and which it attends to. */
    sealed interface Pass {
        /** All positions of a prompt at once: written from column 0 on, attended to as they are. */
        record Prefill() implements Pass {}

        /**
         * One position, or some of a prompt: written from a column on, attended to with everything in the cache.
         *
         * @param going whether to run at all, {@code i1[]}; null if so. Unrolled layers run in any case
         */
        record Step(Value column, @Nullable Value going) implements Pass {}
    }

    /** Number of tensors in the cache. */
    int cacheTensors() {
        return form.layers() == Form.Layers.SCANNED ? 2 : 2 * config.depth();
    }

    /** How many columns the cache has for rows that may grow so long: those behind them hold nothing. */
    long cacheColumns(long length) {
        return ColumnSums.suit(form) ? ColumnSums.columns(length) : length;
    }

    /** Shape of a tensor of the cache, for rows that may grow so long. */
    long[] cacheShape(int tensor, long rows, long length) {
        DecoderConfig.Attention attention = config.attention();
        long columns = cacheColumns(length);
        long beforeLast = timeLast(tensor) ? attention.headDim() : columns;
        long last = timeLast(tensor) ? columns : attention.headDim();
        return form.layers() == Form.Layers.SCANNED
                ? new long[] {config.depth(), rows, attention.kvHeads(), beforeLast, last}
                : new long[] {rows, attention.kvHeads(), beforeLast, last};
    }

    /** Which dimension of the cache's tensors is the rows. */
    int cacheRowDimension() {
        return form.layers() == Form.Layers.SCANNED ? 1 : 0;
    }

    /** Which dimension of a tensor of the cache is the columns. */
    int cacheColumnDimension(int tensor) {
        return cacheRowDimension() + (timeLast(tensor) ? 3 : 2);
    }

    private boolean timeLast(int tensor) {
        return switch (form.cacheOrder()) {
            case HEAD_LAST -> false;
            case TIME_LAST -> true;
            case KEYS_TIME_LAST -> tensor % 2 == KEYS;
        };
    }

    /** Zeroes for some columns of all layers. */
    private List<Value> columns(Ops o, List<Value> cache, long count) {
        return IntStream.range(0, cache.size())
                .mapToObj(tensor -> {
                    long[] shape = o.shape(cache.get(tensor));
                    shape[cacheColumnDimension(tensor)] = count;
                    return o.zeros(form.cache(), shape);
                })
                .toList();
    }

    /** Writes columns of all layers, from {@code column} on. */
    private List<Value> putAll(Ops o, List<Value> cache, List<Value> columns, Value column) {
        return IntStream.range(0, cache.size())
                .mapToObj(tensor -> put(o, tensor, cache.get(tensor), columns.get(tensor), null, column))
                .toList();
    }

    /**
     * Writes columns from {@code column} on.
     *
     * @param tensor which of the cache's
     * @param layer of which one; null for all that the tensor has
     */
    private Value put(Ops o, int tensor, Value all, Value columns, @Nullable Value layer, Value column) {
        List<Value> starts = new ArrayList<>(Collections.nCopies(o.rank(all), o.scalar(ElementType.I32, 0)));
        if (layer != null) {
            starts.set(0, layer);
        }
        starts.set(o.rank(all) - (timeLast(tensor) ? 1 : 2), column);
        return o.b().dynamicUpdateSlice(all, columns, starts);
    }

    /** Runs the layers. */
    State run(Ops o, Pass pass, Positions where, State state) {
        Positions positions = emitter.atHeads(o, where);
        return form.layers() == Form.Layers.SCANNED
                ? scan(o, pass, positions, state)
                : unroll(o, pass, positions, state);
    }

    private @Nullable Value extent(Ops o, Pass pass, Positions positions, State state) {
        return pass instanceof Pass.Step && o.size(state.x(), 1) == 1 && ColumnSums.suit(form)
                ? ColumnSums.extent(o, positions.columns())
                : null;
    }

    private State unroll(Ops o, Pass pass, Positions positions, State state) {
        Map<Layer, LayerView> views = new HashMap<>();
        Value x = state.x();
        @Nullable Value extent = extent(o, pass, positions, state);
        List<Value> cache = new ArrayList<>();
        for (int i = 0; i < config.depth(); i++) {
            String prefix = "layers/" + i + "/";
            Slot slot = new Slot(
                    o,
                    pass,
                    extent,
                    null,
                    state.cache().get(2 * i),
                    state.cache().get(2 * i + 1));
            LayerView view = views.computeIfAbsent(config.layers().get(i), layer -> view(o, layer, positions));
            x = emitter.layer(o, name -> weights.get(prefix + name), view, slot, x);
            cache.add(slot.keys);
            cache.add(slot.values);
        }
        return new State(x, cache);
    }

    private State scan(Ops o, Pass pass, Positions positions, State state) {
        boolean uniform = config.uniform();
        @Nullable LayerView alike = uniform ? view(o, config.layers().getFirst(), positions) : null;
        Value all = o.scalar(ElementType.I32, config.depth());
        @Nullable Value going = pass instanceof Pass.Step step ? step.going() : null;
        Value depth = going == null ? all : o.b().select(going, all, o.scalar(ElementType.I32, 0));
        boolean reads = pass instanceof Pass.Step && form.cacheWrites() == Form.CacheWrites.BEHIND_LAYERS;
        @Nullable Value extent = extent(o, pass, positions, state);
        List<Value> cache = state.cache();
        List<Value> written = reads ? columns(o, cache, o.size(state.x(), 1)) : cache;
        List<Value> carried = o.loop(
                List.of(o.scalar(ElementType.I32, 0), state.x(), written.get(0), written.get(1)),
                (c, it) -> c.compare(it.get(0), depth, ComparisonDirection.LT),
                (c, it) -> {
                    Value index = it.get(0);
                    LayerView view = alike != null ? alike : indexedView(c, index, positions);
                    Slot slot = new Slot(c, reads ? new Pass.Prefill() : pass, extent, index, it.get(2), it.get(3));
                    DecoderEmitter.Cache seen = reads
                            ? fresh -> {
                                slot.write(fresh);
                                return new Slot(
                                                c,
                                                pass,
                                                extent,
                                                null,
                                                c.at(cache.get(0), index),
                                                c.at(cache.get(1), index))
                                        .apply(fresh);
                            }
                            : slot;
                    Value x = emitter.layer(c, weights.layer(c, index), view, seen, it.get(1));
                    return List.of(c.add(index, 1), x, slot.keys, slot.values);
                });
        State after = new State(carried.get(1), carried.subList(2, 4));
        return reads && pass instanceof Pass.Step step
                ? new State(after.x(), putAll(o, cache, after.cache(), step.column()))
                : after;
    }

    private LayerView view(Ops o, Layer layer, Positions positions) {
        Rotary rotary = layer.rotary();
        @Nullable
        Angles angles = rotary.dims() == 0
                ? null
                : angles(
                        o,
                        positions,
                        o.constants(frequencies(rotary.frequencies())),
                        x -> o.multiply(x, rotary.scaling().magnitude()));
        @Nullable Value window = layer.window() == 0 ? null : o.scalar(ElementType.I32, layer.window());
        return new LayerView(angles, emitter.visible(o, positions, window));
    }

    private Angles angles(Ops o, Positions positions, Value frequencies, UnaryOperator<Value> stretched) {
        Angles.Pairs pairs = weights.interleaved() ? Angles.Neighbours::new : Angles.Halves::new;
        return Angles.of(o, positions.queries(), frequencies, stretched, emitter.between(), pairs);
    }

    private double[] frequencies(double[] ofPairs) {
        return weights.interleaved()
                ? Arrays.stream(ofPairs)
                        .flatMap(each -> DoubleStream.of(each, each))
                        .toArray()
                : ofPairs;
    }

    /** What the layer at a run-time index sees: rows of constant tables. */
    private LayerView indexedView(Ops o, Value index, Positions positions) {
        int half = config.layers().getFirst().rotary().dims() / 2;
        double[] frequencies = new double[config.depth() * half];
        double[] windows = new double[config.depth()];
        double[] magnitudes = new double[config.depth()];
        for (int i = 0; i < config.depth(); i++) {
            Layer layer = config.layers().get(i);
            if (layer.rotary().dims() != 2 * half) {
                throw new LoweringException(
                        "layer %d turns %d elements of a head, layer 0 %d; layers that differ in this cannot share one scanned body: lower unrolled"
                                .formatted(i, layer.rotary().dims(), 2 * half));
            }
            System.arraycopy(layer.rotary().frequencies(), 0, frequencies, i * half, half);
            windows[i] = layer.window();
            magnitudes[i] = layer.rotary().scaling().magnitude();
        }
        @Nullable
        Angles angles = half == 0
                ? null
                : angles(
                        o,
                        positions,
                        o.at(
                                o.b().reshape(
                                                o.constants(frequencies(frequencies)),
                                                config.depth(),
                                                weights.interleaved() ? 2L * half : half),
                                index),
                        stretched(o, magnitudes, index));
        Value window = o.convert(o.at(o.constants(windows), index), ElementType.I32);
        return new LayerView(angles, emitter.visible(o, positions, window));
    }

    /** By the magnitude of the layer at a run-time index. */
    private static UnaryOperator<Value> stretched(Ops o, double[] magnitudes, Value index) {
        if (Arrays.stream(magnitudes).distinct().count() == 1) {
            return x -> o.multiply(x, magnitudes[0]);
        }
        Value magnitude = o.at(o.constants(magnitudes), index);
        return x -> o.multiply(x, o.broadcast(magnitude, o.shape(x)));
    }

    /** One layer's place in the cache; after the layer has run, {@code keys} and {@code values} are the new tensors. */
    private final class Slot implements DecoderEmitter.Cache {
        private final Ops o;
        private final Pass pass;
        private final @Nullable Value extent;
        private final @Nullable Value layer;
        private Value keys;
        private Value values;

        /**
         * @param extent which of the extents of {@link ColumnSums} holds what a step sees; null where it does not attend by them
         * @param layer index into stacked tensors; null where the tensors are this layer's alone
         */
        Slot(Ops o, Pass pass, @Nullable Value extent, @Nullable Value layer, Value keys, Value values) {
            this.o = o;
            this.pass = pass;
            this.extent = extent;
            this.layer = layer;
            this.keys = keys;
            this.values = values;
        }

        void write(KeysValues fresh) {
            Value column = pass instanceof Pass.Step step ? step.column() : o.scalar(ElementType.I32, 0);
            keys = write(KEYS, keys, o.convert(fresh.keys(), form.cache()), column);
            values = write(VALUES, values, o.convert(fresh.values(), form.cache()), column);
        }

        @Override
        public DecoderEmitter.Seen apply(KeysValues fresh) {
            write(fresh);
            return switch (pass) {
                case Pass.Prefill _ -> fresh;
                case Pass.Step _ ->
                    extent != null
                            ? new InCache(keys, values, layer, extent)
                            : new KeysValues(read(KEYS, keys), read(VALUES, values));
            };
        }

        private Value write(int tensor, Value all, Value fresh, Value column) {
            Value ordered = turned(tensor, fresh);
            long[] shape = o.shape(ordered);
            Value columns = layer == null ? ordered : o.b().reshape(ordered, 1, shape[0], shape[1], shape[2], shape[3]);
            return put(o, tensor, all, columns, layer, column);
        }

        private Value read(int tensor, Value all) {
            return turned(tensor, layer == null ? all : layerOf(all, layer));
        }

        /**
         * One layer of a stacked tensor. XLA:CPU copies it for the products that follow, and does so number by number in a
         * loop over a head's elements; over a layer's, it copies vectors.
         */
        private Value layerOf(Value tensor, Value layer) {
            if (form.matrices() == Form.Matrices.OUTPUT_MAJOR) {
                return o.at(tensor, layer);
            }
            long[] shape = o.shape(tensor);
            Value flat = o.b().reshape(tensor, shape[0], shape[1] * shape[2] * shape[3] * shape[4]);
            Value one = o.b().optimizationBarrier(List.of(o.at(flat, layer))).getFirst();
            return o.b().reshape(one, Arrays.copyOfRange(shape, 1, shape.length));
        }

        /** From the emitter's order to the cache's, or back. */
        private Value turned(int tensor, Value x) {
            return timeLast(tensor) ? o.transpose(x, 0, 1, 3, 2) : x;
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import com.google.common.collect.ImmutableMap;
import com.google.common.primitives.Longs;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.DecoderConfig.Activation;
import dev.slipway.lowering.DecoderConfig.FeedForward;
import dev.slipway.lowering.DecoderConfig.Norm;
import dev.slipway.lowering.DecoderConfig.NormPlacement;
import dev.slipway.lowering.DecoderConfig.QueryKeyNorm;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.Parameters;
import dev.slipway.lowering.Parameters.Weight;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.DotDimensionNumbers;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Emits a decoder's forward pass. Activations are {@code [batch, length, width]}, queries {@code [batch, kv_heads, group,
 * length, head_dim]}, keys and values {@code [batch, kv_heads, columns, head_dim]}: the order in which XLA's batched
 * matrix product wants them, so that nothing is transposed inside the decode loop.
 */
final class DecoderEmitter {
    /** Added to scores that must not be seen; small enough to vanish in the softmax, large enough not to overflow. */
    private static final double HIDDEN_SCORE = -1e30;

    /** What activations narrower than float32 are between two operations. */
    enum Roundings {
        /** Norms, rotary angles, scores and logits are float32 whatever the activations are. */
        FEW,
        /** As narrow as the activations but for means, softmax and what follows the logits: AXLearn's. */
        AT_EACH_OPERATION
    }

    private final DecoderConfig config;
    private final Form form;
    private final ElementType between;
    private final ImmutableMap<String, Weight> outside;
    private final ImmutableMap<String, Weight> layer;
    private final Exchange exchange;

    DecoderEmitter(DecoderConfig config, Form form, Roundings roundings, Exchange exchange) {
        this.config = config;
        this.form = form;
        this.between = roundings == Roundings.FEW ? ElementType.F32 : form.compute();
        this.exchange = exchange;
        this.outside = Parameters.outside(config);
        this.layer = Parameters.ofLayer(config);
    }

    /** The weights of one layer, or of none, by name. */
    @FunctionalInterface
    interface Weights {
        Value get(String name);

        /**
         * Products of {@code [batch, length, width]} with matrices that are stored as one; empty where each is by itself.
         */
        default Optional<List<Value>> products(Value x, List<String> names) {
            return Optional.empty();
        }
    }

    /** Keys and values that a layer attends to. */
    sealed interface Seen {}

    /**
     * Keys and values by themselves.
     *
     * @param keys {@code [batch, kv_heads, columns, head_dim]}
     * @param values {@code [batch, kv_heads, columns, head_dim]}
     */
    record KeysValues(Value keys, Value values) implements Seen {}

    /**
     * Keys and values in float32 where they lie in the cache, for one position that attends to them by {@link ColumnSums}.
     *
     * @param allKeys {@code [batch, kv_heads, head_dim, columns]}, or stacked with the layers in front
     * @param allValues {@code [batch, kv_heads, columns, head_dim]}, or stacked with the layers in front
     * @param layer which of the stacked layers, {@code i32[]}; null where they are not stacked
     * @param extent which of the extents to attend to, {@code i32[]}
     */
    record InCache(Value allKeys, Value allValues, @Nullable Value layer, Value extent) implements Seen {
        /** Rows of the keys, and their first columns: {@code f32[batch, kv_heads, rows, columns]}. */
        Value keys(Ops o, long from, long rows, long columns) {
            return o.window(allKeys, layer, new long[] {0, 0, from, 0}, rows, columns);
        }

        /** Values of some columns: {@code f32[batch, kv_heads, columns, head_dim]}. */
        Value values(Ops o, long from, long columns) {
            return o.window(allValues, layer, new long[] {0, 0, from, 0}, columns, headDim(o));
        }

        /** Numbers of a head. */
        long headDim(Ops o) {
            return o.size(allValues, o.rank(allValues) - 1);
        }
    }

    /** Takes a layer's fresh keys and values {@code [batch, kv_heads, length, head_dim]}, gives those to attend to. */
    @FunctionalInterface
    interface Cache extends Function<KeysValues, Seen> {}

    /**
     * Where the queries and the columns stand.
     *
     * @param queries positions of the queries, {@code i32[batch, length]}
     * @param columns positions of the columns, {@code i32[batch, columns]}; negative for a column that holds nothing
     */
    record Positions(Value queries, Value columns) {}

    /**
     * What differs between layers, as values: constants where all layers are alike, slices of tables in a scan.
     *
     * @param angles cosine and sine, null where nothing is turned
     * @param visible which columns a query sees, {@code i1[batch, length, columns]}
     */
    record LayerView(@Nullable Angles angles, Value visible) {}

    /** What norms, angles, scores and logits are made in. */
    ElementType between() {
        return between;
    }

    /** Token ids {@code i32[batch, length]} and their positions to activations {@code [batch, length, width]}. */
    Value embed(Ops o, Weights weights, Value ids, Value positions) {
        Value x = lookUp(o, weights, "embedding", ids);
        if (config.embeddingScale() != 1) {
            x = o.multiply(x, config.embeddingScale());
        }
        if (config.learnedPositions()) {
            x = o.add(x, lookUp(o, weights, "positions", o.maximum(positions, 0)));
        }
        return x;
    }

    private Value lookUp(Ops o, Weights weights, String table, Value rows) {
        Weight matrix = weight(outside, table);
        Value x;
        if (BlockMatrices.holds(form, matrix)) {
            x = BlockMatrices.rows(o, form, weights, table, rows);
        } else if (exchange.shares(matrix.name())) {
            x = exchange.back(o, o.rows(weights.get(matrix.name()), exchange.toTable(o, matrix.name(), rows)));
        } else {
            x = o.rows(weights.get(matrix.name()), rows);
        }
        return o.convert(x, form.compute());
    }

    /** Activations {@code [batch, width]} to logits {@code f32[batch, vocabulary]}. */
    Value logits(Ops o, Weights weights, Value x) {
        Value normal = norm(o, weights, "final_norm", x);
        String head = config.tiedHead() ? "embedding" : "head";
        Weight matrix = weight(outside, head);
        Value logits;
        if (BlockMatrices.holds(form, matrix)) {
            logits = BlockMatrices.product(o, form, weights, List.of(head), normal);
        } else if (exchange.shares(matrix.name())) {
            Value moved = exchange.to(o, matrix, normal);
            logits = exchange.back(o, matrix, o.dot(moved, weights.get(matrix.name()), 1, 1, ElementType.F32));
        } else {
            logits = o.dot(normal, weights.get(matrix.name()), 1, 1, ElementType.F32);
        }
        logits = rounded(o, logits);
        return config.logitCap() == 0 ? logits : o.cap(logits, config.logitCap());
    }

    /** One layer on activations {@code [batch, length, width]}. */
    Value layer(Ops o, Weights weights, LayerView view, Cache cache, Value x) {
        Value attended = config.placement() == NormPlacement.AFTER ? x : norm(o, weights, "attention_norm", x);
        attended = attention(o, weights, view, cache, attended);
        if (config.placement() != NormPlacement.BEFORE) {
            attended = norm(o, weights, "attention_post_norm", attended);
        }
        x = o.add(x, attended);
        Value fed = config.placement() == NormPlacement.AFTER ? x : norm(o, weights, "feed_forward_norm", x);
        fed = feedForward(o, weights, fed);
        if (config.placement() != NormPlacement.BEFORE) {
            fed = norm(o, weights, "feed_forward_post_norm", fed);
        }
        return o.add(x, fed);
    }

    /** Positions where the heads are, so that angles and what is visible need not be brought there in each layer. */
    Positions atHeads(Ops o, Positions positions) {
        return new Positions(exchange.toHeads(o, positions.queries()), exchange.toHeads(o, positions.columns()));
    }

    /**
     * Which columns each query sees: those that hold something at or before its position, and within the window.
     *
     * @param window {@code i32[]}, 0 for none; null where it is known to be none
     */
    Value visible(Ops o, Positions positions, @Nullable Value window) {
        long batch = o.size(positions.queries(), 0);
        long length = o.size(positions.queries(), 1);
        long columns = o.size(positions.columns(), 1);
        long[] shape = {batch, length, columns};
        Value q = o.broadcast(positions.queries(), shape, 0, 1);
        Value c = o.broadcast(positions.columns(), shape, 0, 2);
        Value visible = o.b().and(
                        o.compare(c, o.zeros(ElementType.I32, shape), ComparisonDirection.GE),
                        o.compare(c, q, ComparisonDirection.LE));
        if (window == null) {
            return visible;
        }
        Value w = o.broadcast(window, shape);
        Value near = o.compare(o.b().subtract(q, c), w, ComparisonDirection.LT);
        Value none = o.compare(w, o.zeros(ElementType.I32, shape), ComparisonDirection.EQ);
        return o.b().and(visible, o.b().or(near, none));
    }

    private Value attention(Ops o, Weights weights, LayerView view, Cache cache, Value x) {
        DecoderConfig.Attention attention = config.attention();
        long batch = o.size(x, 0);
        long length = o.size(x, 1);
        List<Value> projected = multiply(o, weights, x, "q", "k", "v");
        Value q = projected.get(0);
        Value k = projected.get(1);
        Value v = projected.get(2);
        if (attention.queryKeyNorm() != QueryKeyNorm.NONE) {
            q = queryKeyNorm(o, weights.get("q_norm/scale"), q);
            k = queryKeyNorm(o, weights.get("k_norm/scale"), k);
        }
        if (view.angles() != null) {
            q = view.angles().turn(o, q);
            k = view.angles().turn(o, k);
        }
        q = o.multiply(q, attention.scale());
        q = o.b().reshape(q, batch, length, attention.kvHeads(), attention.group(), attention.headDim());
        q = o.transpose(q, 0, 2, 3, 1, 4);
        Value mixed = switch (cache.apply(new KeysValues(o.transpose(k, 0, 2, 1, 3), o.transpose(v, 0, 2, 1, 3)))) {
            case KeysValues seen -> attend(o, q, seen, view.visible());
            case InCache seen ->
                ColumnSums.attend(
                        o,
                        o.b().reshape(q, batch, attention.kvHeads(), attention.group(), attention.headDim()),
                        seen,
                        view.visible(),
                        (c, scores, visible) ->
                                mask(c, scores, c.b().reshape(visible, batch, c.size(visible, 2)), 0, 3));
        };
        mixed = o.b().reshape(mixed, batch, length, (long) attention.heads() * attention.headDim());
        mixed = exchange.attended(o, weight(layer, "o"), mixed);
        return multiply(o, weights, o.convert(mixed, form.compute()), "o").getFirst();
    }

    /** Values weighted by the softmax of scores, as products of matrices: {@code [batch, length, kv_heads, group, head_dim]}. */
    private Value attend(Ops o, Value q, KeysValues seen, Value visible) {
        if (form.cacheWrites() == Form.CacheWrites.BEHIND_LAYERS && o.size(q, 2) * o.size(q, 3) == 1) {
            // libtpu makes a sum of a product with one vector: a second one, of zeros, keeps it a product of matrices.
            Value two = o.b().concatenate(List.of(q, o.zeros(form.compute(), o.shape(q))), 2);
            return o.sliceAxis(attend(o, two, seen, visible), 3, 0, 1);
        }
        Value scores = mask(o, scores(o, q, o.convert(seen.keys(), form.compute())), visible, 0, 3, 4);
        Value mixed = o.batchDot(
                o.convert(o.softmax(scores), form.compute()),
                o.convert(seen.values(), form.compute()),
                4,
                2,
                form.compute());
        return o.transpose(mixed, 0, 3, 1, 2, 4);
    }

    /** Caps scores, and takes those out of sight whose columns are: {@code dimensions} are those of {@code visible}. */
    private Value mask(Ops o, Value scores, Value visible, long... dimensions) {
        Value capped = config.attention().scoreCap() == 0
                ? scores
                : o.cap(scores, config.attention().scoreCap());
        return o.b().select(o.broadcast(visible, o.shape(capped), dimensions), capped, o.splat(HIDDEN_SCORE, capped));
    }

    /** Queries and keys {@code [batch, kv_heads, columns, head_dim]} to {@code f32[batch, kv_heads, group, length, columns]}. */
    private Value scores(Ops o, Value q, Value keys) {
        if (form.matrices() == Form.Matrices.OUTPUT_MAJOR || o.size(q, 3) > 1) {
            return rounded(o, o.batchDot(q, keys, 4, 3, ElementType.F32));
        }
        // XLA:CPU copies a right side whose contracted dimension is the last: rather the queries than all keys.
        return o.transpose(rounded(o, o.batchDot(keys, q, 3, 4, ElementType.F32)), 0, 1, 3, 4, 2);
    }

    /**
     * Multiplies {@code [batch, length, in]} with matrices of the same inputs, and adds biases: {@code [batch, length,
     * out...]} each.
     */
    private List<Value> multiply(Ops o, Weights weights, Value x, String... names) {
        List<String> list = List.of(names);
        List<Value> products = BlockMatrices.holds(form, weight(layer, names[0]))
                ? multiplyBlocks(o, weights, x, list)
                : weights.products(x, list)
                        .orElseGet(() -> list.stream()
                                .map(name -> multiply(o, x, weight(layer, name), weights.get(name + "/weight")))
                                .toList());
        List<Value> biased = new ArrayList<>();
        for (int i = 0; i < names.length; i++) {
            Value y = products.get(i);
            long[] outputs = LongStream.range(2, o.rank(y)).toArray();
            boolean bias = layer.containsKey(names[i] + "/bias");
            biased.add(bias ? o.addAlong(y, weights.get(names[i] + "/bias"), outputs) : y);
        }
        return biased;
    }

    private Value multiply(Ops o, Value activations, Weight weight, Value matrix) {
        long[] rows = {o.size(activations, 0), o.size(activations, 1)};
        boolean moves = exchange.moves(o, weight, activations);
        if (!moves && form.products() == Form.Products.JOINED) {
            long[] outputs = Arrays.copyOf(o.shape(matrix), weight.outputs());
            Value joined = o.b().reshape(matrix, weight.out(), weight.in());
            return o.b().reshape(o.dot(activations, joined, 2, 1, form.compute()), Longs.concat(rows, outputs));
        }
        // AXLearn's matrix behind the attention has the heads as a dimension of its own.
        long[] inputs = Arrays.copyOfRange(o.shape(matrix), weight.outputs(), o.rank(matrix));
        Value x = o.b().reshape(activations, Longs.concat(rows, inputs));
        Value y = o.contract(
                moves ? exchange.to(o, weight, x) : x,
                matrix,
                LongStream.range(2, o.rank(x)).toArray(),
                LongStream.range(weight.outputs(), o.rank(matrix)).toArray(),
                form.compute());
        if (!moves) {
            return y;
        }
        // What lies between two projections is as their matrices are, unless each device would have all of it.
        boolean between = switch (weight.axes().getFirst()) {
            case HIDDEN -> exchange.cutsOutputs(weight);
            case HEADS, KV_HEADS -> exchange.byHeads();
            default -> false;
        };
        return between ? exchange.at(o, weight, y) : exchange.back(o, weight, y);
    }

    private List<Value> multiplyBlocks(Ops o, Weights weights, Value x, List<String> names) {
        long batch = o.size(x, 0);
        long length = o.size(x, 1);
        Value flat =
                o.b().reshape(x, batch * length, weight(layer, names.getFirst()).in());
        Value y = o.convert(BlockMatrices.product(o, form, weights, names, flat), form.compute());
        List<Value> products = new ArrayList<>();
        long at = 0;
        for (String name : names) {
            Weight matrix = weight(layer, name);
            LongStream.Builder shape = LongStream.builder().add(batch).add(length);
            matrix.shape().subList(0, matrix.outputs()).forEach(shape::add);
            products.add(o.b().reshape(
                            o.sliceAxis(y, 1, at, at + matrix.out()),
                            shape.build().toArray()));
            at += matrix.out();
        }
        return products;
    }

    private static Weight weight(ImmutableMap<String, Weight> weights, String matrix) {
        return Objects.requireNonNull(weights.get(matrix + "/weight"), matrix);
    }

    /** Normalises {@code [batch, length, heads, head_dim]} over the axes that the scale has. */
    private Value queryKeyNorm(Ops o, Value scale, Value x) {
        if (o.rank(scale) == 1) {
            return normalise(o, scale, null, x);
        }
        long[] shape = o.shape(x);
        long flat = shape[2] * shape[3];
        Value y = normalise(o, o.b().reshape(scale, flat), null, o.b().reshape(x, shape[0], shape[1], flat));
        return o.b().reshape(y, shape);
    }

    private Value feedForward(Ops o, Weights weights, Value x) {
        return switch (config.feedForward()) {
            case FeedForward.Gated gated -> {
                List<Value> hidden = multiply(o, weights, x, "gate", "up");
                Value gate = activate(o, gated.activation(), hidden.get(0));
                yield multiply(o, weights, o.multiply(gate, hidden.get(1)), "down")
                        .getFirst();
            }
            case FeedForward.Plain plain -> {
                Value hidden = multiply(o, weights, x, "up").getFirst();
                yield multiply(o, weights, activate(o, plain.activation(), hidden), "down")
                        .getFirst();
            }
            case FeedForward.Experts experts -> mixture(o, weights, experts, x);
        };
    }

    /**
     * A mixture of experts, every expert computed for every token and the unchosen ones weighted 0: exact, without a
     * capacity limit, and one matrix product per projection, at {@code experts / active} times the arithmetic.
     */
    private Value mixture(Ops o, Weights weights, FeedForward.Experts experts, Value x) {
        Value router = o.softmax(o.dot(x, weights.get("router/weight"), 2, 1, ElementType.F32));
        Value chosen = o.keepTop(router, experts.active());
        if (experts.renormalise()) {
            chosen = o.b().divide(chosen, o.broadcast(o.sum(chosen, 2), o.shape(chosen), 0, 1));
        }
        Value gate = ofExperts(o, x, weights.get("experts/gate/weight"));
        Value up = ofExperts(o, x, weights.get("experts/up/weight"));
        Value hidden = o.b().multiply(activate(o, experts.activation(), gate), up);
        hidden = o.b().multiply(hidden, o.broadcast(o.convert(chosen, form.compute()), o.shape(hidden), 0, 1, 2));
        Value down = weights.get("experts/down/weight");
        if (form.products() == Form.Products.AS_STORED) {
            return o.contract(hidden, down, new long[] {2, 3}, new long[] {0, 2}, form.compute());
        }
        // An expert at a time, and on the left, where XLA:CPU leaves matrices as they are.
        Value each = o.b().dotGeneral(
                        o.convert(down, form.compute()),
                        o.transpose(hidden, 2, 3, 0, 1),
                        DotDimensionNumbers.of(new long[] {0}, new long[] {0}, new long[] {2}, new long[] {1}),
                        ElementType.F32);
        return o.convert(o.transpose(o.sum(each, 0), 1, 2, 0), form.compute());
    }

    /** What experts' matrices {@code [experts, hidden, in]} give: {@code [batch, length, experts, hidden]}. */
    private Value ofExperts(Ops o, Value x, Value matrices) {
        if (form.products() == Form.Products.AS_STORED) {
            return o.dot(x, matrices, 2, 2, form.compute());
        }
        long[] shape = o.shape(matrices);
        Value joined = o.b().reshape(matrices, shape[0] * shape[1], shape[2]);
        Value y = o.dot(x, joined, 2, 1, form.compute());
        return o.b().reshape(y, o.size(x, 0), o.size(x, 1), shape[0], shape[1]);
    }

    private Value activate(Ops o, Activation activation, Value x) {
        return switch (activation) {
            case SILU -> o.b().multiply(x, logistic(o, x));
            case GELU -> o.multiply(o.b().multiply(x, o.add(o.erf(o.multiply(x, Math.sqrt(0.5))), 1)), 0.5);
            case GELU_TANH -> {
                Value cube = o.b().multiply(o.b().multiply(x, x), x);
                Value inner = o.multiply(o.b().add(x, o.multiply(cube, 0.044715)), Math.sqrt(2 / Math.PI));
                yield o.multiply(o.b().multiply(x, o.add(o.b().tanh(inner), 1)), 0.5);
            }
            case RELU -> o.maximum(x, 0);
        };
    }

    /**
     * A product that is float32 as one that is not would be. That one libtpu cuts otherwise over the mesh: a head at twice the
     * arithmetic.
     */
    private Value rounded(Ops o, Value product) {
        return o.convert(o.convert(product, between), ElementType.F32);
    }

    /** JAX writes this one out, so that each of its operations rounds; as one it is rounded once. */
    private Value logistic(Ops o, Value x) {
        return between.equals(ElementType.F32)
                ? o.b().logistic(x)
                : o.b().divide(o.splat(1, x), o.add(o.b().exponential(o.b().negate(x)), 1));
    }

    private Value norm(Ops o, Weights weights, String name, Value x) {
        @Nullable Value bias = config.norm().kind() == Norm.Kind.LAYER ? weights.get(name + "/bias") : null;
        return normalise(o, weights.get(name + "/scale"), bias, x);
    }

    /** Normalises over the last axis; means are float32 whatever activations are, more as the norm's precision says. */
    private Value normalise(Ops o, Value scale, @Nullable Value bias, Value x) {
        int last = o.rank(x) - 1;
        long[] shape = o.shape(x);
        long[] outer = Ops.range(last);
        Norm norm = config.norm();
        Value y = o.convert(x, norm.precision() == Norm.Precision.FLOAT32 ? ElementType.F32 : between);
        if (norm.kind() == Norm.Kind.LAYER) {
            y = o.b().subtract(y, o.broadcast(mean(o, y), shape, outer));
        }
        Value factor = o.b().rsqrt(o.add(mean(o, o.b().multiply(y, y)), norm.epsilon()));
        y = o.convert(o.b().multiply(y, o.broadcast(factor, shape, outer)), between);
        Value gain = o.convert(scale, between);
        y = o.b().multiply(y, o.broadcast(norm.unitOffset() ? o.add(gain, 1) : gain, shape, last));
        if (bias != null) {
            y = o.b().add(y, o.broadcast(o.convert(bias, between), shape, last));
        }
        return o.convert(y, form.compute());
    }

    /** The mean over the last axis, of what it is taken of. */
    private Value mean(Ops o, Value x) {
        int last = o.rank(x) - 1;
        Value mean = o.multiply(o.sum(o.convert(x, ElementType.F32), last), 1.0 / o.size(x, last));
        return o.convert(mean, x.tensorType().element());
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import com.google.common.primitives.Longs;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.DecoderConfig.Activation;
import dev.slipway.lowering.DecoderConfig.FeedForward;
import dev.slipway.lowering.DecoderConfig.Norm;
import dev.slipway.lowering.DecoderConfig.NormPlacement;
import dev.slipway.lowering.DecoderConfig.QueryKeyNorm;
import dev.slipway.lowering.LoweringException;
import dev.slipway.lowering.Parameters;
import dev.slipway.mesh.PartitionSpec;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The parameter tree of AXLearn's fuji models, and the weights that the emitter wants as views of it. Views are taken
 * inside the layer loop, where XLA folds their transposes into the matrix products. Source of paths, shapes and axes: the
 * parameter specs of fuji-1B, 7B and 70B at AXLearn 34aed43c.
 *
 * @param values the parameters by path
 */
record AxlearnParameters(DecoderConfig config, Values values) implements ModelWeights {
    private static final String LAYER = "decoder/transformer/repeat/layer/";
    private static final String EMBEDDING = "decoder/emb/token_emb/weight";
    private static final String HEAD = "decoder/lm_head/weight";
    private static final String OUTPUT_NORM = "decoder/output_norm/scale";
    private static final String ATTENTION_NORM = LAYER + "self_attention/norm/scale";
    private static final String QKV = LAYER + "self_attention/attention/i_proj/i_proj/qkv_proj/weight";
    private static final String OUT = LAYER + "self_attention/attention/o_proj/weight";
    private static final String FEED_FORWARD_NORM = LAYER + "feed_forward/norm/scale";
    private static final String GATE = LAYER + "feed_forward/linear1_0/weight";
    private static final String UP = LAYER + "feed_forward/linear1_1/weight";
    private static final String DOWN = LAYER + "feed_forward/linear2/weight";

    /** Matrices of a layer that are stored each by itself, and which of their dimensions are {@link Parameters}' own in turn. */
    private static final ImmutableMap<String, Place> MATRICES = ImmutableMap.of(
            "o/weight", new Place(OUT, List.of(0, 1, 2)),
            "gate/weight", new Place(GATE, List.of(1, 0)),
            "up/weight", new Place(UP, List.of(1, 0)),
            "down/weight", new Place(DOWN, List.of(1, 0)));

    /**
     * Where a layer's matrix is.
     *
     * @param path to the stacked parameter
     * @param order behind the dimension of layers, which dimension stands first, second, ...
     */
    private record Place(String path, List<Integer> order) {}

    /** A parameter's shape, and for each dimension the mesh axes that it is cut along. */
    record Stored(List<Long> shape, List<List<String>> axes) {}

    /**
     * The tree, in AXLearn's order: paths sorted.
     *
     * @throws LoweringException if the model is not of the fuji kind
     */
    static ImmutableMap<String, Stored> of(DecoderConfig config) {
        require(
                config.feedForward() instanceof FeedForward.Gated gated
                        && gated.activation() == Activation.SILU
                        && !gated.bias(),
                config,
                "SwiGLU without biases");
        require(config.norm().kind() == Norm.Kind.RMS && !config.norm().unitOffset(), config, "RMS norms");
        require(config.placement() == NormPlacement.BEFORE, config, "norms before the blocks");
        require(!config.learnedPositions(), config, "rotary positions");
        DecoderConfig.Attention attention = config.attention();
        require(
                !attention.projectionBias() && !attention.outputBias() && attention.queryKeyNorm() == QueryKeyNorm.NONE,
                config,
                "attention without biases and norms");
        long depth = config.depth();
        long width = config.width();
        long hidden = config.feedForward().hidden();
        long heads = attention.heads();
        long kvHeads = attention.kvHeads();
        long headDim = attention.headDim();
        List<String> whole = List.of();
        List<String> model = List.of("model");
        List<String> fsdp = List.of("expert", "fsdp", "seq");
        Map<String, Stored> tree = new LinkedHashMap<>();
        tree.put(EMBEDDING, new Stored(List.of((long) config.vocabulary(), width), List.of(whole, model)));
        if (!config.tiedHead()) {
            tree.put(HEAD, new Stored(List.of((long) config.vocabulary(), width), List.of(whole, model)));
        }
        tree.put(OUTPUT_NORM, new Stored(List.of(width), List.of(whole)));
        Stored in = new Stored(List.of(depth, width, hidden), List.of(whole, fsdp, model));
        tree.put(GATE, in);
        tree.put(UP, in);
        tree.put(DOWN, new Stored(List.of(depth, hidden, width), List.of(whole, model, fsdp)));
        Stored norm = new Stored(List.of(depth, width), List.of(whole, whole));
        tree.put(FEED_FORWARD_NORM, norm);
        tree.put(
                QKV,
                heads == kvHeads
                        ? new Stored(
                                List.of(depth, 3L, width, heads, headDim), List.of(whole, whole, fsdp, model, whole))
                        : new Stored(
                                List.of(depth, width, heads + 2 * kvHeads, headDim),
                                List.of(whole, fsdp, model, whole)));
        tree.put(OUT, new Stored(List.of(depth, width, heads, headDim), List.of(whole, fsdp, model, whole)));
        tree.put(ATTENTION_NORM, norm);
        return ImmutableMap.copyOf(tree);
    }

    /**
     * How the matrices of a layer lie, by Slipway's names. That of queries, keys and values is not among them: moving their
     * activations, too, fills the on-chip memory of a v4 with the vocabulary's matrix (docs/performance.md).
     *
     * @param partition of a parameter by its path
     */
    static ImmutableMap<String, PartitionSpec> matrices(Function<String, PartitionSpec> partition) {
        return ImmutableMap.copyOf(Maps.transformValues(MATRICES, place -> {
            PartitionSpec stacked = partition.apply(place.path());
            return new PartitionSpec(place.order().stream()
                    .map(dimension -> stacked.axes(dimension + 1))
                    .toList());
        }));
    }

    private static void require(boolean met, DecoderConfig config, String what) {
        if (!met) {
            throw new LoweringException(
                    "this %s is no model of the fuji kind, which has %s; take its parameters as Slipway names them"
                            .formatted(config.family(), what));
        }
    }

    @Override
    public Value get(String name) {
        return values.get(
                switch (name) {
                    case "embedding/weight" -> EMBEDDING;
                    case "head/weight" -> HEAD;
                    case "final_norm/scale" -> OUTPUT_NORM;
                    default -> throw new IllegalStateException(name + " is no weight outside the layers");
                });
    }

    @Override
    public boolean interleaved() {
        return true;
    }

    @Override
    public DecoderEmitter.Weights layer(Ops o, Value index) {
        return new Layer(o, index);
    }

    private final class Layer implements DecoderEmitter.Weights {
        private final Ops o;
        private final Value index;

        Layer(Ops o, Value index) {
            this.o = o;
            this.index = index;
        }

        @Override
        public Value get(String name) {
            return switch (name) {
                case "attention_norm/scale" -> at(ATTENTION_NORM);
                case "feed_forward_norm/scale" -> at(FEED_FORWARD_NORM);
                default -> {
                    @Nullable Place place = MATRICES.get(name);
                    if (place == null) {
                        throw new IllegalStateException(name + " is no weight of a layer");
                    }
                    yield o.transpose(at(place.path()), Longs.toArray(place.order()));
                }
            };
        }

        private Value at(String path) {
            return o.at(values.get(path), index);
        }

        /** Queries, keys and values in one product, as their matrices are stored in one. */
        @Override
        public Optional<List<Value>> products(Value x, List<String> names) {
            if (!names.equals(List.of("q", "k", "v"))) {
                return Optional.empty();
            }
            Value joined = at(QKV);
            boolean alike = o.rank(joined) == 4;
            Value y = o.dot(x, joined, 2, alike ? 1 : 0, x.tensorType().element());
            List<Value> products = new ArrayList<>();
            long first = 0;
            int kvHeads = config.attention().kvHeads();
            for (int heads : List.of(config.attention().heads(), kvHeads, kvHeads)) {
                if (alike) {
                    Value part = o.sliceAxis(y, 2, products.size(), products.size() + 1L);
                    products.add(o.b().reshape(part, o.size(y, 0), o.size(y, 1), heads, o.size(y, 4)));
                } else {
                    products.add(o.sliceAxis(y, 2, first, first + heads));
                    first += heads;
                }
            }
            return Optional.of(products);
        }
    }
}

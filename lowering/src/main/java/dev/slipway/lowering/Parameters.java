// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import com.google.common.collect.ImmutableMap;
import dev.slipway.lowering.DecoderConfig.FeedForward;
import dev.slipway.lowering.DecoderConfig.Norm;
import dev.slipway.lowering.DecoderConfig.NormPlacement;
import dev.slipway.lowering.DecoderConfig.QueryKeyNorm;
import java.util.ArrayList;
import java.util.List;

/**
 * The weights that a decoder has: names and logical shapes. Matrices are output-major, {@code [out, in]}, with the heads
 * as axes of their own where they are outputs; that is the row-major order in which both Hugging Face and GGUF files store
 * them. Where heads are inputs they are one axis with what is within them: as two, libtpu copies the matrix in each run.
 *
 * <table><caption>Names</caption>
 * <tr><th>name</th><th>shape</th></tr>
 * <tr><td>{@code embedding/weight}</td><td>{@code [vocabulary, width]}</td></tr>
 * <tr><td>{@code positions/weight}</td><td>{@code [maxPositions, width]}</td></tr>
 * <tr><td>{@code layers/N/q/weight}, {@code bias}</td><td>{@code [heads, head_dim, width]}, {@code [heads, head_dim]}</td></tr>
 * <tr><td>{@code layers/N/k/...}, {@code layers/N/v/...}</td><td>{@code [kv_heads, head_dim, width]}, ...</td></tr>
 * <tr><td>{@code layers/N/q_norm/scale}, {@code k_norm}</td><td>{@code [head_dim]} or {@code [heads, head_dim]}</td></tr>
 * <tr><td>{@code layers/N/o/weight}, {@code bias}</td><td>{@code [width, heads * head_dim]}, {@code [width]}</td></tr>
 * <tr><td>{@code layers/N/gate/weight}, {@code up}; {@code bias}</td><td>{@code [hidden, width]}; {@code [hidden]}</td></tr>
 * <tr><td>{@code layers/N/down/weight}, {@code bias}</td><td>{@code [width, hidden]}, {@code [width]}</td></tr>
 * <tr><td>{@code layers/N/router/weight}</td><td>{@code [experts, width]}</td></tr>
 * <tr><td>{@code layers/N/experts/gate/weight}, {@code up}</td><td>{@code [experts, hidden, width]}</td></tr>
 * <tr><td>{@code layers/N/experts/down/weight}</td><td>{@code [experts, width, hidden]}</td></tr>
 * <tr><td>{@code layers/N/attention_norm/scale}, {@code bias}; {@code feed_forward_norm}; {@code attention_post_norm};
 *     {@code feed_forward_post_norm}</td><td>{@code [width]}</td></tr>
 * <tr><td>{@code final_norm/scale}, {@code bias}</td><td>{@code [width]}</td></tr>
 * <tr><td>{@code head/weight}</td><td>{@code [vocabulary, width]}, absent when tied</td></tr>
 * </table>
 */
public final class Parameters {
    private Parameters() {}

    /**
     * A weight of a decoder.
     *
     * @param name its name; a layer's weight is named without {@code layers/N/}
     * @param axes what each dimension means, in order
     * @param shape the sizes, in order
     * @param outputs how many leading dimensions are the outputs of a matrix, the others being its inputs; 0 for what is
     *     not multiplied with activations
     */
    public record Weight(String name, List<Axis> axes, List<Integer> shape, int outputs) {
        public Weight {
            axes = List.copyOf(axes);
            shape = List.copyOf(shape);
        }

        /** How many outputs a matrix has. */
        public long out() {
            return product(shape.subList(0, outputs));
        }

        /** How many inputs a matrix has. */
        public long in() {
            return product(shape.subList(outputs, shape.size()));
        }

        /** How many numbers there are. */
        public long numbers() {
            return product(shape);
        }

        private static long product(List<Integer> sizes) {
            return sizes.stream().mapToLong(Integer::longValue).reduce(1, (a, b) -> a * b);
        }
    }

    /** What a dimension of a weight means; shardings are stated in these terms. */
    public enum Axis {
        /** Tokens. */
        VOCABULARY,
        /** The residual stream. */
        WIDTH,
        /** Positions of a learned embedding. */
        POSITION,
        /** Query heads. */
        HEADS,
        /** Key and value heads. */
        KV_HEADS,
        /** Within a head. */
        HEAD_DIM,
        /** What attention gives: all query heads, the numbers of each behind those of the one before. */
        ATTENDED,
        /** Between the feed-forward's projections. */
        HIDDEN,
        /** Experts of a mixture. */
        EXPERTS
    }

    /** The weights outside the layers, by name, in the order in which the program takes them. */
    public static ImmutableMap<String, Weight> outside(DecoderConfig config) {
        Builder to = new Builder(config);
        to.add("embedding/weight", List.of(Axis.VOCABULARY, Axis.WIDTH), config.tiedHead() ? 1 : 0);
        if (config.learnedPositions()) {
            to.add("positions/weight", Axis.POSITION, Axis.WIDTH);
        }
        to.norm("final_norm");
        if (!config.tiedHead()) {
            to.add("head/weight", List.of(Axis.VOCABULARY, Axis.WIDTH), 1);
        }
        return to.build();
    }

    /** The weights of one layer, by name without {@code layers/N/}, in the order in which the program takes them. */
    public static ImmutableMap<String, Weight> ofLayer(DecoderConfig config) {
        Builder to = new Builder(config);
        DecoderConfig.Attention attention = config.attention();
        boolean before = config.placement() != NormPlacement.AFTER;
        boolean after = config.placement() != NormPlacement.BEFORE;
        if (before) {
            to.norm("attention_norm");
        }
        to.projection("q", attention.projectionBias(), List.of(Axis.HEADS, Axis.HEAD_DIM), List.of(Axis.WIDTH));
        to.projection("k", attention.projectionBias(), List.of(Axis.KV_HEADS, Axis.HEAD_DIM), List.of(Axis.WIDTH));
        to.projection("v", attention.projectionBias(), List.of(Axis.KV_HEADS, Axis.HEAD_DIM), List.of(Axis.WIDTH));
        if (attention.queryKeyNorm() == QueryKeyNorm.PER_HEAD) {
            to.add("q_norm/scale", Axis.HEAD_DIM);
            to.add("k_norm/scale", Axis.HEAD_DIM);
        } else if (attention.queryKeyNorm() == QueryKeyNorm.ALL_HEADS) {
            to.add("q_norm/scale", Axis.HEADS, Axis.HEAD_DIM);
            to.add("k_norm/scale", Axis.KV_HEADS, Axis.HEAD_DIM);
        }
        to.projection("o", attention.outputBias(), List.of(Axis.WIDTH), List.of(Axis.ATTENDED));
        if (after) {
            to.norm("attention_post_norm");
        }
        if (before) {
            to.norm("feed_forward_norm");
        }
        switch (config.feedForward()) {
            case FeedForward.Gated gated -> {
                to.projection("gate", gated.bias(), List.of(Axis.HIDDEN), List.of(Axis.WIDTH));
                to.projection("up", gated.bias(), List.of(Axis.HIDDEN), List.of(Axis.WIDTH));
                to.projection("down", gated.bias(), List.of(Axis.WIDTH), List.of(Axis.HIDDEN));
            }
            case FeedForward.Plain plain -> {
                to.projection("up", plain.bias(), List.of(Axis.HIDDEN), List.of(Axis.WIDTH));
                to.projection("down", plain.bias(), List.of(Axis.WIDTH), List.of(Axis.HIDDEN));
            }
            case FeedForward.Experts _ -> {
                to.add("router/weight", Axis.EXPERTS, Axis.WIDTH);
                to.add("experts/gate/weight", Axis.EXPERTS, Axis.HIDDEN, Axis.WIDTH);
                to.add("experts/up/weight", Axis.EXPERTS, Axis.HIDDEN, Axis.WIDTH);
                to.add("experts/down/weight", Axis.EXPERTS, Axis.WIDTH, Axis.HIDDEN);
            }
        }
        if (after) {
            to.norm("feed_forward_post_norm");
        }
        return to.build();
    }

    /** How many numbers the model has, layers included. */
    public static long count(DecoderConfig config) {
        return numbers(outside(config)) + config.depth() * numbers(ofLayer(config));
    }

    private static long numbers(ImmutableMap<String, Weight> weights) {
        return weights.values().stream().mapToLong(Weight::numbers).sum();
    }

    private static final class Builder {
        private final DecoderConfig config;
        private final ImmutableMap.Builder<String, Weight> weights = ImmutableMap.builder();

        Builder(DecoderConfig config) {
            this.config = config;
        }

        void add(String name, Axis... axes) {
            add(name, List.of(axes), 0);
        }

        void add(String name, List<Axis> axes, int outputs) {
            weights.put(
                    name, new Weight(name, axes, axes.stream().map(this::size).toList(), outputs));
        }

        void norm(String name) {
            add(name + "/scale", Axis.WIDTH);
            if (config.norm().kind() == Norm.Kind.LAYER) {
                add(name + "/bias", Axis.WIDTH);
            }
        }

        void projection(String name, boolean bias, List<Axis> out, List<Axis> in) {
            List<Axis> axes = new ArrayList<>(out);
            axes.addAll(in);
            add(name + "/weight", axes, out.size());
            if (bias) {
                add(name + "/bias", out, 0);
            }
        }

        int size(Axis axis) {
            return switch (axis) {
                case VOCABULARY -> config.vocabulary();
                case WIDTH -> config.width();
                case POSITION -> config.maxPositions();
                case HEADS -> config.attention().heads();
                case KV_HEADS -> config.attention().kvHeads();
                case HEAD_DIM -> config.attention().headDim();
                case ATTENDED -> config.attention().heads() * config.attention().headDim();
                case HIDDEN -> config.feedForward().hidden();
                case EXPERTS -> config.feedForward() instanceof FeedForward.Experts experts ? experts.experts() : 1;
            };
        }

        ImmutableMap<String, Weight> build() {
            return weights.buildOrThrow();
        }
    }
}

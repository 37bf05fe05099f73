// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import com.google.common.collect.ImmutableList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A decoder-only transformer in plain terms: everything that lowering has to know of a model, and nothing of where its
 * weights lie. Checkpoints produce it from {@code config.json} or GGUF metadata; presets produce it from a name.
 *
 * @param family the architecture's name as people say it, for messages and cache keys, e.g. {@code "llama"}
 * @param vocabulary rows of the embedding and columns of the logits
 * @param width the residual stream's size ("hidden size", "model dim")
 * @param maxPositions how many positions the model was made for; a longer sequence is refused
 * @param attention what is alike in every layer's attention
 * @param layers per layer, which span it attends to and how it turns its queries and keys; its size is the depth
 * @param feedForward the block after attention
 * @param norm the normalisation used throughout
 * @param placement where in a layer the norms stand
 * @param learnedPositions whether a learned position embedding is added to the token's (GPT-2)
 * @param embeddingScale factor on the embedding's output; 1 for most, sqrt(width) for Gemma
 * @param tiedHead whether the logits use the embedding's matrix
 * @param logitCap {@code cap * tanh(logits / cap)}; 0 for none
 */
public record DecoderConfig(
        String family,
        int vocabulary,
        int width,
        int maxPositions,
        Attention attention,
        ImmutableList<Layer> layers,
        FeedForward feedForward,
        Norm norm,
        NormPlacement placement,
        boolean learnedPositions,
        double embeddingScale,
        boolean tiedHead,
        double logitCap) {

    /**
     * @throws LoweringException if a size is not positive, there is no layer, the heads are not a multiple of the KV heads,
     *     or more of a head turns than there is of it
     */
    public DecoderConfig {
        positive("vocabulary", vocabulary);
        positive("width", width);
        positive("maxPositions", maxPositions);
        if (layers.isEmpty()) {
            throw new LoweringException("the model has no layers; at least one is expected");
        }
        for (Layer layer : layers) {
            if (layer.rotary().dims() > attention.headDim()) {
                throw new LoweringException("rotary dims %d are more than the %d of a head"
                        .formatted(layer.rotary().dims(), attention.headDim()));
            }
        }
        positive("the embedding's scale", embeddingScale);
        notNegative("the logits' cap", logitCap);
    }

    /** The number of layers. */
    public int depth() {
        return layers.size();
    }

    /** Whether all layers attend alike, so that nothing of a layer but its weights differs from the next. */
    public boolean uniform() {
        // Layers are one object for the most part, and the first comparison of records in a process takes milliseconds.
        return !layers.isEmpty() && layers.stream().allMatch(layer -> Objects.equals(layer, layers.getFirst()));
    }

    /**
     * A Llama: RMS norm before each block, rotary positions, grouped-query attention, SwiGLU, no biases.
     *
     * {@snippet :
     * DecoderConfig smolLm2 = DecoderConfig.llama(llama -> llama.vocabulary(49_152)
     *         .width(576)
     *         .depth(30)
     *         .heads(9, 3, 64)
     *         .feedForward(1536)
     *         .maxPositions(8192)
     *         .rotary(DecoderConfig.Rotary.of(100_000, 64))
     *         .tiedHead());
     * }
     *
     * @throws LoweringException if a size was not given, or for the constructor's reasons
     */
    public static DecoderConfig llama(Consumer<Llama> sizes) {
        Llama llama = new Llama();
        sizes.accept(llama);
        return llama.config();
    }

    /** {@code depth} layers alike. */
    public static ImmutableList<Layer> repeat(Layer layer, int depth) {
        positive("depth", depth);
        return ImmutableList.copyOf(Collections.nCopies(depth, layer));
    }

    /** The sizes of a Llama, all of which are to be given, and what else one may say of it. */
    public static final class Llama {
        private int vocabulary;
        private int width;
        private int depth;
        private int heads;
        private int kvHeads;
        private int headDim;
        private int feedForward;
        private int maxPositions;
        private @Nullable Rotary rotary;
        private double epsilon = 1e-5;
        private boolean tiedHead;

        private Llama() {}

        /** Rows of the embedding and columns of the logits. */
        public Llama vocabulary(int rows) {
            vocabulary = rows;
            return this;
        }

        /** The residual stream's size. */
        public Llama width(int size) {
            width = size;
            return this;
        }

        /** How many layers there are. */
        public Llama depth(int layers) {
            depth = layers;
            return this;
        }

        /** Query heads, key and value heads, and the size of a head, as in {@link Attention#of}. */
        public Llama heads(int query, int keyValue, int size) {
            heads = query;
            kvHeads = keyValue;
            headDim = size;
            return this;
        }

        /** Size between the projections of the block after attention. */
        public Llama feedForward(int hidden) {
            feedForward = hidden;
            return this;
        }

        /** How many positions the model was made for. */
        public Llama maxPositions(int positions) {
            maxPositions = positions;
            return this;
        }

        /** How queries and keys turn; whole heads by a base of 10,000 where it is not said. */
        public Llama rotary(Rotary turning) {
            rotary = turning;
            return this;
        }

        /** What the norms add to the mean square; 1e-5 where it is not said. */
        public Llama epsilon(double added) {
            epsilon = added;
            return this;
        }

        /** The logits use the embedding's matrix; where it is not said they have one of their own. */
        public Llama tiedHead() {
            return tiedHead(true);
        }

        /** Whether the logits use the embedding's matrix. */
        public Llama tiedHead(boolean tied) {
            tiedHead = tied;
            return this;
        }

        private DecoderConfig config() {
            Attention attention = Attention.of(heads, kvHeads, headDim);
            return new DecoderConfig(
                    "llama",
                    vocabulary,
                    width,
                    maxPositions,
                    attention,
                    repeat(Layer.full(rotary != null ? rotary : Rotary.of(10_000, headDim)), depth),
                    new FeedForward.Gated(feedForward, Activation.SILU, false),
                    Norm.rms(epsilon),
                    NormPlacement.BEFORE,
                    false,
                    1,
                    tiedHead,
                    0);
        }
    }

    /**
     * Grouped-query attention.
     *
     * @param heads query heads
     * @param kvHeads key and value heads; {@code heads} is a multiple; query head {@code n} reads KV head {@code n /
     *     (heads / kvHeads)}
     * @param headDim size of a head
     * @param scale factor on {@code q . k}; usually {@code headDim ** -0.5}
     * @param projectionBias whether q, k and v have a bias
     * @param outputBias whether the output projection has one
     * @param queryKeyNorm whether queries and keys are normalised before they are turned
     * @param scoreCap {@code cap * tanh(score / cap)} before the mask; 0 for none
     */
    public record Attention(
            int heads,
            int kvHeads,
            int headDim,
            double scale,
            boolean projectionBias,
            boolean outputBias,
            QueryKeyNorm queryKeyNorm,
            double scoreCap) {
        public Attention {
            positive("heads", heads);
            positive("kvHeads", kvHeads);
            positive("headDim", headDim);
            if (Math.multiplyFull(heads, headDim) > Integer.MAX_VALUE) {
                throw new LoweringException("%d heads of %d numbers are more than a dimension holds; at most %d in all"
                        .formatted(heads, headDim, Integer.MAX_VALUE));
            }
            if (heads % kvHeads != 0) {
                throw new LoweringException("%d heads are not a multiple of %d KV heads; query head n reads KV head "
                                .formatted(heads, kvHeads)
                        + "n / (heads / kvHeads)");
            }
            positive("the attention's scale", scale);
            notNegative("the attention scores' cap", scoreCap);
        }

        /** Attention without biases, norms or caps, scaled by {@code headDim ** -0.5}. */
        public static Attention of(int heads, int kvHeads, int headDim) {
            return new Attention(heads, kvHeads, headDim, 1 / Math.sqrt(headDim), false, false, QueryKeyNorm.NONE, 0);
        }

        /** How many query heads share a KV head. */
        public int group() {
            return heads / kvHeads;
        }

        /** This attention with a bias on q, k and v, or without. */
        public Attention withProjectionBias(boolean bias) {
            return new Attention(heads, kvHeads, headDim, scale, bias, outputBias, queryKeyNorm, scoreCap);
        }

        /** This attention with a bias on the output projection, or without. */
        public Attention withOutputBias(boolean bias) {
            return new Attention(heads, kvHeads, headDim, scale, projectionBias, bias, queryKeyNorm, scoreCap);
        }

        /** This attention with queries and keys normalised so. */
        public Attention withQueryKeyNorm(QueryKeyNorm norm) {
            return new Attention(heads, kvHeads, headDim, scale, projectionBias, outputBias, norm, scoreCap);
        }

        /** This attention with another factor on {@code q . k}. */
        public Attention withScale(double factor) {
            return new Attention(heads, kvHeads, headDim, factor, projectionBias, outputBias, queryKeyNorm, scoreCap);
        }

        /** This attention with scores capped. */
        public Attention withScoreCap(double cap) {
            return new Attention(heads, kvHeads, headDim, scale, projectionBias, outputBias, queryKeyNorm, cap);
        }
    }

    /** Normalisation of queries and keys, after projection and before rotation. */
    public enum QueryKeyNorm {
        /** None. */
        NONE,
        /** Over each head by itself: scale {@code [head_dim]} (Qwen3, Gemma 3). */
        PER_HEAD,
        /** Over all heads together: scale {@code [heads, head_dim]} (OLMo 2). */
        ALL_HEADS
    }

    /**
     * What differs between layers.
     *
     * @param window how many positions, its own included, a query sees; 0 for all before it
     * @param rotary how queries and keys are turned by position; {@link Rotary#NONE} where positions are learned, and with
     *     {@link Scaling.Still} in a layer that has none among others that do
     */
    public record Layer(int window, Rotary rotary) {
        public Layer {
            if (window < 0) {
                throw new LoweringException("window %d is negative; 0 means no window".formatted(window));
            }
        }

        /** A layer that sees everything before it. */
        public static Layer full(Rotary rotary) {
            return new Layer(0, rotary);
        }
    }

    /**
     * Rotary position embedding, pairs laid out as halves: element {@code i} turns with {@code i + dims / 2}.
     *
     * @param theta the base; angle of pair {@code i} at position {@code p} is {@code p * theta ** (-2 i / dims)}
     * @param dims how many leading elements of a head turn; 0 for none
     * @param scaling how frequencies are stretched for longer contexts
     */
    public record Rotary(double theta, int dims, Scaling scaling) {
        /** No rotation. */
        public static final Rotary NONE = new Rotary(1, 0, new Scaling.None());

        /** Far above any model's; a file that says more is damaged, and its frequencies would be worked out for minutes. */
        private static final int MOST_DIMS = 1 << 16;

        public Rotary {
            if (dims < 0 || dims % 2 != 0 || dims > MOST_DIMS) {
                throw new LoweringException(
                        "rotary dims %d must be even, not negative, and at most %d".formatted(dims, MOST_DIMS));
            }
            positive("the rotary base", theta);
            positive("the factor on cosine and sine", scaling.magnitude());
            if (scaling instanceof Scaling.PerPair perPair && perPair.divisors().size() != dims / 2) {
                throw new LoweringException("%d divisors of rotary frequencies for %d pairs; one for each is expected"
                        .formatted(perPair.divisors().size(), dims / 2));
            }
            // not frequencies(): the fields are not set before the end of this constructor
            if (!(scaling instanceof Scaling.Still)) {
                for (double frequency : frequencies(theta, dims, scaling)) {
                    positive("a rotary frequency", frequency);
                }
            }
        }

        /** Unscaled rotation of a whole head. */
        public static Rotary of(double theta, int dims) {
            return new Rotary(theta, dims, new Scaling.None());
        }

        /** The frequencies {@code [dims / 2]} of the pairs, scaling applied, in radians per position. */
        public double[] frequencies() {
            return frequencies(theta, dims, scaling);
        }

        private static double[] frequencies(double theta, int dims, Scaling scaling) {
            double[] frequencies = new double[dims / 2];
            for (int i = 0; i < frequencies.length; i++) {
                frequencies[i] = scaling.stretch(Math.pow(theta, -2.0 * i / dims), i);
            }
            return frequencies;
        }
    }

    /** How rotary frequencies are stretched. */
    public sealed interface Scaling {
        /** The scaled frequency of pair {@code pair}, in radians per position. */
        double stretch(double frequency, int pair);

        /** Factor on cosine and sine; 1 but for LongRoPE and YaRN. */
        default double magnitude() {
            return 1;
        }

        /** As they are. */
        record None() implements Scaling {
            @Override
            public double stretch(double frequency, int pair) {
                return frequency;
            }
        }

        /**
         * None: pairs do not turn. A layer without positions among others that have them (SmolLM3) is written so, with as
         * many dims as those, and can share one scanned body with them.
         */
        record Still() implements Scaling {
            @Override
            public double stretch(double frequency, int pair) {
                return 0;
            }
        }

        /** All divided by one factor. */
        record Linear(double factor) implements Scaling {
            public Linear {
                positive("the rotary scaling's factor", factor);
            }

            @Override
            public double stretch(double frequency, int pair) {
                return frequency / factor;
            }
        }

        /**
         * Llama 3.1's: low frequencies divided, high ones kept, between them a ramp.
         *
         * @param originalPositions the context length before stretching
         */
        record Llama3(double factor, double lowFactor, double highFactor, int originalPositions) implements Scaling {
            public Llama3 {
                positive("the rotary scaling's factor", factor);
                positive("the rotary scaling's lowFactor", lowFactor);
                positive("the rotary scaling's highFactor", highFactor);
                positive("the rotary scaling's originalPositions", originalPositions);
                if (lowFactor >= highFactor) {
                    throw new LoweringException("the rotary scaling's lowFactor is %s; less than its highFactor, %s, is"
                                    .formatted(lowFactor, highFactor)
                            + " expected");
                }
            }

            @Override
            public double stretch(double frequency, int pair) {
                double wavelength = 2 * Math.PI / frequency;
                if (wavelength < originalPositions / highFactor) {
                    return frequency;
                }
                if (wavelength > originalPositions / lowFactor) {
                    return frequency / factor;
                }
                double ramp = (originalPositions / wavelength - lowFactor) / (highFactor - lowFactor);
                return (1 - ramp) * frequency / factor + ramp * frequency;
            }
        }

        /**
         * A divisor for each pair (Phi-3's LongRoPE, and GGUF files that carry {@code rope_freqs}).
         *
         * @param magnitude factor on cosine and sine
         */
        record PerPair(ImmutableList<Double> divisors, double magnitude) implements Scaling {
            @Override
            public double stretch(double frequency, int pair) {
                return frequency / divisors.get(pair);
            }
        }
    }

    /** The block after attention. */
    public sealed interface FeedForward {
        /** Size between the projections. */
        int hidden();

        /** The non-linearity. */
        Activation activation();

        /** {@code down(activation(gate(x)) * up(x))}. */
        record Gated(int hidden, Activation activation, boolean bias) implements FeedForward {
            public Gated {
                positive("hidden", hidden);
            }
        }

        /** {@code down(activation(up(x)))}. */
        record Plain(int hidden, Activation activation, boolean bias) implements FeedForward {
            public Plain {
                positive("hidden", hidden);
            }
        }

        /**
         * A mixture of gated experts without biases, routed by softmax over all experts.
         *
         * @param hidden size within one expert
         * @param experts how many there are
         * @param active how many a token goes to
         * @param renormalise whether the chosen weights are divided by their sum
         */
        record Experts(int hidden, Activation activation, int experts, int active, boolean renormalise)
                implements FeedForward {
            public Experts {
                positive("hidden", hidden);
                if (active < 1 || active > experts) {
                    throw new LoweringException(
                            "%d active experts of %d; between 1 and all are expected".formatted(active, experts));
                }
            }
        }
    }

    /** Non-linearities by the names of their papers. */
    public enum Activation {
        /** {@code x * sigmoid(x)}. */
        SILU,
        /** {@code x * Phi(x)}, exact. */
        GELU,
        /** GELU by its tanh approximation. */
        GELU_TANH,
        /** {@code max(x, 0)}. */
        RELU
    }

    /**
     * Normalisation over the last axis.
     *
     * @param kind with or without the mean taken off
     * @param epsilon added to the mean square
     * @param unitOffset whether the stored scale is an offset from 1 (Gemma)
     * @param precision what {@link AxlearnPrograms} compute it in; others do so in float32
     */
    public record Norm(Kind kind, double epsilon, boolean unitOffset, Precision precision) {
        public Norm {
            notNegative("the norms' epsilon", epsilon);
        }

        /** As precise as activations are. */
        public Norm(Kind kind, double epsilon, boolean unitOffset) {
            this(kind, epsilon, unitOffset, Precision.OF_ACTIVATIONS);
        }

        /** RMS norm. */
        public static Norm rms(double epsilon) {
            return new Norm(Kind.RMS, epsilon, false);
        }

        /** This norm with another precision. */
        public Norm withPrecision(Precision other) {
            return new Norm(kind, epsilon, unitOffset, other);
        }

        /** What is between a norm's operations: AXLearn's {@code forward_dtype}. */
        public enum Precision {
            /** What activations are, but for the means, which are float32; so are fuji's. */
            OF_ACTIVATIONS,
            /** Float32 up to the scale, which is multiplied in the type of activations. */
            FLOAT32
        }

        /** What is normalised. */
        public enum Kind {
            /** {@code x * rsqrt(mean(x * x) + epsilon) * scale}. */
            RMS,
            /** {@code (x - mean) * rsqrt(variance + epsilon) * scale + bias}. */
            LAYER
        }
    }

    /** Where in a layer the norms stand. */
    public enum NormPlacement {
        /** Before each block (Llama). */
        BEFORE,
        /** On each block's output, before it is added (OLMo 2). */
        AFTER,
        /** On both sides (Gemma 2 and 3). */
        AROUND
    }

    /** This model with another attention, everything else kept. */
    public DecoderConfig withAttention(Attention other) {
        return with(family, other, layers, norm);
    }

    /** This model with other norms, everything else kept. */
    public DecoderConfig withNorm(Norm other) {
        return with(family, attention, layers, other);
    }

    /** This model with another family name and layers, everything else kept. */
    public DecoderConfig withLayers(String name, List<Layer> others) {
        return with(name, attention, ImmutableList.copyOf(others), norm);
    }

    private DecoderConfig with(
            String name, Attention otherAttention, ImmutableList<Layer> otherLayers, Norm otherNorm) {
        return new DecoderConfig(
                name,
                vocabulary,
                width,
                maxPositions,
                otherAttention,
                otherLayers,
                feedForward,
                otherNorm,
                placement,
                learnedPositions,
                embeddingScale,
                tiedHead,
                logitCap);
    }

    private static void positive(String name, double value) {
        if (!(value > 0) || Double.isInfinite(value)) {
            throw new LoweringException("%s is %s; a positive number is expected".formatted(name, value));
        }
    }

    private static void notNegative(String name, double value) {
        if (!(value >= 0) || Double.isInfinite(value)) {
            throw new LoweringException("%s is %s; 0 or more is expected".formatted(name, value));
        }
    }

    private static void positive(String name, int value) {
        if (value < 1) {
            throw new LoweringException("%s is %d; a positive number is expected".formatted(name, value));
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import dev.slipway.checkpoint.UnsupportedModelException;
import dev.slipway.checkpoint.internal.RotaryScalings.Turns;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.DecoderConfig.Activation;
import dev.slipway.lowering.DecoderConfig.Attention;
import dev.slipway.lowering.DecoderConfig.FeedForward;
import dev.slipway.lowering.DecoderConfig.Layer;
import dev.slipway.lowering.DecoderConfig.Norm;
import dev.slipway.lowering.DecoderConfig.NormPlacement;
import dev.slipway.lowering.DecoderConfig.QueryKeyNorm;
import dev.slipway.lowering.DecoderConfig.Rotary;
import dev.slipway.lowering.DecoderConfig.Scaling;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;

/**
 * Reads {@code config.json} as Hugging Face's Transformers does: the same fields, in their old and new spellings, with the
 * same values where a field is absent.
 */
final class HuggingFaceConfig {
    /** {@code model_type} values that are read. */
    static final ImmutableSet<String> MODEL_TYPES = ImmutableSet.of(
            "llama",
            "mistral",
            "mixtral",
            "qwen2",
            "qwen3",
            "qwen3_moe",
            "gemma",
            "gemma2",
            "gemma3_text",
            "phi3",
            "starcoder2",
            "gpt2",
            "olmo2",
            "olmo3",
            "smollm3",
            "ministral");

    private static final ImmutableSet<String> TIED_BY_DEFAULT =
            ImmutableSet.of("gemma", "gemma2", "gemma3_text", "starcoder2", "gpt2", "smollm3");

    private final Json json;
    private final String type;
    private final int width;
    private final int depth;
    private final int heads;
    private final int headDim;

    private HuggingFaceConfig(Json json, String type) {
        this.json = json;
        this.type = type;
        boolean gpt2 = type.equals("gpt2");
        width = json.requiredSize(gpt2 ? "n_embd" : "hidden_size");
        depth = Loader.depth(json.file(), json.requiredInteger(gpt2 ? "n_layer" : "num_hidden_layers"));
        heads = json.requiredSize(gpt2 ? "n_head" : "num_attention_heads");
        int otherwise = switch (type) {
            case "gemma", "gemma2", "gemma3_text" -> 256;
            case "qwen3" -> 128;
            default -> width / heads;
        };
        headDim = json.size("head_dim").orElse(otherwise);
    }

    static DecoderConfig read(Json json) {
        String type = json.requiredString("model_type");
        if (!MODEL_TYPES.contains(type)) {
            throw new UnsupportedModelException("%s is of a model of type %s; supported are %s"
                    .formatted(json.file(), type, String.join(", ", MODEL_TYPES)));
        }
        HuggingFaceConfig config = new HuggingFaceConfig(json, type);
        if (json.flag("use_bidirectional_attention").orElse(false)) {
            throw config.unsupported("use_bidirectional_attention", "true");
        }
        return type.equals("gpt2") ? config.gpt2() : config.rotating();
    }

    private DecoderConfig gpt2() {
        if (json.flag("scale_attn_by_inverse_layer_idx").orElse(false)) {
            throw unsupported("scale_attn_by_inverse_layer_idx", "true");
        }
        double scale = json.flag("scale_attn_weights").orElse(true) ? 1 / Math.sqrt(headDim) : 1;
        return new DecoderConfig(
                type,
                json.requiredSize("vocab_size"),
                width,
                json.requiredSize("n_positions"),
                new Attention(heads, heads, headDim, scale, true, true, QueryKeyNorm.NONE, 0),
                DecoderConfig.repeat(Layer.full(Rotary.NONE), depth),
                new FeedForward.Plain(
                        json.size("n_inner").orElse(Math.multiplyExact(4, width)),
                        activation(json.string("activation_function").orElse("gelu_new")),
                        true),
                new Norm(Norm.Kind.LAYER, json.number("layer_norm_epsilon").orElse(1e-5), false),
                NormPlacement.BEFORE,
                true,
                1,
                tied(),
                0);
    }

    private DecoderConfig rotating() {
        boolean gemma = type.startsWith("gemma");
        return new DecoderConfig(
                type,
                json.requiredSize("vocab_size"),
                width,
                maxPositions(),
                attention(),
                layers(),
                feedForward(),
                norm(),
                switch (type) {
                    case "gemma2", "gemma3_text" -> NormPlacement.AROUND;
                    case "olmo2", "olmo3" -> NormPlacement.AFTER;
                    default -> NormPlacement.BEFORE;
                },
                false,
                gemma ? Math.sqrt(width) : 1,
                tied(),
                finalCap());
    }

    /** LongRoPE's short factors hold up to the original context; what they are exact for is what is offered. */
    private int maxPositions() {
        int positions = json.requiredSize("max_position_embeddings");
        return isLongRope() ? Math.min(positions, originalPositions(ropeParameters("full_attention"))) : positions;
    }

    private Attention attention() {
        boolean outputBias = switch (type) {
            case "starcoder2" -> json.flag("use_bias").orElse(true);
            case "llama", "qwen3", "qwen3_moe", "gemma", "gemma2", "gemma3_text", "olmo2", "olmo3", "smollm3" ->
                json.flag("attention_bias").orElse(false);
            default -> false;
        };
        QueryKeyNorm norm = switch (type) {
            case "olmo2", "olmo3" -> QueryKeyNorm.ALL_HEADS;
            case "qwen3", "qwen3_moe", "gemma3_text" -> QueryKeyNorm.PER_HEAD;
            default -> QueryKeyNorm.NONE;
        };
        double divisor = switch (type) {
            case "gemma2", "gemma3_text" ->
                json.positive("query_pre_attn_scalar").orElse(256.0);
            default -> (double) headDim;
        };
        return new Attention(
                heads,
                kvHeads(),
                headDim,
                1 / Math.sqrt(divisor),
                outputBias || type.equals("qwen2"),
                outputBias,
                norm,
                // Gemma 3's class has the field, too, and its attention leaves it alone
                type.equals("gemma2")
                        ? orIfAbsent(json.number("attn_logit_softcapping"), "attn_logit_softcapping", 50.0, 0.0)
                        : 0);
    }

    private double finalCap() {
        return switch (type) {
            case "gemma2" -> orIfAbsent(json.number("final_logit_softcapping"), "final_logit_softcapping", 30.0, 0.0);
            case "gemma3_text" -> json.number("final_logit_softcapping").orElse(0.0);
            default -> 0;
        };
    }

    /** A field's value, one where the file does not have it, and another where it is null. */
    private <T> T orIfAbsent(Optional<T> value, String key, T absent, T none) {
        return value.orElse(json.node().has(key) ? none : absent);
    }

    /** As many as query heads where the file says null, the type's default where it says nothing. */
    private int kvHeads() {
        int otherwise = switch (type) {
            case "mistral", "mixtral", "ministral" -> 8;
            case "qwen2", "qwen3" -> 32;
            case "gemma" -> 16;
            case "qwen3_moe", "gemma2", "gemma3_text", "smollm3" -> 4;
            case "starcoder2" -> 2;
            default -> heads;
        };
        return orIfAbsent(json.size("num_key_value_heads"), "num_key_value_heads", otherwise, heads);
    }

    private FeedForward feedForward() {
        Activation activation = switch (type) {
            case "gemma" -> activation(activationOfGemma());
            case "gemma2", "gemma3_text" ->
                activation(json.string("hidden_activation").orElse("gelu_pytorch_tanh"));
            case "starcoder2" -> activation(json.string("hidden_act").orElse("gelu_pytorch_tanh"));
            default -> activation(json.string("hidden_act").orElse("silu"));
        };
        return switch (type) {
            case "qwen3_moe" -> {
                long sparse = IntStream.range(0, depth).filter(this::sparse).count();
                if (sparse == 0) {
                    yield new FeedForward.Gated(json.requiredSize("intermediate_size"), activation, false);
                }
                if (sparse < depth) {
                    throw unsupported("decoder_sparse_step or mlp_only_layers", "a mix of sparse and dense layers");
                }
                yield new FeedForward.Experts(
                        json.requiredSize("moe_intermediate_size"),
                        activation,
                        json.size("num_experts")
                                .or(() -> json.size("num_local_experts"))
                                .orElse(128),
                        json.size("num_experts_per_tok").orElse(8),
                        json.flag("norm_topk_prob").orElse(false));
            }
            case "mixtral" ->
                new FeedForward.Experts(
                        json.requiredSize("intermediate_size"),
                        activation,
                        json.size("num_local_experts").orElse(8),
                        json.size("num_experts_per_tok").orElse(2),
                        true);
            case "starcoder2" ->
                new FeedForward.Plain(
                        json.requiredSize("intermediate_size"),
                        activation,
                        json.flag("use_bias").orElse(true));
            default ->
                new FeedForward.Gated(
                        json.requiredSize("intermediate_size"),
                        activation,
                        (type.equals("llama") || type.equals("smollm3"))
                                && json.flag("mlp_bias").orElse(false));
        };
    }

    private boolean sparse(int layer) {
        int step = json.size("decoder_sparse_step").orElse(1);
        return (layer + 1) % step == 0 && !json.integers("mlp_only_layers").contains(layer);
    }

    /** The first files say "gelu" and were always meant to say the tanh form. */
    private String activationOfGemma() {
        String name = json.string("hidden_act").orElse("gelu");
        return name.equals("gelu") ? "gelu_pytorch_tanh" : name;
    }

    private Norm norm() {
        if (type.equals("starcoder2")) {
            return new Norm(Norm.Kind.LAYER, json.number("norm_epsilon").orElse(1e-5), false);
        }
        double otherwise = switch (type) {
            case "phi3", "olmo2", "olmo3", "mixtral" -> 1e-5;
            default -> 1e-6;
        };
        return new Norm(Norm.Kind.RMS, json.number("rms_norm_eps").orElse(otherwise), type.startsWith("gemma"));
    }

    private boolean tied() {
        return json.flag("tie_word_embeddings").orElse(TIED_BY_DEFAULT.contains(type));
    }

    private static Activation known(String name) {
        return switch (name) {
            case "silu", "swish" -> Activation.SILU;
            case "gelu", "gelu_python" -> Activation.GELU;
            case "gelu_new", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_fast", "gelu_accurate" ->
                Activation.GELU_TANH;
            default -> Activation.RELU;
        };
    }

    private Activation activation(String name) {
        Activation activation = known(name);
        if (activation == Activation.RELU && !name.equals("relu")) {
            throw unsupported(
                    "the activation", name + " (silu, gelu, gelu_new, gelu_pytorch_tanh and relu are supported)");
        }
        return activation;
    }

    // Layers

    private ImmutableList<Layer> layers() {
        int window = window();
        Layer full = Layer.full(rotary("full_attention"));
        Layer sliding = window == 0 ? full : new Layer(window, rotary("sliding_attention"));
        List<JsonNode> types = json.list("layer_types");
        if (!types.isEmpty() && types.size() != depth) {
            throw json.wrong("layer_types", types, depth + " of them, one for each layer,");
        }
        ImmutableList.Builder<Layer> layers = ImmutableList.builder();
        for (int i = 0; i < depth; i++) {
            boolean listed = types.isEmpty() ? slides(i) : slides(types.get(i));
            Layer layer = (heedsTheList() ? listed : slides(i)) ? sliding : full;
            layers.add(turns(i) ? layer : still(layer));
        }
        return layers.build();
    }

    /** Whether a layer has rotary positions, as all have but some of SmolLM3. */
    private boolean turns(int layer) {
        if (!type.equals("smollm3")) {
            return true;
        }
        List<Integer> listed = json.integers("no_rope_layers");
        if (!listed.isEmpty() && listed.size() != depth) {
            throw json.wrong("no_rope_layers", listed, depth + " of them, one for each layer,");
        }
        return listed.isEmpty()
                ? (layer + 1) % json.size("no_rope_layer_interval").orElse(4) != 0
                : listed.get(layer) != 0;
    }

    private static Layer still(Layer layer) {
        Rotary rotary = layer.rotary();
        return new Layer(layer.window(), new Rotary(rotary.theta(), rotary.dims(), new Scaling.Still()));
    }

    /** Models of the other types have one mask for all layers, whatever their file lists. */
    private boolean heedsTheList() {
        return switch (type) {
            case "mistral", "ministral", "qwen2", "qwen3", "gemma2", "gemma3_text", "olmo3", "smollm3" -> true;
            default -> false;
        };
    }

    private boolean slides(JsonNode layerType) {
        return switch (layerType.asString("")) {
            case "sliding_attention" -> true;
            case "full_attention" -> false;
            default -> throw unsupported("layer_types", layerType.toString());
        };
    }

    /** Which layers slide where the file does not list them. */
    private boolean slides(int layer) {
        return switch (type) {
            case "qwen2", "qwen3" -> layer >= json.integer("max_window_layers").orElse(28);
            case "gemma2" -> layer % 2 == 0;
            case "olmo3" -> (layer + 1) % 4 != 0;
            case "smollm3" -> !turns(layer);
            case "gemma3_text" -> {
                int pattern = json.size("sliding_window_pattern").orElse(6);
                yield (layer + 1) % pattern != 0;
            }
            default -> true;
        };
    }

    private int window() {
        int given = orIfAbsent(json.integer("sliding_window"), "sliding_window", 4096, 0);
        return switch (type) {
            case "llama", "gemma", "olmo2" -> 0;
            case "qwen2", "qwen3", "qwen3_moe" ->
                json.flag("use_sliding_window").orElse(false) ? given : 0;
            case "mistral", "ministral", "gemma2", "gemma3_text", "olmo3" -> given;
            case "smollm3" ->
                json.flag("use_sliding_window").orElse(false)
                        ? json.integer("sliding_window").orElse(0)
                        : 0;
            default -> json.integer("sliding_window").orElse(0);
        };
    }

    // Rotary positions

    /**
     * The parameters of one kind of layer: {@code rope_scaling} as it was called before, which goes first if it says
     * anything, or {@code rope_parameters}, which may be split by kind.
     */
    private Json ropeParameters(String layerType) {
        Json none = new Json(json.file(), "", JsonNodeFactory.instance.objectNode());
        boolean local = (type.equals("gemma3_text") || type.equals("olmo3")) && layerType.equals("sliding_attention");
        Optional<Json> old =
                json.child("rope_scaling").filter(scaling -> !scaling.node().isEmpty());
        if (old.isPresent()) {
            return local ? none : old.get();
        }
        Json all = json.child("rope_parameters").orElse(none);
        return all.has("full_attention") || all.has("sliding_attention")
                ? all.child(layerType).orElse(none)
                : all;
    }

    private Rotary rotary(String layerType) {
        Json rope = ropeParameters(layerType);
        boolean local = type.equals("gemma3_text") && layerType.equals("sliding_attention");
        Optional<Double> outside = local ? json.positive("rope_local_base_freq") : json.positive("rope_theta");
        double otherwise = switch (type) {
            case "gemma3_text" -> local ? 10_000 : 1_000_000;
            case "mixtral" -> 1_000_000;
            case "olmo3" -> 500_000;
            case "smollm3" -> 2_000_000;
            default -> 10_000;
        };
        double theta = rope.positive("rope_theta").or(() -> outside).orElse(otherwise);
        int dims = turningDims(rope);
        return new Rotary(theta, dims, scaling(rope, theta, dims));
    }

    /** Only Phi-3 turns a part of each head: the other models' default rotary positions do not look at the share. */
    private int turningDims(Json rope) {
        double share = rope.positive("partial_rotary_factor")
                .or(() -> json.positive("partial_rotary_factor"))
                .orElse(1.0);
        if (type.equals("phi3")) {
            return (int) (headDim * share);
        }
        if ((int) (headDim * share) != headDim && !ropeType(rope).equals("default")) {
            throw unsupported(
                    "partial_rotary_factor",
                    "%s with rotary positions of type %s in a model of type %s".formatted(share, ropeType(rope), type));
        }
        return headDim;
    }

    /** The kind of scaling; Phi-3's own has been called by three names. */
    private String ropeType(Json rope) {
        String name = rope.string("rope_type").or(() -> rope.string("type")).orElse("default");
        return name.equals("su") || (name.equals("yarn") && type.equals("phi3")) ? "longrope" : name;
    }

    private boolean isLongRope() {
        return ropeType(ropeParameters("full_attention")).equals("longrope");
    }

    private Scaling scaling(Json rope, double theta, int dims) {
        String name = ropeType(rope);
        return switch (name) {
            case "default" -> new Scaling.None();
            case "dynamic" -> {
                // the base grows with what is beyond max_position_embeddings, and programs end there
                rope.requiredStretch("factor");
                yield new Scaling.None();
            }
            case "linear" -> new Scaling.Linear(rope.requiredStretch("factor"));
            case "llama3" -> llama3(rope);
            case "longrope" -> longRope(rope, dims);
            case "yarn" -> yarn(rope, theta, dims);
            default ->
                throw unsupported(
                        "rope_type", name + " (default, dynamic, linear, llama3, longrope and yarn are supported)");
        };
    }

    /** A context that the file has made shorter, down to the original one and below, leaves the frequencies as they are. */
    private Scaling llama3(Json rope) {
        double factor = rope.requiredStretch("factor");
        double low = rope.requiredPositive("low_freq_factor");
        double high = rope.requiredPositive("high_freq_factor");
        if (low >= high) {
            throw rope.wrong("low_freq_factor", low, "less than high_freq_factor, which is %s,".formatted(high));
        }
        return new Scaling.Llama3(factor, low, high, originalPositions(rope));
    }

    private Scaling yarn(Json rope, double theta, int dims) {
        double factor = rope.requiredStretch("factor");
        double weight = rope.number("mscale").orElse(0.0);
        double weightOfAll = rope.number("mscale_all_dim").orElse(0.0);
        double magnitude = weight == 0 || weightOfAll == 0
                ? RotaryScalings.magnitude(factor, 1)
                : RotaryScalings.magnitude(factor, weight) / RotaryScalings.magnitude(factor, weightOfAll);
        return RotaryScalings.yarn(
                theta,
                dims,
                factor,
                originalPositions(rope),
                Turns.read(rope, "beta_fast", "beta_slow"),
                rope.flag("truncate").orElse(true),
                rope.positive("attention_factor").orElse(magnitude));
    }

    private Scaling longRope(Json rope, int dims) {
        ImmutableList.Builder<Double> divisors = ImmutableList.builder();
        List<JsonNode> factors = rope.list("short_factor");
        for (JsonNode factor : factors) {
            if (!factor.isNumber() || !(factor.doubleValue() > 0)) {
                throw rope.wrong("short_factor", factor, "positive numbers");
            }
            divisors.add(factor.doubleValue());
        }
        if (factors.size() != dims / 2) {
            throw rope.wrong("short_factor", factors, "%d numbers, not %d,".formatted(dims / 2, factors.size()));
        }
        int original = originalPositions(rope);
        if (original < 2) {
            throw rope.wrong("original_max_position_embeddings", original, "2 or more, for its logarithm,");
        }
        double factor = rope.stretch("factor").orElse(json.requiredSize("max_position_embeddings") / (double) original);
        double magnitude = factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(original));
        return new Scaling.PerPair(
                divisors.build(), rope.positive("attention_factor").orElse(magnitude));
    }

    /** The context before it was stretched; what stands beside the rotary parameters goes before what they say. */
    private int originalPositions(Json rope) {
        String key = "original_max_position_embeddings";
        Optional<Integer> beside = json.size(key).or(() -> type.equals("phi3") ? Optional.of(4096) : Optional.empty());
        return beside.or(() -> rope.size(key)).orElseGet(() -> json.requiredSize("max_position_embeddings"));
    }

    private UnsupportedModelException unsupported(String field, String value) {
        return new UnsupportedModelException(
                "%s: %s is %s, which is not supported".formatted(json.file(), field, value));
    }
}

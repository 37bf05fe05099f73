// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import dev.slipway.checkpoint.SpecialTokens;
import dev.slipway.checkpoint.UnsupportedModelException;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.DecoderConfig.Rotary;
import dev.slipway.lowering.Parameters.Weight;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Reads an AXLearn model of the fuji kind: {@code model.json} states its hyperparameters in plain terms, {@code
 * params.safetensors} has its parameters under AXLearn's paths, those of the layers stacked along a first axis.
 */
final class AxlearnLoader {
    private static final String LAYER = "decoder/transformer/repeat/layer/";
    private static final String QKV = LAYER + "self_attention/attention/i_proj/i_proj/qkv_proj/weight";

    /** Where {@code max_sequence_length} is null, AXLearn has no limit; a number is needed all the same. */
    private static final int UNLIMITED = 1 << 17;

    private final DecoderConfig config;
    private final Weights weights;
    private final ImmutableMap<String, StoredTensor> tensors;

    private AxlearnLoader(DecoderConfig config, Path file, Safetensors stored) {
        this.config = config;
        this.weights = new Weights(file, stored.tensors(), stored.unread());
        this.tensors = stored.tensors();
    }

    static OpenCheckpoint open(Path folder, Arena arena) {
        Json json = Json.read(folder.resolve("model.json"));
        DecoderConfig config = config(json);
        Path file = folder.resolve("params.safetensors");
        AxlearnLoader loader = new AxlearnLoader(config, file, Safetensors.open(file, arena));
        return new OpenCheckpoint(
                folder,
                arena,
                config,
                loader.weights.collect(config, loader::parts),
                specials(json),
                Optional::empty,
                Optional::empty);
    }

    static DecoderConfig config(Json json) {
        expect(json, "norm", "RMSNorm");
        expect(json, "activation", "SwiGLU");
        expect(json, "rope_convention", "interleaved");
        for (String absent : List.of(
                "rope_scaling",
                "attention_logit_cap",
                "embedding_scale",
                "logits_scale",
                "logits_soft_cap",
                "position_embedding")) {
            if (json.has(absent)) {
                throw unsupported(json, absent);
            }
        }
        for (String off : List.of("attention_bias", "linear_bias")) {
            if (json.flag(off).orElse(false)) {
                throw unsupported(json, off);
            }
        }
        if (json.number("rope_fraction_of_head").orElse(1.0) != 1) {
            throw unsupported(json, "rope_fraction_of_head");
        }
        int headDim = json.requiredInteger("head_dim");
        return DecoderConfig.llama(
                json.requiredInteger("vocab_size"),
                json.requiredInteger("model_dim"),
                Loader.depth(json.file(), json.requiredInteger("num_layers")),
                json.requiredInteger("num_heads"),
                json.requiredInteger("num_kv_heads"),
                headDim,
                json.requiredInteger("ffn_dim"),
                json.integer("max_sequence_length").orElse(UNLIMITED),
                Rotary.of(json.requiredNumber("rope_theta"), headDim),
                json.requiredNumber("norm_eps"),
                json.flag("tied_lm_head").orElse(true));
    }

    private static void expect(Json json, String key, String beginning) {
        if (!json.requiredString(key).startsWith(beginning)) {
            throw unsupported(json, key);
        }
    }

    private static UnsupportedModelException unsupported(Json json, String key) {
        return new UnsupportedModelException(
                "%s: %s is %s, which is not supported; models like fuji are (RMS norm, SwiGLU, interleaved rotary positions, no biases or caps)"
                        .formatted(json.file(), key, json.node().get(key)));
    }

    private static SpecialTokens specials(Json json) {
        OptionalInt eos = json.integer("eos_id").map(OptionalInt::of).orElseGet(OptionalInt::empty);
        OptionalInt pad = json.integer("pad_id").map(OptionalInt::of).orElseGet(OptionalInt::empty);
        ImmutableSet<Integer> stops = eos.isPresent() ? ImmutableSet.of(eos.getAsInt()) : ImmutableSet.of();
        return new SpecialTokens(OptionalInt.empty(), eos, pad, stops);
    }

    private List<View> parts(Weight weight, int layer) {
        long depth = config.depth();
        long width = config.width();
        long hidden = config.feedForward().hidden();
        long heads = config.attention().heads();
        long headDim = config.attention().headDim();
        return switch (weight.name()) {
            case "embedding/weight" -> weights.whole("decoder/emb/token_emb/weight", config.vocabulary(), width);
            case "head/weight" -> weights.whole("decoder/lm_head/weight", config.vocabulary(), width);
            case "final_norm/scale" -> weights.whole("decoder/output_norm/scale", width);
            case "attention_norm/scale" ->
                slice(weights.get(LAYER + "self_attention/norm/scale", depth, width), layer, width);
            case "feed_forward_norm/scale" ->
                slice(weights.get(LAYER + "feed_forward/norm/scale", depth, width), layer, width);
            case "q/weight" -> projection(layer, 0, heads, true);
            case "k/weight" -> projection(layer, 1, config.attention().kvHeads(), true);
            case "v/weight" -> projection(layer, 2, config.attention().kvHeads(), false);
            case "o/weight" ->
                slice(
                        weights.get(LAYER + "self_attention/attention/o_proj/weight", depth, width, heads, headDim),
                        layer,
                        width * heads * headDim);
            case "gate/weight" -> turned("linear1_0", layer, width, hidden);
            case "up/weight" -> turned("linear1_1", layer, width, hidden);
            case "down/weight" -> turned("linear2", layer, hidden, width);
            default -> throw new IllegalStateException(weight.name() + " is no weight of a Llama");
        };
    }

    private static List<View> slice(StoredTensor stacked, int layer, long count) {
        return List.of(View.run(stacked, layer * count, count));
    }

    /** A layer of a stack of matrices {@code [in, out]}, output-major. */
    private List<View> turned(String name, int layer, long in, long out) {
        StoredTensor stacked = weights.get(LAYER + "feed_forward/" + name + "/weight", config.depth(), in, out);
        return List.of(View.strided(stacked, layer * in * out, out, 1, in, out));
    }

    /**
     * Queries, keys or values. They are fused: {@code [layer, width, heads + 2 * kv_heads, head_dim]}, or {@code [layer, 3,
     * width, heads, head_dim]} where there are as many of each. Pairs (2i, 2i + 1) turn together there, (i, i + half) in the
     * program.
     *
     * @param which 0 for queries, 1 for keys, 2 for values
     */
    private List<View> projection(int layer, int which, long count, boolean turns) {
        long depth = config.depth();
        long width = config.width();
        long heads = config.attention().heads();
        long kvHeads = config.attention().kvHeads();
        long headDim = config.attention().headDim();
        StoredTensor known = tensors.get(QKV);
        boolean threefold = known != null && known.shape().length() == 5;
        StoredTensor fused = threefold
                ? weights.get(QKV, depth, 3, width, heads, headDim)
                : weights.get(QKV, depth, width, heads + 2 * kvHeads, headDim);
        long row = threefold ? heads * headDim : (heads + 2 * kvHeads) * headDim;
        long first = which == 0 ? 0 : which == 1 ? heads : heads + kvHeads;
        long offset = threefold ? (3L * layer + which) * width * row : layer * width * row + first * headDim;
        return List.of(
                turns
                        ? View.strided(fused, offset, count, headDim, 2, 1, headDim / 2, 2, width, row)
                        : View.strided(fused, offset, count, headDim, headDim, 1, width, row));
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import dev.slipway.checkpoint.Checkpoint.Format;
import dev.slipway.checkpoint.CheckpointException;
import dev.slipway.checkpoint.Dtype;
import dev.slipway.checkpoint.SpecialTokens;
import dev.slipway.checkpoint.UnsupportedModelException;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.DecoderConfig.Norm;
import dev.slipway.lowering.DecoderConfig.Rotary;
import dev.slipway.lowering.Parameters.Weight;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.LongStream;

/**
 * Reads an AXLearn model of the fuji kind: {@code model.json} states its hyperparameters in plain terms, safetensors have
 * its parameters under AXLearn's paths, those of the layers stacked along a first axis ({@code RepeatedTransformerLayer})
 * or apart ({@code StackedTransformerLayer}).
 */
final class AxlearnLoader {
    private static final String REPEATED = "decoder/transformer/repeat/layer/";
    private static final String INPUTS = "self_attention/attention/i_proj/i_proj/";
    private static final String FUSED = INPUTS + "qkv_proj/weight";

    /** Where {@code max_sequence_length} is null, AXLearn has no limit; a number is needed all the same. */
    private static final int UNLIMITED = 1 << 17;

    /** What these fields begin with in models that are read; all but the first three may be absent. */
    private static final ImmutableMap<String, List<String>> EXPECTED = ImmutableMap.<String, List<String>>builder()
            .put("norm", List.of("RMSNorm"))
            .put("activation", List.of("SwiGLU"))
            .put("rope_convention", List.of("interleaved"))
            .put("norm_placement", List.of("pre-norm"))
            .put("norm_forward_dtype", List.of("None", "float32"))
            .put("attention_mask", List.of("causal"))
            .put("stack", List.of("RepeatedTransformerLayer", "StackedTransformerLayer"))
            .put("compute_dtype", List.of("float32", "bfloat16"))
            .put("kv_cache_dtype", List.of("float32", "bfloat16"))
            .buildOrThrow();

    private static final ImmutableSet<String> REQUIRED = ImmutableSet.of("norm", "activation", "rope_convention");

    private final DecoderConfig config;
    private final Weights weights;
    private final ImmutableMap<String, StoredTensor> tensors;
    private final boolean repeated;
    private final Set<String> used = new HashSet<>();

    private AxlearnLoader(DecoderConfig config, Path file, Safetensors stored) {
        this.config = config;
        this.weights = new Weights(file, stored.tensors(), stored.unread());
        this.tensors = stored.tensors();
        this.repeated = tensors.keySet().stream().noneMatch(name -> name.startsWith("decoder/transformer/layer0/"));
    }

    static OpenCheckpoint open(Path folder, Arena arena) {
        Json json = Json.read(folder.resolve("model.json"));
        DecoderConfig config = config(json);
        Path file = folder.resolve(json.string("params_file").orElse("params.safetensors"));
        AxlearnLoader loader = new AxlearnLoader(config, file, Safetensors.open(file, arena));
        ImmutableMap<String, ImmutableList<View>> parts = loader.weights.collect(config, loader::parts);
        loader.refuseOthers(file);
        return new OpenCheckpoint(
                folder,
                Format.AXLEARN,
                arena,
                config,
                parts,
                specials(json, config.vocabulary()),
                dtype(json, "compute_dtype"),
                dtype(json, "kv_cache_dtype").or(() -> dtype(json, "compute_dtype")), // as AXLearn's caches are
                Optional::empty,
                Optional::empty);
    }

    static DecoderConfig config(Json json) {
        EXPECTED.forEach((key, beginnings) -> {
            if (REQUIRED.contains(key) || json.has(key)) {
                String value = json.requiredString(key);
                if (beginnings.stream().noneMatch(value::startsWith)) {
                    throw unsupported(json, key);
                }
            }
        });
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
        int headDim = json.requiredSize("head_dim");
        DecoderConfig llama = DecoderConfig.llama(sizes -> sizes.vocabulary(json.requiredSize("vocab_size"))
                .width(json.requiredSize("model_dim"))
                .depth(Loader.depth(json.file(), json.requiredInteger("num_layers")))
                .heads(json.requiredSize("num_heads"), json.requiredSize("num_kv_heads"), headDim)
                .feedForward(json.requiredSize("ffn_dim"))
                .maxPositions(json.size("max_sequence_length").orElse(UNLIMITED))
                .rotary(Rotary.of(json.requiredPositive("rope_theta"), headDim))
                .epsilon(json.requiredNumber("norm_eps"))
                .tiedHead(json.flag("tied_lm_head").orElse(true)));
        boolean wide = json.string("norm_forward_dtype").orElse("None").startsWith("float32");
        DecoderConfig model = wide ? llama.withNorm(llama.norm().withPrecision(Norm.Precision.FLOAT32)) : llama;
        return json.positive("attention_scale_value")
                .map(scale -> model.withAttention(model.attention().withScale(scale)))
                .orElse(model);
    }

    private static Optional<Dtype> dtype(Json json, String key) {
        return json.string(key).map(name -> name.startsWith("bfloat16") ? Dtype.BF16 : Dtype.F32);
    }

    private static UnsupportedModelException unsupported(Json json, String key) {
        return new UnsupportedModelException(
                "%s: %s is %s, which is not supported; models like fuji are (RMS norm, SwiGLU, interleaved rotary positions, no biases or caps, float32 or bfloat16)"
                        .formatted(json.file(), key, json.node().get(key)));
    }

    private static SpecialTokens specials(Json json, int vocabulary) {
        OptionalInt eos = id(json, "eos_id", 0, vocabulary);
        ImmutableSet<Integer> stops = eos.isPresent() ? ImmutableSet.of(eos.getAsInt()) : ImmutableSet.of();
        return new SpecialTokens(OptionalInt.empty(), eos, id(json, "pad_id", -1, vocabulary), stops);
    }

    private static OptionalInt id(Json json, String key, int least, int vocabulary) {
        Optional<Integer> id = json.integer(key);
        if (id.isPresent() && (id.get() < least || id.get() >= vocabulary)) {
            throw json.wrong(key, json.node().get(key), "a token from %d to %d".formatted(least, vocabulary - 1));
        }
        return id.map(OptionalInt::of).orElseGet(OptionalInt::empty);
    }

    /** AXLearn does not load what its model has no place for, such as biases that are not meant to be there. */
    private void refuseOthers(Path file) {
        tensors.keySet().stream()
                .filter(name -> !used.contains(name))
                .findFirst()
                .ifPresent(name -> {
                    throw new CheckpointException(
                            "%s has a tensor %s, for which model.json has no place; file and model are of different models"
                                    .formatted(file, name));
                });
    }

    private List<View> parts(Weight weight, int layer) {
        long width = config.width();
        long hidden = config.feedForward().hidden();
        long heads = config.attention().heads();
        long headDim = config.attention().headDim();
        return switch (weight.name()) {
            case "embedding/weight" -> whole("decoder/emb/token_emb/weight", config.vocabulary(), width);
            case "head/weight" -> whole("decoder/lm_head/weight", config.vocabulary(), width);
            case "final_norm/scale" -> whole("decoder/output_norm/scale", width);
            case "attention_norm/scale" ->
                of(layer, "self_attention/norm/scale", width).all();
            case "feed_forward_norm/scale" ->
                of(layer, "feed_forward/norm/scale", width).all();
            case "q/weight" -> projection(layer, 0, heads, true);
            case "k/weight" -> projection(layer, 1, config.attention().kvHeads(), true);
            case "v/weight" -> projection(layer, 2, config.attention().kvHeads(), false);
            case "o/weight" ->
                of(layer, "self_attention/attention/o_proj/weight", width, heads, headDim)
                        .all();
            case "gate/weight" -> turned(layer, "linear1_0", width, hidden);
            case "up/weight" -> turned(layer, "linear1_1", width, hidden);
            case "down/weight" -> turned(layer, "linear2", hidden, width);
            default -> throw new IllegalStateException(weight.name() + " is no weight of a Llama");
        };
    }

    /** What a layer has of a tensor: {@code count} numbers from {@code offset} on. */
    private record OfLayer(StoredTensor tensor, long offset, long count) {
        List<View> all() {
            return List.of(View.run(tensor, offset, count));
        }
    }

    private OfLayer of(int layer, String name, long... shape) {
        long count = LongStream.of(shape).reduce(1, (a, b) -> a * b);
        String path = path(layer, name);
        used.add(path);
        return repeated
                ? new OfLayer(
                        weights.get(
                                path,
                                LongStream.concat(LongStream.of(config.depth()), LongStream.of(shape))
                                        .toArray()),
                        layer * count,
                        count)
                : new OfLayer(weights.get(path, shape), 0, count);
    }

    private String path(int layer, String name) {
        return (repeated ? REPEATED : "decoder/transformer/layer" + layer + "/") + name;
    }

    private List<View> whole(String name, long... shape) {
        used.add(name);
        return weights.whole(name, shape);
    }

    /** A matrix {@code [in, out]}, output-major. */
    private List<View> turned(int layer, String name, long in, long out) {
        OfLayer matrix = of(layer, "feed_forward/" + name + "/weight", in, out);
        return List.of(View.strided(matrix.tensor, matrix.offset, out, 1, in, out));
    }

    /**
     * Queries, keys or values. They are fused, {@code [width, heads + 2 * kv_heads, head_dim]}, or {@code [3, width, heads,
     * head_dim]} where there are as many of each, or apart. Pairs (2i, 2i + 1) turn together there, (i, i + half) in the
     * program.
     *
     * @param which 0 for queries, 1 for keys, 2 for values
     */
    private List<View> projection(int layer, int which, long count, boolean turns) {
        long width = config.width();
        long heads = config.attention().heads();
        long kvHeads = config.attention().kvHeads();
        long headDim = config.attention().headDim();
        StoredTensor fused = tensors.get(path(layer, FUSED));
        String apart = INPUTS + "qkv".charAt(which) + "_proj/weight";
        OfLayer stored;
        long row;
        long first;
        if (fused == null && tensors.containsKey(path(layer, apart))) {
            stored = of(layer, apart, width, count, headDim);
            row = count * headDim;
            first = 0;
        } else if (fused != null && fused.shape().length() == (repeated ? 5 : 4)) {
            stored = of(layer, FUSED, 3, width, heads, headDim);
            row = heads * headDim;
            first = which * width * row;
        } else {
            stored = of(layer, FUSED, width, heads + 2 * kvHeads, headDim);
            row = (heads + 2 * kvHeads) * headDim;
            first = headDim * (which == 0 ? 0 : which == 1 ? heads : heads + kvHeads);
        }
        long offset = stored.offset + first;
        return List.of(
                turns
                        ? View.strided(stored.tensor, offset, count, headDim, 2, 1, headDim / 2, 2, width, row)
                        : View.strided(stored.tensor, offset, count, headDim, headDim, 1, width, row));
    }
}

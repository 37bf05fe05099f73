// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import dev.slipway.checkpoint.ChatTemplate;
import dev.slipway.checkpoint.Checkpoint.Format;
import dev.slipway.checkpoint.CheckpointException;
import dev.slipway.checkpoint.SpecialTokens;
import dev.slipway.checkpoint.Tokenizer;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.DecoderConfig.Attention;
import dev.slipway.lowering.DecoderConfig.FeedForward;
import dev.slipway.lowering.DecoderConfig.NormPlacement;
import dev.slipway.lowering.Parameters.Weight;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;

/** Reads a Hugging Face folder, or a {@code config.json} alone. */
final class HuggingFaceLoader {
    private final DecoderConfig config;
    private final Weights weights;
    private final String prefix;

    private HuggingFaceLoader(DecoderConfig config, Weights weights) {
        this.config = config;
        this.weights = weights;
        // a bare model is stored without the name of the module that holds it
        String usual = config.learnedPositions() ? "transformer." : "model.";
        String embedding = config.learnedPositions() ? "wte.weight" : "embed_tokens.weight";
        this.prefix = weights.has(usual + embedding) || !weights.has(embedding) ? usual : "";
    }

    /** Opens a folder with {@code config.json}. */
    static OpenCheckpoint openFolder(Path folder, Arena arena) {
        Json json = Json.read(folder.resolve("config.json"));
        DecoderConfig config = HuggingFaceConfig.read(json);
        ImmutableMap<String, ImmutableList<View>> parts = safetensors(folder, arena)
                .map(files ->
                        new HuggingFaceLoader(config, new Weights(folder, files.tensors(), files.unread())).parts())
                .orElse(ImmutableMap.of());
        return opened(folder, folder, arena, json, config, parts);
    }

    /** Opens a configuration, taking a tokenizer beside it as its own. */
    static OpenCheckpoint openConfig(Path file, Arena arena) {
        Json json = Json.read(file);
        Path folder = Optional.ofNullable(file.toAbsolutePath().getParent()).orElse(file);
        return opened(file, folder, arena, json, HuggingFaceConfig.read(json), ImmutableMap.of());
    }

    private static OpenCheckpoint opened(
            Path path,
            Path folder,
            Arena arena,
            Json json,
            DecoderConfig config,
            ImmutableMap<String, ImmutableList<View>> parts) {
        return new OpenCheckpoint(
                path,
                Format.HUGGING_FACE,
                arena,
                config,
                parts,
                specials(folder, json),
                Optional.empty(),
                Optional.empty(),
                () -> tokenizer(folder),
                () -> template(folder));
    }

    private static Optional<Safetensors> safetensors(Path folder, Arena arena) {
        Path index = folder.resolve("model.safetensors.index.json");
        if (Files.isRegularFile(index)) {
            return Optional.of(Safetensors.openSharded(index, arena));
        }
        Path single = folder.resolve("model.safetensors");
        if (Files.isRegularFile(single)) {
            return Optional.of(Safetensors.open(single, arena));
        }
        try (Stream<Path> files = Files.list(folder)) {
            List<Path> found = files.filter(file -> file.toString().endsWith(".safetensors"))
                    .toList();
            if (found.size() > 1) {
                throw new CheckpointException(
                        "%s has %d .safetensors files and no model.safetensors.index.json to say which tensor is where; get it, too"
                                .formatted(folder, found.size()));
            }
            return found.stream().findFirst().map(file -> Safetensors.open(file, arena));
        } catch (IOException e) {
            throw new CheckpointException("%s cannot be listed (%s)".formatted(folder, e), e);
        }
    }

    // Weights

    private ImmutableMap<String, ImmutableList<View>> parts() {
        return weights.collect(config, config.learnedPositions() ? this::gpt2 : this::parts);
    }

    private List<View> parts(Weight weight, int layer) {
        String at = prefix + (layer < 0 ? "" : "layers." + layer + ".");
        int slash = weight.name().lastIndexOf('/');
        String what = weight.name().substring(0, slash);
        String kind = weight.name().endsWith("/bias") ? ".bias" : ".weight";
        long[] shape = weight.shape().stream().mapToLong(Integer::longValue).toArray();
        boolean around = config.placement() == NormPlacement.AROUND;
        return switch (what) {
            case "embedding" -> weights.whole(at + "embed_tokens.weight", shape);
            case "final_norm" -> weights.whole(at + "norm" + kind, shape);
            case "head" -> weights.whole("lm_head.weight", shape);
            case "attention_norm" -> weights.whole(at + "input_layernorm" + kind, shape);
            case "attention_post_norm" -> weights.whole(at + "post_attention_layernorm" + kind, shape);
            case "feed_forward_norm" ->
                weights.whole(at + (around ? "pre_feedforward" : "post_attention") + "_layernorm" + kind, shape);
            case "feed_forward_post_norm" -> weights.whole(at + "post_feedforward_layernorm" + kind, shape);
            case "q_norm", "k_norm" ->
                weights.whole(at + "self_attn." + what + kind, shape.length == 1 ? shape[0] : shape[0] * shape[1]);
            case "q", "k", "v" -> projection(at + "self_attn.", what, kind);
            case "o" -> weights.whole(at + "self_attn.o_proj" + kind, shape);
            case "gate", "up", "down" -> feedForward(at + "mlp.", what, kind, shape);
            case "router" -> weights.whole(at + experts(at) + "gate.weight", shape);
            default -> {
                String matrix = what.substring("experts/".length());
                boolean mixtral = experts(at).startsWith("block");
                String name = switch (matrix) {
                    case "gate" -> mixtral ? "w1" : "gate_proj";
                    case "up" -> mixtral ? "w3" : "up_proj";
                    default -> mixtral ? "w2" : "down_proj";
                };
                List<View> all = new ArrayList<>();
                for (int e = 0; e < shape[0]; e++) {
                    all.addAll(weights.whole(
                            "%s%sexperts.%d.%s.weight".formatted(at, experts(at), e, name), shape[1], shape[2]));
                }
                yield all;
            }
        };
    }

    private String experts(String at) {
        return weights.has(at + "block_sparse_moe.gate.weight") ? "block_sparse_moe." : "mlp.";
    }

    private List<View> projection(String at, String what, String kind) {
        Attention attention = config.attention();
        long inputs = kind.equals(".bias") ? 1 : config.width();
        long queries = (long) attention.heads() * attention.headDim();
        long keys = (long) attention.kvHeads() * attention.headDim();
        long rows = what.equals("q") ? queries : keys;
        if (!weights.has(at + "qkv_proj" + kind)) {
            return weights.whole(at + what + "_proj" + kind, rows, inputs);
        }
        StoredTensor fused = weights.get(at + "qkv_proj" + kind, queries + 2 * keys, inputs);
        long first = what.equals("q") ? 0 : what.equals("k") ? queries : queries + keys;
        return List.of(View.run(fused, first * inputs, rows * inputs));
    }

    private List<View> feedForward(String at, String what, String kind, long[] shape) {
        if (config.feedForward() instanceof FeedForward.Plain) {
            return weights.whole(at + (what.equals("up") ? "c_fc" : "c_proj") + kind, shape);
        }
        if (what.equals("down") || !weights.has(at + "gate_up_proj" + kind)) {
            return weights.whole(at + what + "_proj" + kind, shape);
        }
        long inputs = shape.length == 1 ? 1 : shape[1];
        StoredTensor fused = weights.get(at + "gate_up_proj" + kind, 2 * shape[0], inputs);
        return List.of(View.run(fused, what.equals("gate") ? 0 : shape[0] * inputs, shape[0] * inputs));
    }

    /** GPT-2 keeps its matrices input-major, and queries, keys and values in one. */
    private List<View> gpt2(Weight weight, int layer) {
        String at = prefix + (layer < 0 ? "" : "h." + layer + ".");
        int slash = weight.name().lastIndexOf('/');
        String what = weight.name().substring(0, slash);
        boolean bias = weight.name().endsWith("/bias");
        String kind = bias ? ".bias" : ".weight";
        long width = config.width();
        long hidden = config.feedForward().hidden();
        return switch (what) {
            case "embedding" -> weights.whole(at + "wte.weight", config.vocabulary(), width);
            case "positions" -> weights.whole(at + "wpe.weight", config.maxPositions(), width);
            case "head" -> weights.whole("lm_head.weight", config.vocabulary(), width);
            case "final_norm" -> weights.whole(at + "ln_f" + kind, width);
            case "attention_norm" -> weights.whole(at + "ln_1" + kind, width);
            case "feed_forward_norm" -> weights.whole(at + "ln_2" + kind, width);
            case "q", "k", "v" ->
                turned(at + "attn.c_attn" + kind, bias, width, 3 * width, "qkv".indexOf(what) * width, width);
            case "o" -> turned(at + "attn.c_proj" + kind, bias, width, width, 0, width);
            case "up" -> turned(at + "mlp.c_fc" + kind, bias, width, hidden, 0, hidden);
            default -> turned(at + "mlp.c_proj" + kind, bias, hidden, width, 0, width);
        };
    }

    /** Columns {@code [first, first + count)} of a matrix {@code [in, out]} as rows, or that part of a bias. */
    private List<View> turned(String name, boolean bias, long in, long out, long first, long count) {
        if (bias) {
            return List.of(View.run(weights.get(name, out), first, count));
        }
        return List.of(View.strided(weights.get(name, in, out), first, count, 1, in, out));
    }

    // Tokens

    private static SpecialTokens specials(Path folder, Json config) {
        List<Json> sources = new ArrayList<>(List.of(config));
        Json.readIfThere(folder.resolve("generation_config.json")).ifPresent(sources::add);
        ImmutableSet.Builder<Integer> stops = ImmutableSet.builder();
        for (Json source : sources) {
            stops.addAll(ids(source, "eos_token_id"));
        }
        ImmutableSet<Integer> ends = stops.build();
        return new SpecialTokens(
                first(sources, "bos_token_id"),
                ends.stream().mapToInt(Integer::intValue).findFirst(),
                first(sources, "pad_token_id"),
                ends);
    }

    private static OptionalInt first(List<Json> sources, String key) {
        return sources.stream()
                .flatMap(source -> ids(source, key).stream())
                .mapToInt(Integer::intValue)
                .findFirst();
    }

    private static List<Integer> ids(Json source, String key) {
        boolean several = source.get(key).filter(JsonNode::isArray).isPresent();
        return several ? source.integers(key) : source.integer(key).stream().toList();
    }

    private static Optional<Tokenizer> tokenizer(Path folder) {
        return Json.readIfThere(folder.resolve("tokenizer.json")).map(TokenizerJson::read);
    }

    private static Optional<ChatTemplate> template(Path folder) {
        Optional<Json> config = Json.readIfThere(folder.resolve("tokenizer_config.json"));
        return templateSource(folder, config)
                .map(source -> ChatTemplate.of(source, token(config, "bos_token"), token(config, "eos_token")));
    }

    private static Optional<String> templateSource(Path folder, Optional<Json> config) {
        Path file = folder.resolve("chat_template.jinja");
        if (Files.isRegularFile(file)) {
            try {
                return Optional.of(Files.readString(file));
            } catch (IOException e) {
                throw Loader.unreadable(file, e);
            }
        }
        return config.flatMap(
                json -> json.get("chat_template").filter(JsonNode::isArray).isEmpty()
                        ? json.string("chat_template")
                        : json.children("chat_template").stream()
                                .filter(named -> named.string("name").orElse("").equals("default"))
                                .findFirst()
                                .map(named -> named.requiredString("template")));
    }

    /** A token's text, which the file gives plainly or as an object. */
    private static String token(Optional<Json> config, String key) {
        return config.flatMap(json -> json.get(key).filter(JsonNode::isObject).isEmpty()
                        ? json.string(key)
                        : json.child(key).flatMap(token -> token.string("content")))
                .orElse("");
    }
}

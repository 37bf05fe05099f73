// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.primitives.ImmutableIntArray;
import dev.slipway.checkpoint.ChatTemplate;
import dev.slipway.checkpoint.Checkpoint.Format;
import dev.slipway.checkpoint.CheckpointException;
import dev.slipway.checkpoint.Dtype;
import dev.slipway.checkpoint.SpecialTokens;
import dev.slipway.checkpoint.Tokenizer;
import dev.slipway.checkpoint.UnsupportedModelException;
import dev.slipway.checkpoint.internal.BpeTokenizer.Frame;
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
import dev.slipway.lowering.Parameters.Weight;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.IntPredicate;

/** Reads GGUF's metadata as a decoder's configuration, and its tensors as a decoder's weights. */
final class GgufLoader {
    /** {@code general.architecture} values that are read. */
    static final ImmutableSet<String> ARCHITECTURES = ImmutableSet.of(
            "llama", "qwen2", "qwen3", "qwen3moe", "gemma", "gemma2", "gemma3", "phi3", "starcoder2", "gpt2", "olmo2");

    /** GGUF names only one end of sequence, but these end a model's turn wherever a vocabulary has them. */
    private static final ImmutableSet<String> TURN_ENDS = ImmutableSet.of(
            "<|endoftext|>",
            "<|im_end|>",
            "<|eot_id|>",
            "<|eom_id|>",
            "<|end_of_text|>",
            "<|end|>",
            "<end_of_turn>",
            "<EOT>",
            "</s>",
            "<eos>");

    private static final int CONTROL = 3;
    private static final int USER_DEFINED = 4;

    private final Gguf gguf;
    private final GgufMetadata metadata;
    private final Weights weights;
    private final String arch;

    private GgufLoader(Gguf gguf, String arch) {
        this.gguf = gguf;
        this.metadata = gguf.metadata();
        this.arch = arch;
        this.weights = new Weights(gguf.file(), gguf.tensors(), ImmutableMap.of());
    }

    static OpenCheckpoint open(Path file, Arena arena) {
        Gguf gguf = Gguf.open(file, arena);
        GgufMetadata metadata = gguf.metadata();
        String arch = metadata.required(metadata.string("general.architecture"), "general.architecture");
        if (!ARCHITECTURES.contains(arch)) {
            throw new UnsupportedModelException("%s is a model of architecture %s; supported in GGUF files are %s"
                    .formatted(file, arch, String.join(", ", ARCHITECTURES)));
        }
        return new GgufLoader(gguf, arch).load(arena);
    }

    private OpenCheckpoint load(Arena arena) {
        DecoderConfig config = config();
        ImmutableMap<String, ImmutableList<View>> parts = gguf.tensors().isEmpty()
                ? ImmutableMap.of()
                : weights.collect(config, (weight, layer) -> parts(config, weight, layer));
        Optional<List<String>> tokens = metadata.list("tokenizer.ggml.tokens", String.class);
        SpecialTokens specials = specials(tokens.orElse(List.of()));
        Optional<String> template = metadata.string("tokenizer.chat_template");
        return new OpenCheckpoint(
                gguf.file(),
                Format.GGUF,
                arena,
                config,
                parts,
                specials,
                Optional.empty(),
                Optional.empty(),
                () -> tokens.map(list -> tokenizer(list, specials)),
                () -> template.map(
                        text -> ChatTemplate.of(text, text(tokens, specials.bos()), text(tokens, specials.eos()))));
    }

    private static String text(Optional<List<String>> tokens, OptionalInt id) {
        return tokens.isPresent() && id.isPresent() ? tokens.get().get(id.getAsInt()) : "";
    }

    // Configuration

    private DecoderConfig config() {
        int width = metadata.requiredSize(arch + ".embedding_length");
        int depth = Loader.depth(gguf.file(), metadata.requiredInteger(arch + ".block_count"));
        int heads = metadata.requiredSize(arch + ".attention.head_count");
        int kvHeads = size(".attention.head_count_kv").orElse(heads);
        int headDim = size(".attention.key_length").orElse(width / heads);
        if (!size(".attention.value_length").orElse(headDim).equals(headDim)) {
            throw new UnsupportedModelException("%s has values of another size (%d) than keys (%d); they must be alike"
                    .formatted(gguf.file(), size(".attention.value_length").orElseThrow(), headDim));
        }
        boolean layerNorm = arch.equals("gpt2") || arch.equals("starcoder2");
        boolean gemma = arch.startsWith("gemma");
        String epsilonKey = arch + ".attention.layer_norm" + (layerNorm ? "" : "_rms") + "_epsilon";
        double epsilon = decimal(metadata.requiredNumber(epsilonKey));
        return new DecoderConfig(
                arch,
                vocabulary(),
                width,
                maxPositions(),
                new Attention(
                        heads,
                        kvHeads,
                        headDim,
                        scale(width, depth, heads, headDim),
                        weights.has("blk.0.attn_q.bias") || weights.has("blk.0.attn_qkv.bias"),
                        weights.has("blk.0.attn_output.bias"),
                        queryKeyNorm(),
                        number(".attn_logit_softcapping").orElse(arch.equals("gemma2") ? 50.0 : 0.0)),
                layers(depth, headDim),
                feedForward(),
                // Gemma's converter adds the 1 of its norms to the stored scales
                new Norm(layerNorm ? Norm.Kind.LAYER : Norm.Kind.RMS, epsilon, false),
                switch (arch) {
                    case "gemma2", "gemma3" -> NormPlacement.AROUND;
                    case "olmo2" -> NormPlacement.AFTER;
                    default -> NormPlacement.BEFORE;
                },
                arch.equals("gpt2"),
                gemma ? Math.sqrt(width) : 1,
                !weights.has("output.weight"),
                number(".final_logit_softcapping").orElse(arch.equals("gemma2") ? 30.0 : 0.0));
    }

    /** LongRoPE's short factors hold up to the original context; what they are exact for is what is offered. */
    private int maxPositions() {
        int positions = metadata.requiredSize(arch + ".context_length");
        int exact = size(".rope.scaling.original_context_length").orElse(positions);
        return weights.has("rope_factors_short.weight") ? Math.min(positions, exact) : positions;
    }

    private int vocabulary() {
        StoredTensor embedding = gguf.tensors().get("token_embd.weight");
        if (embedding != null && embedding.shape().length() == 2) {
            return Math.toIntExact(Math.min(embedding.shape().get(0), Integer.MAX_VALUE));
        }
        return size(".vocab_size")
                .orElseGet(() -> metadata.list("tokenizer.ggml.tokens", String.class)
                        .map(List::size)
                        .orElse(0));
    }

    /** Gemma's larger models divide by another size than a head's, which GGUF leaves to the reader to know. */
    private double scale(int width, int depth, int heads, int headDim) {
        boolean large = (arch.equals("gemma2") && depth == 46) || (arch.equals("gemma3") && depth == 62);
        return 1 / Math.sqrt(large ? (double) width / heads : headDim);
    }

    private QueryKeyNorm queryKeyNorm() {
        return switch (arch) {
            case "olmo2" -> QueryKeyNorm.ALL_HEADS;
            case "qwen3", "qwen3moe", "gemma3" -> QueryKeyNorm.PER_HEAD;
            default -> QueryKeyNorm.NONE;
        };
    }

    private FeedForward feedForward() {
        int hidden = metadata.requiredSize(arch + ".feed_forward_length");
        int experts = integer(".expert_count").orElse(0);
        if (experts > 0) {
            return new FeedForward.Experts(
                    size(".expert_feed_forward_length").orElse(hidden),
                    Activation.SILU,
                    experts,
                    metadata.requiredSize(arch + ".expert_used_count"),
                    true);
        }
        return switch (arch) {
            case "gpt2", "starcoder2" ->
                new FeedForward.Plain(hidden, Activation.GELU_TANH, weights.has("blk.0.ffn_up.bias"));
            case "gemma", "gemma2", "gemma3" -> new FeedForward.Gated(hidden, Activation.GELU_TANH, false);
            default -> new FeedForward.Gated(hidden, Activation.SILU, weights.has("blk.0.ffn_up.bias"));
        };
    }

    private ImmutableList<Layer> layers(int depth, int headDim) {
        if (arch.equals("gpt2")) {
            return DecoderConfig.repeat(Layer.full(Rotary.NONE), depth);
        }
        double theta = positive(".rope.freq_base").orElse(10_000.0);
        int dims = integer(".rope.dimension_count").orElse(headDim);
        Layer full = Layer.full(new Rotary(theta, dims, scaling(dims)));
        int window = integer(".attention.sliding_window").orElse(arch.equals("gemma2") ? 4096 : 0);
        if (window == 0) {
            return DecoderConfig.repeat(full, depth);
        }
        Optional<Double> slidingTheta = positive(".rope.freq_base_swa");
        Layer sliding = switch (arch) {
            case "gemma3" -> new Layer(window, Rotary.of(slidingTheta.orElse(10_000.0), dims));
            // OLMo 3, whose files are of this architecture, scales the rotary positions of the other layers alone
            case "olmo2" -> new Layer(window, Rotary.of(slidingTheta.orElse(theta), dims));
            default -> new Layer(window, full.rotary());
        };
        IntPredicate slides = slides(depth);
        ImmutableList.Builder<Layer> layers = ImmutableList.builder();
        for (int i = 0; i < depth; i++) {
            layers.add(slides.test(i) ? sliding : full);
        }
        return layers.build();
    }

    /** Which layers have the window: those that the file lists, or all but every n-th. */
    private IntPredicate slides(int depth) {
        String key = arch + ".attention.sliding_window_pattern";
        if (metadata.values().get(key) instanceof List<?>) {
            List<Boolean> listed = metadata.required(metadata.list(key, Boolean.class), key);
            if (listed.size() != depth) {
                throw metadata.wrong(key, listed, "%d of them, one for each layer,".formatted(depth));
            }
            return listed::get;
        }
        int otherwise = switch (arch) {
            case "gemma2" -> 2;
            case "gemma3" -> 6;
            case "olmo2" -> 4;
            default -> Integer.MAX_VALUE;
        };
        int pattern = metadata.size(key).orElse(otherwise);
        return layer -> (layer + 1) % pattern != 0;
    }

    private Scaling scaling(int dims) {
        StoredTensor divisors = gguf.tensors().get("rope_freqs.weight");
        if (divisors != null) {
            return new Scaling.PerPair(divisors(weights.get("rope_freqs.weight", dims / 2)), 1);
        }
        if (weights.has("rope_factors_short.weight")) {
            // exact up to the original context, where the short factors hold
            return new Scaling.PerPair(divisors(weights.get("rope_factors_short.weight", dims / 2)), attentionFactor());
        }
        String type = metadata.string(arch + ".rope.scaling.type").orElse("linear");
        return switch (type) {
            case "none" -> new Scaling.None();
            case "linear" -> stretch() == 1 ? new Scaling.None() : new Scaling.Linear(stretch());
            case "yarn" ->
                RotaryScalings.yarn(
                        positive(".rope.freq_base").orElse(10_000.0),
                        dims,
                        stretch(),
                        metadata.requiredSize(arch + ".rope.scaling.original_context_length"),
                        Turns.read(
                                metadata, arch + ".rope.scaling.yarn_beta_fast", arch + ".rope.scaling.yarn_beta_slow"),
                        true,
                        RotaryScalings.magnitude(stretch(), 1) * attentionFactor());
            default ->
                throw new UnsupportedModelException(
                        "%s scales its rotary positions by %s; none, linear and yarn are supported"
                                .formatted(gguf.file(), type));
        };
    }

    /** Factor on cosine and sine, beside YaRN's own. */
    private double attentionFactor() {
        return positive(".rope.scaling.attn_factor").orElse(1.0);
    }

    private double stretch() {
        return metadata.stretch(arch + ".rope.scaling.factor")
                .or(() -> metadata.stretch(arch + ".rope.scale_linear")) // as files had it before
                .orElse(1.0);
    }

    private ImmutableList<Double> divisors(StoredTensor tensor) {
        if (tensor.encoding() != Encoding.F32) {
            throw new CheckpointException("%s: tensor %s is encoded as %s, F32 is expected; convert it anew"
                    .formatted(gguf.file(), tensor.name(), tensor.encoding()));
        }
        float[] values = new float[Math.toIntExact(tensor.count())];
        View.run(tensor, 0, values.length).copy(MemorySegment.ofArray(values), 0, Dtype.F32);
        ImmutableList.Builder<Double> list = ImmutableList.builder();
        for (float value : values) {
            if (!(value > 0) || Float.isInfinite(value)) {
                throw new CheckpointException("%s: tensor %s holds %s, positive numbers are expected; convert it anew"
                        .formatted(gguf.file(), tensor.name(), value));
            }
            list.add((double) value);
        }
        return list.build();
    }

    /** The shortest decimal that the stored float32 stands for: 1e-5 is written, 9.99999974737875e-6 is not meant. */
    private static double decimal(double stored) {
        return Double.parseDouble(Float.toString((float) stored));
    }

    private Optional<Integer> size(String suffix) {
        return metadata.size(arch + suffix);
    }

    private Optional<Double> positive(String suffix) {
        return metadata.positive(arch + suffix);
    }

    private Optional<Integer> integer(String suffix) {
        return metadata.integer(arch + suffix);
    }

    private Optional<Double> number(String suffix) {
        return metadata.number(arch + suffix);
    }

    // Weights

    private List<View> parts(DecoderConfig config, Weight weight, int layer) {
        String at = layer < 0 ? "" : "blk." + layer + ".";
        int slash = weight.name().lastIndexOf('/');
        String what = weight.name().substring(0, slash);
        String kind = weight.name().endsWith("/bias") ? ".bias" : ".weight";
        long width = config.width();
        long inputs = kind.equals(".bias") ? 1 : width;
        long hidden = config.feedForward().hidden();
        long[] shape = weight.shape().stream().mapToLong(Integer::longValue).toArray();
        return switch (what) {
            case "embedding" -> weights.whole("token_embd.weight", shape);
            case "positions" -> weights.whole("position_embd.weight", shape);
            case "final_norm" -> weights.whole("output_norm" + kind, shape);
            case "head" -> weights.whole("output.weight", shape);
            case "attention_norm" -> weights.whole(at + "attn_norm" + kind, shape);
            case "feed_forward_norm" -> weights.whole(at + "ffn_norm" + kind, shape);
            case "attention_post_norm" -> weights.whole(at + "post_attention_norm" + kind, shape);
            case "feed_forward_post_norm" -> weights.whole(at + "post_ffw_norm" + kind, shape);
            case "q_norm", "k_norm" -> weights.whole(at + "attn_" + what + kind, flat(shape, shape.length));
            case "q", "k", "v" -> projection(config.attention(), at, what, kind, inputs);
            case "o" -> weights.whole(at + "attn_output" + kind, shape);
            case "gate", "up" -> {
                boolean fused =
                        config.feedForward() instanceof FeedForward.Gated && !weights.has(at + "ffn_gate" + kind);
                if (!fused) {
                    yield weights.whole(at + "ffn_" + what + kind, shape);
                }
                StoredTensor both = weights.get(at + "ffn_up" + kind, 2 * hidden, inputs);
                yield List.of(View.run(both, what.equals("gate") ? 0 : hidden * inputs, hidden * inputs));
            }
            case "down" -> weights.whole(at + "ffn_down" + kind, shape);
            case "router" -> weights.whole(at + "ffn_gate_inp.weight", shape);
            default -> {
                String matrix = at + "ffn_" + what.substring("experts/".length());
                if (weights.has(matrix + "_exps.weight")) {
                    yield weights.whole(matrix + "_exps.weight", shape);
                }
                ImmutableList.Builder<View> experts = ImmutableList.builder();
                for (int e = 0; e < shape[0]; e++) {
                    experts.addAll(weights.whole(matrix + "." + e + ".weight", shape[1], shape[2]));
                }
                yield experts.build();
            }
        };
    }

    private List<View> projection(Attention attention, String at, String what, String kind, long inputs) {
        long headDim = attention.headDim();
        long heads = what.equals("q") ? attention.heads() : attention.kvHeads();
        long rows = heads * headDim;
        if (!weights.has(at + "attn_" + what + kind) && weights.has(at + "attn_qkv" + kind)) {
            long queries = attention.heads() * headDim;
            long keys = attention.kvHeads() * headDim;
            StoredTensor fused = weights.get(at + "attn_qkv" + kind, queries + 2 * keys, inputs);
            long first = what.equals("q") ? 0 : what.equals("k") ? queries : queries + keys;
            return List.of(View.run(fused, first * inputs, rows * inputs));
        }
        StoredTensor stored = weights.get(at + "attn_" + what + kind, rows, inputs);
        if (arch.equals("llama") && !what.equals("v")) {
            // pairs (2i, 2i + 1) turn together in the file, (i, i + half) in the program
            long half = headDim / 2;
            return List.of(View.strided(stored, 0, heads, headDim * inputs, 2, inputs, half, 2 * inputs, inputs, 1));
        }
        return List.of(View.run(stored, 0, rows * inputs));
    }

    private static long[] flat(long[] shape, int dimensions) {
        long product = 1;
        for (int i = 0; i < dimensions; i++) {
            product *= shape[i];
        }
        return new long[] {product};
    }

    // Tokens

    private SpecialTokens specials(List<String> tokens) {
        OptionalInt eos = id("tokenizer.ggml.eos_token_id", tokens);
        ImmutableSet.Builder<Integer> stops = ImmutableSet.builder();
        eos.ifPresent(stops::add);
        id("tokenizer.ggml.eot_token_id", tokens).ifPresent(stops::add);
        id("tokenizer.ggml.eom_token_id", tokens).ifPresent(stops::add);
        List<Long> types =
                metadata.list("tokenizer.ggml.token_type", Long.class).orElse(List.of());
        for (int i = 0; i < Math.min(tokens.size(), types.size()); i++) {
            if (types.get(i) == CONTROL && TURN_ENDS.contains(tokens.get(i))) {
                stops.add(i);
            }
        }
        return new SpecialTokens(
                id("tokenizer.ggml.bos_token_id", tokens),
                eos,
                id("tokenizer.ggml.padding_token_id", tokens),
                stops.build());
    }

    private OptionalInt id(String key, List<String> tokens) {
        Optional<Integer> id = metadata.integer(key);
        if (id.isPresent() && (id.get() < 0 || id.get() >= tokens.size())) {
            throw new CheckpointException("%s: metadata %s is %d, but there are %d tokens; convert it anew"
                    .formatted(gguf.file(), key, id.get(), tokens.size()));
        }
        return id.map(OptionalInt::of).orElseGet(OptionalInt::empty);
    }

    /**
     * What prompts have around them, if anything.
     *
     * @param begins whether they begin with a token where the file leaves it to the reader to know
     */
    private Frame frame(SpecialTokens specials, boolean begins) {
        return new Frame(
                added("tokenizer.ggml.add_bos_token", begins, specials.bos()),
                added("tokenizer.ggml.add_eos_token", false, specials.eos()));
    }

    private ImmutableIntArray added(String key, boolean otherwise, OptionalInt token) {
        return token.isPresent() && metadata.flag(key).orElse(otherwise)
                ? ImmutableIntArray.of(token.getAsInt())
                : ImmutableIntArray.of();
    }

    private Tokenizer tokenizer(List<String> tokens, SpecialTokens specials) {
        String model = metadata.required(metadata.string("tokenizer.ggml.model"), "tokenizer.ggml.model");
        List<Long> types =
                metadata.list("tokenizer.ggml.token_type", Long.class).orElse(List.of());
        if (!types.isEmpty() && types.size() != tokens.size()) {
            throw new CheckpointException("%s has %d tokens, but types for %d; convert it anew"
                    .formatted(gguf.file(), tokens.size(), types.size()));
        }
        ImmutableList.Builder<AddedToken> added = ImmutableList.builder();
        for (int i = 0; i < types.size(); i++) {
            long type = types.get(i);
            if ((type == CONTROL || type == USER_DEFINED) && !tokens.get(i).isEmpty()) {
                added.add(AddedToken.verbatim(i, tokens.get(i), type == CONTROL));
            }
        }
        Vocabulary vocabulary = Vocabulary.of(gguf.file(), tokens, added.build(), _ -> true);
        return switch (model) {
            case "gpt2" -> {
                String pre = metadata.string("tokenizer.ggml.pre").orElse("gpt-2");
                List<String> merges = metadata.required(
                        metadata.list("tokenizer.ggml.merges", String.class), "tokenizer.ggml.merges");
                yield new BpeTokenizer(
                        vocabulary,
                        TextPipeline.ggufByteLevel(gguf.file(), pre),
                        Bpe.byteLevel(vocabulary, merges, TextPipeline.wholeWordsFirst(pre)),
                        frame(specials, TextPipeline.beginsWithBos(pre)));
            }
            case "llama" -> {
                List<Double> scores = metadata.required(
                        metadata.list("tokenizer.ggml.scores", Double.class), "tokenizer.ggml.scores");
                boolean prefix =
                        metadata.flag("tokenizer.ggml.add_space_prefix").orElse(true);
                yield new BpeTokenizer(
                        vocabulary,
                        TextPipeline.sentencePiece(prefix),
                        Bpe.scored(
                                vocabulary,
                                scores,
                                metadata.integer("tokenizer.ggml.unknown_token_id")
                                        .orElse(-1)),
                        frame(specials, true));
            }
            default ->
                throw new UnsupportedModelException(
                        "%s has a tokenizer of the kind %s; gpt2 (byte-level BPE) and llama (SentencePiece BPE) are supported, or give token ids with --ids"
                                .formatted(gguf.file(), model));
        };
    }
}

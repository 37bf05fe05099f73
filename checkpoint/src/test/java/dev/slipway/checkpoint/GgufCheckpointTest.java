// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.DecoderConfig.Activation;
import dev.slipway.lowering.DecoderConfig.FeedForward;
import dev.slipway.lowering.DecoderConfig.Layer;
import dev.slipway.lowering.DecoderConfig.NormPlacement;
import dev.slipway.lowering.DecoderConfig.QueryKeyNorm;
import dev.slipway.lowering.DecoderConfig.Rotary;
import dev.slipway.lowering.DecoderConfig.Scaling;
import dev.slipway.lowering.Parameters;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** GGUF files. The models: vocabulary 7, width 12, 2 layers, 4 heads and 2 KV heads of 4 (unless said), hidden 5. */
class GgufCheckpointTest {
    private static final int WIDTH = 12;

    @TempDir
    Path folder;

    /** The metadata that every architecture has. */
    static GgufWriter metadata(String arch) {
        boolean layerNorm = arch.equals("gpt2") || arch.equals("starcoder2");
        return new GgufWriter()
                .with("general.architecture", arch)
                .with(arch + ".context_length", 64)
                .with(arch + ".embedding_length", WIDTH)
                .with(arch + ".block_count", 2)
                .with(arch + ".feed_forward_length", 5)
                .with(arch + ".attention.head_count", 4)
                .with(arch + ".attention.head_count_kv", arch.equals("gpt2") ? 4 : 2)
                .with(arch + ".attention.key_length", 4)
                .with(arch + ".attention.layer_norm" + (layerNorm ? "" : "_rms") + "_epsilon", 1e-5f);
    }

    /** Tensors of a layer by their name and shape, as {@code "attn_q.weight 16 12"}. */
    private static List<String> layer(String arch) {
        List<String> tensors = new ArrayList<>();
        String projections = "attn_q.weight 16 12,attn_k.weight 8 12,attn_v.weight 8 12,attn_output.weight 12 16";
        String gated = "ffn_gate.weight 5 12,ffn_up.weight 5 12,ffn_down.weight 12 5";
        String experts = "ffn_gate_inp.weight 3 12,ffn_gate_exps.weight 3 5 12,ffn_up_exps.weight 3 5 12,"
                + "ffn_down_exps.weight 3 12 5";
        String norms = "attn_norm.weight 12,ffn_norm.weight 12";
        String layerNorms = norms + ",attn_norm.bias 12,ffn_norm.bias 12";
        String perHead = "attn_q_norm.weight 4,attn_k_norm.weight 4";
        String postNorms = "post_attention_norm.weight 12,post_ffw_norm.weight 12";
        String plain = "ffn_up.weight 5 12,ffn_up.bias 5,ffn_down.weight 12 5,ffn_down.bias 12";
        String all = switch (arch) {
            case "llama", "gemma" -> String.join(",", norms, projections, gated);
            case "mixtral" -> String.join(",", norms, projections, experts);
            case "qwen2" ->
                String.join(",", norms, projections, gated, "attn_q.bias 16", "attn_k.bias 8", "attn_v.bias 8");
            case "qwen3" -> String.join(",", norms, projections, gated, perHead);
            case "qwen3moe" -> String.join(",", norms, projections, experts, perHead);
            case "gemma2" -> String.join(",", norms, postNorms, projections, gated);
            case "gemma3" -> String.join(",", norms, postNorms, projections, gated, perHead);
            case "phi3" ->
                String.join(
                        ",",
                        norms,
                        "attn_qkv.weight 32 12",
                        "attn_output.weight 12 16",
                        "ffn_up.weight 10 12",
                        "ffn_down.weight 12 5");
            case "starcoder2" ->
                String.join(
                        ",",
                        layerNorms,
                        projections,
                        plain,
                        "attn_q.bias 16",
                        "attn_k.bias 8",
                        "attn_v.bias 8",
                        "attn_output.bias 12");
            case "gpt2" ->
                String.join(
                        ",",
                        layerNorms,
                        plain,
                        "attn_qkv.weight 48 12",
                        "attn_qkv.bias 48",
                        "attn_output.weight 12 16",
                        "attn_output.bias 12");
            case "olmo2" ->
                String.join(",", postNorms, projections, gated, "attn_q_norm.weight 16", "attn_k_norm.weight 8");
            default -> throw new IllegalArgumentException(arch);
        };
        tensors.addAll(Arrays.asList(all.split(",")));
        return tensors;
    }

    /** Adds all tensors of a model, every number another; tensor {@code n} begins with {@code 1000 n}. */
    private static List<String> addTensors(GgufWriter writer, String arch) {
        List<String> tensors = new ArrayList<>(List.of("token_embd.weight 7 12", "output_norm.weight 12"));
        if (arch.equals("gpt2") || arch.equals("starcoder2")) {
            tensors.add("output_norm.bias 12");
        }
        if (arch.equals("gpt2")) {
            tensors.add("position_embd.weight 64 12");
        }
        if (arch.startsWith("qwen")) {
            tensors.add("output.weight 7 12");
        }
        for (int i = 0; i < 2; i++) {
            for (String tensor : layer(arch)) {
                tensors.add("blk." + i + "." + tensor);
            }
        }
        for (int i = 0; i < tensors.size(); i++) {
            String[] parts = tensors.get(i).split(" ");
            int[] shape =
                    Arrays.stream(parts).skip(1).mapToInt(Integer::parseInt).toArray();
            writer.tensor(
                    parts[0], Goldens.counting(1000 * i, Arrays.stream(shape).reduce(1, (a, b) -> a * b)), shape);
        }
        return tensors.stream().map(t -> t.substring(0, t.indexOf(' '))).toList();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "llama",
                "mixtral",
                "qwen2",
                "qwen3",
                "qwen3moe",
                "gemma",
                "gemma2",
                "gemma3",
                "phi3",
                "starcoder2",
                "gpt2",
                "olmo2"
            })
    void everyNumberOfAFileIsHandedOutOnce(String model) {
        String arch = model.equals("mixtral") ? "llama" : model;
        GgufWriter writer = metadata(arch);
        if (model.equals("mixtral") || model.equals("qwen3moe")) {
            writer.with(arch + ".expert_count", 3).with(arch + ".expert_used_count", 2);
        }
        int tensors = addTensors(writer, model).size();
        boolean[] seen = new boolean[1000 * tensors];

        try (Checkpoint checkpoint = Checkpoint.open(writer.write(folder.resolve("model.gguf")))) {
            List<String> twice = new ArrayList<>();
            int total = 0;
            for (String weight : checkpoint.names()) {
                for (float number : Goldens.numbers(checkpoint, weight)) {
                    if (seen[(int) number]) {
                        twice.add(weight);
                    }
                    seen[(int) number] = true;
                    total++;
                }
            }
            assertThat(twice).isEmpty();
            assertThat(Parameters.count(checkpoint.config())).isEqualTo(total);
            assertThat(Goldens.mappedOtherwise(checkpoint)).isEmpty();
        }
        for (int i = 0; i < tensors; i++) {
            assertThat(seen[1000 * i]).as("tensor %d", i).isTrue();
        }
    }

    private Checkpoint llama() {
        GgufWriter writer = metadata("llama");
        addTensors(writer, "llama");
        return Checkpoint.open(writer.write(folder.resolve("llama.gguf")));
    }

    @Test
    void aLlamaIsRead() {
        try (Checkpoint checkpoint = llama()) {
            assertThat(checkpoint.config())
                    .isEqualTo(DecoderConfig.llama(llama -> llama.vocabulary(7)
                            .width(WIDTH)
                            .depth(2)
                            .heads(4, 2, 4)
                            .feedForward(5)
                            .maxPositions(64)
                            .tiedHead()));
        }
    }

    @Test
    void interleavedPairsOfALlamaBecomeHalves() {
        try (Checkpoint checkpoint = llama()) {
            float[] k = Goldens.numbers(checkpoint, "layers/1/k/weight");
            float[] v = Goldens.numbers(checkpoint, "layers/1/v/weight");
            int[] fileOrder = {0, 2, 1, 3};
            // blk.1.attn_k.weight is tensor 2 + 9 + 3, and attn_v.weight the one after it
            for (int head = 0; head < 2; head++) {
                for (int e = 0; e < 4; e++) {
                    for (int d = 0; d < WIDTH; d++) {
                        int at = (head * 4 + e) * WIDTH + d;
                        assertThat(k[at]).isEqualTo(14_000 + (head * 4 + fileOrder[e]) * WIDTH + d);
                        assertThat(v[at]).isEqualTo(15_000 + at);
                    }
                }
            }
            assertThat(checkpoint.mapped("layers/1/k/weight", Dtype.F32)).isEmpty();
            assertThat(checkpoint.mapped("layers/1/v/weight", Dtype.F32)).isPresent();
            assertThat(checkpoint.mapped("layers/1/v/weight", Dtype.BF16)).isEmpty();
        }
    }

    @Test
    void mappedWeightsCannotBeWritten() {
        try (Checkpoint checkpoint = llama()) {
            assertThat(checkpoint
                            .mapped("embedding/weight", Dtype.F32)
                            .orElseThrow()
                            .isReadOnly())
                    .isTrue();
        }
    }

    @Test
    void architecturesDifferAsTheyShould() {
        assertThat(config("gemma").embeddingScale()).isEqualTo(Math.sqrt(WIDTH));
        assertThat(config("gemma").norm().unitOffset()).isFalse();
        assertThat(config("gemma").feedForward()).isEqualTo(new FeedForward.Gated(5, Activation.GELU_TANH, false));
        assertThat(config("gemma2").placement()).isEqualTo(NormPlacement.AROUND);
        assertThat(config("olmo2").placement()).isEqualTo(NormPlacement.AFTER);
        assertThat(config("olmo2").attention().queryKeyNorm()).isEqualTo(QueryKeyNorm.ALL_HEADS);
        assertThat(config("qwen3").attention().queryKeyNorm()).isEqualTo(QueryKeyNorm.PER_HEAD);
        assertThat(config("qwen2").attention().projectionBias()).isTrue();
        assertThat(config("qwen2").attention().outputBias()).isFalse();
        assertThat(config("qwen2").tiedHead()).isFalse();
        assertThat(config("gpt2").learnedPositions()).isTrue();
        assertThat(config("gpt2").layers()).containsOnly(Layer.full(Rotary.NONE));
        assertThat(config("starcoder2").feedForward()).isEqualTo(new FeedForward.Plain(5, Activation.GELU_TANH, true));
    }

    private DecoderConfig config(String arch) {
        GgufWriter writer = metadata(arch);
        addTensors(writer, arch);
        try (Checkpoint checkpoint = Checkpoint.open(writer.write(folder.resolve(arch + ".gguf")))) {
            return checkpoint.config();
        }
    }

    @Test
    void gemma3SlidesInFiveOfSixLayers() {
        GgufWriter writer = new GgufWriter();
        writer.with("general.architecture", "gemma3")
                .with("gemma3.context_length", 64)
                .with("gemma3.embedding_length", WIDTH)
                .with("gemma3.block_count", 7)
                .with("gemma3.feed_forward_length", 5)
                .with("gemma3.attention.head_count", 4)
                .with("gemma3.attention.key_length", 4)
                .with("gemma3.attention.layer_norm_rms_epsilon", 1e-6f)
                .with("gemma3.attention.sliding_window", 8)
                .with("gemma3.rope.freq_base", 1e6f)
                .with("gemma3.rope.scaling.type", "linear")
                .with("gemma3.rope.scaling.factor", 8f)
                .with("gemma3.vocab_size", 7);
        Layer sliding = new Layer(8, Rotary.of(10_000, 4));
        Layer full = Layer.full(new Rotary(1_000_000, 4, new Scaling.Linear(8)));

        try (Checkpoint checkpoint = Checkpoint.open(writer.write(folder.resolve("gemma3.gguf")))) {
            assertThat(checkpoint.config().layers())
                    .containsExactly(sliding, sliding, sliding, sliding, sliding, full, sliding);
            assertThat(checkpoint.hasWeights()).isFalse();
        }
    }

    private List<Layer> layers(GgufWriter writer) {
        try (Checkpoint checkpoint = Checkpoint.open(writer.write(folder.resolve("layers.gguf")))) {
            return checkpoint.config().layers();
        }
    }

    /** What llama.cpp makes of OLMo 3, whose files say that they are OLMo 2's. */
    @Test
    void olmo3SlidesInThreeOfFourLayersAndScalesTheOthersAlone() {
        GgufWriter writer = metadata("olmo2")
                .with("olmo2.block_count", 5)
                .with("olmo2.vocab_size", 7)
                .with("olmo2.attention.sliding_window", 8)
                .with("olmo2.rope.freq_base", 5e5f)
                .with("olmo2.rope.scaling.type", "linear")
                .with("olmo2.rope.scaling.factor", 8f);
        Layer sliding = new Layer(8, Rotary.of(500_000, 4));
        Layer full = Layer.full(new Rotary(500_000, 4, new Scaling.Linear(8)));

        assertThat(layers(writer)).containsExactly(sliding, sliding, sliding, full, sliding);
        assertThat(layers(writer.with("olmo2.attention.sliding_window", 0))).containsOnly(full);
    }

    @Test
    void whichLayersSlideIsWhatTheFileSays() {
        GgufWriter writer = metadata("gemma3")
                .with("gemma3.block_count", 3)
                .with("gemma3.vocab_size", 7)
                .with("gemma3.attention.sliding_window", 8)
                .with("gemma3.rope.freq_base_swa", 20_000f);

        writer.with("gemma3.attention.sliding_window_pattern", 2);
        assertThat(layers(writer)).extracting(Layer::window).containsExactly(8, 0, 8);
        assertThat(layers(writer).getFirst().rotary().theta()).isEqualTo(20_000);
        writer.with("gemma3.attention.sliding_window_pattern", List.of(false, true, true));
        assertThat(layers(writer)).extracting(Layer::window).containsExactly(0, 8, 8);
        writer.with("gemma3.attention.sliding_window_pattern", List.of(true));
        refused(writer.bytes(), "gemma3.attention.sliding_window_pattern is [true], but 3 of them");
    }

    @Test
    void gemma2sWindowAndCapsAreItsDefaultsWhereTheFileHasNone() {
        GgufWriter writer = metadata("gemma2").with("gemma2.vocab_size", 7);
        try (Checkpoint checkpoint = Checkpoint.open(writer.write(folder.resolve("gemma2.gguf")))) {
            DecoderConfig config = checkpoint.config();

            assertThat(config.layers()).extracting(Layer::window).containsExactly(4096, 0);
            assertThat(config.attention().scoreCap()).isEqualTo(50);
            assertThat(config.logitCap()).isEqualTo(30);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"llama.rope.scaling.factor", "llama.rope.scale_linear"})
    void aStretchWithoutATypeIsLinear(String key) {
        GgufWriter writer = metadata("llama").with("llama.vocab_size", 7).with(key, 4f);

        assertThat(layers(writer)).containsOnly(Layer.full(new Rotary(10_000, 4, new Scaling.Linear(4))));
        assertThat(layers(writer.with("llama.rope.scaling.type", "none")))
                .containsOnly(Layer.full(Rotary.of(10_000, 4)));
    }

    @Test
    void longRopeIsOfferedUpToItsOriginalContext() {
        GgufWriter writer = metadata("phi3").with("phi3.rope.scaling.original_context_length", 16);
        addTensors(writer, "phi3");
        writer.tensor("rope_factors_short.weight", new float[] {1, 1.5f}, 2);

        try (Checkpoint checkpoint = Checkpoint.open(writer.write(folder.resolve("phi3.gguf")))) {
            assertThat(checkpoint.config().maxPositions()).isEqualTo(16);
        }
    }

    @Test
    void storedDivisorsOfFrequenciesAreTaken() {
        GgufWriter writer = metadata("llama");
        addTensors(writer, "llama");
        writer.tensor("rope_freqs.weight", new float[] {1, 8}, 2);

        try (Checkpoint checkpoint = Checkpoint.open(writer.write(folder.resolve("llama31.gguf")))) {
            Rotary rotary = checkpoint.config().layers().getFirst().rotary();
            assertThat(rotary.frequencies()).containsExactly(1, 0.01 / 8);
        }
    }

    @Test
    void quantisedTensorsAreDecoded() {
        GgufWriter writer = new GgufWriter()
                .with("general.architecture", "qwen2")
                .with("qwen2.context_length", 64)
                .with("qwen2.embedding_length", 32)
                .with("qwen2.block_count", 1)
                .with("qwen2.feed_forward_length", 32)
                .with("qwen2.attention.head_count", 2)
                .with("qwen2.attention.layer_norm_rms_epsilon", 1e-5f);
        // Q8_0: one block a row, d = 0.5, numbers 0 to 31
        byte[] block = new byte[34];
        block[1] = 0x38;
        for (int i = 0; i < 32; i++) {
            block[2 + i] = (byte) i;
        }
        byte[] matrix = new byte[32 * 34];
        for (int row = 0; row < 32; row++) {
            System.arraycopy(block, 0, matrix, 34 * row, 34);
        }
        writer.tensor("token_embd.weight", 8, matrix, 32, 32).tensor("output_norm.weight", new float[32], 32);
        for (String name : List.of("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")) {
            writer.tensor("blk.0." + name + ".weight", 8, matrix, 32, 32);
        }
        writer.tensor("blk.0.attn_norm.weight", new float[32], 32).tensor("blk.0.ffn_norm.weight", new float[32], 32);

        try (Checkpoint checkpoint = Checkpoint.open(writer.write(folder.resolve("q8.gguf")))) {
            float[] numbers = Goldens.numbers(checkpoint, "layers/0/down/weight");
            for (int i = 0; i < numbers.length; i++) {
                assertThat(numbers[i]).isEqualTo(0.5f * (i % 32));
            }
            short[] halves = new short[32 * 32];
            checkpoint.read("embedding/weight", MemorySegment.ofArray(halves), Dtype.BF16);
            assertThat(Float.intBitsToFloat(halves[33] << 16)).isEqualTo(0.5f);
            assertThat(checkpoint.mapped("embedding/weight", Dtype.F32)).isEmpty();
        }
    }

    // Uses that are refused

    @Test
    void anUnknownWeightIsNamed() {
        try (Checkpoint checkpoint = llama()) {
            assertThatExceptionOfType(CheckpointException.class)
                    .isThrownBy(() -> checkpoint.read("layers/2/q/weight", MemorySegment.NULL, Dtype.F32))
                    .withMessageContaining("has no weight layers/2/q/weight")
                    .withMessageContaining("embedding/weight");
        }
    }

    @Test
    void aShortTargetIsRefused() {
        try (Checkpoint checkpoint = llama()) {
            assertThatIllegalArgumentException()
                    .isThrownBy(
                            () -> checkpoint.read("embedding/weight", MemorySegment.ofArray(new float[83]), Dtype.F32))
                    .withMessageContaining("332 bytes")
                    .withMessageContaining("336");
        }
    }

    @Test
    void nothingIsReadAfterClosing() {
        Checkpoint checkpoint = llama();
        checkpoint.close();
        checkpoint.close();

        assertThatIllegalStateException()
                .isThrownBy(() -> checkpoint.read("embedding/weight", MemorySegment.ofArray(new float[84]), Dtype.F32));
    }

    // Files that are refused

    private void refused(byte[] bytes, String... parts) {
        Path file = folder.resolve("bad.gguf");
        try {
            Files.write(file, bytes);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(() -> Checkpoint.open(file))
                .satisfies(e -> assertThat(e.getMessage())
                        .contains("bad.gguf")
                        .contains(parts)
                        .doesNotContain("\n"));
    }

    private static byte[] llamaBytes() {
        GgufWriter writer = metadata("llama");
        addTensors(writer, "llama");
        return writer.bytes();
    }

    private static byte[] changed(int at, long value, int bytes) {
        byte[] file = llamaBytes();
        for (int i = 0; i < bytes; i++) {
            file[at + i] = (byte) (value >> (8 * i));
        }
        return file;
    }

    @Test
    void aFileCutInHalfIsSaidToBe() {
        byte[] bytes = llamaBytes();

        refused(Arrays.copyOf(bytes, bytes.length / 2), "get it again");
        refused(Arrays.copyOf(bytes, 100), "the number of tensors", "get it again");
        refused(Arrays.copyOf(bytes, 10), "ends at byte 10", "cut off or damaged");
        refused(Arrays.copyOf(bytes, 3), "the magic");
        refused(new byte[0], "the magic");
    }

    @Test
    void anotherMagicOrVersionIsNamed() {
        refused(changed(0, 0x0A0D4350, 4), "50430d0a", "no GGUF file");
        refused(changed(4, 1, 4), "version 1", "versions 2 and 3");
        refused(changed(4, 0x03000000, 4), "big-endian");
    }

    @ParameterizedTest
    @CsvSource({"8, the number of tensors", "16, the number of metadata", "24, the key of metadata 0"})
    void absurdCountsAreRefusedBeforeAnythingIsAllocated(int at, String what) {
        refused(changed(at, Long.MAX_VALUE, 8), what);
        refused(changed(at, -1, 8), what);
        refused(changed(at, 1L << 40, 8), what);
    }

    @Test
    void absurdArraysAreRefused() {
        GgufWriter writer = metadata("llama").with("last", List.of(1, 2, 3));
        byte[] bytes = writer.bytes();
        ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        int at = new String(bytes, StandardCharsets.ISO_8859_1).indexOf("last") + 4 + 4 + 4;
        assertThat(buffer.getLong(at)).isEqualTo(3);

        refused(buffer.putLong(at, 1L << 33).array(), "the length of last");
    }

    @Test
    void tensorsThatDoNotFitAreRefused() {
        refused(metadata("llama").tensor("t", 0, new byte[16], 1 << 20).bytes(), "tensor t", "do not hold");
        refused(metadata("llama").tensor("t", 0, new byte[16], 0, 4).bytes(), "dimension of 0");
        refused(
                metadata("llama")
                        .tensor("t", 0, new byte[16], 1 << 30, 1 << 30, 1 << 30, 1 << 30)
                        .bytes(),
                "tensor t has");
        refused(metadata("llama").tensor("t", 2, new byte[18], 31).bytes(), "no multiple of the 32");
    }

    @Test
    void tensorsThatOverlapAreRefused() {
        byte[] bytes = metadata("llama")
                .tensor("first", 0, new byte[64], 16)
                .tensor("second", 0, new byte[64], 16)
                .bytes();
        int offset = new String(bytes, StandardCharsets.ISO_8859_1).indexOf("second") + "second".length() + 4 + 8 + 4;
        ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        assertThat(buffer.getLong(offset)).isEqualTo(64);

        refused(buffer.putLong(offset, 32).array(), "tensor second", "within tensor first");
    }

    @Test
    void anEncodingThatIsNotReadIsNamed() {
        refused(
                metadata("llama")
                        .tensor("blk.0.attn_q.weight", 16, new byte[66], 256)
                        .bytes(),
                "blk.0.attn_q.weight",
                "IQ2_XXS",
                "Q4_K");
    }

    @Test
    void metadataOfAnotherTypeOrNoneIsNamed() {
        refused(new GgufWriter().with("general.architecture", 5).bytes(), "general.architecture is 5", "a string");
        refused(new GgufWriter().with("general.name", "x").bytes(), "no metadata general.architecture");
        refused(new GgufWriter().with("general.architecture", "llama").bytes(), "no metadata llama.embedding_length");
        refused(metadata("llama").with("llama.block_count", 2_000_000_000).bytes(), "2000000000 layers");
        refused(metadata("llama").with("llama.block_count", -1L).bytes(), "-1 layers");
        refused(metadata("llama").with("llama.block_count", 1L << 40).bytes(), "31 bits");
        refused(metadata("llama").with("general.alignment", 7).bytes(), "general.alignment is 7");
        refused(metadata("llama").with("llama.attention.head_count", 5).bytes(), "5 heads");
    }

    @ParameterizedTest
    @CsvSource({
        "rope.scaling.original_context_length, 0, a positive integer",
        "rope.scaling.original_context_length, -1, a positive integer",
        "context_length, 0, a positive integer",
        "attention.head_count, 0, a positive integer",
        "rope.scaling.factor, 0.0, a positive number",
        "rope.scaling.factor, -4.0, a positive number",
        "rope.scaling.factor, NaN, a number",
        "rope.scaling.factor, 0.5, a number of at least 1",
        "rope.scaling.yarn_beta_fast, 0.5, 'at least llama.rope.scaling.yarn_beta_slow, which is 1.0,'",
        "rope.scaling.yarn_beta_slow, -1.0, a positive number",
        "rope.freq_base, Infinity, a number",
        "rope.freq_base, 0.0, a positive number"
    })
    void aNumberOfYarnsOrASizeThatCannotBeIsNamed(String key, String value, String expected) {
        GgufWriter writer = metadata("llama")
                .with("llama.rope.scaling.type", "yarn")
                .with("llama.rope.scaling.original_context_length", 32)
                .with("llama.rope.scaling.factor", 4f);
        boolean size = expected.equals("a positive integer");

        refused(
                writer.with("llama." + key, size ? (Object) Integer.valueOf(value) : (Object) Float.valueOf(value))
                        .bytes(),
                "metadata llama.%s is %s, but %s is expected; convert it anew".formatted(key, value, expected));
    }

    @Test
    void yarnsFactorOnCosineAndSineIsMultipliedByTheFilesOwn() {
        GgufWriter writer = metadata("llama")
                .with("llama.rope.scaling.type", "yarn")
                .with("llama.rope.scaling.original_context_length", 32)
                .with("llama.rope.scaling.factor", 4f)
                .with("llama.rope.scaling.attn_factor", 0.5f);
        addTensors(writer, "llama");

        try (Checkpoint checkpoint = Checkpoint.open(writer.write(folder.resolve("yarn.gguf")))) {
            assertThat(checkpoint
                            .config()
                            .layers()
                            .getFirst()
                            .rotary()
                            .scaling()
                            .magnitude())
                    .isEqualTo(0.5 * (0.1 * Math.log(4) + 1));
        }
    }

    @ParameterizedTest
    @ValueSource(floats = {0, -1, Float.NaN})
    void aStoredDivisorOfFrequenciesThatCannotBeIsNamed(float divisor) {
        GgufWriter writer = metadata("llama").tensor("rope_freqs.weight", new float[] {1, divisor}, 2);

        refused(writer.bytes(), "tensor rope_freqs.weight holds " + divisor);
    }

    @Test
    void anUnknownArchitectureIsRefusedWithThoseThatAreKnown() {
        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> Checkpoint.open(
                        new GgufWriter().with("general.architecture", "rwkv7").write(folder.resolve("rwkv.gguf"))))
                .withMessageContaining("rwkv7")
                .withMessageContaining("llama, qwen2, qwen3");
    }

    @Test
    void namesFromAFileDoNotBreakTheMessage() {
        String name = "evil\n\u001b[2J" + "x".repeat(5000);

        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(() -> Checkpoint.open(
                        metadata("llama").tensor(name, 0, new byte[4], 0).write(folder.resolve("evil.gguf"))))
                .satisfies(e -> assertThat(e.getMessage())
                        .contains("evil [2Jxxx")
                        .hasSizeLessThan(1100)
                        .doesNotContain("\n", "\u001b"));
    }

    @Test
    void weightsAreReadBySeveralThreadsAtOnce() {
        try (Checkpoint checkpoint = llama()) {
            List<String> names = Collections.nCopies(50, checkpoint.names().asList()).stream()
                    .flatMap(List::stream)
                    .toList();
            List<float[]> alone = names.stream()
                    .map(name -> Goldens.numbers(checkpoint, name))
                    .toList();
            List<float[]> together = names.parallelStream()
                    .map(name -> Goldens.numbers(checkpoint, name))
                    .toList();

            assertThat(together).containsExactlyElementsOf(alone);
        }
    }

    @Test
    void aMissingTensorIsNamed() {
        GgufWriter writer = metadata("llama").tensor("token_embd.weight", new float[84], 7, 12);

        refused(writer.bytes(), "no tensor output_norm.weight");
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

/** Whatever is wrong with a file, it is said by a {@link CheckpointException}, in one line. */
class DamagedFilesTest {
    private static final byte[] GGUF = gguf();
    private static final byte[] SAFETENSORS = safetensors();
    private static final byte[] CONFIG = ("{\"model_type\": \"llama\", \"vocab_size\": 3, \"hidden_size\": 4,"
                    + "\"num_hidden_layers\": 1, \"num_attention_heads\": 2, \"num_key_value_heads\": 1,"
                    + "\"intermediate_size\": 5, \"max_position_embeddings\": 16, \"tie_word_embeddings\": true,"
                    + "\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 2.0}, \"eos_token_id\": [1, 2]}")
            .getBytes(StandardCharsets.UTF_8);
    private static final byte[] TOKENIZER =
            ("{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2},"
                            + "\"merges\": [\"a b\"]}, \"added_tokens\": [{\"id\": 3, \"content\": \"<x>\", \"special\": true}],"
                            + "\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"[ab]+\"}, \"behavior\": \"Isolated\"},"
                            + "\"decoder\": {\"type\": \"ByteLevel\"}}")
                    .getBytes(StandardCharsets.UTF_8);

    private static byte[] gguf() {
        GgufWriter writer = new GgufWriter()
                .with("general.architecture", "llama")
                .with("llama.context_length", 16)
                .with("llama.embedding_length", 4)
                .with("llama.block_count", 1)
                .with("llama.feed_forward_length", 5)
                .with("llama.attention.head_count", 2)
                .with("llama.attention.head_count_kv", 1)
                .with("llama.attention.layer_norm_rms_epsilon", 1e-5f)
                .with("tokenizer.ggml.model", "gpt2")
                .with("tokenizer.ggml.tokens", List.of("a", "b", "ab"))
                .with("tokenizer.ggml.token_type", List.of(1, 1, 3))
                .with("tokenizer.ggml.merges", List.of("a b"))
                .with("tokenizer.ggml.eos_token_id", 2)
                .with("some.bytes", List.of((byte) 1, (byte) 2))
                .with("some.double", 1.5)
                .tensor("token_embd.weight", new float[12], 3, 4)
                .tensor("output_norm.weight", new float[4], 4)
                .tensor("blk.0.attn_q.weight", new float[16], 4, 4)
                .tensor("blk.0.attn_k.weight", new float[8], 2, 4)
                .tensor("blk.0.attn_v.weight", new float[8], 2, 4)
                .tensor("blk.0.attn_output.weight", new float[16], 4, 4)
                .tensor("blk.0.ffn_gate.weight", new float[20], 5, 4)
                .tensor("blk.0.ffn_up.weight", new float[20], 5, 4)
                .tensor("blk.0.ffn_down.weight", new float[20], 4, 5)
                .tensor("blk.0.attn_norm.weight", new float[4], 4)
                .tensor("blk.0.ffn_norm.weight", new float[4], 4);
        return writer.bytes();
    }

    private static byte[] safetensors() {
        SafetensorsWriter writer = new SafetensorsWriter();
        for (Map.Entry<String, int[]> tensor : Map.of(
                        "embed_tokens.weight", new int[] {3, 4},
                        "norm.weight", new int[] {4},
                        "layers.0.self_attn.q_proj.weight", new int[] {4, 4},
                        "layers.0.self_attn.k_proj.weight", new int[] {2, 4},
                        "layers.0.self_attn.v_proj.weight", new int[] {2, 4},
                        "layers.0.self_attn.o_proj.weight", new int[] {4, 4},
                        "layers.0.input_layernorm.weight", new int[] {4},
                        "layers.0.post_attention_layernorm.weight", new int[] {4})
                .entrySet()) {
            int size = Arrays.stream(tensor.getValue()).reduce(1, (a, b) -> a * b);
            writer.tensor("model." + tensor.getKey(), new float[size], tensor.getValue());
        }
        writer.tensor("model.layers.0.mlp.gate_proj.weight", new float[20], 5, 4)
                .tensor("model.layers.0.mlp.up_proj.weight", new float[20], 5, 4)
                .tensor("model.layers.0.mlp.down_proj.weight", new float[20], 4, 5);
        return writer.bytes();
    }

    /** Uses all of a model; whether it was sound. */
    private static boolean use(Path path) {
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            for (String name : checkpoint.names()) {
                checkpoint.read(name, MemorySegment.ofArray(new float[Goldens.count(checkpoint, name)]), Dtype.F32);
            }
            checkpoint
                    .tokenizer()
                    .ifPresent(tokenizer ->
                            tokenizer.decode(tokenizer.encodePrompt("ab <x> ba").asList()));
            return checkpoint.hasWeights();
        } catch (CheckpointException e) {
            assertThat(e.getMessage()).isNotBlank().doesNotContain("\n");
            return false;
        }
    }

    private static byte[] damaged(byte[] file, int from, List<Byte> bytes, int length) {
        byte[] copy = file.clone();
        for (int i = 0; i < bytes.size(); i++) {
            copy[(from + i) % copy.length] = bytes.get(i);
        }
        return Arrays.copyOf(copy, Math.min(length, copy.length));
    }

    private static void inFolder(Map<String, byte[]> files, Consumer<Path> test) throws IOException {
        Path folder = Files.createTempDirectory("damaged");
        try {
            for (Map.Entry<String, byte[]> file : files.entrySet()) {
                Files.write(folder.resolve(file.getKey()), file.getValue());
            }
            test.accept(folder);
        } finally {
            for (String file : files.keySet()) {
                Files.delete(folder.resolve(file));
            }
            Files.delete(folder);
        }
    }

    private static Map<String, byte[]> sound() {
        return new HashMap<>(
                Map.of("config.json", CONFIG, "model.safetensors", SAFETENSORS, "tokenizer.json", TOKENIZER));
    }

    @Test
    void soundFilesAreUsed() throws IOException {
        inFolder(
                Map.of("a.gguf", GGUF),
                folder -> assertThat(use(folder.resolve("a.gguf"))).isTrue());
        inFolder(sound(), folder -> assertThat(use(folder)).isTrue());
    }

    @Property(tries = 800)
    void damagedGguf(
            @ForAll @IntRange(max = 2000) int from,
            @ForAll @Size(min = 1, max = 9) List<Byte> bytes,
            @ForAll @IntRange(max = 20_000) int length)
            throws IOException {
        inFolder(
                Map.of("a.gguf", damaged(GGUF, from, bytes, Math.max(length, 16))),
                folder -> use(folder.resolve("a.gguf")));
    }

    @Property(tries = 400)
    void damagedSafetensors(
            @ForAll @IntRange(max = 1500) int from,
            @ForAll @Size(min = 1, max = 9) List<Byte> bytes,
            @ForAll @IntRange(max = 20_000) int length)
            throws IOException {
        Map<String, byte[]> files = sound();
        files.put("model.safetensors", damaged(SAFETENSORS, from, bytes, length));
        inFolder(files, DamagedFilesTest::use);
    }

    @Property(tries = 400)
    void damagedConfigurations(
            @ForAll @IntRange(max = 400) int from,
            @ForAll("jsonCharacters") List<Byte> config,
            @ForAll("jsonCharacters") List<Byte> tokenizer)
            throws IOException {
        Map<String, byte[]> files = sound();
        files.put("config.json", damaged(CONFIG, from, config, 5000));
        files.put("tokenizer.json", damaged(TOKENIZER, from, tokenizer, 5000));
        inFolder(files, DamagedFilesTest::use);
    }

    @Provide
    Arbitrary<List<Byte>> jsonCharacters() {
        return Arbitraries.of("0123456789eE-+.,:{}[]\"ntax \\"
                        .chars()
                        .mapToObj(c -> (byte) c)
                        .toList())
                .list()
                .ofMaxSize(3);
    }
}

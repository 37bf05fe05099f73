// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.slipway.lowering.Parameters;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Folders as Hugging Face lays them out; configurations and shapes are of models.json. */
class HuggingFaceCheckpointTest {
    @TempDir
    Path folder;

    static Stream<String> models() {
        return Goldens.read("models.json").get("models").values().stream()
                .map(model -> model.get("name").stringValue());
    }

    private static JsonNode model(String name) {
        return Goldens.read("models.json").get("models").values().stream()
                .filter(model -> model.get("name").stringValue().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private static int[] shape(JsonNode tensor) {
        return tensor.values().stream().mapToInt(JsonNode::intValue).toArray();
    }

    private static int size(int[] shape) {
        return Arrays.stream(shape).reduce(1, (a, b) -> a * b);
    }

    /** Writes a folder in which every number is another, and says where each tensor's begin. */
    private Map<String, Integer> writeFolder(JsonNode model) {
        Goldens.write(folder.resolve("config.json"), model.get("config"));
        SafetensorsWriter writer = new SafetensorsWriter();
        Map<String, Integer> firsts = new LinkedHashMap<>();
        int next = 0;
        for (Map.Entry<String, JsonNode> tensor : model.get("tensors").properties()) {
            int[] shape = shape(tensor.getValue());
            writer.tensor(tensor.getKey(), Goldens.counting(next, size(shape)), shape);
            firsts.put(tensor.getKey(), next);
            next += size(shape);
        }
        writer.write(folder.resolve("model.safetensors"));
        firsts.put("the end", next);
        return firsts;
    }

    @ParameterizedTest
    @MethodSource("models")
    void everyNumberOfAFileIsHandedOutOnce(String name) {
        int total = writeFolder(model(name)).get("the end");
        boolean[] seen = new boolean[total];

        List<String> twice = new ArrayList<>();
        try (Checkpoint checkpoint = Checkpoint.open(folder)) {
            for (String weight : checkpoint.names()) {
                for (float number : Goldens.numbers(checkpoint, weight)) {
                    if (seen[(int) number]) {
                        twice.add(weight);
                    }
                    seen[(int) number] = true;
                }
            }
            assertThat(twice).isEmpty();
            assertThat(seen).doesNotContain(false);
            assertThat(Parameters.count(checkpoint.config())).isEqualTo(total);
            assertThat(Goldens.mappedOtherwise(checkpoint)).isEmpty();
        }
    }

    @Test
    void fusedProjectionsAreTakenApartByRows() {
        Map<String, Integer> firsts = writeFolder(model("phi3"));
        int qkv = firsts.get("model.layers.1.self_attn.qkv_proj.weight");
        int gateUp = firsts.get("model.layers.1.mlp.gate_up_proj.weight");

        try (Checkpoint checkpoint = Checkpoint.open(folder)) {
            assertThat(Goldens.numbers(checkpoint, "layers/1/q/weight")).isEqualTo(Goldens.counting(qkv, 64 * 64));
            assertThat(Goldens.numbers(checkpoint, "layers/1/k/weight"))
                    .isEqualTo(Goldens.counting(qkv + 64 * 64, 32 * 64));
            assertThat(Goldens.numbers(checkpoint, "layers/1/v/weight"))
                    .isEqualTo(Goldens.counting(qkv + 96 * 64, 32 * 64));
            assertThat(Goldens.numbers(checkpoint, "layers/1/gate/weight"))
                    .isEqualTo(Goldens.counting(gateUp, 128 * 64));
            assertThat(Goldens.numbers(checkpoint, "layers/1/up/weight"))
                    .isEqualTo(Goldens.counting(gateUp + 128 * 64, 128 * 64));
        }
    }

    @Test
    void inputMajorMatricesAreTurned() {
        Map<String, Integer> firsts = writeFolder(model("gpt2"));
        int qkv = firsts.get("transformer.h.2.attn.c_attn.weight");
        int up = firsts.get("transformer.h.2.mlp.c_fc.weight");

        try (Checkpoint checkpoint = Checkpoint.open(folder)) {
            float[] k = Goldens.numbers(checkpoint, "layers/2/k/weight");
            float[] hidden = Goldens.numbers(checkpoint, "layers/2/up/weight");
            assertThat(k[5 * 64 + 7]).isEqualTo(qkv + 7 * 192 + 64 + 5);
            assertThat(hidden[200 * 64 + 9]).isEqualTo(up + 9 * 256 + 200);
            assertThat(checkpoint.mapped("layers/2/k/weight", Dtype.F32)).isEmpty();
            assertThat(checkpoint.mapped("layers/2/k/bias", Dtype.F32)).isPresent();
        }
    }

    @Test
    void expertsAreStackedInOrder() {
        Map<String, Integer> firsts = writeFolder(model("qwen3_moe"));

        try (Checkpoint checkpoint = Checkpoint.open(folder)) {
            float[] down = Goldens.numbers(checkpoint, "layers/1/experts/down/weight");
            for (int expert = 0; expert < 4; expert++) {
                assertThat(down[expert * 64 * 64])
                        .isEqualTo(firsts.get("model.layers.1.mlp.experts.%d.down_proj.weight".formatted(expert))
                                .floatValue());
            }
        }
    }

    @Test
    void mixtralsNamesOfExpertsAreKnown() {
        JsonNode model = model("qwen3_moe");
        Map<String, Object> config = new HashMap<>();
        model.get("config").properties().forEach(field -> config.put(field.getKey(), field.getValue()));
        config.put("model_type", "mixtral");
        config.put("intermediate_size", 64);
        SafetensorsWriter writer = new SafetensorsWriter();
        for (Map.Entry<String, JsonNode> tensor : model.get("tensors").properties()) {
            String name = tensor.getKey()
                    .replace("mlp.", "block_sparse_moe.")
                    .replace("gate_proj", "w1")
                    .replace("down_proj", "w2")
                    .replace("up_proj", "w3");
            float value = name.contains("w1") ? 1 : name.contains("w2") ? 2 : name.contains("w3") ? 3 : 0;
            float[] values = new float[size(shape(tensor.getValue()))];
            Arrays.fill(values, value);
            writer.tensor(name, values, shape(tensor.getValue()));
        }
        Goldens.write(folder.resolve("config.json"), config);
        writer.write(folder.resolve("model.safetensors"));

        try (Checkpoint checkpoint = Checkpoint.open(folder)) {
            assertThat(Goldens.numbers(checkpoint, "layers/0/experts/gate/weight"))
                    .containsOnly(1);
            assertThat(Goldens.numbers(checkpoint, "layers/0/experts/down/weight"))
                    .containsOnly(2);
            assertThat(Goldens.numbers(checkpoint, "layers/0/experts/up/weight"))
                    .containsOnly(3);
        }
    }

    @Test
    void numbersAreHandedOutAsBfloat16() {
        writeFolder(model("llama"));

        try (Checkpoint checkpoint = Checkpoint.open(folder)) {
            float[] exact = Goldens.numbers(checkpoint, "layers/2/down/weight");
            short[] halves = new short[exact.length];
            checkpoint.read("layers/2/down/weight", MemorySegment.ofArray(halves), Dtype.BF16);
            for (int i = 0; i < exact.length; i++) {
                float rounded = Float.intBitsToFloat(halves[i] << 16);
                assertThat(Math.abs(rounded - exact[i])).isLessThanOrEqualTo(exact[i] / 256);
            }
        }
    }

    @Test
    void storedBfloat16AndHalvesAreRead() {
        JsonNode model = model("llama");
        Goldens.write(folder.resolve("config.json"), model.get("config"));
        SafetensorsWriter writer = new SafetensorsWriter();
        for (Map.Entry<String, JsonNode> tensor : model.get("tensors").properties()) {
            int[] shape = shape(tensor.getValue());
            byte[] bytes = new byte[2 * size(shape)];
            boolean half = tensor.getKey().contains("mlp");
            short one = half ? Float.floatToFloat16(-1.5f) : (short) (Float.floatToIntBits(2.5f) >>> 16);
            for (int i = 0; i < bytes.length; i += 2) {
                bytes[i] = (byte) one;
                bytes[i + 1] = (byte) (one >> 8);
            }
            writer.tensor(tensor.getKey(), half ? "F16" : "BF16", bytes, shape);
        }
        writer.write(folder.resolve("model.safetensors"));

        try (Checkpoint checkpoint = Checkpoint.open(folder)) {
            assertThat(Goldens.numbers(checkpoint, "layers/0/up/weight")).containsOnly(-1.5f);
            assertThat(Goldens.numbers(checkpoint, "layers/0/q/weight")).containsOnly(2.5f);
            MemorySegment mapped =
                    checkpoint.mapped("layers/0/q/weight", Dtype.BF16).orElseThrow();
            assertThat(mapped.byteSize()).isEqualTo(2 * 64 * 64);
            assertThat(mapped.get(ValueLayout.JAVA_SHORT, 2)).isEqualTo((short) (Float.floatToIntBits(2.5f) >>> 16));
            assertThat(checkpoint.mapped("layers/0/up/weight", Dtype.BF16)).isEmpty();
            assertThat(checkpoint.storedBits("layers/0/q/weight")).hasValue(16);
            assertThat(checkpoint.storedBits("layers/0/up/weight")).isEmpty();
        }
    }

    @Test
    void numbersThatAreNotAlignedAreReadButNotMapped() throws IOException {
        writeFolder(model("llama"));
        Path file = folder.resolve("model.safetensors");
        byte[] bytes = Files.readAllBytes(file);
        // one space more in the header moves all that follows by a byte
        int header = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getInt(0);
        ByteBuffer moved = ByteBuffer.allocate(bytes.length + 1).order(ByteOrder.LITTLE_ENDIAN);
        moved.putLong(header + 1L).put(bytes, 8, header).put((byte) ' ');
        Files.write(
                file, moved.put(bytes, 8 + header, bytes.length - 8 - header).array());

        try (Checkpoint checkpoint = Checkpoint.open(folder)) {
            assertThat(checkpoint.mapped("embedding/weight", Dtype.F32)).isEmpty();
            float[] numbers = Goldens.numbers(checkpoint, "embedding/weight");
            assertThat(numbers).isEqualTo(Goldens.counting((int) numbers[0], numbers.length));
        }
    }

    @Test
    void shardsAreFoundByTheirIndex() throws IOException {
        Map<String, Integer> firsts = writeFolder(model("llama"));
        Files.delete(folder.resolve("model.safetensors"));
        SafetensorsWriter[] shards = {new SafetensorsWriter(), new SafetensorsWriter()};
        Map<String, String> index = new LinkedHashMap<>();
        int turn = 0;
        for (Map.Entry<String, JsonNode> tensor : model("llama").get("tensors").properties()) {
            int[] shape = shape(tensor.getValue());
            shards[turn % 2].tensor(tensor.getKey(), Goldens.counting(firsts.get(tensor.getKey()), size(shape)), shape);
            index.put(tensor.getKey(), "model-0000%d-of-00002.safetensors".formatted(turn++ % 2 + 1));
        }
        shards[0].write(folder.resolve("model-00001-of-00002.safetensors"));
        Path second = shards[1].write(folder.resolve("model-00002-of-00002.safetensors"));
        Goldens.write(folder.resolve("model.safetensors.index.json"), Map.of("weight_map", index));

        try (Checkpoint checkpoint = Checkpoint.open(folder)) {
            assertThat(Goldens.numbers(checkpoint, "layers/0/k/weight")[0])
                    .isEqualTo(
                            firsts.get("model.layers.0.self_attn.k_proj.weight").floatValue());
            assertThat(Goldens.numbers(checkpoint, "head/weight")[1])
                    .isEqualTo(firsts.get("lm_head.weight").floatValue() + 1);
        }
        Files.delete(second);
        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(() -> Checkpoint.open(folder))
                .withMessageContaining("there is no file");
    }

    @Test
    void anIndexDoesNotLeadOutOfItsFolder() {
        writeFolder(model("llama"));
        Goldens.write(
                folder.resolve("model.safetensors.index.json"),
                Map.of("weight_map", Map.of("lm_head.weight", "../other.safetensors")));

        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(() -> Checkpoint.open(folder))
                .withMessageContaining("the name of a file beside it");
    }

    @Test
    void aMissingTensorIsNamed() throws IOException {
        writeFolder(model("llama"));
        SafetensorsWriter writer = new SafetensorsWriter();
        writer.tensor("model.embed_tokens.weight", new float[512 * 64], 512, 64);
        writer.write(folder.resolve("model.safetensors"));

        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(() -> Checkpoint.open(folder))
                .withMessageContaining("has no tensor model.norm.weight");
    }

    @Test
    void aTensorOfAnotherShapeIsNamed() {
        ObjectNode model = (ObjectNode) model("llama");
        ((ObjectNode) model.get("config")).put("vocab_size", 500);
        writeFolder(model);

        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(() -> Checkpoint.open(folder))
                .withMessageContaining("tensor model.embed_tokens.weight is [512, 64]")
                .withMessageContaining("asks for [500, 64]");
    }

    @Test
    void aTensorOfAnUnreadTypeIsRefusedOnlyIfNeeded() {
        Goldens.write(folder.resolve("config.json"), model("llama").get("config"));
        new SafetensorsWriter()
                .tensor("unused", "I64", new byte[16], 2)
                .tensor("model.embed_tokens.weight", "F8_E4M3", new byte[512 * 64], 512, 64)
                .write(folder.resolve("model.safetensors"));

        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> Checkpoint.open(folder))
                .withMessageContaining("model.embed_tokens.weight is of type F8_E4M3");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 7, 8, 100, 3000, -1})
    void aFileCutOffIsSaidToBe(int length) throws IOException {
        writeFolder(model("llama"));
        Path file = folder.resolve("model.safetensors");
        byte[] bytes = Files.readAllBytes(file);
        Files.write(file, Arrays.copyOf(bytes, length < 0 ? bytes.length / 2 : length));

        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(() -> Checkpoint.open(folder))
                .withMessageContaining("model.safetensors")
                .withMessageNotContaining("\n")
                .withMessageContaining("again");
    }

    @Test
    void headersThatLieAreRefused() throws IOException {
        Goldens.write(folder.resolve("config.json"), model("llama").get("config"));
        Path file = folder.resolve("model.safetensors");
        for (String header : List.of(
                "[]",
                "{\"a\": 3}",
                "{\"a\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [0, 4]}}",
                "{\"a\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [4, 0]}}",
                "{\"a\": {\"dtype\": \"F32\", \"shape\": [-1], \"data_offsets\": [0, 4]}}",
                "{\"a\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [0, 4]}, \"a\": {}}",
                "{\"a\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [4, 8]}}",
                "{\"a\": {\"dtype\": \"F32\", \"shape\": [4294967296, 4294967296], \"data_offsets\": [0, 4]}}",
                "{\"a\": {\"dtype\": \"F32\", \"shape\": [99999999999999999999], \"data_offsets\": [0, 4]}}",
                "{\"a\": {\"shape\": [1], \"data_offsets\": [0, 4]}}",
                "[".repeat(100_000))) {
            Files.write(file, SafetensorsWriter.bytes(header, new byte[4]));

            assertThatExceptionOfType(CheckpointException.class)
                    .as(header)
                    .isThrownBy(() -> Checkpoint.open(folder))
                    .withMessageContaining("model.safetensors")
                    .withMessageNotContaining("\n");
        }
    }

    @Test
    void stopsAreThoseOfBothConfigurations() {
        writeFolder(model("llama"));
        Goldens.write(folder.resolve("generation_config.json"), Map.of("eos_token_id", List.of(7, 2, 9)));

        try (Checkpoint checkpoint = Checkpoint.open(folder)) {
            assertThat(checkpoint.stopIds()).containsExactly(2, 7, 9);
            assertThat(checkpoint.specialTokens().bos()).hasValue(1);
            assertThat(checkpoint.specialTokens().pad()).hasValue(0);
        }
    }

    @Test
    void theChatTemplateIsTakenFromTheTokenizersConfiguration() throws IOException {
        writeFolder(model("llama"));
        Goldens.write(
                folder.resolve("tokenizer_config.json"),
                Map.of(
                        "chat_template",
                        "{{ bos_token }}{{ messages[0].content }}",
                        "bos_token",
                        Map.of("content", "<b>"),
                        "eos_token",
                        "<e>"));
        List<ChatTemplate.Message> messages = List.of(new ChatTemplate.Message("user", "hello"));

        try (Checkpoint checkpoint = Checkpoint.open(folder)) {
            assertThat(checkpoint.chatTemplate().orElseThrow().renderWithGenerationPrompt(messages))
                    .isEqualTo("<b>hello");
        }
        Files.writeString(folder.resolve("chat_template.jinja"), "{{ eos_token }}");
        try (Checkpoint checkpoint = Checkpoint.open(folder)) {
            assertThat(checkpoint.chatTemplate().orElseThrow().renderWithGenerationPrompt(messages))
                    .isEqualTo("<e>");
        }
    }
}

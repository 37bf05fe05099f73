// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is recognised at a path. */
class CheckpointTest {
    private static final Map<String, Object> LLAMA = Map.of(
            "model_type", "llama",
            "vocab_size", 10,
            "hidden_size", 8,
            "num_hidden_layers", 1,
            "num_attention_heads", 2,
            "intermediate_size", 16,
            "max_position_embeddings", 32);

    @TempDir
    Path folder;

    private static void refused(Path path, String... parts) {
        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(() -> Checkpoint.open(path))
                .satisfies(e -> assertThat(e.getMessage()).contains(parts).doesNotContain("\n"));
    }

    @Test
    void aConfigurationAloneIsAModelWithoutWeights() {
        Path file = Goldens.write(folder.resolve("config.json"), LLAMA);

        for (Path path : new Path[] {file, folder}) {
            try (Checkpoint checkpoint = Checkpoint.open(path)) {
                assertThat(checkpoint.path()).isEqualTo(path);
                assertThat(checkpoint.config().width()).isEqualTo(8);
                assertThat(checkpoint.hasWeights()).isFalse();
                assertThat(checkpoint.tokenizer()).isEmpty();
                assertThat(checkpoint.chatTemplate()).isEmpty();
                assertThat(checkpoint.stopIds()).isEmpty();
                assertThatExceptionOfType(CheckpointException.class)
                        .isThrownBy(() -> checkpoint.read("embedding/weight", MemorySegment.NULL, Dtype.F32))
                        .withMessageContaining("a configuration without weights");
            }
        }
    }

    @Test
    void anyNameWillDoForAGgufFile() throws IOException {
        Path file = Files.move(
                GgufCheckpointTest.metadata("llama").with("llama.vocab_size", 9).write(folder.resolve("a.gguf")),
                folder.resolve("blob"));

        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            assertThat(checkpoint.config().vocabulary()).isEqualTo(9);
        }
    }

    @Test
    void aHuggingFaceFolderIsOneWhateverElseLiesThere() throws IOException {
        Goldens.write(folder.resolve("config.json"), LLAMA);
        Files.writeString(folder.resolve("model.json"), "of something else");

        try (Checkpoint checkpoint = Checkpoint.open(folder)) {
            assertThat(checkpoint.format()).isEqualTo(Checkpoint.Format.HUGGING_FACE);
        }
    }

    @Test
    void whatIsNotThereIsSaidNotToBe() {
        refused(folder.resolve("nowhere"), "there is no file or folder", "nowhere");
        refused(folder.resolve("nowhere.json"), "there is no file or folder", "nowhere.json");
    }

    @Test
    void aFolderWithoutAModelIsSaidToBe() {
        refused(folder, "no model folder", "config.json", "model.json");
    }

    @Test
    void severalFilesOfWeightsNeedAnIndex() throws IOException {
        Goldens.write(folder.resolve("config.json"), LLAMA);
        Files.write(folder.resolve("a.safetensors"), new byte[8]);
        Files.write(folder.resolve("b.safetensors"), new byte[8]);

        refused(folder, "2 .safetensors files", "model.safetensors.index.json");
    }

    @Test
    void aFolderInPlaceOfAFileIsSaidToBe() throws IOException {
        Goldens.write(folder.resolve("config.json"), LLAMA);
        Files.writeString(
                folder.resolve("model.safetensors.index.json"), "{\"weight_map\": {\"a\": \"shard.safetensors\"}}");
        Files.createDirectory(folder.resolve("shard.safetensors"));

        refused(folder, "shard.safetensors is a folder; a file is expected");
    }

    @Test
    void weightsWithoutAConfigurationAreSaidToBe() throws IOException {
        refused(Files.write(folder.resolve("model.safetensors"), new byte[8]), "the folder with config.json");
    }

    @Test
    void jsonThatIsNoneIsSaidToBe() throws IOException {
        refused(
                Files.writeString(folder.resolve("config.json"), "{\"model_type\": "),
                "not the JSON it should be (line 1, column 16: it ends in the middle)");
        refused(Files.writeString(folder.resolve("config.json"), "[1]"), "no JSON object");
        refused(Files.writeString(folder.resolve("config.json"), "{}"), "no field model_type");
    }

    @Test
    void otherFilesAreSaidNotToBeModels() throws IOException {
        refused(Files.writeString(folder.resolve("notes.txt"), "hello, world"), "68656c6c", "no GGUF file");
    }
}

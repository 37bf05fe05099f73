// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.JsonNode;

class JsonFileTest {
    @TempDir
    Path folder;

    private static void refused(Path file, String message) {
        assertThatExceptionOfType(JsonFile.UnreadableException.class)
                .isThrownBy(() -> JsonFile.read(file, new TypeReference<JsonNode>() {}, "measure again"))
                .withMessage(message);
    }

    @Test
    void whereAFileStopsBeingJsonIsSaid() throws Exception {
        Path file = Files.writeString(folder.resolve("raw.json"), "{\n  \"measurements\": [");

        refused(file, file + " is not the JSON it should be (line 2, column 20: it ends in the middle); measure again");
    }

    @Test
    void aFileThatIsNotThereIsNamed() {
        Path file = folder.resolve("raw.json");

        refused(file, "%s cannot be read (java.nio.file.NoSuchFileException: %s); measure again".formatted(file, file));
    }
}

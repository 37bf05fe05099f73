// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ModelTest {
    @TempDir
    Path folder;

    @Test
    void aHuggingFaceFolderIsNotAxlearnsForAFileOfThatName() throws Exception {
        Path llama = Path.of(Slipway.class.getResource("golden/tiny/llama").toURI());
        Files.copy(llama.resolve("config.json"), folder.resolve("config.json"));
        Files.writeString(folder.resolve("model.json"), "{}");

        try (Model model = Model.open(folder.toString(), new PluginsOnDemand(new Output()))) {
            assertThat(model.axlearn()).isFalse();
        }
    }
}

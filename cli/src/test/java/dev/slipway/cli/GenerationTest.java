// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.mesh.MeshSpec;
import dev.slipway.topology.Topologies;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** How long answers grow, of a small Llama of random numbers with 40 positions. */
class GenerationTest {
    private static final Path MODEL = Path.of("src/test/resources/dev/slipway/cli/axlearn");

    @TempDir
    Path folder;

    private List<Integer> answer(int[] prompt, int maxNewTokens) throws IOException {
        ObjectNode json = (ObjectNode) JsonMapper.shared().readTree(Files.readString(MODEL.resolve("model.json")));
        Files.writeString(
                folder.resolve("model.json"),
                json.put("max_sequence_length", 40).toString());
        Files.copy(MODEL.resolve("params.safetensors"), folder.resolve("params.safetensors"));
        try (PluginsOnDemand plugins = new PluginsOnDemand(new Output());
                Model model = Model.open(folder.toString(), plugins)) {
            LocalModel local = LocalModel.of(plugins, model, Topologies.resolve("cpu"), MeshSpec.byDefault());
            return Generation.run(local, new Generation.Request(prompt, maxNewTokens, Set.of(), 0, 0), _ -> {})
                    .ids();
        }
    }

    @Test
    void anAnswerEndsAtTheModelsPositionsHoweverLongItMayBe() throws IOException {
        assertThat(answer(new int[] {17, 201, 33}, Integer.MAX_VALUE)).hasSize(37);
    }

    @Test
    void anEmptyPromptTakesTheOnePositionOfItsStartToken() throws IOException {
        assertThat(answer(new int[0], 100)).hasSize(39).allMatch(id -> id >= 0);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.slipway.aot.DecodeSession;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.aot.PluginLocator;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.RandomSource;
import dev.slipway.topology.Topologies;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Small checkpoints with random weights against Hugging Face transformers: what each family does differently. */
class TinyFamiliesTest {
    @ParameterizedTest
    @CsvSource({
        "llama, SCANNED, OUTPUT_MAJOR",
        "llama, UNROLLED, OUTPUT_MAJOR",
        "llama, SCANNED, INPUT_MAJOR",
        "gemma3_text, SCANNED, OUTPUT_MAJOR",
        "gemma3_text, UNROLLED, OUTPUT_MAJOR",
        "gemma3_text, UNROLLED, INPUT_MAJOR",
        "gpt2, SCANNED, OUTPUT_MAJOR",
        "gpt2, SCANNED, INPUT_MAJOR",
        "olmo2, SCANNED, OUTPUT_MAJOR",
        "olmo3, SCANNED, OUTPUT_MAJOR",
        "smollm3, SCANNED, OUTPUT_MAJOR",
        "smollm3, UNROLLED, OUTPUT_MAJOR",
        "qwen3_moe, SCANNED, OUTPUT_MAJOR",
        "qwen3_moe, SCANNED, INPUT_MAJOR"
    })
    void logitsAndGreedyTokensEqualTheReference(String family, Form.Layers layers, Form.Matrices matrices)
            throws Exception {
        Path folder = Path.of(Slipway.class.getResource("golden/tiny/" + family).toURI());
        try (Model model = Model.open(folder.toString(), new PluginsOnDemand(new Output()))) {
            Form form = InferenceRunner.formFor(Topologies.resolve("cpu").chip())
                    .withLayers(layers)
                    .withMatrices(matrices);
            InferenceRunner runner =
                    InferenceRunner.of(model.config(), DecodeOptions.greedy(64)).withForm(form);
            JsonNode cases = Slipway.golden("tiny/" + family + "/expected.json").get("cases");
            int[][] prompts = cases.values().stream()
                    .map(c -> Slipway.ints(c.get("input_ids")))
                    .toArray(int[][]::new);
            try (DecodeSession session = DecodeSession.open(
                    PluginLocator.ofUser(),
                    runner,
                    Topologies.resolve("cpu"),
                    model.weights().parameters())) {
                DecodeSession.TokenStream stream = session.stream(prompts, 40, Map.of(), RandomSource.RBG.key(0));
                List<List<Integer>> rows = new ArrayList<>();
                for (int token : stream.tokens()) {
                    rows.add(new ArrayList<>(List.of(token)));
                }
                for (int i = 1; i < 16; i++) {
                    int[] tokens = stream.advance();
                    for (int row = 0; row < tokens.length; row++) {
                        rows.get(row).add(tokens[row]);
                    }
                }
                for (int row = 0; row < prompts.length; row++) {
                    JsonNode expected = cases.get(row);
                    assertThat(rows.get(row).stream()
                                    .mapToInt(Integer::intValue)
                                    .toArray())
                            .containsExactly(Slipway.ints(expected.get("greedy16")));
                    JsonNode logits = expected.get("last_logits");
                    for (int i = 0; i < logits.size(); i++) {
                        assertThat(stream.logits()[row * logits.size() + i])
                                .isCloseTo(logits.get(i).floatValue(), within(1e-4f));
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"llama", "gemma3_text"})
    void rowsThatGoRoundTheCacheSeeWhatTheySawInALongerOne(String family) throws Exception {
        Path folder = Path.of(Slipway.class.getResource("golden/tiny/" + family).toURI());
        int[] prompt = Slipway.ints(Slipway.golden("tiny/" + family + "/expected.json")
                .get("cases")
                .get(0)
                .get("input_ids"));
        int width = 48;
        assertThat(prompt).hasSizeLessThan(width / 2);
        List<int[]> rows = new ArrayList<>();
        try (Model model = Model.open(folder.toString(), new PluginsOnDemand(new Output()))) {
            // The first has to begin anew at column 0 for its last tokens; the second has a column for every token.
            for (int length : new int[] {width, 2 * width}) {
                InferenceRunner runner = InferenceRunner.of(model.config(), DecodeOptions.greedy(length));
                try (DecodeSession session = DecodeSession.open(
                        PluginLocator.ofUser(),
                        runner,
                        Topologies.resolve("cpu"),
                        model.weights().parameters())) {
                    int[] sequence = session.sampleDecode(
                                    new int[][] {prompt}, width, Map.of(), RandomSource.RBG.key(0))
                            .get("sequences")
                            .ints();
                    rows.add(Arrays.copyOf(sequence, width));
                }
            }
        }
        assertThat(rows.get(0)).isEqualTo(rows.get(1)).doesNotContain(-1);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.slipway.aot.DecodeSession;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.aot.PluginLocator;
import dev.slipway.checkpoint.ChatTemplate;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.RandomSource;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.topology.Topologies;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/**
 * SmolLM2-135M in float32 on the CPU against the same weights in JAX: golden/smollm2.json, whose {@code source} says how it
 * was made. All prompts run as one batch, so rows of 4 to 294 tokens share every step.
 */
class SmolLm2GoldenTest {
    private static final int NEW_TOKENS = 64;
    private static final int WIDTH = 320;

    private static final JsonNode GOLDEN = Slipway.golden("smollm2.json").get("cases");
    private static PluginsOnDemand plugins;
    private static Model model;

    @BeforeAll
    static void open() {
        plugins = new PluginsOnDemand(new Output());
        model = Model.open(Model.PACKAGED, plugins);
    }

    @AfterAll
    static void close() {
        model.close();
        plugins.close();
    }

    @Test
    void greedyTokensAndFirstLogitsEqualTheReferenceForAllPrompts() {
        int[][] prompts = GOLDEN.values().stream()
                .map(c -> Slipway.ints(c.get("prompt_ids")))
                .toArray(int[][]::new);
        InferenceRunner runner = InferenceRunner.of(model.config(), DecodeOptions.greedy(WIDTH + NEW_TOKENS));
        List<List<Integer>> rows = new ArrayList<>();
        float[] logits;
        try (DecodeSession session = DecodeSession.open(
                plugins, runner, Topologies.resolve("cpu"), model.weights().parameters())) {
            DecodeSession.TokenStream stream = session.stream(prompts, WIDTH, Map.of(), RandomSource.RBG.key(0));
            logits = stream.logits();
            int[] tokens = stream.tokens();
            for (int token : tokens) {
                rows.add(new ArrayList<>(List.of(token)));
            }
            for (int i = 1; i < NEW_TOKENS; i++) {
                tokens = stream.advance();
                for (int row = 0; row < rows.size(); row++) {
                    rows.get(row).add(tokens[row]);
                }
            }
        }
        int vocabulary = model.config().vocabulary();
        for (int row = 0; row < prompts.length; row++) {
            JsonNode expected = GOLDEN.get(row);
            String name = expected.get("name").asString();
            assertThat(rows.get(row).stream().mapToInt(Integer::intValue).toArray())
                    .as(name)
                    .containsExactly(Slipway.ints(expected.get("greedy64_ids")));
            float[] ofRow = Arrays.copyOfRange(logits, row * vocabulary, (row + 1) * vocabulary);
            List<Integer> best = Generation.best(ofRow, 5);
            for (int i = 0; i < 5; i++) {
                JsonNode pair = expected.get("top5").get(i);
                assertThat(best.get(i)).as(name).isEqualTo(pair.get(0).asInt());
                assertThat(ofRow[best.get(i)]).as(name).isCloseTo(pair.get(1).floatValue(), within(2e-3f));
            }
        }
    }

    @Test
    void aChatPromptIsWrittenAndReadAsTheReferenceDoes() {
        for (JsonNode expected : GOLDEN.values()) {
            String text = expected.get("text").asString();
            if (expected.get("kind").asString().equals("chat")) {
                List<ChatTemplate.Message> messages = expected.get("messages").values().stream()
                        .map(m -> new ChatTemplate.Message(
                                m.get("role").asString(), m.get("content").asString()))
                        .toList();
                assertThat(model.weights().chatTemplate().orElseThrow().renderWithGenerationPrompt(messages))
                        .isEqualTo(text);
            }
            assertThat(model.weights().tokenizer().orElseThrow().encode(text).toArray())
                    .as(text)
                    .containsExactly(Slipway.ints(expected.get("prompt_ids")));
        }
    }

    @Test
    void aWholeDecodeAsOneProgramGivesTheSameTokensAsSteps() {
        JsonNode expected = GOLDEN.get(0);
        int[] prompt = Slipway.ints(expected.get("prompt_ids"));
        int[] until = Slipway.ints(expected.get("greedy_until_stop_ids"));
        int[] row = decode("cpu", MeshSpec.byDefault(), new int[][] {prompt}, expected)[0];

        assertThat(Arrays.copyOfRange(row, 0, prompt.length)).containsExactly(prompt);
        assertThat(Arrays.copyOfRange(row, prompt.length, prompt.length + until.length))
                .containsExactly(until);
        assertThat(Arrays.copyOfRange(row, prompt.length + until.length, row.length))
                .as("behind the stop token")
                .containsOnly(-1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"data", "fsdp"})
    void eightDevicesInAMeshOfTwoByFourGiveTheTokensOfOne(String batchAxis) {
        int[][] prompts = {
            Slipway.ints(GOLDEN.get(0).get("prompt_ids")),
            Slipway.ints(GOLDEN.get(1).get("prompt_ids"))
        };
        JsonNode stops = GOLDEN.get(0);
        int[][] one = decode("cpu", MeshSpec.byDefault(), prompts, stops);
        int[][] eight = decode("cpu-8", MeshSpec.of(List.of(batchAxis, "model"), 2, 4), prompts, stops);

        assertThat(eight).isDeepEqualTo(one);
    }

    private static int[][] decode(String machine, MeshSpec mesh, int[][] prompts, JsonNode stops) {
        DecodeOptions options = DecodeOptions.greedy(48).withStopIds(Slipway.ints(stops.get("stop_ids")));
        InferenceRunner runner = InferenceRunner.of(model.config(), options).withMesh(mesh);
        PluginLocator locator = plugins;
        try (DecodeSession session = DecodeSession.open(
                locator, runner, Topologies.resolve(machine), model.weights().parameters())) {
            int[] flat = session.sampleDecode(prompts, 8, Map.of(), RandomSource.RBG.key(0))
                    .get("sequences")
                    .ints();
            int width = flat.length / prompts.length;
            return IntStream.range(0, prompts.length)
                    .mapToObj(row -> Arrays.copyOfRange(flat, row * width, (row + 1) * width))
                    .toArray(int[][]::new);
        }
    }

    @Test
    void generateAnswersInJsonAndStopsAtTheStopToken() {
        JsonNode expected = GOLDEN.get(0);
        Slipway run = Slipway.run(
                "generate",
                "--prompt",
                expected.get("text").asString(),
                "--raw",
                "--max-new-tokens",
                "40",
                "--top-logits",
                "3",
                "--json");

        assertThat(run.code()).as(run.err()).isZero();
        JsonNode answer = run.json();
        assertThat(Slipway.ints(answer.get("prompt_ids"))).containsExactly(Slipway.ints(expected.get("prompt_ids")));
        assertThat(Slipway.ints(answer.get("ids")))
                .containsExactly(Slipway.ints(expected.get("greedy_until_stop_ids")));
        assertThat(answer.get("text").asString())
                .isEqualTo(expected.get("greedy_until_stop_text").asString());
        assertThat(answer.get("finish_reason").asString()).isEqualTo("stop");
        assertThat(answer.get("top_logits")).hasSize(3);
        assertThat(answer.get("top_logits").get(0).get(0).asInt())
                .isEqualTo(expected.get("top5").get(0).get(0).asInt());
    }

    /** The file has its matrices in blocks; written out as float32, their sums would be rounded otherwise. */
    @Test
    void layersThatAreNamedLeaveTheMatricesAsTheFileHasThem() {
        assertThat(logits("--layers=scanned")).isEqualTo(logits());
        assertThat(logits("--layers=scanned", "--matrices=output_major")).isNotEqualTo(logits());
    }

    private static JsonNode logits(String... options) {
        Slipway run = Slipway.run(Stream.concat(
                        Stream.of("generate", "--ids=1,2,3", "--max-new-tokens=1", "--top-logits=9", "--json"),
                        Stream.of(options))
                .toArray(String[]::new));
        assertThat(run.code()).as(run.err()).isZero();
        return run.json().get("top_logits");
    }

    @Test
    void theSameSeedGivesTheSameSampleAndAnotherSeedAnother() {
        int[] first = sample(7);

        assertThat(sample(7)).containsExactly(first);
        assertThat(sample(8)).isNotEqualTo(first);
    }

    private static int[] sample(long seed) {
        Slipway run = Slipway.run(
                "generate",
                "--prompt=Once upon a time",
                "--raw",
                "--temperature=1",
                "--seed=" + seed,
                "--max-new-tokens=12",
                "--ignore-stop",
                "--json");
        assertThat(run.code()).as(run.err()).isZero();
        return Slipway.ints(run.json().get("ids"));
    }
}

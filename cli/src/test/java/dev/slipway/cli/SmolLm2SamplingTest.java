// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.aot.DecodeSession;
import dev.slipway.aot.HostArray;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.aot.LoadedProgram;
import dev.slipway.lowering.Control;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.topology.Topologies;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Sampled tokens of the packaged model equal those of a JAX program with the same keys, token by token. */
class SmolLm2SamplingTest {
    private static final int WIDTH = 40;
    private static final int NEW_TOKENS = 32;

    /** The gap between the two best perturbed logits below which another token may be rounding, says the source. */
    private static final double NEAR_TIE = 1e-3;

    private static final JsonNode GOLDEN = Slipway.golden("sampling.json").get("cases");
    private static PluginsOnDemand plugins;
    private static Model model;
    private static DecodeSession session;

    @BeforeAll
    static void open() {
        plugins = new PluginsOnDemand(new Output());
        model = Model.open(Model.PACKAGED, plugins);
        DecodeOptions options = DecodeOptions.greedy(WIDTH + NEW_TOKENS)
                .withStopIds(Slipway.ints(GOLDEN.get(0).get("stop_ids")))
                .withControls(Control.TEMPERATURE, Control.TOP_K, Control.TOP_P, Control.MAX_LENGTH);
        session = DecodeSession.open(
                plugins,
                InferenceRunner.of(model.config(), options),
                Topologies.resolve("cpu"),
                model.weights().parameters());
    }

    @AfterAll
    static void close() {
        session.close();
        model.close();
        plugins.close();
    }

    @Test
    void aRowByItself() {
        check(StreamSupport.stream(GOLDEN.spliterator(), false)
                .filter(c -> c.get("prompt_ids").get(0).isInt())
                .filter(c -> c.get("min_gap").asDouble() > NEAR_TIE)
                .toList());
    }

    @Test
    void rowsOfDifferentLengthsWithOneKey() {
        check(StreamSupport.stream(GOLDEN.spliterator(), false)
                .filter(c -> c.get("prompt_ids").get(0).isArray())
                .toList());
    }

    private static void check(List<JsonNode> cases) {
        assertThat(cases).hasSizeGreaterThanOrEqualTo(10);
        int rows = prompts(cases.getFirst()).length;
        try (LoadedProgram program = session.load(InputBatchSpec.prefix(rows, WIDTH), "sample_decode")) {
            for (JsonNode expected : cases) {
                int[][] prompts = prompts(expected);
                int[] sequences =
                        program.run(inputs(expected, prompts)).get("sequences").ints();
                for (int row = 0; row < rows; row++) {
                    int from = row * (WIDTH + NEW_TOKENS) + prompts[row].length;
                    int[] drawn = Arrays.copyOfRange(sequences, from, from + NEW_TOKENS);
                    assertThat(drawn)
                            .as("%s, row %d", expected, row)
                            .containsExactly(Arrays.copyOf(tokens(expected, row), NEW_TOKENS));
                }
            }
        }
    }

    private static int[][] prompts(JsonNode expected) {
        JsonNode ids = expected.get("prompt_ids");
        return ids.get(0).isArray()
                ? ids.values().stream().map(Slipway::ints).toArray(int[][]::new)
                : new int[][] {Slipway.ints(ids)};
    }

    /** The row's tokens, pads behind them. */
    private static int[] tokens(JsonNode expected, int row) {
        JsonNode tokens = expected.get("tokens");
        int[] given = Slipway.ints(tokens.get(0).isArray() ? tokens.get(row) : tokens);
        return IntStream.range(0, NEW_TOKENS)
                .map(i -> i < given.length ? given[i] : -1)
                .toArray();
    }

    private static Map<String, HostArray> inputs(JsonNode expected, int[][] prompts) {
        int rows = prompts.length;
        int[] prefix = new int[rows * WIDTH];
        Arrays.fill(prefix, -1);
        for (int row = 0; row < rows; row++) {
            System.arraycopy(prompts[row], 0, prefix, row * WIDTH, prompts[row].length);
        }
        int[] key = expected.get("key").values().stream()
                .mapToInt(word -> Integer.parseUnsignedInt(word.asString(), 16))
                .toArray();
        Map<String, HostArray> inputs = new HashMap<>();
        inputs.put("prng_key", HostArray.of(key, key.length));
        inputs.put("input_batch/prefix", HostArray.of(prefix, rows, WIDTH));
        inputs.put(
                Control.TEMPERATURE.path(),
                floats(rows, expected.get("temperature").floatValue()));
        inputs.put(
                Control.TOP_P.path(),
                floats(
                        rows,
                        expected.get("top_p").isNull()
                                ? 1
                                : expected.get("top_p").floatValue()));
        inputs.put(Control.TOP_K.path(), ints(rows, expected.get("top_k").asInt()));
        inputs.put(Control.MAX_LENGTH.path(), ints(rows, expected.get("max_new").asInt()));
        return inputs;
    }

    private static HostArray floats(int rows, float value) {
        float[] values = new float[rows];
        Arrays.fill(values, value);
        return HostArray.of(values, rows);
    }

    private static HostArray ints(int rows, int value) {
        int[] values = new int[rows];
        Arrays.fill(values, value);
        return HostArray.of(values, rows);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.DecoderConfig.Layer;
import dev.slipway.lowering.DecoderConfig.Rotary;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.topology.Topologies;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * {@code slipway generate --batch}: what AXLearn (34aed43c, jax 0.8.3, float32 on CPU) gave for a small Llama of random
 * numbers, as recorded beside its parameters.
 */
class GenerateBatchTest {
    private static final JsonMapper MAPPER = new JsonMapper();
    private static final Path MODEL = Path.of("src/test/resources/dev/slipway/cli/axlearn");
    private static final Path BFLOAT16_CACHE = MODEL.resolveSibling("axlearn-bf16-cache");

    @TempDir
    Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int generate(String cases, String... options) throws IOException {
        return generate(MODEL, cases, options);
    }

    private int generate(Path model, String cases, String... options) throws IOException {
        Path file = Files.writeString(folder.resolve("cases.json"), cases);
        return Main.run(
                new PrintWriter(out),
                new PrintWriter(err),
                Stream.concat(
                                Stream.of("generate", "--model", model.toString(), "--batch", file.toString()),
                                Stream.of(options))
                        .toArray(String[]::new));
    }

    private JsonNode answer(int index) {
        return MAPPER.readTree(out.toString()).get(index);
    }

    private static void assertAnswer(String id, JsonNode answer, JsonNode expected) {
        assertThat(differing(answer, expected)).as(id).isEmpty();
    }

    /**
     * Which numbers differ, as {@code field[index]: given for wanted}. Beam scores hold as many digits as float32 has; those of
     * the others are exact to about 1e-5.
     */
    private static List<String> differing(JsonNode answer, JsonNode expected) {
        List<String> differing = new ArrayList<>();
        expected.properties().forEach(field -> {
            String name = field.getKey();
            List<Double> wanted = numbers(field.getValue());
            List<Double> given = numbers(answer.path(name));
            assertThat(given).as(name).hasSameSizeAs(wanted);
            for (int i = 0; i < wanted.size(); i++) {
                double tolerance = ofScores(name) ? Math.max(1e-4, 1e-6 * Math.abs(wanted.get(i))) : 0;
                if (!(Math.abs(given.get(i) - wanted.get(i)) <= tolerance)) {
                    differing.add("%s[%d]: %s for %s".formatted(name, i, given.get(i), wanted.get(i)));
                }
            }
        });
        return differing;
    }

    /** Whether a field's name, or what begins with it, is of log-probabilities. */
    private static boolean ofScores(String name) {
        return name.matches("\\w*scores\\b.*");
    }

    private static List<Double> numbers(JsonNode json) {
        List<Double> all = new ArrayList<>();
        if (json.isNumber()) {
            all.add(json.doubleValue());
        }
        json.values().forEach(value -> all.addAll(numbers(value)));
        return all;
    }

    @ParameterizedTest
    @CsvSource({"cases.json, 50", "beam_cases.json, 15", "merge_cases.json, 6"})
    void everyCaseGivesTheTokensScoresAndKeysOfTheReference(String file, int count) throws IOException {
        assertReference(MODEL, file, count);
    }

    /** AXLearn feeds a prompt's last token once more, so that even the first choice reads the cache in its type. */
    @Test
    void beamsOverACacheOfBfloat16AreThoseOfTheReference() throws IOException {
        assertReference(BFLOAT16_CACHE, "beam_cases.json", 6);
    }

    /**
     * The reference was compiled as Slipway compiles such models, told to leave no rounding out. Where a product lies in the
     * middle between two numbers of bfloat16, the order of its sum decides; a machine's vectors choose that order, and a
     * score of such a case is another.
     */
    @ParameterizedTest
    @CsvSource({
        "axlearn-bf16, cases.json, 12, 10",
        "axlearn-bf16, beam_cases.json, 6, 5",
        "axlearn-bf16-wide-norms, cases.json, 12, 10",
        "axlearn-bf16-wide-norms, beam_cases.json, 6, 5",
        // From four rows on YNNPACK multiplied by the head, and left its rounding out.
        "axlearn-bf16-wide-vocabulary, cases.json, 8, 8"
    })
    void activationsOfBfloat16AreRoundedWhereTheReferenceRoundsThem(
            String name, String file, int count, int withEqualScores) throws IOException {
        Path model = MODEL.resolveSibling(name);
        JsonNode cases = MAPPER.readTree(Files.readString(model.resolve(file))).get("cases");

        assertThat(generate(model, cases.toString())).as(err.toString()).isZero();

        assertThat(cases.size()).isEqualTo(count);
        int equal = 0;
        for (int i = 0; i < count; i++) {
            JsonNode expected = cases.get(i).get("expect");
            assertThat(differing(answer(i), expected))
                    .as(cases.get(i).get("id").stringValue())
                    .allMatch(GenerateBatchTest::ofScores);
            equal += differing(answer(i), expected).isEmpty() ? 1 : 0;
        }
        assertThat(equal).isBetween(withEqualScores, count);
    }

    private void assertReference(Path model, String file, int count) throws IOException {
        JsonNode cases = MAPPER.readTree(Files.readString(model.resolve(file))).get("cases");

        assertThat(generate(model, cases.toString())).as(err.toString()).isZero();

        assertThat(cases.size()).isEqualTo(count);
        for (int i = 0; i < count; i++) {
            assertAnswer(
                    cases.get(i).get("id").stringValue(),
                    answer(i),
                    cases.get(i).get("expect"));
        }
    }

    private static JsonNode firstCase() throws IOException {
        return MAPPER.readTree(Files.readString(MODEL.resolve("cases.json")))
                .get("cases")
                .get(0);
    }

    @Test
    void unrolledLayersGiveTheSame() throws IOException {
        assertThat(generate("[" + firstCase() + "]", "--layers=unrolled"))
                .as(err.toString())
                .isZero();

        assertAnswer("unrolled", answer(0), firstCase().get("expect"));
    }

    @Test
    void matricesThatAreAskedToLieInHalfBlocksLosePrecision() throws IOException {
        assertThat(generate("[" + firstCase() + "]", "--matrices=half_blocks"))
                .as(err.toString())
                .isZero();

        assertThat(numbers(answer(0).get("token_scores")))
                .isNotEqualTo(numbers(firstCase().get("expect").get("token_scores")));
    }

    /** As AXLearn 34aed43c does: its embedding counts from the end. */
    @Test
    void anEmptyPromptOfNegativePadsIsReadAsTheLastToken() throws IOException {
        String last =
                "{\"entry\": \"model\", \"key\": [0, 1, 0, 1], \"prefix\": [[255, -1, -1]], \"options\": {\"pad_id\": -1}}";
        String empty = last.replace("255", "-1");

        assertThat(generate("[" + last + "," + empty + "]")).as(err.toString()).isZero();

        assertThat(answer(1)).isEqualTo(answer(0));
    }

    @Test
    void aCaseThatCannotBeReadIsAnsweredInItsPlaceAndTheOthersRun() throws IOException {
        String good = "{\"entry\": \"runner\", \"key\": [0, 1, 0, 1], \"prefix\": [[5, 0]], \"options\": {}}";
        String bad = good.replace("[[5, 0]]", "[[5, 256]]");

        assertThat(generate("[" + bad + "," + good + "]")).isOne();

        assertThat(answer(0).at("/error/message").stringValue())
                .isEqualTo("prefix[0] has the token 256; the vocabulary is 0 to 255");
        assertThat(answer(1).get("sequences").get(0).get(0).size()).isEqualTo(2);
    }

    /** A process with too little memory for the second. */
    @Test
    void aCaseThatCannotRunIsAnsweredInItsPlaceAndTheOthersRun() throws Exception {
        String small = "{\"key\": [0, 1, 0, 1], \"prefix\": [[5, 0]]}";
        String large = "{\"prefix\": [[5%s]], \"options\": {\"num_decodes\": 65536}}".formatted(", 0".repeat(511));
        Path file =
                Files.writeString(folder.resolve("cases.json"), "[" + small + "," + large + ",{\"prefix\": [[5]]}]");
        Path answers = folder.resolve("answers.json");
        Process process = new ProcessBuilder(
                        "bash",
                        "-c",
                        "ulimit -v 16000000; exec \"$@\"",
                        "slipway",
                        ProcessHandle.current().info().command().orElseThrow(),
                        "-Xmx1g",
                        "-XX:TieredStopAtLevel=1",
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Main.class.getName(),
                        "generate",
                        "--model=" + MODEL,
                        "--batch=" + file)
                .redirectOutput(answers.toFile())
                .redirectError(folder.resolve("err").toFile())
                .start();

        assertThat(process.waitFor()).isOne();

        JsonNode all = MAPPER.readTree(Files.readString(answers));
        assertThat(all.get(0).get("sequences").get(0).get(0).size()).isEqualTo(2);
        assertThat(all.get(1).at("/error/type").stringValue()).isEqualTo("ResourceExhausted");
        assertThat(all.get(1).at("/error/message").stringValue()).startsWith("Out of memory");
        assertThat(all.get(2).get("sequences").get(0).get(0).size()).isOne();
        assertThat(Files.readString(folder.resolve("err"))).contains("3 programs compiled, 1 cases failed");
    }

    /** Layers that one scanned body cannot hold. */
    @Test
    void casesWhoseProgramCannotBeMadeAreAnsweredEach() throws Exception {
        try (PluginsOnDemand plugins = new PluginsOnDemand(new Output());
                Model llama = Model.open(MODEL.toString(), plugins)) {
            Layer whole = llama.config().layers().getFirst();
            Layer half = Layer.full(Rotary.of(10_000, 8));
            DecoderConfig uneven = llama.config().withLayers("uneven", List.of(whole, half));
            LocalModel local = LocalModel.of(
                    plugins,
                    new Model("uneven", uneven, llama.checkpoint()),
                    Topologies.resolve("cpu"),
                    MeshSpec.byDefault());
            JsonNode cases = MAPPER.readTree("[{\"key\": [0, 1, 0, 1], \"prefix\": [[5, 0]]}, {\"prefix\": [[5]]}]");

            GenerateBatch.Answers answers = GenerateBatch.run(local, cases, _ -> {});

            assertThat(answers.failed()).isEqualTo(2);
            assertThat(answers.programs()).isZero();
            assertThat(MAPPER.readTree(answers.json()).values())
                    .hasSize(2)
                    .allSatisfy(answer -> assertThat(answer.at("/error/message").stringValue())
                            .contains("cannot share one scanned body"));
        }
    }

    private static String stopping(String condition) {
        return """
                {"key": [0, 1000, 0, 1000], "prefix": [[35, 34, 204, 0, 0, 0, 0, 0]], "options": {"stop": %s}}""".formatted(condition);
    }

    private static String atAnyOf(String sequences) {
        return stopping("{\"type\": \"subsequences\", \"sequences\": [%s]}".formatted(sequences));
    }

    /** As the reference has it, which fills shorter sequences up with such tokens. */
    @ParameterizedTest
    @ValueSource(strings = {"[%d]", "[37, %d]", "[%d, 37]"})
    void aStopTokenOfMinusOneIsAnyToken(String sequence) throws IOException {
        String each = IntStream.range(0, 256).mapToObj(sequence::formatted).collect(Collectors.joining(","));

        assertThat(generate("[" + atAnyOf(sequence.formatted(-1)) + "," + atAnyOf(each) + "]"))
                .as(err.toString())
                .isZero();

        assertThat(answer(0)).isEqualTo(answer(1));
        assertThat(answer(0).at("/sequences/0/0/7").intValue()).isZero();
    }

    @Test
    void aStopTokenThatTheVocabularyHasNotIsNeverMet() throws IOException {
        String never = stopping("{\"type\": \"max_length\", \"n\": 1000}");

        assertThat(generate("[" + atAnyOf("[256]") + "," + never + "]"))
                .as(err.toString())
                .isZero();

        assertThat(answer(0)).isEqualTo(answer(1));
    }

    @Test
    void parametersThatAreNoNumbersAreAnError() throws IOException {
        byte[] parameters = Files.readAllBytes(MODEL.resolve("params.safetensors"));
        ByteBuffer.wrap(parameters).order(ByteOrder.LITTLE_ENDIAN).putFloat(parameters.length - 4, Float.NaN);
        Files.write(folder.resolve("params.safetensors"), parameters);
        Files.copy(MODEL.resolve("model.json"), folder.resolve("model.json"));

        assertThat(generate(folder, "[" + firstCase() + "]")).isOne();

        assertThat(answer(0).at("/error/message").stringValue()).startsWith("token_scores has NaN");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"key\": [1, 2, 3], \"prefix\": [[5]]}",
                "{\"key\": [1, 2, 3, 4294967296], \"prefix\": [[5]]}",
                "{\"key\": [1, 2, 3, 4], \"prefix\": [[5], [5, 6]]}",
                "{\"key\": [1, 2, 3, 4], \"prefix\": []}",
                "{\"key\": [1, 2, 3, 4], \"prefix\": [[5]], \"options\": {\"num_decodes\": 0}}",
                "{\"key\": [1, 2, 3, 4], \"prefix\": [[5]], \"options\": {\"top_k\": 5}}",
                "{\"key\": [1, 2, 3, 4], \"prefix\": [[5]], \"entry\": \"trainer\"}",
                "{\"prefix\": [[5]], \"entry\": \"trainer\"}",
                "{\"prefix\": [[5]], \"options\": {\"stop\": {\"type\": \"max_length\", \"n\": 3}}}",
                "{\"key\": [1, 2, 3, 4], \"prefix\": [[5]], \"options\": {\"logits_modifier\": [{\"type\": \"top_p\", \"p\": 0}]}}",
                "{\"key\": [1, 2, 3, 4], \"prefix\": [[5]], \"options\": {\"logits_modifier\": [{\"type\": \"temperature\", \"value\": 0.00001}]}}",
                "{\"key\": [1, 2, 3, 4], \"prefix\": [[5]], \"options\": {\"stop\": {\"type\": \"subsequences\", \"sequences\": []}}}",
                "{\"prefix\": [[5]], \"options\": {\"brevity_penalty\": {\"type\": \"t6\", \"alpha\": 1}}}",
                "7"
            })
    void whatIsNoCaseIsAnsweredWithWhatWasExpected(String wrong) throws IOException {
        assertThat(generate("[" + wrong + "]")).isOne();

        assertThat(answer(0).at("/error/message").stringValue()).containsAnyOf("expected", "takes", "not");
    }

    @Test
    void aFileThatIsNoArrayIsRefused() throws IOException {
        assertThat(generate("{\"prefix\": 1}")).isOne();

        assertThat(err.toString()).contains("The batch should be a JSON array of cases");
    }
}

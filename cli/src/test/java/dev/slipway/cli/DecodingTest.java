// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.atIndex;
import static org.assertj.core.api.Assertions.within;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import dev.slipway.aot.DecodeSession;
import dev.slipway.aot.HostArray;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.aot.LoadedProgram;
import dev.slipway.aot.PluginLocator;
import dev.slipway.lowering.Control;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.DecoderConfig.Layer;
import dev.slipway.lowering.DecoderConfig.Rotary;
import dev.slipway.lowering.DecoderConfig.Scaling;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.lowering.RandomSource;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What rows can be told, against plain readings of the definitions, on a small Llama of random numbers. */
class DecodingTest {
    private static final int VOCABULARY = 256;
    private static final int LENGTH = 24;
    private static final int[] PROMPT = {17, 201, 33, 90, 5};
    private static final int[] OTHER = {120, 7};
    private static final Topology CPU = Topologies.resolve("cpu");
    private static final Form FORM = InferenceRunner.formFor(CPU.chip());
    private static final int[] KEY = RandomSource.RBG.key(7);

    private static Model model;
    private static DecodeSession oracle;
    private static LoadedProgram reader;

    @BeforeAll
    static void open() {
        model = Model.open("src/test/resources/dev/slipway/cli/axlearn", new PluginsOnDemand(new Output()));
        oracle = session(DecodeOptions.greedy(LENGTH));
        reader = oracle.load(InputBatchSpec.prefix(1, LENGTH), "prefill");
    }

    @AfterAll
    static void close() {
        oracle.close();
        model.close();
    }

    private static DecodeSession session(DecodeOptions options) {
        return session(options, CPU, MeshSpec.byDefault(), FORM);
    }

    private static DecodeSession session(DecodeOptions options, Topology machine, MeshSpec mesh, Form form) {
        return DecodeSession.open(
                PluginLocator.ofUser(),
                InferenceRunner.of(model.config(), options).withMesh(mesh).withForm(form),
                machine,
                model.weights().parameters());
    }

    /** The model's logits behind some tokens, by a program that knows of no control. */
    private static float[] logits(List<Integer> tokens) {
        int[] prefix = new int[LENGTH];
        Arrays.fill(prefix, -1);
        for (int i = 0; i < tokens.size(); i++) {
            prefix[i] = tokens.get(i);
        }
        return reader.run(
                        Map.of("prng_key", HostArray.of(KEY, 4), "input_batch/prefix", HostArray.of(prefix, 1, LENGTH)))
                .get("logits")
                .floats();
    }

    private static int best(float[] logits) {
        return IntStream.range(0, logits.length)
                .reduce((a, b) -> logits[b] > logits[a] ? b : a)
                .orElseThrow();
    }

    /** Changes logits, knowing the prompt and what was generated. */
    private interface Rule {
        void apply(float[] logits, List<Integer> generated);
    }

    /** Greedy decoding by the definition, to a number of tokens. */
    private static List<Integer> greedy(int count, Rule rule) {
        List<Integer> all = new ArrayList<>(Arrays.stream(PROMPT).boxed().toList());
        List<Integer> generated = new ArrayList<>();
        while (generated.size() < count) {
            float[] logits = logits(all);
            rule.apply(logits, generated);
            int token = best(logits);
            all.add(token);
            generated.add(token);
        }
        return generated;
    }

    private static List<Integer> decode(UnaryOperator<DecodeOptions> options, Map<Control, HostArray> controls) {
        DecodeOptions all = options.apply(
                DecodeOptions.greedy(LENGTH).withControls(controls.keySet().toArray(new Control[0])));
        try (DecodeSession session = session(all)) {
            int[] sequence = session.sampleDecode(new int[][] {PROMPT}, 8, controls, KEY)
                    .get("sequences")
                    .ints();
            return Arrays.stream(sequence)
                    .skip(PROMPT.length)
                    .takeWhile(token -> token >= 0)
                    .boxed()
                    .toList();
        }
    }

    private static HostArray row(float value) {
        return HostArray.of(new float[] {value}, 1);
    }

    private static HostArray row(int value) {
        return HostArray.of(new int[] {value}, 1);
    }

    @Test
    void penaltiesActOnWhatIsThereAndBiasOnWhatIsNamed() {
        float[] bias = new float[VOCABULARY];
        bias[42] = 1.5f;
        List<Integer> wanted = greedy(12, (x, generated) -> {
            Set<Integer> seen = new HashSet<>(generated);
            for (int token : PROMPT) {
                seen.add(token);
            }
            for (int token : seen) {
                x[token] = x[token] > 0 ? x[token] / 1.3f : x[token] * 1.3f;
            }
            for (int token : generated) {
                x[token] -= 0.4f;
            }
            for (int token : new HashSet<>(generated)) {
                x[token] -= 0.7f;
            }
            x[42] += 1.5f;
        });

        assertThat(decode(
                        UnaryOperator.identity(),
                        Map.of(
                                Control.REPETITION_PENALTY, row(1.3f),
                                Control.FREQUENCY_PENALTY, row(0.4f),
                                Control.PRESENCE_PENALTY, row(0.7f),
                                Control.LOGIT_BIAS, HostArray.of(bias, 1, VOCABULARY),
                                Control.MAX_LENGTH, row(12))))
                .isEqualTo(wanted);
    }

    @Test
    void onlyAllowedTokensAreChosen() {
        byte[] allowed = new byte[VOCABULARY];
        for (int i = 0; i < VOCABULARY; i += 2) {
            allowed[i] = 1;
        }
        List<Integer> wanted = greedy(8, (x, _) -> {
            for (int i = 1; i < VOCABULARY; i += 2) {
                x[i] = Float.NEGATIVE_INFINITY;
            }
        });

        assertThat(decode(
                        UnaryOperator.identity(),
                        Map.of(Control.ALLOWED_TOKENS, allowed(allowed), Control.MAX_LENGTH, row(8))))
                .isEqualTo(wanted);
    }

    private static HostArray allowed(byte[] tokens) {
        return new HostArray(TensorType.of(ElementType.I1, 1, VOCABULARY), MemorySegment.ofArray(tokens));
    }

    @Test
    void aStopTokenThatAloneIsAllowedEndsNoRowBeforeTheMinimumLength() {
        byte[] allowed = new byte[VOCABULARY];
        allowed[42] = 1;

        assertThat(decode(
                        o -> o.withStopIds(42),
                        Map.of(Control.ALLOWED_TOKENS, allowed(allowed), Control.MIN_LENGTH, row(3))))
                .containsExactly(42, 42, 42);
    }

    @Test
    void aStopTokenEndsARowEvenAsItsFirstToken() {
        int first = greedy(1, (_, _) -> {}).getFirst();

        assertThat(decode(o -> o.withStopIds(first), Map.of())).containsExactly(first);
    }

    @Test
    void noStopTokenIsChosenBeforeTheMinimumLength() {
        int first = greedy(1, (_, _) -> {}).getFirst();
        List<Integer> wanted = greedy(4, (x, generated) -> {
            if (generated.size() < 3) {
                x[first] = Float.NEGATIVE_INFINITY;
            }
        });

        List<Integer> given = decode(o -> o.withStopIds(first), Map.of(Control.MIN_LENGTH, row(3)));

        assertThat(given.subList(0, 4)).isEqualTo(wanted);
    }

    @Test
    void aStopSequenceEndsARowWhereItIsGeneratedWhole() {
        List<Integer> free = greedy(6, (_, _) -> {});
        int[] sequences = new int[4 * 8];
        Arrays.fill(sequences, -1);
        sequences[8 + 6] = free.get(2);
        sequences[8 + 7] = free.get(3);
        // Begins in the prompt, so it does not count.
        sequences[6] = PROMPT[PROMPT.length - 1];
        sequences[7] = free.getFirst();

        assertThat(decode(UnaryOperator.identity(), Map.of(Control.STOP_SEQUENCES, HostArray.of(sequences, 1, 4, 8))))
                .isEqualTo(free.subList(0, 4));
    }

    private static double[] softmax(float[] x, double temperature) {
        double max = IntStream.range(0, x.length).mapToDouble(i -> x[i]).max().orElseThrow();
        double[] e = IntStream.range(0, x.length)
                .mapToDouble(i -> Math.exp((x[i] - max) / temperature))
                .toArray();
        double sum = Arrays.stream(e).sum();
        return Arrays.stream(e).map(v -> v / sum).toArray();
    }

    /** The first of an order of tokens that together have a probability. */
    private static Set<Integer> mass(double[] p, Comparator<Integer> order, double least) {
        Set<Integer> kept = new HashSet<>();
        double sum = 0;
        for (int token : IntStream.range(0, p.length).boxed().sorted(order).toList()) {
            if (sum >= least) {
                break;
            }
            kept.add(token);
            sum += p[token];
        }
        return kept;
    }

    @ParameterizedTest
    @CsvSource({"TOP_K, 6", "TOP_P, 0.25", "MIN_P, 0.5", "TYPICAL_P, 0.04"})
    void aFilterLeavesExactlyTheTokensOfItsDefinition(Control control, double value) {
        int rows = 512;
        double temperature = 1;
        double[] p = softmax(logits(Arrays.stream(PROMPT).boxed().toList()), temperature);
        Comparator<Integer> likeliest = Comparator.comparingDouble(i -> -p[i]);
        double entropy = -Arrays.stream(p).map(v -> v * Math.log(v)).sum();
        Set<Integer> wanted = switch (control) {
            case TOP_K ->
                new HashSet<>(IntStream.range(0, VOCABULARY)
                        .boxed()
                        .sorted(likeliest)
                        .limit((long) value)
                        .toList());
            case TOP_P -> mass(p, likeliest, value);
            case MIN_P -> {
                double most = Arrays.stream(p).max().orElseThrow();
                Set<Integer> kept = new HashSet<>();
                IntStream.range(0, VOCABULARY).filter(i -> p[i] >= value * most).forEach(kept::add);
                yield kept;
            }
            default -> mass(p, Comparator.comparingDouble(i -> Math.abs(-Math.log(p[i]) - entropy)), value);
        };
        int[][] prompts = IntStream.range(0, rows).mapToObj(_ -> PROMPT).toArray(int[][]::new);
        float[] values = new float[rows];
        Arrays.fill(values, (float) value);
        float[] temperatures = new float[rows];
        Arrays.fill(temperatures, (float) temperature);
        HostArray told = control.element().equals(ElementType.I32)
                ? HostArray.of(IntStream.range(0, rows).map(_ -> (int) value).toArray(), rows)
                : HostArray.of(values, rows);

        Set<Integer> drawn = new HashSet<>();
        try (DecodeSession session =
                session(DecodeOptions.greedy(PROMPT.length + 1).withControls(Control.TEMPERATURE, control))) {
            int[] sequences = session.sampleDecode(
                            prompts,
                            PROMPT.length,
                            Map.of(Control.TEMPERATURE, HostArray.of(temperatures, rows), control, told),
                            KEY)
                    .get("sequences")
                    .ints();
            for (int row = 0; row < rows; row++) {
                drawn.add(sequences[row * (PROMPT.length + 1) + PROMPT.length]);
            }
        }

        assertThat(wanted.size()).isBetween(2, 30);
        assertThat(drawn).isEqualTo(wanted);
    }

    @ParameterizedTest
    @CsvSource({"TOP_P, 0", "TOP_P, -1", "TOP_P, 1e-40", "TYPICAL_P, 0"})
    void aShareThatIsLessThanAnyTokensLeavesTheFirst(Control control, float share) {
        double[] p = softmax(logits(Arrays.stream(PROMPT).boxed().toList()), 1);
        double entropy = -Arrays.stream(p).map(v -> v * Math.log(v)).sum();
        int wanted = IntStream.range(0, VOCABULARY)
                .boxed()
                .min(Comparator.comparingDouble(
                        i -> control == Control.TOP_P ? -p[i] : Math.abs(-Math.log(p[i]) - entropy)))
                .orElseThrow();

        assertThat(decode(
                        UnaryOperator.identity(),
                        Map.of(Control.TEMPERATURE, row(1f), control, row(share), Control.MAX_LENGTH, row(1))))
                .containsExactly(wanted);
    }

    @Test
    void theLikeliestTokensOfARowEndWithItWhateverOthersDo() {
        int first = greedy(1, (_, _) -> {}).getFirst();
        DecodeOptions options = DecodeOptions.greedy(12).withStopIds(first).with(o -> o.topLogProbs(2));
        try (DecodeSession session = session(options)) {
            Map<String, HostArray> results = session.sampleDecode(new int[][] {PROMPT, OTHER}, 8, Map.of(), KEY);
            int[] tokens = Arrays.copyOf(results.get("top_tokens").ints(), 2 * 12);
            float[] scores = Arrays.copyOf(results.get("top_log_probs").floats(), 2 * 12);

            assertThat(results.get("sequences").ints()[12 + OTHER.length + 1]).isNotNegative();
            assertThat(tokens[2 * PROMPT.length]).isEqualTo(first);
            for (int i = 0; i < 12; i++) {
                if (i != PROMPT.length) {
                    assertThat(tokens)
                            .as("column %d", i)
                            .contains(-1, atIndex(2 * i))
                            .contains(-1, atIndex(2 * i + 1));
                    assertThat(scores)
                            .as("column %d", i)
                            .contains(0, atIndex(2 * i))
                            .contains(0, atIndex(2 * i + 1));
                }
            }
        }
    }

    @Test
    void aPadThatIsATokenStandsForItselfWithinAPrompt() {
        Map<Control, HostArray> punished = Map.of(Control.REPETITION_PENALTY, row(1.7f));
        DecodeOptions options = DecodeOptions.greedy(LENGTH).withControls(Control.REPETITION_PENALTY);
        List<int[]> sequences = new ArrayList<>();
        for (int pad : new int[] {-1, PROMPT[2]}) {
            try (DecodeSession session = session(options.with(o -> o.padId(pad)))) {
                sequences.add(session.sampleDecode(new int[][] {PROMPT}, 8, punished, KEY)
                        .get("sequences")
                        .ints());
            }
        }

        assertThat(sequences.get(1)).startsWith(PROMPT).isEqualTo(sequences.get(0));
    }

    @Test
    void anEmptyPromptIsTheStartTokenOfABeamSearchToo() {
        DecodeOptions options =
                DecodeOptions.greedy(LENGTH).withNumDecodes(2).withStopIds(1).withStartId(OTHER[0]);
        int[] prefix = new int[2 * 8];
        Arrays.fill(prefix, -1);
        prefix[0] = OTHER[0];
        try (DecodeSession session = session(options);
                LoadedProgram program = session.load(InputBatchSpec.prefix(2, 8), "beam_search_decode")) {
            Map<String, HostArray> results = program.run(
                    Map.of("prng_key", HostArray.of(KEY, 4), "input_batch/prefix", HostArray.of(prefix, 2, 8)));
            int[] sequences = results.get("live_sequences").ints();
            float[] scores = results.get("live_scores").floats();

            assertThat(Arrays.copyOfRange(sequences, 16, 32)).isEqualTo(Arrays.copyOf(sequences, 16));
            assertThat(Arrays.copyOfRange(scores, 2, 4)).isEqualTo(Arrays.copyOf(scores, 2));
        }
    }

    @Test
    void scoresAndTheLikeliestTokensAreTheModelsLogProbabilities() {
        DecodeOptions options = DecodeOptions.greedy(12).with(o -> o.topLogProbs(3));
        try (DecodeSession session = session(options)) {
            Map<String, HostArray> decoded = session.sampleDecode(new int[][] {PROMPT}, 8, Map.of(), KEY);
            int[] sequence = decoded.get("sequences").ints();
            Map<String, HostArray> scored;
            try (LoadedProgram program = session.load(InputBatchSpec.prefix(1, 12), "score")) {
                scored = program.run(Map.of("input_batch/prefix", HostArray.of(sequence, 1, 12)));
            }
            for (int i = PROMPT.length; i < 12; i++) {
                assertThat(scored.get("token_scores").floats()[i])
                        .isCloseTo(decoded.get("token_scores").floats()[i], within(1e-4f));
                assertThat(decoded.get("top_tokens").ints()[3 * i]).isEqualTo(sequence[i]);
                assertThat(scored.get("top_tokens").ints()[3 * i]).isEqualTo(sequence[i]);
            }
            double[] p = softmax(logits(List.of(PROMPT[0])), 1);
            assertThat((double) scored.get("token_scores").floats()[1]).isCloseTo(Math.log(p[PROMPT[1]]), within(1e-4));
            assertThat(scored.get("token_scores").floats()[0]).isZero();
        }
    }

    @Test
    void aRowThatIsPutInBetweenOthersGoesOnAsIfAlone() {
        DecodeOptions options = DecodeOptions.greedy(LENGTH).with(o -> o.stepsPerCall(3));
        List<Integer> alone = new ArrayList<>();
        try (DecodeSession session = session(DecodeOptions.greedy(LENGTH))) {
            int[] sequence = session.sampleDecode(new int[][] {OTHER}, 4, Map.of(), KEY)
                    .get("sequences")
                    .ints();
            Arrays.stream(sequence).skip(OTHER.length).limit(10).forEach(alone::add);
        }
        try (DecodeSession session = session(options)) {
            LoadedProgram step = session.load(InputBatchSpec.prefix(2, 8), "decode_step");
            LoadedProgram insert = session.load(InputBatchSpec.prefix(2, 4), "insert");
            Map<String, HostArray> batch = new HashMap<>(prefill(session, 8, PROMPT, PROMPT));
            batch.put("column", row(8, new long[0]));
            Map<String, HostArray> given = new HashMap<>();
            for (int call = 0; call < 2; call++) {
                batch = advance(step, batch);
            }
            Map<String, HostArray> one = prefill(session, 4, OTHER);
            given.putAll(batch);
            one.forEach((path, array) -> given.put("row/" + path, array));
            given.put("slot", row(1, new long[0]));
            List<Integer> tokens = new ArrayList<>();
            tokens.add(one.get("state/tokens").ints()[0]);
            batch.putAll(insert.run(given));
            for (int call = 0; call < 3; call++) {
                batch = advance(step, batch);
                Arrays.stream(batch.get("tokens").ints()).skip(3).forEach(tokens::add);
            }

            assertThat(tokens).isEqualTo(alone);
        }
    }

    private static HostArray row(int value, long[] shape) {
        return HostArray.of(new int[] {value}, shape);
    }

    private static Map<String, HostArray> advance(LoadedProgram step, Map<String, HostArray> batch) {
        Map<String, HostArray> next = new HashMap<>(step.run(batch));
        next.put("prng_key", next.get("new_key"));
        return next;
    }

    private static Map<String, HostArray> prefill(DecodeSession session, int width, int[]... prompts) {
        int[] prefix = new int[prompts.length * width];
        Arrays.fill(prefix, -1);
        for (int b = 0; b < prompts.length; b++) {
            System.arraycopy(prompts[b], 0, prefix, b * width, prompts[b].length);
        }
        try (LoadedProgram program = session.load(InputBatchSpec.prefix(prompts.length, width), "prefill")) {
            Map<String, HostArray> results = new HashMap<>(program.run(Map.of(
                    "prng_key",
                    HostArray.of(KEY, 4),
                    "input_batch/prefix",
                    HostArray.of(prefix, prompts.length, width))));
            results.put("prng_key", results.get("new_key"));
            return results;
        }
    }

    private static int[] sampled(DecodeOptions options, Topology machine, MeshSpec mesh, Form form, int[]... prompts) {
        float[] temperatures = new float[prompts.length];
        Arrays.fill(temperatures, 0.8f);
        try (DecodeSession session =
                session(options.withControls(Control.TEMPERATURE).withStopIds(1), machine, mesh, form)) {
            return session.sampleDecode(
                            prompts, 8, Map.of(Control.TEMPERATURE, HostArray.of(temperatures, prompts.length)), KEY)
                    .get("sequences")
                    .ints();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "data=2;model=4, 4",
        "data=8;model=1, 8",
        "data=1;model=8, 2",
        "data=4;model=2, 3",
        "data=8;model=1, 5",
        "fsdp=8;model=1, 8",
        "fsdp=2;model=4, 4",
        "data=2;fsdp=2;model=2, 8",
        "data=2;fsdp=4, 5"
    })
    void eightDevicesGiveTheTokensOfOneWhetherOrNotTheBatchDivides(String axes, int rows) {
        Map<String, Integer> mesh = new LinkedHashMap<>();
        Splitter.on(';')
                .withKeyValueSeparator('=')
                .split(axes)
                .forEach((axis, size) -> mesh.put(axis, Integer.valueOf(size)));
        DecodeOptions options = DecodeOptions.greedy(LENGTH).withNumDecodes(2);
        int[][] prompts = IntStream.range(0, rows)
                .mapToObj(i -> i % 3 == 2 ? new int[0] : i % 2 == 0 ? PROMPT : OTHER)
                .toArray(int[][]::new);

        assertThat(sampled(
                        options,
                        Topologies.resolve("cpu-8"),
                        MeshSpec.of(
                                List.copyOf(mesh.keySet()),
                                mesh.values().stream()
                                        .mapToInt(Integer::intValue)
                                        .toArray()),
                        FORM,
                        prompts))
                .isEqualTo(sampled(options, CPU, MeshSpec.byDefault(), FORM, prompts));
    }

    @Test
    void promptsReadInPassesAndLayersWrittenOutGiveTheSameTokens() {
        DecodeOptions options = DecodeOptions.greedy(LENGTH);
        int[] whole = sampled(options, CPU, MeshSpec.byDefault(), FORM, PROMPT, OTHER);

        assertThat(sampled(options.with(o -> o.prefillChunk(2)), CPU, MeshSpec.byDefault(), FORM, PROMPT, OTHER))
                .isEqualTo(whole);
        assertThat(sampled(
                        options.with(o -> o.prefillChunk(4)),
                        CPU,
                        MeshSpec.byDefault(),
                        FORM.withLayers(Form.Layers.UNROLLED),
                        PROMPT,
                        OTHER))
                .isEqualTo(whole);
        // Of eight columns four and one at a time; where a mesh cuts the rows, eight and two.
        for (Form passes : List.of(FORM.withTokensPerPass(5), FORM.withTokensPerPass(2))) {
            assertThat(sampled(options, CPU, MeshSpec.byDefault(), passes, PROMPT, OTHER))
                    .isEqualTo(whole);
            assertThat(sampled(
                            options,
                            Topologies.resolve("cpu-8"),
                            MeshSpec.of(List.of("data", "model"), 2, 4),
                            passes,
                            PROMPT,
                            OTHER))
                    .isEqualTo(whole);
        }
    }

    @Test
    void aCacheInAnotherOrderGivesTheSameTokensAndOneInBfloat16NearlyTheSameScores() {
        DecodeOptions options = DecodeOptions.greedy(LENGTH);
        int[] tokens = sampled(options, CPU, MeshSpec.byDefault(), FORM, PROMPT, OTHER);
        for (Form.Layers layers : Form.Layers.values()) {
            for (Form.CacheOrder order : Form.CacheOrder.values()) {
                Form other = FORM.withLayers(layers).withCacheOrder(order);

                assertThat(sampled(options, CPU, MeshSpec.byDefault(), other, PROMPT, OTHER))
                        .isEqualTo(tokens);
            }
        }
        List<float[]> scores = new ArrayList<>();
        for (Form cached : List.of(FORM, FORM.withCache(ElementType.BF16))) {
            try (DecodeSession session =
                    session(DecodeOptions.greedy(PROMPT.length + 2), CPU, MeshSpec.byDefault(), cached)) {
                scores.add(session.sampleDecode(new int[][] {PROMPT}, PROMPT.length, Map.of(), KEY)
                        .get("token_scores")
                        .floats());
            }
        }
        assertThat(scores.get(1)[PROMPT.length + 1])
                .isCloseTo(scores.get(0)[PROMPT.length + 1], within(0.1f))
                .isNotEqualTo(scores.get(0)[PROMPT.length + 1]);
    }

    @Test
    void rowsThatGrowBeyondTheFirstColumnsAndAroundTheRingScoreAsInACacheThatIsMultiplied() {
        int length = 300;
        int width = 250;
        int[] prompt = IntStream.range(0, 230).map(i -> 3 + i * 37 % 250).toArray();
        List<float[]> scores = new ArrayList<>();
        List<int[]> tokens = new ArrayList<>();
        for (Form form :
                List.of(FORM.withCacheOrder(Form.CacheOrder.HEAD_LAST), FORM, FORM.withLayers(Form.Layers.UNROLLED))) {
            try (DecodeSession session = session(DecodeOptions.greedy(length), CPU, MeshSpec.byDefault(), form)) {
                Map<String, HostArray> results =
                        session.sampleDecode(new int[][] {prompt, OTHER}, width, Map.of(), KEY);
                tokens.add(results.get("sequences").ints());
                scores.add(results.get("token_scores").floats());
            }
        }

        assertThat(Arrays.stream(tokens.getFirst()).skip(length).limit(length)).doesNotContain(-1);
        for (int i = 1; i < tokens.size(); i++) {
            assertThat(tokens.get(i)).isEqualTo(tokens.getFirst());
            assertThat(scores.get(i)).containsExactly(scores.getFirst(), within(1e-4f));
        }
    }

    @Test
    void layersThatSeeAndTurnOtherwiseScoreTheSameScannedAndWrittenOut() {
        Scaling slow = new Scaling.PerPair(ImmutableList.copyOf(Collections.nCopies(8, 4.0)), 1.5);
        DecoderConfig config = model.config()
                .withLayers(
                        "llama",
                        List.of(new Layer(4, Rotary.of(10_000, 16)), Layer.full(new Rotary(10_000, 16, slow))));
        List<float[]> scores = new ArrayList<>();
        for (Form.Layers layers : Form.Layers.values()) {
            InferenceRunner runner =
                    InferenceRunner.of(config, DecodeOptions.greedy(LENGTH)).withForm(FORM.withLayers(layers));
            try (DecodeSession session = DecodeSession.open(
                    PluginLocator.ofUser(), runner, CPU, model.weights().parameters())) {
                scores.add(session.sampleDecode(new int[][] {PROMPT}, 8, Map.of(), KEY)
                        .get("token_scores")
                        .floats());
            }
        }

        assertThat(scores.get(1)).containsExactly(scores.get(0), within(1e-4f));
    }

    @Test
    void differentDecodesOfAPromptDrawDifferentFirstTokens() {
        int[] sequences =
                sampled(DecodeOptions.greedy(LENGTH).withNumDecodes(16), CPU, MeshSpec.byDefault(), FORM, PROMPT);

        assertThat(IntStream.range(0, 16)
                        .map(n -> sequences[n * LENGTH + PROMPT.length])
                        .distinct()
                        .count())
                .isGreaterThan(3);
    }

    @Test
    void aPromptThatFillsItsRowGetsNoTokenAndNoScore() {
        try (DecodeSession session = session(DecodeOptions.greedy(PROMPT.length))) {
            Map<String, HostArray> results = session.sampleDecode(new int[][] {PROMPT}, PROMPT.length, Map.of(), KEY);

            assertThat(results.get("sequences").ints()).isEqualTo(PROMPT);
            assertThat(results.get("token_scores").floats()).containsOnly(0f);
        }
    }

    @ParameterizedTest
    @CsvSource({"RBG", "PHILOX", "THREE_FRY", "THREEFRY2X32"})
    void everySourceOfRandomNumbersSamplesTheSameFromTheSameKey(RandomSource source) {
        DecodeOptions options =
                DecodeOptions.greedy(LENGTH).withControls(Control.TEMPERATURE).with(o -> o.random(source));
        List<int[]> runs = new ArrayList<>();
        for (long seed : new long[] {1, 1, 2}) {
            try (DecodeSession session = session(options)) {
                runs.add(session.sampleDecode(
                                new int[][] {PROMPT}, 8, Map.of(Control.TEMPERATURE, row(1f)), source.key(seed))
                        .get("sequences")
                        .ints());
            }
        }

        assertThat(runs.get(0)).isEqualTo(runs.get(1)).isNotEqualTo(runs.get(2));
    }
}

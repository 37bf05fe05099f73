// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.within;

import dev.slipway.lowering.Control;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.LoweringException;
import dev.slipway.lowering.ParameterSource;
import dev.slipway.lowering.RandomSource;
import dev.slipway.runtime.Leaks;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class DecodeSessionTest {
    private static final DecoderConfig TINY = TinyLlama.withHeads(4, 2);
    private static final int[][] PROMPTS = {{17, 201, 33}, {5}};
    private static final int[] KEY = RandomSource.RBG.key(0);

    private static DecodeSession open() {
        InferenceRunner runner =
                InferenceRunner.of(TINY, DecodeOptions.greedy(16).withControls(Control.TEMPERATURE));
        return DecodeSession.open(PluginLocator.ofUser(), runner, Topologies.resolve("cpu"), RandomWeights.F32);
    }

    private static Map<Control, HostArray> temperatures(float first, float second) {
        return Map.of(Control.TEMPERATURE, HostArray.of(new float[] {first, second}, 2));
    }

    /** What was decoded of some prompts, and in which form. */
    private record Decoded(Form form, Map<String, HostArray> results) {
        int[] tokens() {
            return results.get("sequences").ints();
        }

        float[] scores() {
            return results.get("token_scores").floats();
        }
    }

    private static Decoded decode(ParameterSource weights, int rows, UnaryOperator<Form> change) {
        Topology cpu = Topologies.resolve("cpu");
        InferenceRunner runner = InferenceRunner.of(TINY, DecodeOptions.greedy(16));
        Form form = Objects.requireNonNull(runner.withFormFor(cpu, weights).form());
        int[][] prompts = IntStream.range(0, rows)
                .mapToObj(row -> new int[] {17 + row, 201, 33 + 2 * row})
                .toArray(int[][]::new);
        try (DecodeSession session =
                DecodeSession.open(PluginLocator.ofUser(), runner.withForm(change.apply(form)), cpu, weights)) {
            return new Decoded(session.form(), session.sampleDecode(prompts, 8, Map.of(), KEY));
        }
    }

    private static Decoded outputMajor(ParameterSource weights, int rows) {
        return decode(weights, rows, form -> form.withMatrices(Form.Matrices.OUTPUT_MAJOR));
    }

    /** Up to four rows are multiplied by other operations than more. */
    @ParameterizedTest
    @CsvSource({"1, SCANNED", "4, UNROLLED", "5, SCANNED"})
    void weightsOfBfloat16LieInPairsAndNothingIsLost(int rows, Form.Layers layers) {
        Decoded pairs = decode(RandomWeights.BF16, rows, form -> form.withLayers(layers));
        Decoded whole = outputMajor(RandomWeights.BF16, rows);

        assertThat(pairs.form().matrices()).isEqualTo(Form.Matrices.PAIRS);
        assertThat(pairs.tokens()).containsExactly(whole.tokens());
        assertThat(pairs.scores()).containsExactly(whole.scores(), within(1e-5f));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 5})
    void weightsOfFloat32LieInputMajor(int rows) {
        Decoded inputMajor = decode(RandomWeights.F32, rows, form -> form);
        Decoded outputMajor = outputMajor(RandomWeights.F32, rows);

        assertThat(inputMajor.form().matrices()).isEqualTo(Form.Matrices.INPUT_MAJOR);
        assertThat(inputMajor.tokens()).containsExactly(outputMajor.tokens());
        assertThat(inputMajor.scores()).containsExactly(outputMajor.scores(), within(1e-5f));
    }

    @Test
    void aTemperatureThatLeavesNoDistributionIsRefusedAndTheSessionGoesOn() {
        try (DecodeSession session = open()) {
            assertThatExceptionOfType(LoweringException.class)
                    .isThrownBy(() -> session.stream(PROMPTS, 8, temperatures(1, Float.NaN), KEY))
                    .withMessageStartingWith("temperature of NaN");
            assertThatExceptionOfType(LoweringException.class)
                    .isThrownBy(() -> session.sampleDecode(PROMPTS, 8, temperatures(1e-38f, 1), KEY))
                    .withMessageStartingWith("temperature of 1.0E-38");

            try (DecodeSession.TokenStream stream = session.stream(PROMPTS, 8, temperatures(0, 1), KEY)) {
                assertThat(stream.tokens()).hasSize(2);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"ALLOWED_TOKENS", "LOGIT_BIAS"})
    void aRowThatIsLeftNoTokenIsNamed(Control control) {
        byte[] allowed = new byte[2 * 256];
        allowed[42] = 1;
        float[] bias = new float[2 * 256];
        Arrays.fill(bias, 256, 512, Float.NEGATIVE_INFINITY);
        HostArray second = control == Control.LOGIT_BIAS
                ? HostArray.of(bias, 2, 256)
                : new HostArray(TensorType.of(ElementType.I1, 2, 256), MemorySegment.ofArray(allowed));
        InferenceRunner runner =
                InferenceRunner.of(TINY, DecodeOptions.greedy(16).withControls(control));
        try (DecodeSession session =
                DecodeSession.open(PluginLocator.ofUser(), runner, Topologies.resolve("cpu"), RandomWeights.F32)) {
            assertThatExceptionOfType(LoweringException.class)
                    .isThrownBy(() -> session.sampleDecode(PROMPTS, 8, Map.of(control, second), KEY))
                    .withMessage(
                            "%s leaves row 1 no token; at least one is expected",
                            control.name().toLowerCase(Locale.ROOT));
        }
    }

    @Test
    void anInputOfAnotherTypeIsRefusedThoughItIsAsLong() {
        try (DecodeSession session = open()) {
            assertThatExceptionOfType(AotException.class)
                    .isThrownBy(() -> session.sampleDecode(
                            PROMPTS, 8, Map.of(Control.TEMPERATURE, HostArray.of(new int[] {1, 1}, 2)), KEY))
                    .withMessage("input input_batch/temperature is tensor<2xi32>; sample_decode takes tensor<2xf32>");
        }
    }

    @Test
    void aPrefixThatCannotBeIsRefused() {
        try (DecodeSession session = open()) {
            assertThatExceptionOfType(AotException.class)
                    .isThrownBy(() -> session.stream(PROMPTS, -1, temperatures(0, 0), KEY))
                    .withMessage("prompt 0 has 3 tokens but the prefix is -1 wide; widen the prefix");
            assertThatExceptionOfType(AotException.class)
                    .isThrownBy(() -> session.stream(PROMPTS, 1 << 30, temperatures(0, 0), KEY))
                    .withMessageContaining("more tokens than 2^31");
        }
    }

    @Test
    void aClosedStreamGoesWithItsProgramWhileTheSessionStays() throws Exception {
        ConcurrentLinkedQueue<String> leaks = new ConcurrentLinkedQueue<>();
        try (DecodeSession session = open();
                Leaks.Watch _ = Leaks.watch(leak -> leaks.add(leak.what()))) {
            WeakReference<DecodeSession.TokenStream> closed = streamed(session);
            for (int i = 0; i < 100 && closed.get() != null; i++) {
                System.gc();
                Thread.sleep(50);
            }

            assertThat(closed.get()).isNull();
        }
        assertThat(leaks).isEmpty();
    }

    private static WeakReference<DecodeSession.TokenStream> streamed(DecodeSession session) {
        try (DecodeSession.TokenStream stream = session.stream(PROMPTS, 8, temperatures(0, 0), KEY)) {
            assertThat(stream.advance()).hasSize(2);
            return new WeakReference<>(stream);
        }
    }

    @Test
    void theLeastTemperatureThatIsTakenIsAsGoodAsGreedy() {
        try (DecodeSession session = open()) {
            int[] greedy = session.sampleDecode(PROMPTS, 8, temperatures(0, 0), KEY)
                    .get("sequences")
                    .ints();
            float least = Control.LEAST_TEMPERATURE;

            assertThat(session.sampleDecode(PROMPTS, 8, temperatures(least, least), KEY)
                            .get("sequences")
                            .ints())
                    .isEqualTo(greedy);
        }
    }
}

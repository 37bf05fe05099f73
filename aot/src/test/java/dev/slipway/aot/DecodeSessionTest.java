// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.slipway.lowering.Control;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.LoweringException;
import dev.slipway.lowering.RandomSource;
import dev.slipway.runtime.Leaks;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.topology.Topologies;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

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

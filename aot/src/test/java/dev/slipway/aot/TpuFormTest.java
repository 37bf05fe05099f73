// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.RandomSource;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.topology.Topologies;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Programs in the form for TPUs, with passes of few columns, run on virtual devices of this CPU. */
class TpuFormTest {
    private static final int LENGTH = 24;
    private static final int WIDTH = 8;
    private static final int ROWS = 8;
    private static final DecodeOptions OPTIONS = DecodeOptions.greedy(LENGTH);
    private static final int[][] PROMPTS = {
        {17, 201, 33, 90, 120, 7}, {5}, {66, 67, 68, 69, 1, 2, 3, 4}, {}, {9, 8, 7}, {100, 101}, {250, 3, 77, 12}, {42}
    };
    private static final Form SIMPLE = Form.scanned(ElementType.F32);
    private static final Form TPU = InferenceRunner.formFor(
                    Topologies.resolve("v5e-8").chip())
            .withElements(ElementType.F32)
            .withTokensPerPass(2 * ROWS);
    /** The model here is so small that a TPU's form would leave it whole. */
    private static final Form CUT = TPU.withWholeBelow(0);

    /** Heads that divide by the mesh axes that cut the batch, and heads that do not; one query head a KV head, and several. */
    @ParameterizedTest
    @CsvSource({
        "8, 1, 1, 1",
        "2, 1, 1, 1",
        "8, 1, 8, 1",
        "4, 1, 8, 1",
        "8, 2, 4, 1",
        "4, 2, 4, 1",
        "2, 4, 2, 1",
        "8, 1, 2, 4",
        "4, 1, 2, 4",
        "4, 2, 2, 2",
        "1, 1, 1, 8",
        "2, 1, 1, 8",
        "2, 1, 2, 4"
    })
    void itGivesTheTokensAndScoresOfASimpleProgramOnOneDevice(int kvHeads, int data, int fsdp, int model) {
        assertLikeOneDevice(TinyLlama.withHeads(8, kvHeads), CUT, data, fsdp, model);
    }

    /** Query heads that do not divide by the axis either: matrices are cut along the residual stream, and within heads. */
    @ParameterizedTest
    @CsvSource({"6, 2, 1, 2, 4", "6, 3, 1, 1, 8", "3, 1, 1, 1, 8"})
    void soItDoesWhereQueryHeadsDoNotDivide(int heads, int kvHeads, int data, int fsdp, int model) {
        assertLikeOneDevice(TinyLlama.withHeads(heads, kvHeads), CUT, data, fsdp, model);
    }

    /** With the batch cut along {@code fsdp}, and heads and feed-forward along {@code model} nonetheless. */
    @ParameterizedTest
    @CsvSource({"1, 8, 1", "1, 2, 4", "2, 4, 1"})
    void soItDoesWhereLayersAreLeftWhole(int data, int fsdp, int model) {
        assertLikeOneDevice(TinyLlama.withHeads(8, 8), TPU, data, fsdp, model);
    }

    private static void assertLikeOneDevice(DecoderConfig config, Form form, int data, int fsdp, int model) {
        MeshSpec mesh = MeshSpec.of(List.of("data", "fsdp", "model"), data, fsdp, model);
        InferenceRunner simple = InferenceRunner.of(config, OPTIONS).withForm(SIMPLE);
        InferenceRunner tpu = InferenceRunner.of(config, OPTIONS).withForm(form).withMesh(mesh);

        try (DecodeSession one = open(simple, "cpu");
                DecodeSession cut = open(tpu, data * fsdp * model == 1 ? "cpu" : "cpu-8")) {
            Map<String, HostArray> expected = sampled(one);
            Map<String, HostArray> found = sampled(cut);
            assertThat(ints(found, "sequences")).isEqualTo(ints(expected, "sequences"));
            assertThat(floats(found, "token_scores")).containsExactly(floats(expected, "token_scores"), within(1e-4f));
            assertThat(stream(cut)).isEqualTo(stream(one));
        }
    }

    private static DecodeSession open(InferenceRunner runner, String machine) {
        return DecodeSession.open(PluginLocator.ofUser(), runner, Topologies.resolve(machine), RandomWeights.F32);
    }

    private static Map<String, HostArray> sampled(DecodeSession session) {
        return session.sampleDecode(PROMPTS, WIDTH, Map.of(), RandomSource.RBG.key(0));
    }

    /** The tokens of a stream, by the programs that a server would use. */
    private static List<List<Integer>> stream(DecodeSession session) {
        List<List<Integer>> steps = new ArrayList<>();
        try (DecodeSession.TokenStream stream = session.stream(PROMPTS, WIDTH, Map.of(), RandomSource.RBG.key(0))) {
            steps.add(list(stream.tokens()));
            while (steps.size() < LENGTH - WIDTH) {
                steps.add(list(stream.advance()));
            }
        }
        return steps;
    }

    private static List<Integer> list(int[] tokens) {
        return Arrays.stream(tokens).boxed().toList();
    }

    private static int[] ints(Map<String, HostArray> results, String path) {
        return results.get(path).ints();
    }

    private static float[] floats(Map<String, HostArray> results, String path) {
        return results.get(path).floats();
    }
}

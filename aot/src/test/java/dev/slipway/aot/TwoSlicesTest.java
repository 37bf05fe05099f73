// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.DecodePrograms;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.lowering.RandomSource;
import dev.slipway.lowering.ShardingRules;
import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.runtime.Client;
import dev.slipway.runtime.Device;
import dev.slipway.runtime.Program;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.topology.Platform;
import dev.slipway.topology.PluginSpec;
import dev.slipway.topology.Topologies;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Programs for two slices of a TPU, run on eight virtual devices of this CPU in the order in which the slices' would. */
class TwoSlicesTest {
    private static final DecoderConfig TINY = TinyLlama.withHeads(4, 4);
    private static final DecodeOptions OPTIONS = DecodeOptions.greedy(24);
    private static final int[] PROMPTS = {17, 201, 33, 90, 120, 7, -1, -1, 5, -1, -1, -1, 66, 67, 68, 69};
    private static final InputBatchSpec BATCH = InputBatchSpec.prefix(4, 4);

    private final InferenceRunner runner = InferenceRunner.of(TINY, OPTIONS).withForm(Form.scanned(ElementType.F32));

    @ParameterizedTest
    @CsvSource({"1, 4, 2, 1", "2, 2, 1, 2", "4, 1, 1, 2", "2, 2, 2, 1"})
    void theyGiveTheTokensOfOneDevice(int data, int parts, int dcnData, int dcnParts) {
        MeshSpec slices = MeshSpec.hybrid(List.of("data", "model"), List.of(data, parts), List.of(dcnData, dcnParts));
        Mesh mesh = Mesh.of(Topologies.resolve("v5e-4", 2), slices);

        assertThat(mesh.shape()).containsExactly(data * dcnData, parts * dcnParts);
        assertThat(run(mesh)).isEqualTo(oneDevice());
    }

    private int[] oneDevice() {
        try (DecodeSession session = DecodeSession.open(
                        PluginLocator.ofUser(), runner, Topologies.resolve("cpu"), RandomWeights.F32);
                LoadedProgram program = session.load(BATCH, "sample_decode")) {
            return sequences(program);
        }
    }

    private int[] run(Mesh mesh) {
        InferenceProgram program = DecodePrograms.of(
                        TINY, Form.scanned(ElementType.F32), OPTIONS, mesh, ShardingRules.standard())
                .sampleDecode(BATCH);
        int[] listed = Arrays.stream(mesh.deviceIds()).sorted().toArray();
        int[] ids = Arrays.stream(mesh.deviceIds())
                .map(id -> Arrays.binarySearch(listed, id))
                .toArray();
        try (Client client =
                CompileJob.client(PluginLocator.ofUser().locate(Platform.CPU).load(), new PluginSpec.Cpu(ids.length))) {
            List<Device> devices = Arrays.stream(ids).mapToObj(client::device).toList();
            DeviceArrays arrays = new DeviceArrays(client, mesh, devices);
            try (ProgramParameters parameters =
                            ProgramParameters.load(program.parameterSpecs(), TINY, RandomWeights.F32, arrays, devices);
                    LoadedProgram loaded = new LoadedProgram(
                            program,
                            client.compile(
                                    Program.stablehlo(program.module().toString()), CompilerOptions.NONE.on(ids)),
                            parameters,
                            arrays)) {
                return sequences(loaded);
            }
        }
    }

    private static int[] sequences(LoadedProgram program) {
        return program.run(Map.of(
                        "prng_key", HostArray.of(RandomSource.RBG.key(0), 4),
                        "input_batch/prefix", HostArray.of(PROMPTS, 4, 4)))
                .get("sequences")
                .ints();
    }
}

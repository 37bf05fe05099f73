// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slipway.topology.Topologies;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Custom calls that the CUDA plugin's partitioner cuts over devices, without GPUs. */
class PartitionerTest {

    @BeforeAll
    static void register() {
        // The compiler wants to know the calls; they are never run.
        for (String target : new String[] {"partitioner_test_whole", "partitioner_test_rows"}) {
            TestPlugins.load(PluginName.CUDA).registerHandler(target, "CUDA", call -> {});
        }
        TestPlugins.load(PluginName.CUDA).registerBatchPartitionable("partitioner_test_rows");
    }

    /** A call on rows that lie on two devices. */
    private static String program(String target) {
        return """
                func.func @main(%x: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"})
                    -> (tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) {
                  %y = stablehlo.custom_call @TARGET(%x) {api_version = 4 : i32, mhlo.frontend_attributes = {num_batch_dims = "1"},
                      operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]}
                      : (tensor<8x4xf32>) -> tensor<8x4xf32>
                  return %y : tensor<8x4xf32>
                }
                """.replace("TARGET", target);
    }

    /** The program after optimisation, for two devices. */
    private static String compile(String program) {
        try (PluginTopology topology = TestPlugins.load(PluginName.CUDA)
                        .topology(Topologies.resolve("h100-8").plugin());
                Executable executable =
                        topology.compile(Program.stablehlo(program), CompileOptions.of(o -> o.numPartitions(2)))) {
            return executable.optimizedProgram().text();
        }
    }

    private static String compiled(String target) {
        return compile(program(target));
    }

    @Test
    void aCallOfWhichNothingIsKnownIsGivenAllRows() {
        assertThat(compiled("partitioner_test_whole")).contains("all-gather").contains("f32[8,4]{1,0} custom-call(");
    }

    @Test
    void aCallThatTreatsRowsAloneIsGivenThoseOfItsDevice() {
        assertThat(compiled("partitioner_test_rows"))
                .contains("f32[4,4]{1,0} custom-call(")
                .doesNotContain("all-gather");
    }

    @Test
    void aCallThatIsRegisteredAgainStaysAsItWas() {
        TestPlugins.load(PluginName.CUDA).registerBatchPartitionable("partitioner_test_rows");
        assertThat(compiled("partitioner_test_rows")).doesNotContain("all-gather");
    }

    /** A rule that hands each device its rows, and what it was asked. */
    private static final class Rows implements Partitioner {
        private final List<String> asked = new ArrayList<>();

        @Override
        public Parts partition(Call call) {
            asked.add("partition " + call.arguments().getFirst().type() + " "
                    + call.arguments().getFirst().sharding().orElseThrow() + " '" + call.config() + "'");
            Sharding rows = Sharding.tiled(List.of(2, 1), 1);
            return new Parts(Program.stablehlo("""
                    func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
                      %y = stablehlo.sine %x : tensor<4x4xf32>
                      return %y : tensor<4x4xf32>
                    }
                    """), List.of(rows), rows);
        }
    }

    @Test
    void aRuleInJavaPutsAProgramInPlaceOfTheCall() {
        Rows rows = new Rows();
        TestPlugins.load(PluginName.CUDA).registerHandler("partitioner_test_rule", "CUDA", call -> {});
        TestPlugins.load(PluginName.CUDA).registerPartitioner("partitioner_test_rule", rows);
        assertThat(compiled("partitioner_test_rule"))
                .contains("f32[4,4]")
                .contains("sine(")
                .doesNotContain("custom-call")
                .doesNotContain("all-gather");
        assertThat(rows.asked).contains("partition tensor<8x4xf32> {devices=[2,1]<=[2]} ''");
    }

    @Test
    void whatARuleThrowsIsTheErrorOfTheCompilation() {
        Plugin cuda = TestPlugins.load(PluginName.CUDA);
        cuda.registerHandler("partitioner_test_throws", "CUDA", call -> {});
        cuda.registerPartitioner("partitioner_test_throws", call -> {
            throw new IllegalStateException("no rule for " + call.result().type());
        });
        assertThatThrownBy(() -> compiled("partitioner_test_throws"))
                .isInstanceOf(StatusException.Internal.class)
                .hasMessageContaining("no rule for tensor<8x4xf32>");
    }

    @Test
    void shardingsOfArgumentsAloneDoNotEndTheProcess() {
        // XLA 0.116 takes such a program for one of Shardy's, and aborts on what it then finds.
        String program = program("partitioner_test_rows").replace("""
                -> (tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"})""", "-> tensor<8x4xf32>");
        assertThat(program).containsOnlyOnce("mhlo.sharding");
        assertThat(compile(program)).contains("f32[4,4]{1,0} custom-call(");
    }

    @Test
    void aRuleWithTooFewShardingsIsRefused() {
        Plugin cuda = TestPlugins.load(PluginName.CUDA);
        cuda.registerHandler("partitioner_test_few", "CUDA", call -> {});
        cuda.registerPartitioner(
                "partitioner_test_few",
                call -> new Partitioner.Parts(Program.stablehlo(TestPlugins.DOUBLE), List.of(), Sharding.replicated()));
        assertThatThrownBy(() -> compiled("partitioner_test_few"))
                .isInstanceOf(StatusException.class)
                .hasMessageContaining("0 shardings for the 1 arguments");
    }

    @Test
    void bytesThatAreNoShardingAreRefused() {
        assertThat(Sharding.tiled(List.of(2, 1), 2)).hasToString("{devices=[2,1,2]<=[4] last_tile_dim_replicate}");
        assertThat(Sharding.of(Sharding.tiled(List.of(2, 4), 1).proto())).hasToString("{devices=[2,4]<=[8]}");
        assertThat(Sharding.replicated()).hasToString("{replicated}");
        // Tiled, in 2 parts, on no devices; a maximal one on none; of an unknown type; no proto.
        for (byte[] bytes : new byte[][] {{8, 3, 26, 1, 2}, {8, 1}, {8, 99}, {1, 2, 3}}) {
            assertThatThrownBy(() -> Sharding.of(bytes)).isInstanceOf(UsageException.BadArgument.class);
        }
        assertThatThrownBy(() -> Sharding.tiled(List.of(), 1)).isInstanceOf(UsageException.BadArgument.class);
        assertThatThrownBy(() -> Sharding.tiled(List.of(2), 0)).isInstanceOf(UsageException.BadArgument.class);
    }

    @Test
    void aGpuCallRegisteredTheOlderWayIsKnownToTheCompiler() {
        assertThatThrownBy(() -> compiled("partitioner_test_unknown"))
                .isInstanceOf(StatusException.class)
                .hasMessageContaining("partitioner_test_unknown");
        TestPlugins.load(PluginName.CUDA).registerGpuCustomCall("partitioner_test_older", call -> {});
        assertThat(compiled("partitioner_test_older")).contains("partitioner_test_older");
        assertThatThrownBy(() -> TestPlugins.load(PluginName.CUDA).registerGpuCustomCall("", call -> {}))
                .isInstanceOf(UsageException.BadArgument.class);
    }

    @Test
    void aPluginWithoutTheExtensionSaysSo() {
        assertThatThrownBy(() -> TestPlugins.cpu().registerBatchPartitionable("partitioner_test_rows"))
                .isInstanceOf(UsageException.Unsupported.class);
    }
}

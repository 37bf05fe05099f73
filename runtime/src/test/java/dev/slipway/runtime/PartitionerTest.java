// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slipway.topology.Topologies;
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

    /** The program after optimisation of a call on rows that lie on two devices. */
    private static String compiled(String target) {
        String program = """
                func.func @main(%x: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"})
                    -> (tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) {
                  %y = stablehlo.custom_call @TARGET(%x) {api_version = 4 : i32, mhlo.frontend_attributes = {num_batch_dims = "1"},
                      operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]}
                      : (tensor<8x4xf32>) -> tensor<8x4xf32>
                  return %y : tensor<8x4xf32>
                }
                """.replace("TARGET", target);
        try (PluginTopology topology = TestPlugins.load(PluginName.CUDA)
                        .topology(Topologies.resolve("h100-8").plugin());
                Executable executable =
                        topology.compile(Program.stablehlo(program), CompileOptions.of(o -> o.numPartitions(2)))) {
            return executable.optimizedProgram().text();
        }
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

    @Test
    void aPluginWithoutTheExtensionSaysSo() {
        assertThatThrownBy(() -> TestPlugins.cpu().registerBatchPartitionable("partitioner_test_rows"))
                .isInstanceOf(UsageException.Unsupported.class);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.junit.jupiter.api.Test;

/** Compilation for TPUs that are not there. */
class DevicelessTest {

    @Test
    void aProgramCompilesForSixteenChipsAndSaysWhatItCosts() {
        try (PluginTopology topology = TestPlugins.tpu().topology("v5e:4x4", Map.of())) {
            assertThat(topology.devices()).hasSize(16);
            int[] ids =
                    topology.devices().stream().mapToInt(DeviceDescription::id).toArray();
            String program = """
                    module @scale {
                      sdy.mesh @mesh = <["x"=16]>
                      func.func @main(%x: tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
                          -> (tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
                        %y = stablehlo.multiply %x, %x : tensor<64x128xf32>
                        return %y : tensor<64x128xf32>
                      }
                    }
                    """;
            try (Executable executable = topology.compile(
                    Program.stablehlo(program),
                    CompileOptions.of(o -> o.numPartitions(16).deviceAssignment(ids)))) {
                assertThat(executable.numPartitions()).isEqualTo(16);
                assertThat(executable.outputs()).containsExactly(TensorType.of(ElementType.F32, 4, 128));
                assertThat(executable.memory().arguments()).isEqualTo(4 * 128 * Float.BYTES);
                assertThat(executable.costAnalysis()).containsEntry("flops", 4.0 * 128);
                assertThat(executable.serialize().platform().name()).isEqualTo("tpu");
            }
        }
    }

    @Test
    void aProgramThatDoesNotFitIsATypedAnswer() {
        String large = """
                func.func @main(%x: tensor<100000x100000xf32>) -> tensor<100000x100000xf32> {
                  %y = stablehlo.add %x, %x : tensor<100000x100000xf32>
                  return %y : tensor<100000x100000xf32>
                }
                """;
        try (PluginTopology topology = TestPlugins.tpu().topology("v5e:2x2", Map.of())) {
            assertThatThrownBy(() -> topology.compile(Program.stablehlo(large), CompileOptions.defaults()))
                    .isInstanceOfSatisfying(StatusException.CompileTimeHbmOom.class, e -> {
                        assertThat(e.available()).hasValue((long) (15.75 * (1L << 30)));
                        assertThat(e.used().orElseThrow()).isGreaterThan(70L << 30);
                    });
        }
    }

    @Test
    void theFiguresOfAnOutOfMemoryReportAreRead() {
        // As libtpu words it where the arguments are counted too.
        String report =
                "CompileTimeHbmOom: Ran out of memory in memory space hbm. Used 24.96G of 15.75G hbm. Exceeded hbm "
                        + "capacity by 9.21G.\n\nTotal hbm usage >= 25.22G:\n    reserved        263.00M\n    program          18.91G\n"
                        + "    arguments         6.05G\n";
        assertThat(StatusException.of(8, report, Map.of()))
                .isInstanceOfSatisfying(StatusException.CompileTimeHbmOom.class, e -> {
                    assertThat(e.used()).hasValue(Math.round(24.96 * (1L << 30)));
                    assertThat(e.available()).hasValue((long) (15.75 * (1L << 30)));
                    assertThat(e.program()).hasValue(Math.round(18.91 * (1L << 30)));
                    assertThat(e.arguments()).hasValue(Math.round(6.05 * (1L << 30)));
                });
    }

    @Test
    void aDynamicDimensionWithoutABoundIsRefusedBecauseThePluginWouldAbort() {
        assertThatThrownBy(() -> Program.stablehlo("func.func @main(%x: tensor<?xf32>) { return }"))
                .isInstanceOf(UsageException.BadArgument.class)
                .hasMessageContaining("tensor<?xf32>");
    }

    @Test
    void anUnknownTopologyIsThePluginsError() {
        assertThatThrownBy(() -> TestPlugins.tpu().topology("v99:4x4", Map.of()))
                .isInstanceOf(StatusException.InvalidArgument.class)
                .hasMessageContaining("v99");
    }
}

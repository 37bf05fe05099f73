// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slipway.topology.Topologies;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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

    @ParameterizedTest
    @CsvSource({
        // Arguments alone: 24 GiB, and a result of 4 bytes.
        "tensor<6144x1048576xf32>, 24.0",
        // A result as large as its argument, 8 GiB each: without room for the chip's own quarter of a GiB.
        "tensor<2048x1048576xf32>, 16.0",
    })
    void libtpusOwnReportGivesWhatIsNeededAndWhatThereIs(String type, double gib) {
        String program = gib == 24.0 ? """
                        func.func @main(%x: TYPE) -> tensor<f32> {
                          %zero = stablehlo.constant dense<0.0> : tensor<f32>
                          %y = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1]
                              : (TYPE, tensor<f32>) -> tensor<f32>
                          return %y : tensor<f32>
                        }
                        """ : """
                        func.func @main(%x: TYPE) -> TYPE {
                          %y = stablehlo.sine %x : TYPE
                          return %y : TYPE
                        }
                        """;
        try (PluginTopology topology =
                TestPlugins.tpu().topology(Topologies.resolve("v5e-1").plugin())) {
            assertThatThrownBy(() -> topology.compile(
                            Program.stablehlo(program.replace("TYPE", type)), CompileOptions.defaults()))
                    .isInstanceOfSatisfying(StatusException.CompileTimeHbmOom.class, e -> {
                        assertThat(e.used()).hasValue(Math.round(gib * (1L << 30)));
                        assertThat(e.available()).hasValue((long) (15.75 * (1L << 30)));
                        // libtpu 0.0.52 does not say how much of it the arguments are.
                        assertThat(e.arguments()).isEmpty();
                        assertThat(e.program()).isEmpty();
                    });
        }
    }

    @ParameterizedTest
    @CsvSource({"24.00G, unknown size, 24.00G, 24.0, -1, 24.0", "16.00G, 16.00G, 0B, 16.0, 16.0, 0"})
    void theLongerReportOfOlderLibtpuGivesTheSharesOfProgramAndArguments(
            String used, String program, String arguments, double usedGib, double programGib, double argumentsGib) {
        // What libtpu 0.0.32.1 answers for 24 GiB of arguments, and for a product of 16 GiB that is only passed on.
        String report = "XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used " + used
                + " of 15.75G hbm. Exceeded hbm capacity by 8.25G.\n\nTotal hbm usage >= 24.25G:\n"
                + "    reserved        258.00M \n    program          " + program + " \n    arguments        "
                + arguments
                + " \n\nOutput size 24.00G; shares 0B with arguments.\n\nProgram hbm requirement 0B:\n";
        assertThat(StatusException.of(8, report, Map.of()))
                .isInstanceOfSatisfying(StatusException.CompileTimeHbmOom.class, e -> {
                    assertThat(e.used()).hasValue(Math.round(usedGib * (1L << 30)));
                    assertThat(e.available()).hasValue((long) (15.75 * (1L << 30)));
                    assertThat(e.program())
                            .isEqualTo(
                                    programGib < 0
                                            ? OptionalLong.empty()
                                            : OptionalLong.of(Math.round(programGib * (1L << 30))));
                    assertThat(e.arguments()).hasValue(Math.round(argumentsGib * (1L << 30)));
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

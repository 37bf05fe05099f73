// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.UnknownFieldSet;
import dev.slipway.topology.Topologies;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Compile options as XLA's proto, and as libtpu takes them. */
class CompileOptionsTest {

    private static final String PROGRAM = """
            func.func @main(%x: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
              %y = stablehlo.tanh %x : tensor<8x8xbf16>
              return %y : tensor<8x8xbf16>
            }
            """;
    private static PluginTopology v5e;

    @BeforeAll
    static void describe() {
        v5e = TestPlugins.tpu().topology(Topologies.resolve("v5e-4").plugin());
    }

    @AfterAll
    static void close() {
        v5e.close();
    }

    private static List<String[]> rows(String resource) throws Exception {
        try (InputStream in = CompileOptionsTest.class.getResourceAsStream(resource)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.isEmpty() && !line.startsWith("#"))
                    .map(line -> line.split("\t", -1))
                    .toList();
        }
    }

    static Stream<Arguments> values() throws Exception {
        return rows("compiler-option-values.tsv").stream().map(row -> Arguments.of((Object[]) row));
    }

    static Stream<Arguments> defaults() throws Exception {
        return rows("compiler-options-by-target.tsv").stream().map(row -> Arguments.of(row[0], row[1], row[2], row[3]));
    }

    private static void set(CompileOptions.Builder options, String name, String type, String value) {
        switch (type) {
            case "str" -> options.compilerOption(name, value);
            case "bool" -> options.compilerOption(name, Boolean.parseBoolean(value));
            case "int" -> options.compilerOption(name, Long.parseLong(value));
            case "float" -> options.compilerOption(name, Double.parseDouble(value));
            default -> throw new AssertionError(type);
        }
    }

    private static String taken(PluginTopology machine, CompileOptions options) {
        return taken(machine, Program.stablehlo(PROGRAM), options);
    }

    private static String taken(PluginTopology machine, Program program, CompileOptions options) {
        try (Executable _ = machine.compile(program, options)) {
            return "yes";
        } catch (StatusException.InvalidArgument e) {
            return "no";
        }
    }

    /** A program over all devices: several slices take no other. */
    private static Program spread(int devices) {
        return Program.stablehlo("""
                module @spread {
                  sdy.mesh @mesh = <["x"=DEVICES]>
                  func.func @main(%x: tensor<64x8xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
                      -> (tensor<64x8xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
                    %y = stablehlo.tanh %x : tensor<64x8xbf16>
                    return %y : tensor<64x8xbf16>
                  }
                }
                """.replace("DEVICES", String.valueOf(devices)));
    }

    @ParameterizedTest(name = "{0} = {2} ({1}): {3}")
    @MethodSource("values")
    void aValueIsTakenOrRefusedAsWhenJaxGivesIt(String name, String type, String value, String accepted) {
        assertThat(taken(v5e, CompileOptions.of(o -> set(o, name, type, value))))
                .isEqualTo(accepted);
    }

    @ParameterizedTest(name = "{0} = {2}: {3}")
    @MethodSource("defaults")
    void anOptionThatAxlearnSetsIsTakenByTpusAsRecordedAndByNoCpu(
            String name, String type, String value, String accepted) {
        CompileOptions options = CompileOptions.of(o -> set(o, name, type, value));
        assertThat(taken(v5e, options)).isEqualTo(accepted);
        try (Client cpu = TestPlugins.cpu().client()) {
            assertThatThrownBy(() -> cpu.compile(Program.stablehlo(PROGRAM), options))
                    .isInstanceOf(StatusException.InvalidArgument.class)
                    .hasMessageContaining(name);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "v4-8, 1, v4", "v5e-4, 1, v5e", "v5p-8, 1, v5p", "7x-8, 1, 7x",
        "v4-8, 2, v4 multi-slice", "v5e-4, 2, v5e multi-slice", "v5p-8, 2, v5p multi-slice", "7x-8, 2, 7x multi-slice"
    })
    void theOptionsThatAxlearnSetsForATargetAreTakenTogetherWithoutThoseOfTheRuntime(
            String target, int slices, String setBy) throws Exception {
        List<String[]> options = setBy(setBy, row -> row[3].equals("yes"));
        try (PluginTopology machine =
                TestPlugins.tpu().topology(Topologies.resolve(target, slices).plugin())) {
            int[] ids =
                    machine.devices().stream().mapToInt(DeviceDescription::id).toArray();
            CompileOptions all = CompileOptions.of(o -> {
                o.numPartitions(ids.length).deviceAssignment(ids);
                options.forEach(row -> set(o, row[0], row[1], row[2]));
            });
            assertThat(taken(machine, spread(ids.length), all)).isEqualTo("yes");
        }
    }

    @Test
    void theOptionsOfTheRuntimeMakeASetForSeveralSlicesRefused() throws Exception {
        CompileOptions options = together("v5e multi-slice", _ -> true);
        try (PluginTopology machine =
                TestPlugins.tpu().topology(Topologies.resolve("v5e-4", 2).plugin())) {
            assertThatThrownBy(() -> machine.compile(Program.stablehlo(PROGRAM), options))
                    .isInstanceOf(StatusException.InvalidArgument.class)
                    .hasMessageContaining("megascale");
        }
    }

    @Test
    void theSetForV6eIsRefusedUnlessOneOfTwoOptionsThatBiteIsLeftOut() throws Exception {
        try (PluginTopology machine =
                TestPlugins.tpu().topology(Topologies.resolve("v6e-4").plugin())) {
            assertThatThrownBy(() -> machine.compile(Program.stablehlo(PROGRAM), together("v6e", _ -> true)))
                    .isInstanceOf(StatusException.FailedPrecondition.class);
            assertThat(taken(machine, together("v6e", row -> !row[0].equals("xla_enable_async_all_gather"))))
                    .isEqualTo("yes");
        }
    }

    private static CompileOptions together(String setBy, Predicate<String[]> wanted) throws Exception {
        List<String[]> rows = setBy(setBy, wanted);
        return CompileOptions.of(o -> rows.forEach(row -> set(o, row[0], row[1], row[2])));
    }

    private static List<String[]> setBy(String target, Predicate<String[]> wanted) throws Exception {
        List<String[]> rows = rows("compiler-options-by-target.tsv").stream()
                .filter(row -> List.of(row[4].split(",", -1)).contains(target))
                .filter(wanted)
                .toList();
        assertThat(rows).isNotEmpty();
        return rows;
    }

    private static UnknownFieldSet message(UnknownFieldSet parent, int field) throws Exception {
        return UnknownFieldSet.parseFrom(
                parent.getField(field).getLengthDelimitedList().getFirst());
    }

    @Test
    void theProtoHasTheFieldsThatXlaReads() throws Exception {
        byte[] proto = CompileOptions.of(o -> o.numReplicas(2)
                        .numPartitions(3)
                        .deviceAssignment(5, 4, 3, 2, 1, 0)
                        .optimizationLevel(CompileOptions.OptimizationLevel.O1)
                        .compilerOption("some_flag", true))
                .toProto();
        UnknownFieldSet options = UnknownFieldSet.parseFrom(proto);
        UnknownFieldSet build = message(options, 3);
        assertThat(build.getField(1).getVarintList()).containsExactly(-1L);
        assertThat(build.getField(4).getVarintList()).containsExactly(2L);
        assertThat(build.getField(5).getVarintList()).containsExactly(3L);
        assertThat(build.getField(6).getVarintList()).containsExactly(1L);
        assertThat(build.getField(19).getVarintList()).containsExactly(1L);
        assertThat(build.getField(24).getVarintList()).containsExactly(19L);
        UnknownFieldSet assignment = message(build, 9);
        List<byte[]> columns = assignment.getField(3).getLengthDelimitedList().stream()
                .map(column -> column.toByteArray())
                .toList();
        // One message for each partition, with the ids of its replicas: 5 and 2, 4 and 1, 3 and 0.
        assertThat(columns)
                .containsExactly(new byte[] {10, 2, 5, 2}, new byte[] {10, 2, 4, 1}, new byte[] {10, 2, 3, 0});
        UnknownFieldSet override = message(options, 7);
        assertThat(override.getField(1).getLengthDelimitedList().getFirst().toStringUtf8())
                .isEqualTo("some_flag");
        assertThat(message(override, 2).getField(2).getVarintList()).containsExactly(1L);
    }

    @Test
    void optionsAreFlagsInTheOrderOfTheirNames() {
        // The cases of AXLearn's translation, which keeps the order that they were set in.
        assertThat(CompileOptions.defaults().flags()).isEmpty();
        assertThat(CompileOptions.of(o -> o.compilerOption("a", "true")
                                .compilerOption("b", "false")
                                .compilerOption("c", true)
                                .compilerOption("d", false)
                                .compilerOption("w", "")
                                .compilerOption("x", 5)
                                .compilerOption("y", "10m")
                                .compilerOption("z", 0))
                        .flags())
                .isEqualTo("--a=true --b=false --c=1 --d=0 --w= --x=5 --y=10m --z=0");
    }

    @Test
    void libtpuTakesFlagsFromItsEnvironmentAsItTakesOptions() throws Exception {
        CompileOptions options = CompileOptions.of(o -> o.compilerOption("xla_tpu_scoped_vmem_limit_kib", 32768)
                .compilerOption("xla_tpu_spmd_rng_bit_generator_unsafe", true)
                .compilerOption("xla_tpu_enable_latency_hiding_scheduler", "true"));
        // libtpu reads them when it is loaded, so this is another JVM's.
        assertThat(TestJvm.run(
                        FlagsProcess.class,
                        Map.of("LIBTPU_INIT_ARGS", options.flags()),
                        "xla_tpu_scoped_vmem_limit_kib",
                        "xla_tpu_spmd_rng_bit_generator_unsafe",
                        "xla_tpu_enable_latency_hiding_scheduler"))
                .contains(
                        "xla_tpu_scoped_vmem_limit_kib=32768",
                        "xla_tpu_spmd_rng_bit_generator_unsafe=true",
                        "xla_tpu_enable_latency_hiding_scheduler=true");
    }

    /** Prints what libtpu has flags set to. */
    static final class FlagsProcess {
        private FlagsProcess() {}

        public static void main(String[] names) {
            TpuExecutables executables = TestPlugins.tpu().tpuExecutables();
            byte[] environment = executables.withTpuEnvironment(new byte[0]);
            for (String name : names) {
                System.out.println(name + "=" + executables.environmentField(environment, name));
            }
        }
    }

    @Test
    void equalOptionsGiveEqualBytesInWhateverOrderTheyWereSet() {
        CompileOptions one = CompileOptions.of(
                o -> o.compilerOption("a", 1).compilerOption("b", "x").numPartitions(2));
        CompileOptions two = CompileOptions.of(
                o -> o.numPartitions(2).compilerOption("b", "x").compilerOption("a", 1));
        assertThat(one).isEqualTo(two).hasSameHashCodeAs(two);
        assertThat(one.toProto()).isEqualTo(two.toProto());
    }
}

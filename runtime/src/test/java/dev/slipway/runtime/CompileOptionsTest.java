// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.UnknownFieldSet;
import dev.slipway.topology.Topologies;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
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

    static Stream<Arguments> values() throws Exception {
        try (InputStream in = CompileOptionsTest.class.getResourceAsStream("compiler-option-values.tsv")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8)
                            .lines()
                            .filter(line -> !line.isEmpty() && !line.startsWith("#"))
                            .map(line -> Arguments.of((Object[]) line.split("\t", -1)))
                            .toList()
                            .stream();
        }
    }

    @ParameterizedTest(name = "{0} = {2} ({1}): {3}")
    @MethodSource("values")
    void aValueIsTakenOrRefusedAsWhenJaxGivesIt(String name, String type, String value, String accepted) {
        CompileOptions options = CompileOptions.of(o -> {
            switch (type) {
                case "str" -> o.compilerOption(name, value);
                case "bool" -> o.compilerOption(name, Boolean.parseBoolean(value));
                case "int" -> o.compilerOption(name, Long.parseLong(value));
                case "float" -> o.compilerOption(name, Double.parseDouble(value));
                default -> throw new AssertionError(type);
            }
        });
        String got;
        try (Executable _ = v5e.compile(Program.stablehlo(PROGRAM), options)) {
            got = "yes";
        } catch (StatusException.InvalidArgument e) {
            got = "no";
        }
        assertThat(got).isEqualTo(accepted);
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
    void equalOptionsGiveEqualBytesInWhateverOrderTheyWereSet() {
        CompileOptions one = CompileOptions.of(
                o -> o.compilerOption("a", 1).compilerOption("b", "x").numPartitions(2));
        CompileOptions two = CompileOptions.of(
                o -> o.numPartitions(2).compilerOption("b", "x").compilerOption("a", 1));
        assertThat(one).isEqualTo(two).hasSameHashCodeAs(two);
        assertThat(one.toProto()).isEqualTo(two.toProto());
    }
}

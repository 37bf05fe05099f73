// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slipway.topology.Topologies;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Programs after optimisation as text; the expected texts are XLA's own, see {@code hlo/README.md}. */
class HloTextTest {

    private static byte[] resource(String name) throws Exception {
        try (InputStream in = HloTextTest.class.getResourceAsStream("hlo/" + name)) {
            return in.readAllBytes();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"cpu-a", "tpu-b", "cuda-b"})
    void aProgramIsPrintedAsXlaPrintsIt(String name) throws Exception {
        String text = Program.of("hlo_with_config", resource(name + ".hlo")).text();
        assertThat(text.strip()).isEqualTo(new String(resource(name + ".txt"), StandardCharsets.UTF_8).strip());
    }

    @Test
    void whatTheCpuPluginMadeOfAProgramHasItsParametersAndItsRoot() {
        try (Client client = TestPlugins.cpu().client();
                LoadedExecutable program =
                        client.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults())) {
            assertThat(program.executable().optimizedProgram().text())
                    .startsWith("HloModule double, is_scheduled=true")
                    .contains("entry_computation_layout={(f32[4]{0})->f32[4]{0}}")
                    .containsPattern("ENTRY [\\w.]+ \\{\n {2}\\S+ = f32\\[4]\\{0} parameter\\(0\\)\n")
                    .containsPattern("ROOT \\S+ = f32\\[4]\\{0} fusion\\(\\S+\\), kind=kLoop, calls=");
        }
    }

    @Test
    void whatTheTpuPluginMadeOfAProgramTellsItsTiles() {
        try (PluginTopology topology =
                        TestPlugins.tpu().topology(Topologies.resolve("v5e-4").plugin());
                Executable program =
                        topology.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults())) {
            assertThat(program.optimizedProgram().text())
                    .contains("entry_computation_layout={(f32[4]{0:T(128)})->f32[4]{0:T(128)}}");
            assertThat(program.parameters())
                    .containsExactly(
                            Optional.of(new Shape(TensorType.of(ElementType.F32, 4), Layout.parse("{0:T(128)}"))));
        }
    }

    @Test
    void stablehloTextIsItsOwnText() {
        assertThat(Program.stablehlo(TestPlugins.DOUBLE).text()).isEqualTo(TestPlugins.DOUBLE);
    }

    @Test
    void bytecodeAndUnknownFormatsHaveNoText() {
        assertThatThrownBy(() -> Program.stablehlo(new byte[] {'M', 'L', (byte) 0xef, 'R', 0})
                        .text())
                .isInstanceOf(UsageException.Unsupported.class);
        assertThatThrownBy(() -> Program.of("ptx", new byte[] {1}).text())
                .isInstanceOf(UsageException.Unsupported.class)
                .hasMessageContaining("ptx");
    }

    @Test
    void bytesThatAreNoProtoAreRefused() {
        assertThatThrownBy(() -> Program.of("hlo", new byte[] {-1, -1, 3}).text())
                .isInstanceOf(UsageException.BadArgument.class);
    }
}

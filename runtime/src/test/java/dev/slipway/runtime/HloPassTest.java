// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slipway.topology.Topologies;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Passes in Java, in the compilers of the plugins. */
class HloPassTest {

    private static final TensorType VECTOR = TensorType.of(ElementType.F32, 4);
    private static final String LARGER = """
            func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
              %z = stablehlo.maximum %x, %y : tensor<4xf32>
              return %z : tensor<4xf32>
            }
            """;

    /** A smaller instead of a larger: the two names are as long, so bytes can be exchanged. */
    private static Program smaller(Program module) {
        return Program.of(
                "hlo",
                new String(module.code(), StandardCharsets.ISO_8859_1)
                        .replace("maximum", "minimum")
                        .getBytes(StandardCharsets.ISO_8859_1));
    }

    @ParameterizedTest
    @EnumSource
    void aPassSeesWhatTheCpuPluginCompiles(HloPass.Stage stage) {
        Plugin cpu = TestPlugins.cpu();
        List<String> seen = new ArrayList<>();
        try (HloPass.Registration _ = cpu.registerPass("look", stage, module -> {
                    seen.add(module.text());
                    return Optional.empty();
                });
                Client client = cpu.client()) {
            client.compile(Program.stablehlo(LARGER), CompileOptions.defaults()).close();
        }
        assertThat(seen).singleElement().asString().startsWith("HloModule").contains(" maximum(");
        assertThat(seen.getFirst().contains("is_scheduled=true")).isEqualTo(stage == HloPass.Stage.AFTER_SCHEDULING);
    }

    @ParameterizedTest
    @CsvSource({"TPU, v5e-4", "CUDA, h100-8"})
    void aPassSeesWhatIsCompiledForMachinesThatAreNotThere(PluginName name, String machine) {
        Plugin plugin = TestPlugins.load(name);
        List<String> seen = new ArrayList<>();
        try (HloPass.Registration _ = plugin.registerPass("look", HloPass.Stage.BEFORE_SCHEDULING, module -> {
                    seen.add(module.text());
                    return Optional.empty();
                });
                PluginTopology topology =
                        plugin.topology(Topologies.resolve(machine).plugin())) {
            topology.compile(Program.stablehlo(LARGER), CompileOptions.defaults())
                    .close();
        }
        assertThat(seen).isNotEmpty().allSatisfy(text -> assertThat(text).contains(" maximum("));
    }

    @Test
    void theModuleThatAPassGivesBackIsTheOneThatRuns() {
        Plugin cpu = TestPlugins.cpu();
        try (HloPass.Registration _ = cpu.registerPass(
                        "smaller", HloPass.Stage.BEFORE_SCHEDULING, module -> Optional.of(smaller(module)));
                Client client = cpu.client();
                LoadedExecutable program = client.compile(Program.stablehlo(LARGER), CompileOptions.defaults());
                Buffer x = client.put(MemorySegment.ofArray(new float[] {1, 2, 3, 4}), VECTOR, client.device(0));
                Buffer y = client.put(MemorySegment.ofArray(new float[] {4, 3, 2, 1}), VECTOR, client.device(0));
                Buffer z = program.execute(x, y).getFirst();
                Arena arena = Arena.ofConfined()) {
            assertThat(z.toHost(arena).toArray(ValueLayout.JAVA_FLOAT)).containsExactly(1, 2, 2, 1);
        }
    }

    @Test
    void whatAPassThrowsIsTheErrorOfTheCompilation() {
        Plugin cpu = TestPlugins.cpu();
        try (HloPass.Registration _ = cpu.registerPass("fail", HloPass.Stage.BEFORE_SCHEDULING, module -> {
                    throw new IllegalStateException("no such tile");
                });
                Client client = cpu.client()) {
            assertThatThrownBy(() -> client.compile(Program.stablehlo(LARGER), CompileOptions.defaults()))
                    .isInstanceOf(StatusException.class)
                    .hasMessageContaining("no such tile");
        }
    }

    @Test
    void aProgramThatIsNoHloModuleIsTheErrorOfTheCompilation() {
        assertRefused(Program.stablehlo(LARGER), "the format 'mlir'");
        assertRefused(Program.of("hlo", new byte[] {7, 7, 7}), "");
    }

    private static void assertRefused(Program given, String message) {
        Plugin cpu = TestPlugins.cpu();
        try (HloPass.Registration _ =
                        cpu.registerPass("odd", HloPass.Stage.BEFORE_SCHEDULING, module -> Optional.of(given));
                Client client = cpu.client()) {
            assertThatThrownBy(() -> client.compile(Program.stablehlo(LARGER), CompileOptions.defaults()))
                    .isInstanceOf(StatusException.class)
                    .hasMessageContaining(message);
        }
    }

    @Test
    void aPassThatWasTakenAwaySeesNothingMore() {
        Plugin cpu = TestPlugins.cpu();
        List<Program> seen = new ArrayList<>();
        HloPass.Registration look = cpu.registerPass("look", HloPass.Stage.AFTER_SCHEDULING, module -> {
            seen.add(module);
            return Optional.empty();
        });
        look.close();
        try (Client client = cpu.client()) {
            client.compile(Program.stablehlo(LARGER), CompileOptions.defaults()).close();
        }
        assertThat(seen).isEmpty();
        assertThatThrownBy(look::close).isInstanceOf(UsageException.Closed.class);
    }

    @Test
    void aPassNeedsAName() {
        assertThatThrownBy(() ->
                        TestPlugins.cpu().registerPass("", HloPass.Stage.AFTER_SCHEDULING, module -> Optional.empty()))
                .isInstanceOf(UsageException.BadArgument.class);
    }

    @Test
    void aPluginThatTakesNoPassesSaysSo() {
        assertThatThrownBy(() -> TestPlugins.load(PluginName.CPU_0_106)
                        .registerPass("look", HloPass.Stage.AFTER_SCHEDULING, module -> Optional.empty()))
                .isInstanceOf(UsageException.Unsupported.class);
    }
}

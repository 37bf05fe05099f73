// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slipway.topology.Topologies;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Arrays that lie in another order than C's, and in other memories, asked for and found. */
class LayoutTest {

    private static final TensorType MATRIX = TensorType.of(ElementType.F32, 2, 3);
    private static final Layout COLUMNS = Layout.of(0, 1);
    private static Client client;
    private static PluginTopology v5e;

    @BeforeAll
    static void open() {
        client = TestPlugins.cpu().client();
        v5e = TestPlugins.tpu().topology(Topologies.resolve("v5e-4").plugin());
    }

    @AfterAll
    static void close() {
        client.close();
        v5e.close();
    }

    /** Adds a 2 x 3 matrix to itself; argument and result with an attribute. */
    private static Program twice(String argument, String result) {
        return Program.stablehlo("""
                func.func @main(%x: tensor<2x3xf32> {ARGUMENT}) -> (tensor<2x3xf32> {RESULT}) {
                  %y = stablehlo.add %x, %x : tensor<2x3xf32>
                  return %y : tensor<2x3xf32>
                }
                """.replace("ARGUMENT", argument).replace("RESULT", result));
    }

    private static MemorySegment oneToSix() {
        return MemorySegment.ofArray(new float[] {1, 2, 3, 4, 5, 6});
    }

    private static Memory memory(String kind) {
        return client.device(0).memories().stream()
                .filter(memory -> memory.kind().equals(kind))
                .findFirst()
                .orElseThrow();
    }

    private static float[] asItLies(Buffer buffer) {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment raw = arena.allocate(MATRIX.hostBytes(), 64);
            buffer.copyRawToHost(raw, 0).join();
            return raw.toArray(ValueLayout.JAVA_FLOAT);
        }
    }

    private static float[] floats(Buffer buffer) {
        try (Arena arena = Arena.ofConfined()) {
            return buffer.toHost(arena).toArray(ValueLayout.JAVA_FLOAT);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "{0}",
                "{1,0}",
                "{1,0:T(8,128)}",
                "{0,1:T(8,128)(2,1)S(5)}",
                "{1,0:E(4)}",
                "{:S(2)}",
                "{0:T(*,128)}"
            })
    void xlasTextIsReadAndWrittenAgain(String text) {
        assertThat(Layout.parse(text)).hasToString(text);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "1,0",
                "{1,1}",
                "{2,0}",
                "{a}",
                "{1,0:T8}x",
                "{1,,0}",
                "{99999999999}",
                "{1,0:T()}",
                "{0:T(99999999999999999999)}"
            })
    void whatIsNoLayoutIsRefused(String text) {
        assertThatThrownBy(() -> Layout.parse(text)).isInstanceOf(UsageException.BadArgument.class);
    }

    @Test
    void anArrayIsPutByColumnsAndReadByRows() {
        try (Buffer buffer = client.put(oneToSix(), MATRIX, memory("device"), COLUMNS)) {
            assertThat(buffer.layout()).isEqualTo(COLUMNS);
            assertThat(asItLies(buffer)).containsExactly(1, 4, 2, 5, 3, 6);
            assertThat(floats(buffer)).containsExactly(1, 2, 3, 4, 5, 6);
        }
    }

    @Test
    void anArrayIsReadByColumns() {
        try (Buffer buffer = client.put(oneToSix(), MATRIX, client.device(0));
                Arena arena = Arena.ofConfined()) {
            MemorySegment columns = arena.allocate(MATRIX.hostBytes(), 64);
            buffer.toHost(columns, COLUMNS);
            assertThat(columns.toArray(ValueLayout.JAVA_FLOAT)).containsExactly(1, 4, 2, 5, 3, 6);
        }
    }

    @Test
    void aProgramThatWantsColumnsGetsThemAndGivesThem() {
        Program program = twice("mhlo.layout_mode = \"{0,1}\"", "mhlo.layout_mode = \"{0,1}\"");
        try (LoadedExecutable twice = client.compile(program, CompileOptions.defaults());
                Buffer x = client.put(oneToSix(), MATRIX, memory("device"), COLUMNS);
                Buffer y = twice.execute(x).getFirst();
                Buffer z = twice.execute(y).getFirst()) {
            assertThat(twice.executable().parameterLayouts()).containsExactly(COLUMNS);
            assertThat(y.layout()).isEqualTo(COLUMNS);
            assertThat(floats(z)).containsExactly(4, 8, 12, 16, 20, 24);
        }
    }

    @Test
    void aBufferByRowsIsRefusedWhereColumnsAreWanted() {
        try (LoadedExecutable twice =
                        client.compile(twice("mhlo.layout_mode = \"{0,1}\"", ""), CompileOptions.defaults());
                Buffer rows = client.put(oneToSix(), MATRIX, client.device(0))) {
            assertThatThrownBy(() -> twice.execute(rows))
                    .isInstanceOf(UsageException.BadArgument.class)
                    .hasMessageContaining("lies as {0,1}");
        }
    }

    @Test
    void aBufferByColumnsIsRefusedWhereRowsAreWantedEvenOnceCopied() {
        try (LoadedExecutable twice = client.compile(twice("", ""), CompileOptions.defaults());
                Buffer columns = client.put(oneToSix(), MATRIX, memory("device"), COLUMNS);
                Buffer copy = columns.copyTo(memory("unpinned_host"));
                Dispatch dispatch = twice.dispatch(1)) {
            assertThatThrownBy(() -> twice.execute(columns)).isInstanceOf(UsageException.BadArgument.class);
            assertThatThrownBy(() -> dispatch.argument(0, 0, copy)).isInstanceOf(UsageException.BadArgument.class);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"CPU_0_106", "CPU_0_81"})
    void pluginsThatMistakeALayoutAreNotGivenOne(PluginName old) {
        try (Client older = TestPlugins.load(old).client()) {
            Memory memory = older.device(0).defaultMemory();
            assertThatThrownBy(() -> older.put(oneToSix(), MATRIX, memory, COLUMNS))
                    .isInstanceOf(UsageException.Unsupported.class);
        }
    }

    @Test
    void theCpuPluginCompilesForTheMemoriesThatTheProgramNames() {
        Program program = twice("mhlo.memory_kind = \"pinned_host\"", "mhlo.memory_kind = \"unpinned_host\"");
        try (LoadedExecutable twice = client.compile(program, CompileOptions.defaults());
                Buffer x = client.put(oneToSix(), MATRIX, memory("pinned_host"), Client.HostSemantics.COPY);
                Buffer y = twice.execute(x).getFirst()) {
            assertThat(twice.executable().parameterMemoryKinds()).containsExactly("pinned_host");
            assertThat(twice.executable().outputMemoryKinds()).containsExactly("unpinned_host");
            assertThat(y.memory().kind()).isEqualTo("unpinned_host");
            assertThat(floats(y)).containsExactly(2, 4, 6, 8, 10, 12);
        }
    }

    @Test
    void theTpuPluginKeepsAnArgumentAndAResultOnTheHostIfTheProgramSaysSo() {
        Program program = twice("mhlo.memory_kind = \"pinned_host\"", "mhlo.memory_kind = \"pinned_host\"");
        try (Executable twice = v5e.compile(program, CompileOptions.defaults())) {
            assertThat(twice.parameterMemoryKinds()).containsExactly("pinned_host");
            assertThat(twice.outputMemoryKinds()).containsExactly("pinned_host");
            assertThat(twice.memory().host().arguments()).isPositive();
            assertThat(twice.memory().host().outputs()).isPositive();
        }
    }

    @Test
    void theTpuPluginTakesLayoutsFromTheProgramAndFromTheOptions() {
        try (Executable byProgram = v5e.compile(twice("", "mhlo.layout_mode = \"{0,1}\""), CompileOptions.defaults());
                Executable byOptions = v5e.compile(
                        twice("", ""),
                        CompileOptions.of(o -> o.argumentLayouts(List.of(new Shape(MATRIX, COLUMNS)))
                                .resultLayout(new Shape(MATRIX, COLUMNS))))) {
            Layout tiled = Layout.parse("{0,1:T(4,128)}");
            assertThat(byProgram.outputLayouts()).containsExactly(tiled);
            assertThat(byOptions.parameterLayouts()).containsExactly(tiled);
            assertThat(byOptions.outputLayouts()).containsExactly(tiled);
        }
    }

    @Test
    void anUnknownMemoryIsThePluginsError() {
        assertThatThrownBy(() -> v5e.compile(twice("mhlo.memory_kind = \"attic\"", ""), CompileOptions.defaults()))
                .isInstanceOf(StatusException.InvalidArgument.class)
                .hasMessageContaining("attic");
    }

    @Test
    void argumentsByColumnsAreAskedOfTheCpuPluginByTheOptions() {
        CompileOptions options = CompileOptions.of(o -> o.argumentLayouts(List.of(new Shape(MATRIX, COLUMNS))));
        try (LoadedExecutable twice = client.compile(twice("", ""), options);
                Buffer x = client.put(oneToSix(), MATRIX, memory("device"), COLUMNS);
                Buffer y = twice.execute(x).getFirst()) {
            assertThat(twice.executable().parameterLayouts()).containsExactly(COLUMNS);
            assertThat(floats(y)).containsExactly(2, 4, 6, 8, 10, 12);
        }
    }

    @Test
    void aProgramOfOneTupleIsGivenItsArgumentsOneByOne() {
        try (LoadedExecutable twice = client.compile(twice("", ""), CompileOptions.of(o -> o.tupledArguments(true)));
                Buffer x = client.put(oneToSix(), MATRIX, client.device(0));
                Buffer y = twice.execute(x).getFirst()) {
            assertThat(floats(y)).containsExactly(2, 4, 6, 8, 10, 12);
        }
    }

    @Test
    void aPortableProgramRunsOnTheDeviceThatIsNamed() {
        Device last = client.addressableDevices().getLast();
        try (LoadedExecutable twice = client.compile(twice("", ""), CompileOptions.of(o -> o.portable(true)));
                Buffer x = client.put(oneToSix(), MATRIX, last);
                Buffer y = twice.execute(List.of(List.of(x)), ExecuteOptions.of(o -> o.device(last)))
                        .getFirst()
                        .getFirst()) {
            assertThat(twice.devices()).isEmpty();
            assertThat(y.device()).isEqualTo(last);
            assertThat(floats(y)).containsExactly(2, 4, 6, 8, 10, 12);
        }
    }
}

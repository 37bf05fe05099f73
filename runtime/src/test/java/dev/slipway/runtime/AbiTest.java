// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.codegen.abi.AbiTable;
import dev.slipway.runtime.internal.abi.PjrtAbi;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.io.IOException;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.StructLayout;
import java.lang.foreign.UnionLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The generated layouts against C itself, and the table of functions against the plugins. */
class AbiTest {

    private static final int HEADER_MINOR = 81;
    private static AbiTable table;

    @TempDir
    private Path folder;

    @BeforeAll
    static void read() throws IOException {
        table = AbiTable.read(Path.of("src/main/spec/pjrt-abi.txt"));
    }

    @Test
    void everyOffsetAndSizeIsWhatACompilerMakesOfTheHeaderThatShipsWithThePlugin() throws Exception {
        Path plugin = Plugins.ofUser().store().require(PipPackage.CPU_0_81, PackageStore.Progress.NONE);
        Path header = plugin.resolve(PipPackage.CPU_0_81.files().get(1));
        String text = Files.readString(header);
        Map<String, Long> expected = new LinkedHashMap<>();
        StringBuilder program = new StringBuilder("#include <stdio.h>\n#include \"pjrt_c_api.h\"\nint main() {\n");
        for (StructLayout layout : PjrtAbi.layouts()) {
            String struct = layout.name().orElseThrow();
            if (!text.contains("struct " + struct + " {")) {
                continue;
            }
            for (AbiTable.Field field : table.struct(struct).fields()) {
                if (field.since() > HEADER_MINOR) {
                    continue;
                }
                MemoryLayout member = layout.select(MemoryLayout.PathElement.groupElement(field.name()));
                String name = member instanceof UnionLayout union
                        ? union.memberLayouts().getFirst().name().orElseThrow()
                        : field.name();
                ask(
                        program,
                        expected,
                        struct + "." + name,
                        "offsetof(" + struct + ", " + name + ")",
                        layout.byteOffset(MemoryLayout.PathElement.groupElement(field.name())));
            }
            boolean grown = table.struct(struct).fields().stream().anyMatch(field -> field.since() > HEADER_MINOR);
            if (!grown && !struct.equals("PJRT_Api")) {
                ask(program, expected, "sizeof " + struct, "sizeof(" + struct + ")", layout.byteSize());
                if (text.contains("PJRT_DEFINE_STRUCT_TRAITS(" + struct + ",")) {
                    ask(program, expected, "size of " + struct, struct + "_STRUCT_SIZE", table.end(struct));
                }
            }
        }
        for (PjrtFunction function : PjrtFunction.values()) {
            if (function.since() <= HEADER_MINOR) {
                ask(
                        program,
                        expected,
                        "slot of " + function,
                        "offsetof(PJRT_Api, " + function + ")",
                        PjrtAbi.FIRST_FUNCTION + 8L * function.slot());
            }
        }
        program.append("return 0;\n}\n");
        assertThat(compileAndRun(program.toString(), header.getParent())).isEqualTo(expected);
        assertThat(expected).hasSizeGreaterThan(900);
    }

    private static void ask(StringBuilder program, Map<String, Long> expected, String what, String c, long value) {
        program.append("printf(\"")
                .append(what)
                .append("=%zu\\n\", (size_t)")
                .append(c)
                .append(");\n");
        expected.put(what, value);
    }

    private Map<String, Long> compileAndRun(String program, Path include) throws Exception {
        Path source = Files.writeString(folder.resolve("offsets.c"), program);
        run(
                "gcc",
                "-w",
                "-I",
                include.toString(),
                "-o",
                folder.resolve("offsets").toString(),
                source.toString());
        return Arrays.stream(run(folder.resolve("offsets").toString()).split("\n", -1))
                .filter(line -> !line.isEmpty())
                .collect(Collectors.toMap(
                        line -> line.substring(0, line.indexOf('=')),
                        line -> Long.valueOf(line.substring(line.indexOf('=') + 1))));
    }

    private static String run(String... command) throws Exception {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }

    @ParameterizedTest
    @EnumSource
    void eachPluginHasJustTheFunctionsOfItsVersion(PluginName name) {
        Plugin plugin = TestPlugins.load(name);
        List<String> there = new ArrayList<>();
        List<String> expected = new ArrayList<>();
        for (PjrtFunction function : PjrtFunction.values()) {
            if (plugin.hasFunction(function.name())) {
                there.add(function.name());
            }
            if (function.since() <= plugin.version().minor()) {
                expected.add(function.name());
            }
        }
        assertThat(there).isEqualTo(expected);
        assertThat(plugin.api().structSize()).isEqualTo(PjrtAbi.FIRST_FUNCTION + 8L * expected.size());
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.codegen.abi.AbiTable;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Which functions of the ABI table the Java api calls: all that are functions. */
class CoverageTest {

    /** Slots that stand in the table and are not called, each with why. */
    private static final Map<String, String> NOT_CALLED = Map.of(
            "PJRT_Profiler_Extension.traceme_context_id", "a number for XLA's own macros, and 0 in every plugin",
            "PJRT_TpuExecutable_Extension.get_core_program_abi_version", "withdrawn: without a type, empty in libtpu",
            "PJRT_Megascale_Extension.delete_multi_slice_config", "withdrawn for the multi-slice extension",
            "PJRT_Megascale_Extension.multi_slice_config_num_slices", "withdrawn for the multi-slice extension",
            "PJRT_Megascale_Extension.multi_slice_config_slice_id", "withdrawn for the multi-slice extension",
            "PJRT_Megascale_Extension.multi_slice_config_get_num_devices_per_slice",
                    "withdrawn for the multi-slice extension",
            "PJRT_Megascale_Extension.multi_slice_config_serialize", "withdrawn for the multi-slice extension");

    private static AbiTable table;
    private static String sources;

    @BeforeAll
    static void read() throws IOException {
        table = AbiTable.read(Path.of("src/main/spec/pjrt-abi.txt"));
        try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
            List<String> texts = new ArrayList<>();
            for (Path file :
                    files.filter(path -> path.toString().endsWith(".java")).toList()) {
                texts.add(Files.readString(file));
            }
            sources = texts.stream().collect(Collectors.joining("\n")).replaceAll("\\s+", "");
        }
    }

    private static boolean isNamed(String owner, String member) {
        return sources.matches("(?s).*\\b" + owner + "\\." + member + "\\b.*");
    }

    @Test
    void everyFunctionOfTheApiIsCalled() {
        List<String> called = Arrays.stream(PjrtFunction.values())
                .map(PjrtFunction::name)
                .filter(function -> isNamed("PjrtFunction", function))
                .toList();
        assertThat(called)
                .hasSize(138)
                .isEqualTo(Arrays.stream(PjrtFunction.values())
                        .map(PjrtFunction::name)
                        .toList());
    }

    @Test
    void everyFunctionOfTheExtensionsIsCalledOrListedWithTheReason() {
        Map<String, Boolean> slots = new TreeMap<>();
        for (String extension : table.extensions().values()) {
            for (AbiTable.Field slot : table.struct(extension).fields()) {
                if (!slot.name().equals("base")) {
                    slots.put(extension + "." + slot.name(), isNamed(extension, slot.name()));
                }
            }
        }
        Set<String> notCalled = slots.entrySet().stream()
                .filter(slot -> !slot.getValue())
                .map(Map.Entry::getKey)
                .collect(Collectors.toSet());
        System.out.println("functions called: " + PjrtFunction.values().length + " of the api, "
                + (slots.size() - notCalled.size()) + " of " + slots.size() + " slots of the extensions");
        assertThat(notCalled).isEqualTo(NOT_CALLED.keySet());
    }

    @Test
    void everyFunctionOfTheProfilerIsCalled() {
        for (AbiTable.Field function : table.struct("PLUGIN_Profiler_Api").fields()) {
            if (!List.of("struct_size", "priv").contains(function.name())) {
                assertThat(isNamed("PLUGIN_Profiler_Api", function.name()))
                        .as(function.name())
                        .isTrue();
            }
        }
    }

    /** The extensions of each plugin: those that none has here but the class of tests with C functions are seen at once. */
    @Test
    void eachPluginHasTheExtensionsOfItsVersion() {
        Set<Extension> cpu =
                EnumSet.of(Extension.LAYOUTS, Extension.FFI, Extension.MEMORY_DESCRIPTIONS, Extension.PHASE_COMPILE);
        assertThat(TestPlugins.load(PluginName.CPU_0_81).extensions()).isEqualTo(cpu);
        cpu.add(Extension.SHARDINGS);
        assertThat(TestPlugins.load(PluginName.CPU_0_106).extensions()).isEqualTo(cpu);
        cpu.add(Extension.XLA_TRANSFORM);
        assertThat(TestPlugins.cpu().extensions()).isEqualTo(cpu);
        assertThat(TestPlugins.load(PluginName.CUDA).extensions())
                .containsExactlyInAnyOrder(
                        Extension.GPU_CUSTOM_CALL,
                        Extension.PROFILER,
                        Extension.CUSTOM_PARTITIONER,
                        Extension.STREAM,
                        Extension.LAYOUTS,
                        Extension.FFI,
                        Extension.MEMORY_DESCRIPTIONS,
                        Extension.CROSS_HOST_TRANSFERS,
                        Extension.SHARDINGS,
                        Extension.ABI_VERSION,
                        Extension.XLA_TRANSFORM);
        Set<Extension> missing =
                EnumSet.complementOf(EnumSet.copyOf(TestPlugins.tpu().extensions()));
        assertThat(missing)
                .containsExactlyInAnyOrder(
                        Extension.GPU_CUSTOM_CALL,
                        Extension.CUSTOM_PARTITIONER,
                        Extension.STREAM,
                        Extension.TRITON,
                        Extension.EXAMPLE,
                        Extension.UNKNOWN,
                        Extension.HOST_ALLOCATOR);
    }
}

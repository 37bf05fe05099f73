// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.runtime.Client;
import dev.slipway.runtime.CompileOptions;
import dev.slipway.runtime.Executable;
import dev.slipway.runtime.LoadedExecutable;
import dev.slipway.runtime.MemoryStats;
import dev.slipway.runtime.NamedValue;
import dev.slipway.runtime.Plugin;
import dev.slipway.runtime.PluginTopology;
import dev.slipway.runtime.Program;
import dev.slipway.runtime.SerializedExecutable;
import dev.slipway.runtime.StatusException;
import dev.slipway.runtime.UsageException;
import dev.slipway.topology.PluginSpec;
import java.util.Map;

/**
 * One compilation, apart from models and meshes: it can be done in this process or handed to another.
 *
 * @param machine what the plugin has to be told of the machine
 * @param deviceIds ids of the devices in mesh order
 * @param options compiler options: strings, booleans, longs and doubles by name
 * @param module StableHLO, text or bytecode
 */
record CompileJob(PluginSpec machine, int[] deviceIds, Map<String, Object> options, byte[] module) {

    /** What a compilation gives; {@code seconds} is the compiler's own time. */
    record Artifact(SerializedExecutable executable, MemoryStats memory, Map<String, Double> costs, double seconds) {}

    CompileOptions compileOptions() {
        return compileOptions(deviceIds, options);
    }

    /** One partition per device, devices in mesh order. */
    static CompileOptions compileOptions(int[] deviceIds, Map<String, Object> options) {
        return CompileOptions.of(o -> {
            o.numPartitions(deviceIds.length).deviceAssignment(deviceIds);
            options.forEach((name, value) -> {
                switch (value) {
                    case String text -> o.compilerOption(name, text);
                    case Boolean flag -> o.compilerOption(name, flag);
                    case Long number -> o.compilerOption(name, number);
                    case Double number -> o.compilerOption(name, number);
                    default ->
                        throw new AotException(
                                "compiler option %s has the value %s of %s; a string, a boolean or a number is expected"
                                        .formatted(name, value, value.getClass().getSimpleName()));
                }
            });
        });
    }

    /** Compiles in this process. */
    Artifact run(Plugin plugin) {
        Program program = Program.stablehlo(module);
        return switch (machine) {
            case PluginSpec.Cpu cpu -> {
                try (Client client = client(plugin, cpu)) {
                    long start = System.nanoTime();
                    try (LoadedExecutable loaded = client.compile(program, compileOptions())) {
                        yield describe(loaded.executable(), start);
                    }
                }
            }
            case PluginSpec.Tpu _, PluginSpec.Gpu _ -> deviceless(plugin, program);
        };
    }

    /** A client of as many virtual devices as the machine has. */
    static Client client(Plugin plugin, PluginSpec.Cpu cpu) {
        return plugin.client(Map.of("cpu_device_count", NamedValue.of(cpu.deviceCount())));
    }

    private Artifact deviceless(Plugin plugin, Program program) {
        try (PluginTopology topology = plugin.topology(machine)) {
            long start = System.nanoTime();
            try (Executable executable = topology.compile(program, compileOptions())) {
                return describe(executable, start);
            }
        }
    }

    private static Artifact describe(Executable executable, long start) {
        double seconds = (System.nanoTime() - start) / 1e9;
        return new Artifact(executable.serialize(), executable.memory(), costs(executable), seconds);
    }

    /** The compiler's cost analysis; empty for plugins without one, as newer CPU plugins are. */
    private static Map<String, Double> costs(Executable executable) {
        try {
            return executable.costAnalysis();
        } catch (StatusException.Unimplemented | UsageException.Unsupported e) {
            return Map.of();
        }
    }
}

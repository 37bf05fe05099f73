// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.aot.CompilerOptions.Accepted;
import dev.slipway.runtime.Client;
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
 * @param machine what the plugin has to be told about the machine
 * @param deviceIds ids of the devices in mesh order
 * @param options compiler options
 * @param module StableHLO, text or bytecode
 */
record CompileJob(PluginSpec machine, int[] deviceIds, CompilerOptions options, byte[] module) {

    /**
     * What a compilation gives.
     *
     * @param options those that the compiler knew
     * @param seconds the compiler's own time
     */
    record Artifact(
            SerializedExecutable executable,
            MemoryStats memory,
            Map<String, Double> costs,
            CompilerOptions options,
            double seconds) {}

    /** Compiles in this process. */
    Artifact run(Plugin plugin) {
        Program program = Program.stablehlo(module);
        return switch (machine) {
            case PluginSpec.Cpu cpu -> {
                try (Client client = client(plugin, cpu)) {
                    long start = System.nanoTime();
                    Accepted<LoadedExecutable> accepted =
                            options.compile(deviceIds, known -> client.compile(program, known));
                    try (LoadedExecutable loaded = accepted.result()) {
                        yield describe(loaded.executable(), accepted.options(), start);
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
            Accepted<Executable> accepted = options.compile(deviceIds, known -> topology.compile(program, known));
            try (Executable executable = accepted.result()) {
                return describe(executable, accepted.options(), start);
            }
        }
    }

    private static Artifact describe(Executable executable, CompilerOptions options, long start) {
        double seconds = (System.nanoTime() - start) / 1e9;
        return new Artifact(executable.serialize(), executable.memory(), costs(executable), options, seconds);
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

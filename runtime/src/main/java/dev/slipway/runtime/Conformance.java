// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.ConformanceChecks;
import dev.slipway.topology.PluginSpec;
import dev.slipway.topology.Topologies;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * What a plugin can do, found out by trying: over a hundred checks of loading, describing, compiling, transferring and running. A
 * check that a plugin answers with "not implemented", or that needs a device where none is, is {@link Status#UNSUPPORTED}, which
 * is no fault; a wrong answer, or an error of another kind, is {@link Status#FAILED}.
 *
 * {@snippet :
 * Conformance.Report report = Conformance.check(plugin, Conformance.Target.of(PluginName.CPU), check -> {});
 * assert report.count(Conformance.Status.FAILED) == 0;
 * }
 */
public final class Conformance {

    private Conformance() {}

    /** How a check ended. */
    public enum Status {
        PASS,
        UNSUPPORTED,
        FAILED
    }

    /**
     * One check.
     *
     * @param name {@code group.what}: stable, so that reports of two plugins can be compared line by line
     * @param detail what was found, or why not; one line
     */
    public record Check(String name, Status status, String detail) {}

    /**
     * All checks of one plugin, always the same ones in the same order.
     *
     * @param plugin the library's name
     * @param version of the C API
     */
    public record Report(String plugin, String version, List<Check> checks) {
        public Report {
            checks = List.copyOf(checks);
        }

        /** How many checks ended so. */
        public long count(Status status) {
            return checks.stream().filter(check -> check.status() == status).count();
        }
    }

    /**
     * What to try a plugin on.
     *
     * @param client options of the client; two devices or more let the checks of several devices run
     * @param machine a machine to describe, for plugins that compile without one; else the client's is taken
     */
    public record Target(Map<String, NamedValue> client, Optional<PluginSpec> machine) {
        /** What suits a plugin of that name on any machine. */
        public static Target of(PluginName name) {
            return switch (name) {
                case CPU, CPU_0_106, CPU_0_81 ->
                    new Target(Map.of("cpu_device_count", NamedValue.of(2)), Optional.empty());
                case TPU ->
                    new Target(Map.of(), Optional.of(Topologies.resolve("v5e-4").plugin()));
                case CUDA ->
                    new Target(
                            Map.of(), Optional.of(Topologies.resolve("h100-8").plugin()));
            };
        }
    }

    /**
     * Tries a plugin.
     *
     * @param listener is told of each check as it ends
     */
    public static Report check(Plugin plugin, Target target, Consumer<Check> listener) {
        return new Report(
                String.valueOf(plugin.path().getFileName()),
                plugin.version().toString(),
                ConformanceChecks.run(plugin, target, listener));
    }
}

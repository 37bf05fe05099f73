// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import dev.slipway.aot.AotCompiler;
import dev.slipway.aot.Compiled;
import dev.slipway.aot.PluginLocator;
import dev.slipway.runtime.PluginLog;
import dev.slipway.runtime.PluginTopology;
import dev.slipway.topology.Platform;
import dev.slipway.topology.Topology;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A model's name and a machine's to an executable, the plugin loaded before: lowering, text, XLA, analyses. Each shot is a
 * whole compilation; the first in a process is its warm-up.
 *
 * <p>{@code ./slipway-bench jmh CompileBenchmark}, or a part, e.g. {@code -p model=fuji-1b -p target=v5e-16}
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 1)
@Measurement(iterations = 3)
@Fork(1)
public class CompileBenchmark {
    /** Whose {@code sample_decode}. */
    @Param({"tiny-llama", "smollm2-135m", "fuji-1b", "fuji-7b", "llama-3-8b", "fuji-70b"})
    public String model = "tiny-llama";

    /** For which machine; {@code x2} is two slices of it. */
    @Param({"cpu", "v5e-16", "v5p-8", "v6e-8", "7x-8", "v5e-16x2"})
    public String target = "cpu";

    private final PluginLocator plugins = PluginLocator.ofUser();
    private final AotCompiler compiler = new AotCompiler(plugins);
    private final PluginLog log = PluginLog.capture();

    /** Loads the plugin, whose start-up is not the compiler's. */
    @Setup
    public void load() {
        Topology machine = Cases.machine(target);
        if (machine.platform() != Platform.CPU) {
            try (PluginTopology topology =
                    plugins.locate(machine.platform()).load().topology(machine.plugin())) {
                topology.devices();
            }
        }
    }

    /** Lets the plugin's messages through again. */
    @TearDown
    public void release() {
        log.close();
    }

    /** Everything. */
    @Benchmark
    public Compiled compile() {
        return compiler.compile(Cases.lower(model, target), Map.of());
    }
}

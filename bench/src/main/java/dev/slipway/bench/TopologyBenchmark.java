// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A machine from its name, of small machines and of the largest.
 *
 * <p>{@code ./slipway-bench jmh TopologyBenchmark}
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(1)
public class TopologyBenchmark {
    /** Its name. */
    @Param({"v5e-16", "v5p-128", "v5p-17920", "h100-8", "cpu"})
    public String machine = "v5e-16";

    /** One slice. */
    @Benchmark
    public Topology resolve() {
        return Topologies.resolve(machine);
    }

    /** The number of devices that it lists. */
    @Benchmark
    public int devices() {
        return Topologies.resolve(machine).devices().size();
    }
}

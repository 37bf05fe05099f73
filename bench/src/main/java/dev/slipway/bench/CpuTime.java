// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/**
 * CPU time of the process per operation, compilers and collector of the JVM included: what a machine shared with others can
 * still measure. {@code ./slipway-bench jmh ... -prof dev.slipway.bench.CpuTime}
 */
public final class CpuTime implements InternalProfiler {
    private final OperatingSystemMXBean process = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private long start;

    @Override
    public String getDescription() {
        return "CPU time of the process per operation";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        start = process.getProcessCpuTime();
    }

    @Override
    public Collection<? extends Result<?>> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        double nanoseconds = process.getProcessCpuTime() - start;
        long operations = Math.max(1, result.getMetadata().getAllOps());
        return List.of(new ScalarResult("cpu", nanoseconds / operations / 1e3, "us/op", AggregationPolicy.AVG));
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.BenchmarkList;
import org.openjdk.jmh.runner.BenchmarkListEntry;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.VerboseMode;

/** The benchmarks run. */
class SmokeTest {

    @Test
    void everyBenchmarkRunsOnItsSmallestInput() throws Exception {
        Set<String> declared = BenchmarkList.defaultList()
                .getAll(OutputFormatFactory.createFormatInstance(System.out, VerboseMode.SILENT), List.of())
                .stream()
                .map(BenchmarkListEntry::getUsername)
                .collect(Collectors.toCollection(TreeSet::new));

        Collection<RunResult> results = Smoke.run();

        assertThat(results.stream().map(result -> result.getParams().getBenchmark()))
                .containsAll(declared);
        assertThat(declared).isNotEmpty();
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import java.util.Collection;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Every benchmark once, in this process, on the smallest of its inputs: shows that all of them run, and measures nothing. */
final class Smoke {
    private Smoke() {}

    /** Runs all benchmarks. */
    static Collection<RunResult> run() throws RunnerException {
        return new Runner(new OptionsBuilder()
                        .forks(0)
                        .mode(Mode.SingleShotTime)
                        .warmupIterations(0)
                        .measurementIterations(1)
                        .measurementTime(TimeValue.milliseconds(1))
                        .param("model", "tiny-llama")
                        .param("machine", "v5p-128")
                        .param("target", "cpu", "v5e-16")
                        .param("ops", "100")
                        .param("program", "tiny-llama SCANNED", "tiny-llama UNROLLED", "100")
                        .param("batch", "1")
                        .shouldFailOnError(true)
                        .verbosity(VerboseMode.SILENT)
                        .build())
                .run();
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import dev.slipway.aot.InferenceRunner;
import dev.slipway.lowering.DecodePrograms;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.mesh.Mesh;
import dev.slipway.topology.Topology;
import java.nio.charset.StandardCharsets;
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
import org.openjdk.jmh.annotations.Warmup;

/**
 * A model's whole {@code sample_decode} (prefill, KV cache, sampling loop) from its configuration to a module, and to what
 * the compiler reads. The machine is 16 chips of v5e, the batch 16 prompts of 64 tokens.
 *
 * <p>{@code ./slipway-bench jmh LoweringBenchmark}
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class LoweringBenchmark {
    /** Whose shapes. */
    @Param({"smollm2-135m", "llama-3-8b", "fuji-1b", "fuji-7b", "fuji-70b"})
    public String model = "smollm2-135m";

    /** One body for all layers, or one copy each. */
    @Param({"SCANNED", "UNROLLED"})
    public Form.Layers layers = Form.Layers.SCANNED;

    private final Topology machine = Cases.machine("v5e-16");
    private final Mesh mesh = Mesh.of(machine, Cases.mesh(machine));
    private final InputBatchSpec batch = Cases.batch(machine);
    private InferenceRunner runner = Cases.runner(Cases.model("smollm2-135m"), machine);
    private Form form = Cases.form(machine, layers);

    /** Reads the shapes. */
    @Setup
    public void choose() {
        runner = Cases.runner(Cases.model(model), machine);
        form = Cases.form(machine, layers);
    }

    /** The module alone. */
    @Benchmark
    public InferenceProgram module() {
        return DecodePrograms.of(runner.model(), form, runner.options(), mesh, runner.rules())
                .sampleDecode(batch);
    }

    /** The module and its text in UTF-8. */
    @Benchmark
    public byte[] text() {
        return module().module().toString().getBytes(StandardCharsets.UTF_8);
    }

    /** The module and MLIR's bytecode of it. */
    @Benchmark
    public byte[] bytecode() {
        return module().module().toBytecode();
    }
}

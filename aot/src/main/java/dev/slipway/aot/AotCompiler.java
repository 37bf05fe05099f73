// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.lowering.Form;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.mesh.Mesh;
import dev.slipway.topology.Accelerator;
import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Compiles the inference programs of a model for a machine, whether it is there or not: AXLearn's {@code
 * compile_inference_programs} in Java's form.
 *
 * {@snippet :
 * InferenceRunner runner = InferenceRunner.of(model, DecodeOptions.greedy(256))
 *         .withMesh(List.of("data", "model"), MeshShape.hybrid(List.of(1, -1), List.of(2, 1)));
 * Compiled compiled = new AotCompiler(plugins)
 *         .compileInferencePrograms(
 *                 runner, InputBatchSpec.prefix(16, 64), "v5e-16", 2, Map.of(), "sample_decode")
 *         .get("sample_decode");
 * }
 *
 * <p>Threads may share a compiler.
 */
public final class AotCompiler {
    /** The method that is compiled where none is named. */
    public static final String SAMPLE_DECODE = "sample_decode";

    /** Where compilers run. */
    public enum Isolation {
        /** In this process: no start-up, but a compiler that aborts takes the JVM with it. */
        IN_PROCESS,
        /** Each compilation in a process of its own: an abort is a {@link CompilerCrashedException}. */
        WORKER
    }

    private final PluginLocator plugins;
    private final Isolation isolation;

    /** A compiler that works in this process. */
    public AotCompiler(PluginLocator plugins) {
        this(plugins, Isolation.IN_PROCESS);
    }

    public AotCompiler(PluginLocator plugins, Isolation isolation) {
        this.plugins = plugins;
        this.isolation = isolation;
    }

    /**
     * Compiles {@code sample_decode} with the compiler's own options.
     *
     * @see #compileInferencePrograms(InferenceRunner, InputBatchSpec, String, int, Map, String...)
     */
    public Map<String, Compiled> compileInferencePrograms(
            InferenceRunner runner, InputBatchSpec inputBatchSpec, @Nullable String topology, int topologyNumSlices) {
        return compileInferencePrograms(runner, inputBatchSpec, topology, topologyNumSlices, Map.of(), SAMPLE_DECODE);
    }

    /**
     * Compiles inference programs.
     *
     * @param runner model, mesh and decode options
     * @param inputBatchSpec shapes of the input batch
     * @param topology the machine's name, e.g. {@code v5e-16}; null for this CPU
     * @param topologyNumSlices how many slices of it; 1 for this CPU
     * @param compilerOptions XLA's or the plugin's options by name; values are strings, booleans, longs or doubles
     * @param methods which programs, see {@link dev.slipway.lowering.DecodePrograms}; none for {@value #SAMPLE_DECODE}. A
     *     prefix width may follow a colon, so that prompts of different lengths get programs of their own: {@code
     *     prefill:64}, {@code prefill:256}
     * @return for each method the compiled program, in the order asked for
     * @throws dev.slipway.topology.TopologyException if there is no such machine; the message has the nearest names
     * @throws dev.slipway.mesh.MeshException if the mesh does not fit the machine
     * @throws dev.slipway.lowering.LoweringException if the model or the batch cannot be lowered so
     * @throws dev.slipway.runtime.PjrtException if the plugin is missing or its compiler refuses the program
     * @throws AotException if slices are asked of this CPU, or an option's value has no meaning
     */
    public Map<String, Compiled> compileInferencePrograms(
            InferenceRunner runner,
            InputBatchSpec inputBatchSpec,
            @Nullable String topology,
            int topologyNumSlices,
            Map<String, ?> compilerOptions,
            String... methods) {
        if (topology == null && topologyNumSlices != 1) {
            throw new AotException(
                    "%d slices of this CPU; name a topology to compile for slices of it".formatted(topologyNumSlices));
        }
        Topology machine = Topologies.resolve(topology == null ? "cpu" : topology, topologyNumSlices);
        Map<String, Compiled> compiled = new LinkedHashMap<>();
        for (String method : methods.length == 0 ? new String[] {SAMPLE_DECODE} : methods) {
            compiled.put(method, compile(lower(runner, inputBatchSpec, machine, method), compilerOptions));
        }
        return compiled;
    }

    /**
     * A lowered program and how long it took.
     *
     * @param form how it is written
     * @param seconds model and mesh to module
     */
    public record Lowered(InferenceProgram program, Topology topology, Form form, double seconds) {}

    /** Lowers a program without compiling it; no plugin is needed. Throws as {@link #compileInferencePrograms} does. */
    public static Lowered lower(
            InferenceRunner runner, InputBatchSpec inputBatchSpec, Topology machine, String method) {
        Mesh mesh = Mesh.of(machine, runner.mesh(), runner.order());
        Form form = runner.form() != null ? runner.form() : InferenceRunner.formFor(machine.chip());
        long start = System.nanoTime();
        InferenceProgram program = runner.lower(mesh, form, method, inputBatchSpec);
        return new Lowered(program, machine, form, seconds(start));
    }

    /**
     * Compiles what was lowered. Throws as {@link #compileInferencePrograms} does.
     *
     * <p>The module goes to the compiler as text, so that one that was read from bytecode, too, is refused where it has what
     * plugins are known to abort on.
     *
     * @throws dev.slipway.runtime.UsageException.BadArgument if it has
     */
    public Compiled compile(Lowered lowered, Map<String, ?> compilerOptions) {
        Topology machine = lowered.topology();
        if (machine.chip().accelerator() instanceof Accelerator.Gpu gpu
                && gpu.target().isRocm()) {
            throw new AotException(
                    "there is no plugin that compiles for %s; NVIDIA's would crash on it".formatted(machine.name()));
        }
        long start = System.nanoTime();
        byte[] module = lowered.program().module().toString().getBytes(StandardCharsets.UTF_8);
        double print = seconds(start);
        CompileJob job = new CompileJob(
                machine.plugin(),
                lowered.program().mesh().deviceIds(),
                CompilerOptions.of(machine.platform(), lowered.form(), compilerOptions),
                module);
        PluginLocator.Location plugin = plugins.locate(machine.platform());
        CompileJob.Artifact artifact = switch (isolation) {
            case IN_PROCESS -> job.run(plugin.load());
            case WORKER -> CompileWorker.run(plugin, job);
        };
        return new Compiled(
                lowered.program(),
                machine,
                artifact.options().on(job.deviceIds()),
                artifact.executable(),
                artifact.memory(),
                artifact.costs(),
                new Compiled.Timings(lowered.seconds(), print, artifact.seconds()));
    }

    private static double seconds(long start) {
        return (System.nanoTime() - start) / 1e9;
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.aot.AotCompiler;
import dev.slipway.aot.Compiled;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.checkpoint.Dtype;
import dev.slipway.lowering.Control;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.topology.Topology;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code slipway compile}: a model and a machine's name in, an executable and its figures out. */
@Command(
        name = "compile",
        mixinStandardHelpOptions = true,
        description = "Compiles a model's inference programs for a machine, which need not be here.")
final class CompileCommand implements Callable<Integer> {
    /** What only a compiler has a use for. */
    private static final List<String> OF_COMPILING = List.of("--out", "--option", "--isolated");

    /** What AXLearn's programs are not told. */
    private static final List<String> OF_OWN_PROGRAMS = List.of("--max-length", "--sample", "--prefill-chunk");

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it before it runs a command
    private CommandSpec spec;

    @Mixin
    private Output output = new Output();

    @Mixin
    private MeshOptions meshOptions = new MeshOptions();

    @Option(
            names = "--model",
            paramLabel = "MODEL",
            defaultValue = Model.PACKAGED,
            description = "A GGUF file, a folder or config.json, or a name; ${DEFAULT-VALUE} by default.")
    private String model = Model.PACKAGED;

    @Option(
            names = "--target",
            split = ",",
            paramLabel = "TARGET",
            description =
                    "The machine, e.g. v5e-16; this CPU by default. Several are compared in a table: v5e-16,v5p-8.")
    private List<String> targets = List.of("cpu");

    @Option(
            names = "--batch",
            paramLabel = "B",
            defaultValue = "16",
            description = "Rows; ${DEFAULT-VALUE} by default.")
    private int batch;

    @Option(
            names = "--prefix",
            paramLabel = "P",
            defaultValue = "64",
            description = "Width of the prompts; ${DEFAULT-VALUE} by default.")
    private int prefix;

    @Option(
            names = "--max-length",
            paramLabel = "T",
            description = "How long rows may grow, prompt included; twice the prefix by default.")
    private @Nullable Integer maxLength;

    @Option(
            names = "--dtype",
            paramLabel = "TYPE",
            description =
                    "Element type of weights, activations and cache: ${COMPLETION-CANDIDATES}; by default what an AXLearn folder"
                            + " says, for others bf16 on accelerators and f32 on CPUs.")
    private @Nullable Dtype dtype;

    @Option(names = "--layers", paramLabel = "FORM", description = "scanned (one body for all layers) or unrolled.")
    private Form.@Nullable Layers layers;

    @Option(
            names = "--prefill-chunk",
            paramLabel = "N",
            description =
                    "Read N columns of the prompts at a time, all of them if N is the prefix's width; by default a TPU"
                            + " reads as few as keep it busy while a matrix is read.")
    private @Nullable Integer prefillChunk;

    @Option(names = "--sample", description = "Sample at temperatures given at run time, rather than greedily.")
    private boolean sample;

    @Option(
            names = "--axlearn",
            description =
                    "Compile AXLearn's own sample_decode or beam_search_decode, its oddities and its parameter tree"
                            + " included; rows grow as long as the prefix is wide.")
    private boolean axlearn;

    @Option(
            names = "--method",
            split = ",",
            paramLabel = "METHOD",
            description = "Programs to compile: sample_decode (by default), prefill, insert, decode_step, score,"
                    + " beam_search_decode; a prefix width may follow a colon: prefill:64,prefill:256.")
    private List<String> methods = List.of(AotCompiler.SAMPLE_DECODE);

    @Option(
            names = "--option",
            paramLabel = "NAME=VALUE",
            description = "An option of XLA's or the plugin's; true and false are booleans.")
    private Map<String, String> options = Map.of();

    @Option(
            names = "--isolated",
            description =
                    "Compile in a process of its own, as with --option: where the compiler aborts, the error says why.")
    private boolean isolated;

    @Option(
            names = "--out",
            paramLabel = "FILE",
            description = "Write the executable to a file; with several targets or methods each to FILE.TARGET.METHOD.")
    private @Nullable Path out;

    @Option(
            names = "--module",
            paramLabel = "FILE",
            description =
                    "Write the StableHLO module to a file; with several targets or methods each to FILE.TARGET.METHOD.")
    private @Nullable Path moduleFile;

    @Option(
            names = "--lower-only",
            description = "Stop at the StableHLO module, which --module writes to a file; no plugin is needed.")
    private boolean lowerOnly;

    @Override
    public Integer call() throws IOException {
        if (lowerOnly) {
            UnreadOptions.refuse(spec, OF_COMPILING, "is for what is compiled; --lower-only stops before that");
        }
        if (axlearn) {
            UnreadOptions.refuse(
                    spec, OF_OWN_PROGRAMS, "is for Slipway's own programs; AXLearn's are compiled as they are");
        }
        atLeastOne("--batch", batch);
        atLeastOne("--prefix", prefix);
        if (prefillChunk != null) {
            atLeastOne("--prefill-chunk", prefillChunk);
        }
        List<Topology> machines = new ArrayList<>();
        for (String target : targets) {
            machines.add(meshOptions.topology(target));
        }
        for (Topology machine : machines) {
            for (String method : methods) {
                for (Path file :
                        Stream.of(out, moduleFile).filter(Objects::nonNull).toList()) {
                    OutFile.refuse(named(file, machine, method)); // before minutes of work, not after
                }
            }
        }
        try (PluginsOnDemand plugins = new PluginsOnDemand(output);
                Model opened = Model.open(model, plugins)) {
            if (!lowerOnly && isolation() == AotCompiler.Isolation.IN_PROCESS) {
                plugins.loadAhead(machines.getFirst().platform());
            }
            List<Lowering> lowerings = new ArrayList<>();
            for (Topology machine : machines) {
                InferenceRunner runner = runner(opened, machine);
                for (String method : methods) {
                    lowerings.add(lower(runner, machine, method));
                }
            }
            refuseWhatNoMachineTakes(lowerings);
            AotCompiler compiler = new AotCompiler(
                    platform -> {
                        // XLA is about to take its time: now, and not before, this thread waits.
                        output.expect(ProgramReport.class);
                        return plugins.locate(platform);
                    },
                    isolation());
            List<Comparison.Outcome> outcomes = new ArrayList<>();
            for (Lowering lowering : lowerings) {
                outcomes.add(
                        switch (lowering) {
                            case Refusal refusal -> refusal.outcome();
                            case Job job ->
                                lowerOnly
                                        ? job.outcome(ProgramReport.of(
                                                opened.name(), job.lowered(), Objects.requireNonNull(job.text())))
                                        : compile(compiler, plugins, opened.name(), job);
                        });
            }
            return report(new Comparison(lowerOnly ? Comparison.LOWERED : Comparison.COMPILED, outcomes));
        }
    }

    private int report(Comparison compared) {
        if (output.json()) {
            output.document(compared.document());
        } else {
            compared.print(output);
        }
        long failed = compared.failed();
        if (failed == 0) {
            return 0;
        }
        output.err()
                .println(output.terminal().red("slipway: ") + failed + " of "
                        + compared.outcomes().size() + " programs failed");
        return spec.exitCodeOnExecutionException();
    }

    /**
     * What is refused for every machine is the fault of none: said before anything is compiled, as it is where there is one
     * machine only.
     */
    private void refuseWhatNoMachineTakes(List<Lowering> lowerings) {
        for (String method : methods) {
            List<Lowering> ofMethod = lowerings.stream()
                    .filter(lowering -> lowering.method().equals(method))
                    .toList();
            if (ofMethod.getFirst() instanceof Refusal first
                    && ofMethod.stream().allMatch(Refusal.class::isInstance)) {
                throw first.why();
            }
        }
    }

    /** What became of lowering a program for a machine. */
    private sealed interface Lowering {
        Topology machine();

        String method();

        default Comparison.Outcome outcome(Comparison.Result result) {
            return new Comparison.Outcome(machine(), method(), result);
        }
    }

    /** A program that cannot be had for a machine. */
    private record Refusal(Topology machine, String method, RuntimeException why) implements Lowering {
        Comparison.Outcome outcome() {
            return outcome(new Comparison.Refused(why));
        }
    }

    /**
     * A program for a machine, lowered.
     *
     * @param text of its module, where it was asked for
     */
    private record Job(String method, AotCompiler.Lowered lowered, LoweredReport.@Nullable Text text)
            implements Lowering {
        @Override
        public Topology machine() {
            return lowered.topology();
        }

        String doing() {
            return "compiling " + method + " for " + Machines.title(machine());
        }
    }

    private Lowering lower(InferenceRunner runner, Topology machine, String method) {
        try {
            AotCompiler.Lowered lowered =
                    AotCompiler.lower(runner, InputBatchSpec.prefix(batch, prefix), machine, method);
            Path file = moduleFile == null ? null : named(moduleFile, machine, method);
            return new Job(
                    method,
                    lowered,
                    lowerOnly || file != null
                            ? LoweredReport.Text.of(lowered.program().module(), file)
                            : null);
        } catch (RuntimeException e) {
            return refused(machine, method, e);
        }
    }

    private Comparison.Outcome compile(AotCompiler compiler, PluginsOnDemand plugins, String modelName, Job job) {
        try {
            plugins.locate(job.machine().platform());
            plugins.begin(job.machine().platform(), job.doing());
            Compiled compiled;
            try (Progress progress = Progress.begin(output, job.doing())) {
                compiled = compiler.compile(job.lowered(), compilerOptions());
                progress.at("done");
            }
            if (out != null) {
                OutFile.write(
                        named(out, job.machine(), job.method()),
                        compiled.executable().toBytes());
            }
            return job.outcome(ProgramReport.of(modelName, compiled));
        } catch (RuntimeException e) {
            return refused(job.machine(), job.method(), e).outcome();
        }
    }

    /**
     * A failure, beside which other machines may do better.
     *
     * @throws RuntimeException the failure itself if there is no other machine, or it is none that we expect
     */
    private Refusal refused(Topology machine, String method, RuntimeException failure) {
        if (targets.size() == 1 || !Failures.expected(failure)) {
            throw failure;
        }
        if (output.verbose()) {
            failure.printStackTrace(output.err());
        }
        return new Refusal(machine, method, failure);
    }

    /** An option can make a compiler abort; in a process of its own that ends no more than that process. */
    private AotCompiler.Isolation isolation() {
        return isolated || !options.isEmpty() ? AotCompiler.Isolation.WORKER : AotCompiler.Isolation.IN_PROCESS;
    }

    private InferenceRunner runner(Model opened, Topology machine) {
        DecodeOptions decode = DecodeOptions.greedy(
                        maxLength != null ? maxLength : (int) Math.min(2L * prefix, Integer.MAX_VALUE))
                .withStopIds(opened.checkpoint()
                        .map(checkpoint -> checkpoint.stopIds().stream()
                                .mapToInt(Integer::intValue)
                                .toArray())
                        .orElse(new int[0]));
        if (sample) {
            decode = decode.withControls(Control.TEMPERATURE);
        }
        if (prefillChunk != null) {
            int columns = prefillChunk;
            decode = decode.with(options -> options.prefillChunk(columns));
        }
        Form usual = InferenceRunner.formFor(machine.chip());
        Form form = dtype != null ? usual.withElements(dtype.element()) : opened.withStatedTypes(usual);
        if (layers != null) {
            form = form.withLayers(layers);
        }
        InferenceRunner runner = InferenceRunner.of(opened.config(), decode);
        return (axlearn ? runner.withAxlearn(InferenceRunner.Axlearn.byDefault()) : runner)
                .withMesh(meshOptions.spec())
                .withOrder(meshOptions.order())
                .withForm(form);
    }

    private Map<String, Object> compilerOptions() {
        Map<String, Object> typed = new LinkedHashMap<>();
        options.forEach((name, value) -> typed.put(
                name, value.equals("true") || value.equals("false") ? (Object) Boolean.valueOf(value) : value));
        return typed;
    }

    private void atLeastOne(String option, int value) {
        if (value < 1) {
            throw new ParameterException(spec.commandLine(), option + " " + value + ": at least 1 was expected");
        }
    }

    /** The file of one program: where there are several, they get their machines' and methods' names behind the file's. */
    private Path named(Path file, Topology machine, String method) {
        String behind = "";
        if (targets.size() > 1) {
            behind += "." + Machines.title(machine).replace(' ', '-').replace('/', '-');
        }
        if (methods.size() > 1) {
            behind += "." + method;
        }
        return behind.isEmpty() ? file : file.resolveSibling(file.getFileName() + behind);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.aot.AotCompiler;
import dev.slipway.aot.Compiled;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.checkpoint.Checkpoint;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.mesh.MeshShape;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.topology.Platform;
import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code slipway demo}: the whole way once, from a model file to executables for machines that are not here and to text. */
@Command(
        name = "demo",
        mixinStandardHelpOptions = true,
        description = "Compiles SmolLM2-135M for one and two slices of v5e-16, then runs it on this CPU.")
final class DemoCommand implements Callable<Integer> {
    private static final int BATCH = 16;
    private static final int PREFIX = 64;
    private static final int MAX_LENGTH = 256;

    @Mixin
    private Output output = new Output();

    @Option(
            names = "--prompt",
            paramLabel = "TEXT",
            defaultValue = "Explain what a compiler does in two sentences.",
            description = "What to ask the model.")
    private String prompt = "";

    /** What {@code --json} prints. */
    record Document(List<ProgramReport> compiled, String prompt, List<Integer> ids, String text) {}

    @Override
    public Integer call() {
        try (PluginsOnDemand plugins = new PluginsOnDemand(output);
                Model model = Model.open(Model.PACKAGED, plugins)) {
            plugins.locate(Platform.CPU);
            plugins.locate(Platform.TPU);
            Checkpoint checkpoint = model.weights();
            DecodeOptions options = DecodeOptions.greedy(MAX_LENGTH)
                    .withStopIds(checkpoint.stopIds().stream()
                            .mapToInt(Integer::intValue)
                            .toArray());
            InferenceRunner runner = InferenceRunner.of(model.config(), options);
            List<ProgramReport> reports = new ArrayList<>();
            reports.add(
                    compile(plugins, model, runner.withMesh(MeshSpec.of(MeshSpec.DEFAULT_AXES, 1, -1)), "v5e-16", 1));
            reports.add(compile(
                    plugins,
                    model,
                    runner.withMesh(MeshSpec.DEFAULT_AXES, MeshShape.hybrid(List.of(1, -1), List.of(-1, 1))),
                    "v5e-16",
                    2));
            reports.add(compile(plugins, model, runner, "cpu", 1));
            Generation.Answer answer = answer(plugins, model);
            if (output.json()) {
                output.document(new Document(reports, prompt, answer.ids(), Generation.text(checkpoint, answer.ids())));
            }
        }
        return 0;
    }

    private ProgramReport compile(
            PluginsOnDemand plugins, Model model, InferenceRunner runner, String target, int slices) {
        Topology machine = Topologies.resolve(target, slices);
        AotCompiler.Lowered lowered =
                AotCompiler.lower(runner, InputBatchSpec.prefix(BATCH, PREFIX), machine, AotCompiler.SAMPLE_DECODE);
        Compiled compiled;
        plugins.begin(machine.platform(), "compiling sample_decode for " + Machines.title(machine));
        try (Progress progress = Progress.begin(
                output, "compiling sample_decode for " + (slices > 1 ? slices + " x " : "") + machine.name())) {
            compiled = new AotCompiler(plugins).compile(lowered, Map.of());
            progress.at("done");
        }
        ProgramReport report = ProgramReport.of(model.name(), compiled);
        if (!output.json()) {
            report.print(output);
        }
        return report;
    }

    private Generation.Answer answer(PluginsOnDemand plugins, Model model) {
        int[] ids = model.chat(prompt);
        if (!output.json()) {
            output.out().println();
            output.out().println("  " + output.terminal().bold(prompt));
            output.out().print("  ");
            output.out().flush();
        }
        plugins.begin(Platform.CPU, "running " + model.name());
        Generation.Answer answer = Generation.run(
                LocalModel.of(plugins, model, Topologies.resolve("cpu", 1), MeshSpec.byDefault()),
                new Generation.Request(ids, MAX_LENGTH - PREFIX, model.weights().stopIds(), 0, 0),
                output.json()
                        ? _ -> {}
                        : text -> {
                            output.out().print(text);
                            output.out().flush();
                        });
        if (!output.json()) {
            output.out().println();
            output.out()
                    .println("  "
                            + output.terminal()
                                    .dim(String.format(
                                            Locale.ROOT,
                                            "%d tokens, %.1f/s",
                                            answer.ids().size(),
                                            (answer.ids().size() - 1)
                                                    / answer.timings().decode())));
            output.out().flush();
        }
        return answer;
    }
}

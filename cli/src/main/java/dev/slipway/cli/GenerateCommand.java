// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.slipway.aot.PluginLocator;
import dev.slipway.checkpoint.Checkpoint;
import dev.slipway.lowering.Control;
import dev.slipway.lowering.Form;
import dev.slipway.topology.Platform;
import dev.slipway.topology.Topology;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;
import tools.jackson.databind.JsonNode;

/** {@code slipway generate}: a prompt in, text out, on this CPU. */
@Command(
        name = "generate",
        mixinStandardHelpOptions = true,
        description = "Runs a model on this CPU and prints its answer as it comes.")
final class GenerateCommand implements Callable<Integer> {
    /** What a case of {@code --batch} says itself, or has no use for. */
    private static final List<String> OF_ONE_PROMPT =
            List.of("--raw", "--max-new-tokens", "--ignore-stop", "--temperature", "--seed", "--top-logits");

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it before it runs a command
    private CommandSpec spec;

    @Mixin
    private Output output = new Output();

    @Mixin
    private MeshOptions mesh = new MeshOptions();

    @Option(
            names = "--model",
            paramLabel = "MODEL",
            defaultValue = Model.PACKAGED,
            description = "A GGUF file, a folder, or ${DEFAULT-VALUE}, the default.")
    private String model = Model.PACKAGED;

    @ArgGroup(multiplicity = "1")
    private Prompt prompt = new Prompt();

    /** Text or ids. */
    static final class Prompt {
        @Option(names = "--prompt", paramLabel = "TEXT", required = true, description = "What to answer.")
        private @Nullable String text;

        @Option(
                names = "--ids",
                split = ",",
                paramLabel = "ID",
                required = true,
                description = "Token ids to go on from.")
        private @Nullable List<Integer> ids;

        @Option(
                names = "--batch",
                paramLabel = "FILE",
                required = true,
                description =
                        "A JSON array of AXLearn decode cases {entry, key, prefix, options}; prints a JSON array of"
                                + " what AXLearn would give for each. Pads are 0 unless the model or a case says otherwise.")
        private @Nullable Path batch;
    }

    @Option(names = "--raw", description = "Go on from the prompt as it is, without the chat template.")
    private boolean raw;

    @Option(
            names = "--max-new-tokens",
            paramLabel = "N",
            defaultValue = "256",
            description = "How many tokens to add at most; ${DEFAULT-VALUE} by default.")
    private int maxNewTokens;

    @Option(names = "--ignore-stop", description = "Go on behind stop tokens.")
    private boolean ignoreStop;

    @Option(
            names = "--temperature",
            paramLabel = "T",
            defaultValue = "0",
            converter = Temperature.class,
            description = "Sample at this temperature; 0, the default, is greedy.")
    private float temperature;

    @Option(names = "--seed", paramLabel = "S", defaultValue = "0", description = "Seed of the random numbers.")
    private long seed;

    @Option(
            names = "--top-logits",
            paramLabel = "K",
            defaultValue = "0",
            description = "Show the best K logits of the first new token.")
    private int topLogits;

    @Option(
            names = "--target",
            paramLabel = "TARGET",
            defaultValue = "cpu",
            description = "cpu, or cpu-N for N virtual devices and a mesh over them.")
    private String target = "cpu";

    @Option(
            names = "--layers",
            paramLabel = "FORM",
            description = "How the program is written: ${COMPLETION-CANDIDATES}; what suits the CPU by default.")
    private Form.@Nullable Layers layers;

    @Option(
            names = "--matrices",
            paramLabel = "FORM",
            description =
                    "How matrices lie in memory: ${COMPLETION-CANDIDATES}; what suits the file's types by default.")
    private Form.@Nullable Matrices matrices;

    /** Reads {@code --temperature}. */
    static final class Temperature implements ITypeConverter<Float> {
        @Override
        public Float convert(String text) {
            try {
                BigDecimal exact = new BigDecimal(text); // a float would make 0 of the very small
                float value = exact.floatValue();
                if (exact.signum() == 0 || (value >= Control.LEAST_TEMPERATURE && value <= Float.MAX_VALUE)) {
                    return value;
                }
            } catch (NumberFormatException e) {
                // said below
            }
            throw new TypeConversionException("'%s' is not 0 (greedy) or a number from %s to %s (float32's greatest)"
                    .formatted(text, Control.LEAST_TEMPERATURE, Float.MAX_VALUE));
        }
    }

    /** What {@code --json} prints. */
    record Document(
            String model,
            @JsonProperty("prompt_ids") int[] promptIds,
            List<Integer> ids,
            String text,
            @JsonProperty("finish_reason") String finishReason,
            @JsonProperty("top_logits") List<List<Number>> topLogits,
            Timings timings) {}

    record Timings(
            @JsonProperty("load_s") double load,
            @JsonProperty("compile_s") double compile,
            @JsonProperty("prefill_s") double prefill,
            @JsonProperty("decode_s") double decode,
            @JsonProperty("decode_tokens_per_s") double tokensPerSecond) {}

    @Override
    public Integer call() throws IOException {
        if (prompt.batch != null) {
            UnreadOptions.refuse(
                    spec, OF_ONE_PROMPT, "is for --prompt and --ids; a case of --batch has its own options");
        }
        if (maxNewTokens < 1) {
            throw misuse("--max-new-tokens is %d; at least 1 is expected".formatted(maxNewTokens));
        }
        if (topLogits < 0) {
            throw misuse("--top-logits is %d; 0 or more is expected".formatted(topLogits));
        }
        try (PluginsOnDemand plugins = new PluginsOnDemand(output);
                Model opened = Model.open(model, plugins)) {
            Topology machine = mesh.topology(target);
            if (machine.platform() != Platform.CPU) {
                throw new Model.ModelException(
                        "%s is not here to run on; generate runs on cpu or cpu-N, compile makes an executable for it"
                                .formatted(target));
            }
            Checkpoint checkpoint = opened.weights();
            if (prompt.batch != null) {
                return batch(plugins, local(plugins, opened, machine), prompt.batch);
            }
            int[] ids = promptIds(opened);
            plugins.locate(Platform.CPU);
            Set<Integer> stops = ignoreStop ? Set.of() : checkpoint.stopIds();
            plugins.begin(Platform.CPU, "running " + opened.name());
            Generation.Answer answer = Generation.run(
                    local(plugins, opened, machine),
                    new Generation.Request(ids, maxNewTokens, stops, temperature, seed),
                    output.json() ? _ -> {} : this::show);
            if (output.json()) {
                output.document(document(checkpoint, ids, answer));
            } else {
                report(checkpoint, ids, answer);
            }
        }
        return 0;
    }

    private LocalModel local(PluginLocator plugins, Model opened, Topology machine) {
        return LocalModel.of(plugins, opened, machine, mesh.spec())
                .withForm(form -> layers == null ? form : form.withLayers(layers))
                .withForm(form -> matrices == null ? form : form.withMatrices(matrices));
    }

    private int batch(PluginsOnDemand plugins, LocalModel local, Path file) throws IOException {
        JsonNode cases = BatchFile.read(file);
        plugins.locate(Platform.CPU);
        plugins.begin(Platform.CPU, "running " + local.model().name());
        GenerateBatch.Answers answers;
        try (Progress progress = Progress.begin(output, "decoding " + file.getFileName())) {
            answers = GenerateBatch.run(local, cases, done -> progress.at(done + " cases done"));
        }
        output.out().println(answers.json());
        output.err()
                .println(output.terminal()
                        .dim("  %d programs compiled, %d cases failed"
                                .formatted(answers.programs(), answers.failed())));
        return answers.failed() == 0 ? 0 : 1;
    }

    private ParameterException misuse(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    private void show(String text) {
        output.out().print(text);
        output.out().flush();
    }

    private int[] promptIds(Model opened) {
        List<Integer> given = prompt.ids;
        if (given != null) {
            for (int id : given) {
                if (id < 0 || id >= opened.config().vocabulary()) {
                    throw new Model.ModelException("token id %d is outside the vocabulary of %s, 0 to %d"
                            .formatted(id, opened.name(), opened.config().vocabulary() - 1));
                }
            }
            return given.stream().mapToInt(Integer::intValue).toArray();
        }
        String text = prompt.text == null ? "" : prompt.text;
        return raw ? opened.tokenizer().encodePrompt(text).toArray() : opened.chat(text);
    }

    private Document document(Checkpoint checkpoint, int[] promptIds, Generation.Answer answer) {
        Generation.Timings timings = answer.timings();
        return new Document(
                model,
                promptIds,
                answer.ids(),
                Generation.text(checkpoint, answer.ids()),
                answer.stopped() ? "stop" : "length",
                best(answer),
                new Timings(
                        timings.load(),
                        timings.compile(),
                        timings.prefill(),
                        timings.decode(),
                        answer.ids().size() < 2 ? 0 : (answer.ids().size() - 1) / timings.decode()));
    }

    private List<List<Number>> best(Generation.Answer answer) {
        return Generation.best(answer.logits(), topLogits).stream()
                .map(id -> List.<Number>of(id, answer.logits()[id]))
                .toList();
    }

    private void report(Checkpoint checkpoint, int[] promptIds, Generation.Answer answer) {
        output.out().println();
        Generation.Timings timings = answer.timings();
        Terminal terminal = output.terminal();
        if (topLogits > 0) {
            Table table = Table.of("id", "token", "logit");
            for (int id : Generation.best(answer.logits(), topLogits)) {
                table.row(
                        id,
                        checkpoint.tokenizer().map(t -> t.token(id)).orElse(""),
                        String.format(Locale.ROOT, "%.4f", answer.logits()[id]));
            }
            table.print(output.out(), terminal);
        }
        output.out().flush();
        output.err()
                .println(terminal.dim(String.format(
                        Locale.ROOT,
                        "  %d prompt tokens in %.2f s, %d new ones at %.1f/s, stopped by %s; weights %.1f s, compile %.1f s",
                        promptIds.length,
                        timings.prefill(),
                        answer.ids().size(),
                        Math.max(0, answer.ids().size() - 1) / Math.max(1e-9, timings.decode()),
                        answer.stopped() ? "stop token" : "length",
                        timings.load(),
                        timings.compile())));
    }
}

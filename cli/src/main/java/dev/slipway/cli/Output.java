// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import com.google.common.base.Suppliers;
import java.io.PrintWriter;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * The options that every command has, and where its words go: one JSON document or a report to stdout, progress and logs
 * to stderr. A command declares it as {@code @Mixin Output output}.
 */
final class Output {
    @Spec(Spec.Target.MIXEE)
    private @Nullable CommandSpec command;

    @Option(names = "--json", description = "Print one JSON document on stdout.")
    private boolean json;

    @Option(
            names = {"-v", "--verbose"},
            description = "Show what plugins print, and traces of failures.")
    private boolean verbose;

    private final Supplier<JsonMapper> mapper = Suppliers.memoize(() -> JsonMapper.builder()
            .enable(SerializationFeature.INDENT_OUTPUT)
            .disable(SerializationFeature.FAIL_ON_EMPTY_BEANS)
            .build());

    private @Nullable Thread readying;

    /** The output options of a command; the defaults where it has none. */
    static Output of(CommandLine line) {
        Object mixin = line.getCommandSpec().mixins().values().stream()
                .map(CommandSpec::userObject)
                .filter(Output.class::isInstance)
                .findFirst()
                .orElse(null);
        if (mixin instanceof Output output) {
            return output;
        }
        Output output = new Output();
        output.command = line.getCommandSpec();
        return output;
    }

    boolean json() {
        return json;
    }

    boolean verbose() {
        return verbose;
    }

    /** Where the command's report goes: stdout where no command has it. */
    PrintWriter out() {
        return command == null
                ? new PrintWriter(System.out, true, System.out.charset())
                : command.commandLine().getOut();
    }

    /** Where the command's progress goes: stderr where no command has it. */
    PrintWriter err() {
        return command == null
                ? new PrintWriter(System.err, true, System.err.charset())
                : command.commandLine().getErr();
    }

    /** Colours and width of the terminal that the report goes to. */
    Terminal terminal() {
        return Terminal.current();
    }

    /**
     * Prepares to print a document of a type, on another thread: the first document of a process takes long.
     *
     * @return the thread that does so, the same at each call; null where no document is printed
     */
    @Nullable
    Thread expect(Class<?> type) {
        if (json && readying == null) {
            readying = Thread.ofPlatform().daemon().start(() -> mapper.get().writerFor(type));
        }
        return readying;
    }

    /** Prints a value as the one JSON document of this run. */
    void document(Object value) {
        out().println(mapper.get().writeValueAsString(value));
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** The {@code slipway} command: exit code 0 on success, 1 on failure, 2 on bad usage. */
@Command(
        name = "slipway",
        mixinStandardHelpOptions = true,
        versionProvider = Main.Version.class,
        header = "Compiles LLM inference programs ahead of time, for machines that are not there.",
        synopsisSubcommandLabel = "COMMAND")
public final class Main implements Runnable {
    private static final ImmutableMap<String, Supplier<Callable<Integer>>> COMMANDS =
            ImmutableMap.<String, Supplier<Callable<Integer>>>builder()
                    .put("demo", DemoCommand::new)
                    .put("targets", TargetsCommand::new)
                    .put("mesh", MeshCommand::new)
                    .put("compile", CompileCommand::new)
                    .put("generate", GenerateCommand::new)
                    .put("plugins", PluginsCommand::new)
                    .put("module", ModuleCommand::new)
                    .buildOrThrow();

    /** Where options of the JVM come from: what they start, a recording or an agent, may save something as it ends. */
    private static final ImmutableList<String> JVM_OPTIONS =
            ImmutableList.of("SLIPWAY_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS");

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it before it runs a command
    private CommandSpec spec;

    /** Runs the command line and exits with its code. */
    public static void main(String[] arguments) {
        Stdout out = new Stdout(new FileOutputStream(FileDescriptor.out));
        PrintWriter err = new PrintWriter(new CurrentErr(), true, StandardCharsets.UTF_8);
        int code = out.code(run(out.writer(), err, arguments), err);
        if (JVM_OPTIONS.stream().anyMatch(name -> System.getenv(name) != null)) {
            System.exit(code);
        }
        // All is written and closed; leaving by System.exit loads a logger first, and plugins' exit handlers have
        // nothing to save.
        Runtime.getRuntime().halt(code);
    }

    /**
     * Runs the command line.
     *
     * @param out takes what was asked for
     * @param err takes progress, logs and errors
     * @return the exit code: 0 success, 1 failure, 2 bad usage
     */
    public static int run(PrintWriter out, PrintWriter err, String... arguments) {
        CommandLine line = new CommandLine(new Main());
        // Reading the annotations of all commands takes longer than most of them run, so one that is named comes alone.
        Supplier<Callable<Integer>> named = arguments.length == 0 ? null : COMMANDS.get(arguments[0]);
        if (named != null) {
            line.addSubcommand(arguments[0], named.get());
        } else {
            COMMANDS.forEach((name, command) -> line.addSubcommand(name, command.get()));
        }
        line.setOut(out);
        line.setErr(err);
        line.setCaseInsensitiveEnumValuesAllowed(true);
        // A quote is a character like others, where picocli would warn of one that is alone.
        line.getSubcommands()
                .values()
                .forEach(command -> command.getCommandSpec().parser().splitQuotedStrings(true));
        line.setUsageHelpAutoWidth(true);
        line.setColorScheme(CommandLine.Help.defaultColorScheme(
                Terminal.colours(System.console()) ? CommandLine.Help.Ansi.ON : CommandLine.Help.Ansi.OFF));
        line.setExecutionExceptionHandler(Failures::report);
        line.setParameterExceptionHandler(Failures::misuse);
        int code = line.execute(arguments);
        out.flush();
        err.flush();
        return code;
    }

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }

    /** Whatever {@link System#err} is at the moment: it is replaced while plugins' chatter is captured. */
    private static final class CurrentErr extends OutputStream {
        @Override
        public void write(int b) {
            System.err.write(b);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) {
            System.err.write(bytes, offset, length);
        }

        @Override
        public void flush() {
            System.err.flush();
        }
    }

    /** The version that the build wrote into the jar's manifest. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            String version = Main.class.getPackage().getImplementationVersion();
            return new String[] {
                "slipway " + (version == null ? "(not packaged)" : version),
                "java " + Runtime.version() + ", " + System.getProperty("os.name") + " " + System.getProperty("os.arch")
            };
        }
    }
}

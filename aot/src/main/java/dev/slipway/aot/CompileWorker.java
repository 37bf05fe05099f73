// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.aot.CompileJob.Artifact;
import dev.slipway.aot.CompileWire.Answer;
import dev.slipway.runtime.CompileOptions;
import dev.slipway.runtime.Plugin;
import dev.slipway.runtime.Program;
import dev.slipway.runtime.StatusException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Compiles in a process of its own, so that a compiler that aborts takes that process with it and not the caller's.
 *
 * <p>Job and answer go through files in a folder that only the two use, since plugins write to the standard streams.
 */
final class CompileWorker {
    private static final String JOB = "job";
    private static final String ANSWER = "answer";
    private static final String LOG = "log";

    private CompileWorker() {}

    /**
     * Runs a job in a new process and waits for it.
     *
     * @throws StatusException as the compiler's status says
     * @throws CompilerCrashedException if the process died
     * @throws AotException if an option's value has no meaning
     * @throws dev.slipway.runtime.UsageException.BadArgument if plugins are known to abort on the module
     */
    static Artifact run(PluginLocator.Location plugin, CompileJob job) {
        // What is refused without a compiler is refused here, as what it is.
        Program _ = Program.stablehlo(job.module());
        CompileOptions _ = job.options().on(job.deviceIds());
        try {
            Path folder = Files.createTempDirectory("slipway-compile");
            try {
                return run(plugin, job, folder);
            } finally {
                delete(folder);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Artifact run(PluginLocator.Location plugin, CompileJob job, Path folder) throws IOException {
        CompileWire.write(folder.resolve(JOB), new CompileWire.Order(plugin.library(), job));
        ProcessBuilder builder = new ProcessBuilder(command(folder));
        builder.environment().putAll(plugin.environment());
        builder.redirectErrorStream(true);
        builder.redirectOutput(folder.resolve(LOG).toFile());
        Process process = builder.start();
        int exit;
        try {
            exit = process.waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AotException("interrupted while waiting for the compiler's process; it was ended");
        } finally {
            process.destroyForcibly();
        }
        if (!Files.exists(folder.resolve(ANSWER))) {
            throw new CompilerCrashedException(
                    exit, Files.readString(folder.resolve(LOG), StandardCharsets.ISO_8859_1));
        }
        return switch (CompileWire.readAnswer(folder.resolve(ANSWER))) {
            case Answer.Done done -> done.artifact();
            case Answer.Refused refused -> throw StatusException.of(refused.code(), refused.message(), Map.of());
            case Answer.Failed failed -> throw new AotException(failed.message());
        };
    }

    /** This JVM's own way of starting, with the worker as the main class. */
    private static List<String> command(Path folder) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-XX:+UseSerialGC");
        command.add("-XX:TieredStopAtLevel=1");
        String modules = System.getProperty("jdk.module.path");
        if (CompileWorker.class.getModule().isNamed() && modules != null) {
            command.addAll(List.of("--enable-native-access=dev.slipway.runtime", "--module-path", modules));
            command.addAll(List.of("-m", "dev.slipway.aot/" + CompileWorker.class.getName()));
        } else {
            command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path")));
            command.add(CompileWorker.class.getName());
        }
        command.add(folder.toString());
        return command;
    }

    /** The worker's side; the argument is the folder. */
    public static void main(String[] arguments) throws IOException {
        Path folder = Path.of(arguments[0]);
        Thread.ofPlatform().daemon().start(() -> endWithCaller(folder));
        Path part = folder.resolve(ANSWER + ".part");
        CompileWire.write(part, answer(CompileWire.readOrder(folder.resolve(JOB))));
        Files.move(part, folder.resolve(ANSWER));
        Runtime.getRuntime().halt(0); // plugins' exit handlers have nothing to save
    }

    /** Nobody waits for the answer, nor deletes the folder, when standard input ends: it is a pipe from the caller. */
    private static void endWithCaller(Path folder) {
        try {
            System.in.transferTo(OutputStream.nullOutputStream());
            delete(folder);
        } catch (IOException e) {
            // It stays where it is.
        }
        Runtime.getRuntime().halt(1);
    }

    private static Answer answer(CompileWire.Order order) {
        try {
            return new Answer.Done(order.job().run(Plugin.load(order.library(), Map.of())));
        } catch (StatusException e) {
            return new Answer.Refused(e.code(), String.valueOf(e.getMessage()));
        } catch (RuntimeException e) {
            return new Answer.Failed(e.getMessage() == null ? e.toString() : e.getMessage());
        }
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        }
    }
}

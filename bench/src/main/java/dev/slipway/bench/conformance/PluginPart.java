// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench.conformance;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A plugin in a process of its own, which is started again where it dies. */
final class PluginPart implements AutoCloseable {
    private static final Set<String> WORDS = Set.of("ok", "refused", "differs", "unfit", "fault");

    private final String plugin;
    private final Path log;
    private @Nullable Process process;
    private @Nullable BufferedReader answers;
    private @Nullable BufferedWriter jobs;

    PluginPart(String plugin) throws IOException {
        this.plugin = plugin;
        this.log = Files.createTempFile("slipway-conformance-", ".log");
    }

    /** The answer of {@link PluginWorker}, or {@code died} with the plugin's last words. */
    String ask(String form, TestFile.Case one) throws IOException {
        if (process == null || !process.isAlive()) {
            start();
        }
        if (jobs == null || answers == null) {
            throw new IllegalStateException("not started");
        }
        try {
            jobs.write(form + "\t" + one.file() + "\t" + one.line() + "\n");
            jobs.flush();
            String answer = answers.readLine();
            return answer != null && WORDS.contains(answer.split(" ", 2)[0]) ? answer : died();
        } catch (IOException broken) {
            return died();
        }
    }

    private String died() throws IOException {
        close();
        List<String> words = Files.readString(log, StandardCharsets.ISO_8859_1)
                .lines()
                .filter(line -> line.contains("Check failed") || line.contains("error") || line.startsWith("F"))
                .toList();
        return "died " + (words.isEmpty() ? "without a word" : words.getLast().strip());
    }

    private void start() throws IOException {
        process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "--sun-misc-unsafe-memory-access=allow",
                        "-XX:-CreateCoredumpOnCrash",
                        "-XX:ErrorFile=" + log + ".jvm",
                        "-Xmx2g",
                        "-cp",
                        System.getProperty("java.class.path"),
                        "dev.slipway.bench.Main",
                        "stablehlo-conformance-worker",
                        plugin)
                .redirectError(log.toFile())
                .start();
        answers = process.inputReader(StandardCharsets.UTF_8);
        jobs = process.outputWriter(StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        if (process == null) {
            return;
        }
        try {
            if (jobs != null) {
                jobs.close();
            }
        } catch (IOException gone) {
            // It ended by itself.
        }
        try {
            if (!process.waitFor(30, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
            Files.deleteIfExists(Path.of(log + ".jvm"));
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        process = null;
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What a user sees where a plugin ends the JVM, in a process started as {@code ./slipway} starts it. */
class LastWordsTest {
    /**
     * As the launcher does, with its id said first; what is around it waits for all that writes to standard error and output,
     * where Java would read no further than to the end of the process.
     */
    private static final String LAUNCHER =
            """
            { { bash -c 'ulimit -c 0; echo $$ >&2; exec 8> >(. "%s" $$ "$@"); exec "$@"' slipway "$@" 2>&1 >&3 3>&- | cat >&2
            exit ${PIPESTATUS[0]}; } 3>&1 | cat; exit ${PIPESTATUS[0]}; }
            """.formatted(Path.of("src/main/shell/last-words").toAbsolutePath());

    /** What libtpu checks, and fails with SIGABRT. */
    private static final String[] ABORTING = {"LIBTPU_INIT_ARGS", "--xla_tpu_scoped_vmem_limit_kib=-5"};

    private static final String[] ON_TPU = {"compile", "--model=tiny-llama", "--target=v4-8"};

    /**
     * An ended process.
     *
     * @param process its id
     * @param out what was on standard output
     * @param err what was on standard error
     */
    private record Ended(String process, int code, String out, String err) {
        List<String> errors() {
            return err.lines().filter(line -> line.startsWith("slipway: ")).toList();
        }
    }

    private static Ended run(String[] variable, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("bash", "-c", LAUNCHER, "slipway"));
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put(variable[0], variable[1]);
        Process process = builder.start();
        String err = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Ended(err.lines().findFirst().orElseThrow(), process.waitFor(), out, err);
    }

    private static void assertNothingLeft(Ended ended) throws IOException {
        try (Stream<Path> files = Files.list(Path.of("/tmp"))) {
            assertThat(files.map(Path::getFileName).map(Path::toString))
                    .noneMatch(name -> name.startsWith("slipway-plugins-" + ended.process() + "-"));
        }
    }

    @Test
    void anAbortIsOneLineWithPluginTargetReasonAndRemedy() throws Exception {
        Ended ended = run(ABORTING, ON_TPU);

        assertThat(ended.code()).isEqualTo(134);
        assertThat(ended.errors())
                .singleElement()
                .asString()
                .startsWith("slipway: the process ended while the tpu plugin was compiling sample_decode for v4-8: F")
                .contains("Check failed: max_vmem_kib > 0")
                .contains("); try without XLA_FLAGS and LIBTPU_INIT_ARGS")
                .contains("--isolated");
        assertThat(ended.out()).isEmpty();
        assertNothingLeft(ended);
    }

    @Test
    void withJsonAnAbortIsADocumentToo() throws Exception {
        assertDocument(run(
                ABORTING, Stream.concat(Stream.of(ON_TPU), Stream.of("--json")).toArray(String[]::new)));
        assertDocument(run(
                new String[] {"XLA_FLAGS", "--xla_no\\such=\"\t\u00fc\""},
                "compile",
                "--json",
                "--model=tiny-llama",
                "--target=cpu"));
    }

    private static void assertDocument(Ended ended) {
        JsonNode error = new JsonMapper().readTree(ended.out()).get("error");
        assertThat(error.get("type").stringValue()).isEqualTo("ProcessEnded");
        assertThat(ended.errors())
                .containsExactly("slipway: " + error.get("message").stringValue());
        assertThat(error.get("exit_code").intValue()).isEqualTo(ended.code()).isPositive();
    }

    @Test
    void aPluginThatEndsTheProcessWithoutAnAbortIsSaidToo() throws Exception {
        Ended ended = run(
                new String[] {"XLA_FLAGS", "--xla_no_such_flag=1"}, "compile", "--model=tiny-llama", "--target=cpu");

        assertThat(ended.code()).isEqualTo(1);
        assertThat(ended.errors())
                .singleElement()
                .asString()
                .contains("while the cpu plugin was compiling sample_decode for cpu: F")
                .contains("Unknown flag in XLA_FLAGS: --xla_no_such_flag=1; try without XLA_FLAGS");
    }

    @Test
    void anAbortInAProcessOfItsOwnIsAnErrorOfThisOne() throws Exception {
        Ended ended = run(
                ABORTING,
                Stream.concat(Stream.of(ON_TPU), Stream.of("--isolated")).toArray(String[]::new));

        assertThat(ended.code()).isEqualTo(1);
        assertThat(ended.errors())
                .singleElement()
                .asString()
                .startsWith("slipway: the compiler's process ended with code 134")
                .contains("Check failed: max_vmem_kib > 0");
        assertNothingLeft(ended);
    }

    @Test
    void nothingIsSaidOfAProcessThatEndsAsItShould() throws Exception {
        Ended compiled = run(new String[] {"XLA_FLAGS", ""}, "compile", "--model=tiny-llama", "--target=cpu");
        Ended misused = run(new String[] {"XLA_FLAGS", ""}, "compile", "--batch=0");

        assertThat(compiled.code()).isZero();
        assertThat(compiled.errors()).isEmpty();
        assertThat(misused.code()).isEqualTo(2);
        assertThat(misused.errors()).singleElement().asString().contains("--batch 0");
    }
}

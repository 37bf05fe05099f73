// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MainTest {
    @TempDir
    Path folder;

    @Test
    void aFlightRecordingThatTheUserAskedForIsWrittenAtTheEnd() throws Exception {
        Path recording = folder.resolve("slipway.jfr");
        String option = "-XX:StartFlightRecording:filename=" + recording;
        ProcessBuilder builder = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElseThrow(),
                        option,
                        "-cp",
                        System.getProperty("java.class.path"),
                        Main.class.getName(),
                        "--version")
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("output").toFile());
        builder.environment().put("SLIPWAY_JAVA_OPTIONS", option);

        assertThat(builder.start().waitFor()).isZero();

        assertThat(recording).isNotEmptyFile();
    }

    @ParameterizedTest
    @CsvSource({"/dev/full, true", "/dev/null, false"})
    void aReportThatIsLostIsAFailure(String stdout, boolean lost) throws Exception {
        StringWriter err = new StringWriter();
        int code;
        try (OutputStream to = new FileOutputStream(stdout)) {
            Stdout out = new Stdout(to);
            code = out.code(Main.run(out.writer(), new PrintWriter(err), "targets", "v5e-16"), new PrintWriter(err));
        }

        assertThat(code).isEqualTo(lost ? 1 : 0);
        if (lost) {
            assertThat(err.toString())
                    .startsWith("slipway: cannot write to standard output: No space left on device; ");
        } else {
            assertThat(err.toString()).isEmpty();
        }
    }

    @Test
    void aReaderThatHasHadEnoughIsNotTold() {
        StringWriter err = new StringWriter();
        Stdout out = new Stdout(new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                throw new IOException("Broken pipe");
            }
        });

        int code = out.code(Main.run(out.writer(), new PrintWriter(err), "targets"), new PrintWriter(err));

        assertThat(code).isOne();
        assertThat(err.toString()).isEmpty();
    }
}

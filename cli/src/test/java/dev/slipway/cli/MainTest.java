// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
}

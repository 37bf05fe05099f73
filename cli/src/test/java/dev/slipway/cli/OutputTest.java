// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

class OutputTest {
    record Document(int number) {}

    private static Output of(String... arguments) {
        return CommandLine.populateCommand(new Output(), arguments);
    }

    @Test
    void severalDocumentsAreMadeReadyForOnce() {
        Output output = of("--json");

        assertThat(output.expect(Document.class)).isNotNull().isSameAs(output.expect(Document.class));
    }

    @Test
    void nothingIsMadeReadyWhereNoDocumentIsPrinted() {
        assertThat(of().expect(Document.class)).isNull();
    }

    @Test
    void wordsGoToTheProcessStreamsWhereNoCommandHasThem() {
        PrintStream before = System.err;
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        System.setErr(new PrintStream(said, true, StandardCharsets.UTF_8));
        try {
            Progress.begin(new Output(), "fetching").close();
        } finally {
            System.setErr(before);
        }

        assertThat(said.toString(StandardCharsets.UTF_8)).contains("  fetching  ");
    }
}

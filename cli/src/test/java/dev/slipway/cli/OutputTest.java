// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

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
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The inputs that fuzzing starts from, and those that broke something once, are refused with the typed exception or are
 * the same module after printing, parsing, writing and reading. {@code stablehlo/fuzz} looks for more.
 */
class CorpusTest {
    private static List<Path> files(String folder) throws IOException {
        try (Stream<Path> files = Files.list(Path.of("src/test/corpus", folder))) {
            return files.sorted().toList();
        }
    }

    static List<Path> texts() throws IOException {
        return files("text");
    }

    static List<Path> bytecodes() throws IOException {
        return files("bytecode");
    }

    @ParameterizedTest
    @MethodSource("texts")
    void aTextIsRefusedOrStaysTheSame(Path file) throws IOException {
        FuzzTargets.Text.fuzzerTestOneInput(Files.readAllBytes(file));
    }

    @ParameterizedTest
    @MethodSource("bytecodes")
    void bytecodeIsRefusedOrStaysTheSame(Path file) throws IOException {
        FuzzTargets.Bytecode.fuzzerTestOneInput(Files.readAllBytes(file));
    }

    @Test
    void theTextsThatFuzzingStartsFromAreModulesWithoutFaults() throws IOException {
        for (Path file : texts()) {
            if (file.toString().endsWith(".mlir")) {
                assertThat(Verifier.diagnose(Module.parse(Files.readString(file))))
                        .as(file.toString())
                        .isEmpty();
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.runtime.PluginLog;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.stream.Stream;
import org.assertj.core.api.SoftAssertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/**
 * Programs cost no more than was recorded. The record is {@code figures.json}, printed by {@code ./slipway-bench figures}; a
 * change that makes programs better, or worse for a good reason, records anew.
 */
class FiguresTest {
    /** How much more than recorded is let pass. */
    private static final double SLACK = 1.05;

    /** Heap depends on the JVM's mood more than on the program. */
    private static final double HEAP_SLACK = 1.25;

    private static List<Figures> recorded() throws IOException {
        try (InputStream in = FiguresTest.class.getResourceAsStream("/figures.json")) {
            return JsonMapper.builder().build().readValue(in, new TypeReference<List<Figures>>() {});
        }
    }

    static Stream<Figures> figures() throws IOException {
        return recorded().stream();
    }

    @ParameterizedTest
    @MethodSource("figures")
    void aProgramCostsNoMoreThanRecorded(Figures recorded) {
        try (PluginLog _ = PluginLog.capture()) {
            Figures now = Figures.of(recorded.model(), recorded.target());
            SoftAssertions softly = new SoftAssertions();
            softly.assertThat((double) now.ops()).as("operations").isLessThanOrEqualTo(SLACK * recorded.ops());
            softly.assertThat((double) now.moduleBytes())
                    .as("bytes of text")
                    .isLessThanOrEqualTo(SLACK * recorded.moduleBytes());
            softly.assertThat((double) now.allocatedBytes())
                    .as("bytes allocated by a lowering")
                    .isLessThanOrEqualTo(HEAP_SLACK * recorded.allocatedBytes());
            softly.assertThat(now.flops()).as("XLA's flops").isLessThanOrEqualTo(SLACK * recorded.flops());
            softly.assertThat(now.bytesAccessed())
                    .as("XLA's bytes accessed")
                    .isLessThanOrEqualTo(SLACK * recorded.bytesAccessed());
            softly.assertThat((double) now.temporaries())
                    .as("bytes of temporaries")
                    .isLessThanOrEqualTo(SLACK * recorded.temporaries());
            softly.assertThat((double) now.codeBytes())
                    .as("bytes of code")
                    .isLessThanOrEqualTo(SLACK * recorded.codeBytes());
            softly.assertAll();
        }
    }

    @Test
    void everyCaseIsRecorded() throws IOException {
        assertThat(recorded().stream().map(each -> java.util.Map.entry(each.model(), each.target())))
                .containsExactlyElementsOf(Figures.CASES);
    }

    @Test
    void theProgramDoesNotGrowWithDepthWhereLayersAreScanned() {
        assertThat(Measure.operations(
                        Cases.lower("fuji-70b", "v5e-16").program().module()))
                .isLessThan(2
                        * Measure.operations(
                                Cases.lower("tiny-llama", "v5e-16").program().module()));
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.runtime.PluginLog;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.assertj.core.api.SoftAssertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/**
 * Programs cost no more than was recorded. The record is {@code figures.json}; a change that makes programs better, or
 * worse for a good reason, records anew by {@code ./slipway-bench figures --record}, which says what changed.
 */
class FiguresTest {
    /** How much more than recorded is let pass. */
    private static final double SLACK = 1.05;

    /** Heap depends on the JVM's mood more than on the program. */
    private static final double HEAP_SLACK = 1.25;

    private static final String HEAP = "bytes allocated by a lowering";

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
            now.byName()
                    .forEach((name, value) -> softly.assertThat(value)
                            .as(name)
                            .isLessThanOrEqualTo((name.equals(HEAP) ? HEAP_SLACK : SLACK)
                                    * recorded.byName().getOrDefault(name, 0.0)));
            softly.assertAll();
        }
    }

    @Test
    void everyCaseIsRecorded() throws IOException {
        assertThat(recorded().stream().map(each -> Map.entry(each.model(), each.target())))
                .containsExactlyElementsOf(Figures.CASES);
    }

    @Test
    void aNewRecordSaysWhatChanged() {
        Figures before = new Figures("m", "t", 100, 1000, 5000, 0, 0, 2000, 10);
        Figures now = new Figures("m", "t", 100, 1000, 5050, 0, 0, 1000, 10);

        assertThat(Figures.changes(List.of(before), List.of(now)))
                .containsExactly("m on t: bytes of temporaries 2000 -> 1000 (-50.0 %)");
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

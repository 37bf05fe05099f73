// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.StringReader;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.xml.sax.InputSource;
import tools.jackson.databind.json.JsonMapper;

/** What a comparison's raw measurements become. */
class ReportTest {
    private static final Report REPORT = Report.of(JsonMapper.builder().build().readTree("""
                    {"started": "2026-11-30", "rounds": 2, "machine": {"cpu": "a CPU", "cores": 2, "commit": "abc"},
                     "measurements": [
                      {"case": "cold/m/t", "contender": "slipway", "load": 0.5, "wall_s": 4, "cpu_s": 3, "rss_bytes": 1073741824,
                       "values": {"lower_s": 0.002, "compile_s": 3}},
                      {"case": "cold/m/t", "contender": "rival", "load": 1.5, "wall_s": 8, "cpu_s": 3, "rss_bytes": 2147483648,
                       "values": {"lower_s": 0.2, "compile_s": 6}},
                      {"case": "cold/m/t", "contender": "<other>", "load": 1, "unavailable": "no such | thing"},
                      {"case": "warm/m/t", "contender": "slipway", "load": 1, "wall_s": 9, "values": {"warm_lower_s": [0.001, 0.003, 0.002]}}
                     ]}
                    """));

    @Test
    void ratiosAreOursByTheRivals() {
        assertThat(REPORT.markdown())
                .contains("| whole process | rival | 8.00 s | 0.500 |")
                .contains("| lowering | rival | 200 ms | 0.0100 |")
                .contains("| peak memory | slipway | 1.00 GiB |  |");
    }

    @Test
    void threeMeasurementsHaveAnInterval() {
        String measurement =
                "{\"case\": \"build/9/text\", \"contender\": \"%s\", \"load\": 1, \"values\": {\"build_s\": %s}}";
        Report report = Report.of(JsonMapper.builder()
                .build()
                .readTree("{\"measurements\": [%s, %s, %s, %s, %s, %s]}"
                        .formatted(
                                measurement.formatted("slipway", 0.002),
                                measurement.formatted("rival", 0.004),
                                measurement.formatted("slipway", 0.002),
                                measurement.formatted("rival", 0.004),
                                measurement.formatted("slipway", 0.002),
                                measurement.formatted("rival", 0.008))));

        assertThat(report.markdown())
                .contains("| build and print | rival | 4.00 [4.00, 8.00] ms | 0.500 [0.250, 0.500] |");
    }

    @Test
    void whatIsOutsideXlaIsTheProcessWithoutIt() {
        assertThat(REPORT.markdown()).contains("| outside XLA | slipway | 1.00 s |  |");
    }

    @Test
    void severalTimesOfOneProcessCountAsTheirMedian() {
        assertThat(REPORT.markdown()).contains("| lowering, warm | slipway | 2.00 ms |  |");
    }

    @Test
    void aRivalThatCannotRunIsShownWithTheReason() {
        assertThat(REPORT.markdown()).contains("|  | <other> | cannot: no such \\| thing |");
        assertThat(REPORT.html()).contains("&lt;other&gt;<td colspan=\"2\">cannot: no such | thing");
    }

    @Test
    void theOverviewHasARowForEachContenderOfACase() {
        assertThat(REPORT.markdown())
                .contains("| m/t | slipway | 0.998 | 2.00 | 3.00 | 4.00 | 3.00 | 1.00 |")
                .contains("| m/t | rival | 1.80 | 200 | 6.00 | 8.00 | 3.00 | 2.00 | 0.500 |")
                .contains("| m/t | <other> | cannot: no such \\| thing |");
    }

    @Test
    void thePageNeedsNothingFromElsewhere() {
        assertThat(REPORT.html()).doesNotContain("src=").doesNotContain("href=").contains("<svg ");
    }

    @Test
    void plotsAreWellFormed() throws Exception {
        String lines = Svg.lines(
                "a < b", "x", "y", List.of(new Svg.Line("l & m", List.of(new double[] {1, 10}, new double[] {8, 80}))));
        var document = DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new InputSource(new StringReader(lines)));
        assertThat(document.getElementsByTagName("path").getLength()).isEqualTo(2);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slipway.runtime.PackageStore;
import dev.slipway.runtime.Plugins;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The stress program at its smallest: the long runs are for a machine at night. */
class StressTest {

    private final ByteArrayOutputStream text = new ByteArrayOutputStream();
    private final Stress stress = new Stress(
            Plugins.ofUser().load("cpu", PackageStore.Progress.NONE),
            new PrintStream(text, true, StandardCharsets.UTF_8));

    @Test
    void roundsOfCreatingAndClosingTellHowMuchMemoryTheyKept() {
        // A leak of one client, program or buffer a round would be hundreds of KiB; the allocator's own noise is some
        // MiB.
        assertThat(stress.rounds(30)).isLessThan(64L << 20);
        assertThat(text.toString(StandardCharsets.UTF_8)).contains("30 rounds of create, compile, run, close");
    }

    @Test
    void whatIsNotSaidIsAsDocumented() {
        assertThat(Stress.Options.of(List.of("--minutes", "5"))).isEqualTo(new Stress.Options(10_000, 16, 5));
    }

    @Test
    void anOptionThatThereIsNotOrWithoutANumberIsRefused() {
        assertThatThrownBy(() -> Stress.Options.of(List.of("--hours", "1")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("--hours");
        assertThatThrownBy(() -> Stress.Options.of(List.of("--minutes"))).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> Stress.Options.of(List.of("--minutes", "few")))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void threadsOnOneClientGetTheirOwnResults() throws Exception {
        assertThat(stress.threads(8, Duration.ofMillis(500))).isGreaterThanOrEqualTo(8);
    }
}

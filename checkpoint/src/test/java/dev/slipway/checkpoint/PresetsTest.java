// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.lowering.Parameters;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Presets against published numbers of parameters (Llama 3) and AXLearn's own count of its trees (fuji). */
class PresetsTest {
    @ParameterizedTest
    @CsvSource({
        "llama-3-8b, 8030261248",
        "llama-3-70b, 70553706496",
        "fuji-1b, 1241581568",
        "fuji-7b, 6610489344",
        "fuji-70b, 68989231104",
        "tiny-llama, 90432"
    })
    void aPresetHasItsPublishedNumberOfParameters(String name, long parameters) {
        assertThat(Parameters.count(Presets.find(name).orElseThrow())).isEqualTo(parameters);
    }

    @Test
    void thereIsNoOtherPreset() {
        assertThat(Presets.names())
                .containsExactly("llama-3-8b", "llama-3-70b", "fuji-1b", "fuji-7b", "fuji-70b", "tiny-llama");
        assertThat(Presets.find("llama-4")).isEmpty();
    }
}

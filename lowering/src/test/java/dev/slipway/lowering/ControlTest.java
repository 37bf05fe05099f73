// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ControlTest {
    @ParameterizedTest
    @CsvSource({
        "TEMPERATURE, NaN, temperature of NaN; 0 (greedy) or at least 1e-30 is expected",
        "TEMPERATURE, 1e-40, temperature of 1.0E-40; 0 (greedy) or at least 1e-30 is expected",
        "TOP_P, NaN, top_p of NaN; a number is expected",
        "MIN_P, 1.5, min_p of 1.5; 1 or less is expected",
        "TYPICAL_P, NaN, typical_p of NaN; a number is expected",
        "REPETITION_PENALTY, 0, repetition_penalty of 0.0; a positive number is expected",
        "REPETITION_PENALTY, Infinity, repetition_penalty of Infinity; a positive number is expected",
        "PRESENCE_PENALTY, -Infinity, presence_penalty of -Infinity; a finite number is expected",
        "FREQUENCY_PENALTY, NaN, frequency_penalty of NaN; a finite number is expected",
        "LOGIT_BIAS, Infinity, 'logit_bias of Infinity; a number, or negative infinity is expected'"
    })
    void aNumberThatLeavesNoDistributionIsNamed(Control control, float value, String message) {
        assertThatExceptionOfType(LoweringException.class)
                .isThrownBy(() -> control.check(value))
                .withMessage(message);
    }

    @ParameterizedTest
    @CsvSource({
        "TEMPERATURE, 0",
        "TEMPERATURE, -0.0",
        "TEMPERATURE, 1e-30",
        "TOP_P, 0",
        "TOP_P, 1e-40",
        "MIN_P, 1",
        "REPETITION_PENALTY, 1.3",
        "PRESENCE_PENALTY, -2",
        "LOGIT_BIAS, -Infinity"
    })
    void aNumberThatLeavesOneIsTaken(Control control, float value) {
        assertThatCode(() -> control.check(value)).doesNotThrowAnyException();
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import static org.assertj.core.api.Assertions.assertThat;

import net.jqwik.api.Assume;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Decimal digits in {@code long}s are those of exact arithmetic. */
class FloatsTest {
    @Property
    void digitsOfAFloat(@ForAll int bits) {
        float value = Math.abs(Float.intBitsToFloat(bits));
        Assume.that(Float.isFinite(value) && value > 0);

        assertQuickIsExact(value);
    }

    @Property
    void digitsOfADouble(@ForAll long bits) {
        double value = Math.abs(Double.longBitsToDouble(bits));
        Assume.that(Double.isFinite(value) && value > 0);

        assertQuickIsExact(value);
    }

    @Property
    void digitsOfAWholeNumber(@ForAll int number) {
        Assume.that(number != 0);

        assertQuickIsExact(Math.abs((double) number));
    }

    private static void assertQuickIsExact(double value) {
        for (int precision : new int[] {6, 9, 17}) {
            Floats.Cut quick = Floats.quickCut(value, precision);
            if (quick != null) {
                assertThat(quick).isEqualTo(Floats.cut(value, precision));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(floats = {1, 2, 0.5f, 1e-5f, 0.1f, 3.1415927f, 100, 2.6e-6f, 0.663615f})
    void numbersThatProgramsHoldAreQuick(float value) {
        assertThat(Floats.quickCut(value, 6)).isEqualTo(Floats.cut(value, 6));
    }
}

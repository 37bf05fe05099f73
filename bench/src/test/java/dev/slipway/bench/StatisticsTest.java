// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.slipway.bench.Statistics.Interval;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;

/** The statistics of reports. */
class StatisticsTest {

    @Test
    void theMedianIsTheMiddleOrTheMeanOfTheTwoInTheMiddle() {
        assertThat(Statistics.median(3, 1, 2)).isEqualTo(2);
        assertThat(Statistics.median(4, 1, 3, 2)).isEqualTo(2.5);
    }

    @Test
    void theRatioOfConstantsHasNoWidth() {
        assertThat(Statistics.ratio95(new double[] {2, 2, 2}, new double[] {4, 4}))
                .isEqualTo(new Interval(0.5, 0.5, 0.5));
    }

    @Test
    void theIntervalHoldsTheRatioAndNarrowsWithMoreMeasurements() {
        double[] few = DoubleStream.iterate(1, x -> x + 1).limit(5).toArray();
        double[] many = DoubleStream.generate(new SplittableRandom(7)::nextDouble)
                .map(x -> 1 + 4 * x)
                .limit(200)
                .toArray();

        Interval wide = Statistics.ratio95(few, new double[] {1});
        Interval narrow = Statistics.ratio95(many, new double[] {1});

        assertThat(wide.value()).isEqualTo(3).isBetween(wide.low(), wide.high());
        assertThat(narrow.high() - narrow.low()).isLessThan((wide.high() - wide.low()) / 3);
    }

    @Test
    void theExponentOfAPowerIsFound() {
        List<double[]> square = DoubleStream.of(1, 2, 4, 8)
                .mapToObj(x -> new double[] {x, 3 * x * x})
                .toList();
        assertThat(Statistics.exponent(square)).isCloseTo(2, within(1e-12));
    }

    @Test
    void anExponentNeedsPositivePoints() {
        assertThatThrownBy(() -> Statistics.exponent(List.of(new double[] {1, 0}, new double[] {2, 1})))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("positive");
    }
}

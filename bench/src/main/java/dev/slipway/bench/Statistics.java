// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/** The few statistics that reports need. All take at least one value, and give the same answer for the same values. */
final class Statistics {
    private static final int RESAMPLES = 10_000;
    private static final double TAIL = 0.025;

    private Statistics() {}

    /** An estimate and where 95 % of its resamples lie. */
    record Interval(double value, double low, double high) {}

    /** The middle value, or the mean of the two in the middle. */
    static double median(double... values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    /** The median with its bootstrap interval. */
    static Interval median95(double... values) {
        SplittableRandom random = new SplittableRandom(0);
        double[] medians = new double[RESAMPLES];
        for (int i = 0; i < RESAMPLES; i++) {
            medians[i] = median(resample(random, values));
        }
        return interval(median(values), medians);
    }

    /** The ratio of two medians with its bootstrap interval; both sides are resampled. */
    static Interval ratio95(double[] ours, double[] theirs) {
        SplittableRandom random = new SplittableRandom(0);
        double[] ratios = new double[RESAMPLES];
        for (int i = 0; i < RESAMPLES; i++) {
            ratios[i] = median(resample(random, ours)) / median(resample(random, theirs));
        }
        return interval(median(ours) / median(theirs), ratios);
    }

    /**
     * The exponent {@code p} of {@code y = a * x^p}, by least squares on logarithms.
     *
     * @throws IllegalArgumentException if there are fewer than two points, or a value is not positive
     */
    static double exponent(List<double[]> points) {
        if (points.size() < 2 || points.stream().anyMatch(point -> !(point[0] > 0 && point[1] > 0))) {
            throw new IllegalArgumentException("an exponent needs two points or more, all of them positive");
        }
        double meanX =
                points.stream().mapToDouble(p -> Math.log(p[0])).average().orElseThrow();
        double meanY =
                points.stream().mapToDouble(p -> Math.log(p[1])).average().orElseThrow();
        double above = 0;
        double below = 0;
        for (double[] point : points) {
            double x = Math.log(point[0]) - meanX;
            above += x * (Math.log(point[1]) - meanY);
            below += x * x;
        }
        return above / below;
    }

    private static double[] resample(SplittableRandom random, double[] values) {
        double[] sample = new double[values.length];
        for (int i = 0; i < sample.length; i++) {
            sample[i] = values[random.nextInt(values.length)];
        }
        return sample;
    }

    private static Interval interval(double value, double[] resampled) {
        Arrays.sort(resampled);
        int low = (int) Math.floor(TAIL * (resampled.length - 1));
        return new Interval(value, resampled[low], resampled[resampled.length - 1 - low]);
    }
}

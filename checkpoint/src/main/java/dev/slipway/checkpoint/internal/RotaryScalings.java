// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableList;
import dev.slipway.lowering.DecoderConfig.Scaling;

/** Scalings of rotary frequencies that come down to a divisor for each pair. */
final class RotaryScalings {
    private RotaryScalings() {}

    /**
     * YaRN (Peng et al. 2023, equations 20 to 23): pairs that turn more than {@code betaFast} times within the original
     * context are kept, those that turn less than {@code betaSlow} times are divided by the factor, between them a ramp.
     *
     * @param magnitude factor on cosine and sine; the paper's is {@code 0.1 ln(factor) + 1}
     */
    static Scaling yarn(
            double theta,
            int dims,
            double factor,
            int originalPositions,
            double betaFast,
            double betaSlow,
            double magnitude) {
        double low = Math.max(Math.floor(pair(betaFast, theta, dims, originalPositions)), 0);
        double high = Math.min(Math.ceil(pair(betaSlow, theta, dims, originalPositions)), dims - 1);
        double width = high == low ? 0.001 : high - low;
        ImmutableList.Builder<Double> divisors = ImmutableList.builder();
        for (int i = 0; i < dims / 2; i++) {
            double ramp = Math.clamp((i - low) / width, 0, 1);
            divisors.add(1 / (ramp / factor + (1 - ramp)));
        }
        return new Scaling.PerPair(divisors.build(), magnitude);
    }

    /** The pair, not rounded, that turns so many times within the context. */
    private static double pair(double turns, double theta, int dims, int positions) {
        return dims * Math.log(positions / (turns * 2 * Math.PI)) / (2 * Math.log(theta));
    }
}

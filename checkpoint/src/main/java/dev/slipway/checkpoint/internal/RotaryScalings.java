// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableList;
import dev.slipway.lowering.DecoderConfig.Scaling;
import dev.slipway.lowering.LoweringException;

/** Scalings of rotary frequencies that come down to a divisor for each pair. */
final class RotaryScalings {
    private RotaryScalings() {}

    /**
     * How often pairs turn within the original context where YaRN's ramp begins and ends.
     *
     * @param fast pairs that turn more often are kept
     * @param slow those that turn less often are divided by the whole factor
     */
    record Turns(double fast, double slow) {
        static Turns read(Fields fields, String fastKey, String slowKey) {
            double fast = fields.positive(fastKey).orElse(32.0);
            double slow = fields.positive(slowKey).orElse(1.0);
            if (fast < slow) {
                throw fields.wrong(fastKey, fast, "at least %s, which is %s,".formatted(slowKey, slow));
            }
            return new Turns(fast, slow);
        }
    }

    /** YaRN's factor on cosine and sine for a stretch of 1 at least, as the paper recommends it for {@code weight} 1. */
    static double magnitude(double factor, double weight) {
        return 0.1 * weight * Math.log(factor) + 1;
    }

    /**
     * YaRN (Peng et al. 2023, equations 20 to 23): pairs that turn fast are kept, slow ones are divided by the factor,
     * between them a ramp.
     *
     * @param wholePairs whether the ramp begins and ends at whole pairs
     * @param magnitude factor on cosine and sine
     * @throws LoweringException if the base is 1 or less, so that pairs do not turn the slower the later they come
     */
    static Scaling yarn(
            double theta,
            int dims,
            double factor,
            int originalPositions,
            Turns turns,
            boolean wholePairs,
            double magnitude) {
        if (!(theta > 1)) {
            throw new LoweringException("YaRN on the rotary base %s; a base above 1 is expected".formatted(theta));
        }
        double first = pair(turns.fast(), theta, dims, originalPositions);
        double last = pair(turns.slow(), theta, dims, originalPositions);
        double low = Math.max(wholePairs ? Math.floor(first) : first, 0);
        double high = Math.min(wholePairs ? Math.ceil(last) : last, dims - 1);
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

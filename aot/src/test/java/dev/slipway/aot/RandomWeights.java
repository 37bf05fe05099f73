// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.lowering.ParameterSource;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;

/** Weights that every run draws alike. */
final class RandomWeights {
    static final ParameterSource F32 = (name, target, type) -> {
        SplittableRandom random = new SplittableRandom(name.hashCode());
        for (long i = 0; i < target.byteSize() / 4; i++) {
            target.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) random.nextGaussian(0, 0.2));
        }
    };

    private RandomWeights() {}
}

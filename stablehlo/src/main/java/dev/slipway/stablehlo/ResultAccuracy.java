// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.AttributePrinter;

/**
 * How exact the result of an elementwise function should be.
 *
 * @param atol the greatest absolute error
 * @param rtol the greatest relative error
 * @param ulps the greatest error in units in the last place
 * @param mode whether the tolerances count
 */
public record ResultAccuracy(double atol, double rtol, long ulps, ResultAccuracyMode mode) implements StructAttribute {
    /** The backend's usual accuracy. */
    public static final ResultAccuracy DEFAULT = new ResultAccuracy(0, 0, 0, ResultAccuracyMode.DEFAULT);

    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.AttributePrinter;

/**
 * How a dot_general is computed, in parts of lower precision.
 *
 * @param lhsPrecisionType the type that lhs is rounded to
 * @param rhsPrecisionType the type that rhs is rounded to
 * @param accumulationType the type that sums are kept in
 * @param lhsComponentCount how many parts lhs is split into
 * @param rhsComponentCount how many parts rhs is split into
 * @param numPrimitiveOperations how many products of parts are taken
 * @param allowImpreciseAccumulation whether some steps may accumulate less exactly
 */
public record DotAlgorithm(
        Type lhsPrecisionType,
        Type rhsPrecisionType,
        Type accumulationType,
        long lhsComponentCount,
        long rhsComponentCount,
        long numPrimitiveOperations,
        boolean allowImpreciseAccumulation)
        implements StructAttribute {
    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}

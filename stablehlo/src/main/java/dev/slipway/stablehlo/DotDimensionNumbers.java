// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.internal.AttributePrinter;

/**
 * Which dimensions a dot_general runs over.
 *
 * @param lhsBatchingDimensions batching dimensions of lhs
 * @param rhsBatchingDimensions batching dimensions of rhs, one for each of lhs
 * @param lhsContractingDimensions contracted dimensions of lhs
 * @param rhsContractingDimensions contracted dimensions of rhs, one for each of lhs
 */
public record DotDimensionNumbers(
        ImmutableLongArray lhsBatchingDimensions,
        ImmutableLongArray rhsBatchingDimensions,
        ImmutableLongArray lhsContractingDimensions,
        ImmutableLongArray rhsContractingDimensions)
        implements StructAttribute {

    /** Dimensions without batching: contracts one dimension of each side. */
    public static DotDimensionNumbers contracting(long lhs, long rhs) {
        return of(new long[0], new long[0], new long[] {lhs}, new long[] {rhs});
    }

    /** Dimension numbers from arrays: batching of lhs and rhs, then contracting of lhs and rhs. */
    public static DotDimensionNumbers of(
            long[] lhsBatching, long[] rhsBatching, long[] lhsContracting, long[] rhsContracting) {
        return new DotDimensionNumbers(
                ImmutableLongArray.copyOf(lhsBatching),
                ImmutableLongArray.copyOf(rhsBatching),
                ImmutableLongArray.copyOf(lhsContracting),
                ImmutableLongArray.copyOf(rhsContracting));
    }

    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.internal.AttributePrinter;

/**
 * Which dimensions a ragged_dot runs over.
 *
 * @param lhsBatchingDimensions batching dimensions of lhs
 * @param rhsBatchingDimensions batching dimensions of rhs
 * @param lhsContractingDimensions contracted dimensions of lhs
 * @param rhsContractingDimensions contracted dimensions of rhs
 * @param lhsRaggedDimensions the ragged dimension of lhs
 * @param rhsGroupDimensions the group dimensions of rhs
 */
public record RaggedDotDimensionNumbers(
        ImmutableLongArray lhsBatchingDimensions,
        ImmutableLongArray rhsBatchingDimensions,
        ImmutableLongArray lhsContractingDimensions,
        ImmutableLongArray rhsContractingDimensions,
        ImmutableLongArray lhsRaggedDimensions,
        ImmutableLongArray rhsGroupDimensions)
        implements StructAttribute {
    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}

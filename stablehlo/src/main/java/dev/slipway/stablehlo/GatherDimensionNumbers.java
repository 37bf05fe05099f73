// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.internal.AttributePrinter;

/**
 * How a gather reads its indices and places its slices.
 *
 * @param offsetDims dimensions of the result that a slice lies along
 * @param collapsedSliceDims dimensions of the operand, of slice size 1, that are left out
 * @param operandBatchingDims dimensions of the operand that go with those of the indices
 * @param startIndicesBatchingDims the dimensions of the indices that these go with
 * @param startIndexMap the dimension of the operand that each component of an index refers to
 * @param indexVectorDim the dimension of the indices along which an index lies
 */
public record GatherDimensionNumbers(
        ImmutableLongArray offsetDims,
        ImmutableLongArray collapsedSliceDims,
        ImmutableLongArray operandBatchingDims,
        ImmutableLongArray startIndicesBatchingDims,
        ImmutableLongArray startIndexMap,
        long indexVectorDim)
        implements StructAttribute {

    /** Dimension numbers from arrays, without batching dimensions. */
    public static GatherDimensionNumbers of(
            long[] offsetDims, long[] collapsedSliceDims, long[] startIndexMap, long indexVectorDim) {
        return new GatherDimensionNumbers(
                ImmutableLongArray.copyOf(offsetDims),
                ImmutableLongArray.copyOf(collapsedSliceDims),
                ImmutableLongArray.of(),
                ImmutableLongArray.of(),
                ImmutableLongArray.copyOf(startIndexMap),
                indexVectorDim);
    }

    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}

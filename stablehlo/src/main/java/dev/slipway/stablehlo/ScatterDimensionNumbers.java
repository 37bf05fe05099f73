// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.internal.AttributePrinter;

/**
 * How a scatter reads its indices and places its updates.
 *
 * @param updateWindowDims dimensions of the updates that a window lies along
 * @param insertedWindowDims dimensions of the input, of window size 1, that the updates leave out
 * @param inputBatchingDims dimensions of the input that go with those of the indices
 * @param scatterIndicesBatchingDims the dimensions of the indices that these go with
 * @param scatterDimsToOperandDims the dimension of the input that each component of an index refers to
 * @param indexVectorDim the dimension of the indices along which an index lies
 */
public record ScatterDimensionNumbers(
        ImmutableLongArray updateWindowDims,
        ImmutableLongArray insertedWindowDims,
        ImmutableLongArray inputBatchingDims,
        ImmutableLongArray scatterIndicesBatchingDims,
        ImmutableLongArray scatterDimsToOperandDims,
        long indexVectorDim)
        implements StructAttribute {

    /** Dimension numbers from arrays, without batching dimensions. */
    public static ScatterDimensionNumbers of(
            long[] updateWindowDims, long[] insertedWindowDims, long[] scatterDimsToOperandDims, long indexVectorDim) {
        return new ScatterDimensionNumbers(
                ImmutableLongArray.copyOf(updateWindowDims),
                ImmutableLongArray.copyOf(insertedWindowDims),
                ImmutableLongArray.of(),
                ImmutableLongArray.of(),
                ImmutableLongArray.copyOf(scatterDimsToOperandDims),
                indexVectorDim);
    }

    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}

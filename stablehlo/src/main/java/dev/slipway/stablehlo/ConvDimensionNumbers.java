// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.internal.AttributePrinter;

/**
 * What the dimensions of input, kernel and output of a convolution stand for.
 *
 * @param inputBatchDimension batch dimension of the input
 * @param inputFeatureDimension feature dimension of the input
 * @param inputSpatialDimensions spatial dimensions of the input
 * @param kernelInputFeatureDimension input feature dimension of the kernel
 * @param kernelOutputFeatureDimension output feature dimension of the kernel
 * @param kernelSpatialDimensions spatial dimensions of the kernel
 * @param outputBatchDimension batch dimension of the output
 * @param outputFeatureDimension feature dimension of the output
 * @param outputSpatialDimensions spatial dimensions of the output
 */
public record ConvDimensionNumbers(
        long inputBatchDimension,
        long inputFeatureDimension,
        ImmutableLongArray inputSpatialDimensions,
        long kernelInputFeatureDimension,
        long kernelOutputFeatureDimension,
        ImmutableLongArray kernelSpatialDimensions,
        long outputBatchDimension,
        long outputFeatureDimension,
        ImmutableLongArray outputSpatialDimensions)
        implements StructAttribute {
    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}

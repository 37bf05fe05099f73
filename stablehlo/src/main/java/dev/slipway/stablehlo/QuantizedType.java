// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableDoubleArray;
import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.internal.AttributePrinter;

/**
 * A uniformly quantized number: {@code real = (stored - zeroPoint) * scale}.
 *
 * @param storage the type that is stored
 * @param expressed the type that is meant
 * @param storageMin the least stored value
 * @param storageMax the greatest stored value
 * @param axes the dimensions along which scales and zero points differ: none (one scale for the tensor), one (per
 *     axis), or several (blocks)
 * @param blockSizes where there are several axes, the size of a block along each; empty otherwise
 * @param scaleShape for blocks, the shape of the array of scales; empty otherwise
 * @param scales one for the tensor, one for each index along the axis, or one for each block
 * @param zeroPoints as many as scales
 */
public record QuantizedType(
        IntegerType storage,
        FloatType expressed,
        long storageMin,
        long storageMax,
        ImmutableList<Integer> axes,
        ImmutableLongArray blockSizes,
        ImmutableLongArray scaleShape,
        ImmutableDoubleArray scales,
        ImmutableLongArray zeroPoints)
        implements ElementType {

    /** Quantization with one scale and zero point for the whole tensor and all of the storage type's range. */
    public static QuantizedType perTensor(IntegerType storage, FloatType expressed, double scale, long zeroPoint) {
        return new QuantizedType(
                storage,
                expressed,
                defaultMin(storage),
                defaultMax(storage),
                ImmutableList.of(),
                ImmutableLongArray.of(),
                ImmutableLongArray.of(),
                ImmutableDoubleArray.of(scale),
                ImmutableLongArray.of(zeroPoint));
    }

    /** The least value of a storage type. */
    public static long defaultMin(IntegerType storage) {
        return storage.isUnsigned() ? 0 : -(1L << (storage.width() - 1));
    }

    /** The greatest value of a storage type. */
    public static long defaultMax(IntegerType storage) {
        return storage.isUnsigned() ? (1L << storage.width()) - 1 : (1L << (storage.width() - 1)) - 1;
    }

    /** Whether scales differ along one axis. */
    public boolean isPerAxis() {
        return axes.size() == 1 && blockSizes.isEmpty();
    }

    /** Whether there is one scale for the whole tensor. */
    public boolean isPerTensor() {
        return axes.isEmpty();
    }

    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.internal.AttributePrinter;

/**
 * The encoding of a tensor type with bounds for its dynamic dimensions.
 *
 * @param bounds one for each dimension; {@link TensorType#DYNAMIC} where there is none
 */
public record TypeExtensions(ImmutableLongArray bounds) implements StructAttribute {

    /**
     * Bounds of dynamic dimensions.
     *
     * @param bounds one for each dimension; {@link TensorType#DYNAMIC} where there is none
     */
    public static TypeExtensions of(long... bounds) {
        return new TypeExtensions(ImmutableLongArray.copyOf(bounds));
    }

    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}

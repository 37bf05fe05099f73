// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.internal.AttributePrinter;
import org.jspecify.annotations.Nullable;

/**
 * A tensor of a known rank.
 *
 * @param element the type of its elements
 * @param shape the size of each dimension; {@link #DYNAMIC} where it is known at run time only
 * @param encoding what else is known, e.g. {@link TypeExtensions bounds} of dynamic dimensions; mostly null
 */
public record TensorType(
        ElementType element,
        ImmutableLongArray shape,
        @Nullable Attribute encoding) implements Type {

    /** The size of a dimension that is known at run time only; {@code ?} in text. */
    public static final long DYNAMIC = Long.MIN_VALUE;

    /** @throws IllegalArgumentException if a size is negative and not {@link #DYNAMIC} */
    public TensorType {
        for (int i = 0; i < shape.length(); i++) {
            if (shape.get(i) < 0 && shape.get(i) != DYNAMIC) {
                throw new IllegalArgumentException("dimension " + i + " of a tensor has the size " + shape.get(i)
                        + "; expected zero or more, or TensorType.DYNAMIC");
            }
        }
    }

    /**
     * A tensor type, e.g. {@code TensorType.of(ElementType.F32, 2, 3)} for {@code tensor<2x3xf32>}; without sizes a
     * scalar.
     *
     * @throws IllegalArgumentException if a size is negative and not {@link #DYNAMIC}
     */
    public static TensorType of(ElementType element, long... shape) {
        return new TensorType(element, ImmutableLongArray.copyOf(shape), null);
    }

    /** A tensor type. */
    public static TensorType of(ElementType element, ImmutableLongArray shape) {
        return new TensorType(element, shape, null);
    }

    /** Number of dimensions. */
    public int rank() {
        return shape.length();
    }

    /** Size of a dimension; {@link #DYNAMIC} where it is not known. */
    public long dim(int index) {
        return shape.get(index);
    }

    /** Whether the size of every dimension is known. */
    public boolean isStatic() {
        for (int i = 0; i < shape.length(); i++) {
            if (shape.get(i) == DYNAMIC) {
                return false;
            }
        }
        return true;
    }

    /** Whether the size of a dimension is not known. */
    public boolean isDynamic(int dimension) {
        return shape.get(dimension) == DYNAMIC;
    }

    /**
     * Number of elements.
     *
     * @throws ArithmeticException if it does not fit a long
     * @throws IllegalStateException if a dimension is dynamic
     */
    public long elementCount() {
        long count = 1;
        for (int i = 0; i < shape.length(); i++) {
            if (shape.get(i) == DYNAMIC) {
                throw new IllegalStateException("the number of elements of " + this + " is not known");
            }
            count = Math.multiplyExact(count, shape.get(i));
        }
        return count;
    }

    /** This type with other elements. */
    public TensorType withElement(ElementType other) {
        return new TensorType(other, shape, encoding);
    }

    /** This type with another shape, and without an encoding. */
    public TensorType withShape(long... other) {
        return new TensorType(element, ImmutableLongArray.copyOf(other), null);
    }

    /** The bound of a dynamic dimension, or {@link #DYNAMIC} where there is none. */
    public long bound(int dimension) {
        return encoding instanceof TypeExtensions extensions
                        && dimension < extensions.bounds().length()
                ? extensions.bounds().get(dimension)
                : DYNAMIC;
    }

    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.AttributePrinter;

/**
 * An integer type.
 *
 * @param width in bits, at least 1
 * @param signedness how the bits are read
 */
public record IntegerType(int width, Signedness signedness) implements ElementType {

    /** The greatest width that is understood: MLIR's own limit. */
    public static final int MAX_WIDTH = (1 << 24) - 1;

    /** How the bits of an integer are read. */
    public enum Signedness {
        /** It is up to the operation; {@code i32}. */
        SIGNLESS,
        /** Two's complement; {@code si32}. */
        SIGNED,
        /** Not negative; {@code ui32}. */
        UNSIGNED
    }

    /** @throws IllegalArgumentException if the width is not between 1 and {@link #MAX_WIDTH} */
    public IntegerType {
        if (width < 1 || width > MAX_WIDTH) {
            throw new IllegalArgumentException("an integer type has 1 to " + MAX_WIDTH + " bits, not " + width);
        }
    }

    /** A signless integer type. */
    public static IntegerType of(int width) {
        return new IntegerType(width, Signedness.SIGNLESS);
    }

    /** An unsigned integer type. */
    public static IntegerType unsigned(int width) {
        return new IntegerType(width, Signedness.UNSIGNED);
    }

    /** Whether values of this type cannot be negative. The boolean counts as unsigned. */
    public boolean isUnsigned() {
        return signedness == Signedness.UNSIGNED || (width == 1 && signedness == Signedness.SIGNLESS);
    }

    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}

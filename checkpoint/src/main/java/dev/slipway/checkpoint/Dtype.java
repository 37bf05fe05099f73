// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import dev.slipway.stablehlo.ElementType;

/** The element types in which weights are handed out, little-endian. */
public enum Dtype {
    /** IEEE 754 single precision. */
    F32(4),
    /** The upper half of a single, rounded to nearest, ties to even. */
    BF16(2);

    private final int bytes;

    Dtype(int bytes) {
        this.bytes = bytes;
    }

    /** Bytes of one element. */
    public int bytes() {
        return bytes;
    }

    /** What programs call it. */
    public ElementType element() {
        return switch (this) {
            case F32 -> ElementType.F32;
            case BF16 -> ElementType.BF16;
        };
    }
}

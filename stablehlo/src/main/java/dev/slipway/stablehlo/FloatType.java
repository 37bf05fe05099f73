// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

/** A floating-point type. */
public enum FloatType implements ElementType {
    /** 4 bits: 2 exponent, 1 mantissa, finite only. */
    F4E2M1FN("f4E2M1FN", 4, 2, 1, 1, Special.FINITE),
    /** 6 bits: 2 exponent, 3 mantissa, finite only. */
    F6E2M3FN("f6E2M3FN", 6, 2, 3, 1, Special.FINITE),
    /** 6 bits: 3 exponent, 2 mantissa, finite only. */
    F6E3M2FN("f6E3M2FN", 6, 3, 2, 3, Special.FINITE),
    /** 8 bits: 3 exponent, 4 mantissa, IEEE rules. */
    F8E3M4("f8E3M4", 8, 3, 4, 3, Special.IEEE),
    /** 8 bits: 4 exponent, 3 mantissa, IEEE rules. */
    F8E4M3("f8E4M3", 8, 4, 3, 7, Special.IEEE),
    /** 8 bits: 4 exponent, 3 mantissa, no infinities, NaN where all bits are set. */
    F8E4M3FN("f8E4M3FN", 8, 4, 3, 7, Special.NAN_ALL_ONES),
    /** 8 bits: 4 exponent, 3 mantissa, no infinities, NaN where others have minus zero. */
    F8E4M3FNUZ("f8E4M3FNUZ", 8, 4, 3, 8, Special.NAN_NEGATIVE_ZERO),
    /** 8 bits: 4 exponent, 3 mantissa, bias 11, no infinities, NaN where others have minus zero. */
    F8E4M3B11FNUZ("f8E4M3B11FNUZ", 8, 4, 3, 11, Special.NAN_NEGATIVE_ZERO),
    /** 8 bits: 5 exponent, 2 mantissa, IEEE rules. */
    F8E5M2("f8E5M2", 8, 5, 2, 15, Special.IEEE),
    /** 8 bits: 5 exponent, 2 mantissa, no infinities, NaN where others have minus zero. */
    F8E5M2FNUZ("f8E5M2FNUZ", 8, 5, 2, 16, Special.NAN_NEGATIVE_ZERO),
    /** 8 bits: an unsigned power of two; NaN where all bits are set. */
    F8E8M0FNU("f8E8M0FNU", 8, 8, 0, 127, Special.POWER_OF_TWO),
    /** Brain float, 16 bits. */
    BF16("bf16", 16, 8, 7, 127, Special.IEEE),
    /** IEEE half, 16 bits. */
    F16("f16", 16, 5, 10, 15, Special.IEEE),
    /** TensorFloat-32: 19 bits. */
    TF32("tf32", 19, 8, 10, 127, Special.IEEE),
    /** IEEE single, 32 bits. */
    F32("f32", 32, 8, 23, 127, Special.IEEE),
    /** IEEE double, 64 bits. */
    F64("f64", 64, 11, 52, 1023, Special.IEEE);

    /** What the greatest exponent and the sign of zero stand for. */
    public enum Special {
        /** Infinities and NaNs have the greatest exponent. */
        IEEE,
        /** There are neither infinities nor NaNs. */
        FINITE,
        /** No infinities; NaN has all exponent and mantissa bits set. */
        NAN_ALL_ONES,
        /** No infinities; the pattern of minus zero is NaN. */
        NAN_NEGATIVE_ZERO,
        /** No sign, no mantissa, no zero; NaN has all bits set. */
        POWER_OF_TWO
    }

    private final String text;
    private final int width;
    private final int exponentBits;
    private final int mantissaBits;
    private final int bias;
    private final Special special;

    FloatType(String text, int width, int exponentBits, int mantissaBits, int bias, Special special) {
        this.text = text;
        this.width = width;
        this.exponentBits = exponentBits;
        this.mantissaBits = mantissaBits;
        this.bias = bias;
        this.special = special;
    }

    /** Width in bits. */
    public int width() {
        return width;
    }

    /** Number of exponent bits. */
    public int exponentBits() {
        return exponentBits;
    }

    /** Number of mantissa bits, without the implied one. */
    public int mantissaBits() {
        return mantissaBits;
    }

    /** What is subtracted from the exponent's bits. */
    public int bias() {
        return bias;
    }

    /** What the extreme bit patterns stand for. */
    public Special special() {
        return special;
    }

    @Override
    public String toString() {
        return text;
    }
}

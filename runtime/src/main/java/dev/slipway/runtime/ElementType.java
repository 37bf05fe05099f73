// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import java.util.Arrays;

/**
 * The element types of PJRT buffers, in the order of the C enum {@code PJRT_Buffer_Type}: {@link #code()} is the constant there.
 *
 * <p>Types narrower than a byte are one element a byte, in the low bits, on the host and packed on the device: see
 * {@link #hostBytes}.
 */
public enum ElementType {
    /** A truth value, one byte: 0 or 1. */
    PRED("i1", 8, 1),
    S8("i8", 8, 2),
    S16("i16", 16, 3),
    S32("i32", 32, 4),
    S64("i64", 64, 5),
    U8("ui8", 8, 6),
    U16("ui16", 16, 7),
    U32("ui32", 32, 8),
    U64("ui64", 64, 9),
    F16("f16", 16, 10),
    F32("f32", 32, 11),
    F64("f64", 64, 12),
    BF16("bf16", 16, 13),
    /** Complex of two {@link #F32}, real part first. */
    C64("complex<f32>", 64, 14),
    /** Complex of two {@link #F64}, real part first. */
    C128("complex<f64>", 128, 15),
    F8E5M2("f8E5M2", 8, 16),
    F8E4M3FN("f8E4M3FN", 8, 17),
    F8E4M3B11FNUZ("f8E4M3B11FNUZ", 8, 18),
    F8E5M2FNUZ("f8E5M2FNUZ", 8, 19),
    F8E4M3FNUZ("f8E4M3FNUZ", 8, 20),
    S4("i4", 4, 21),
    U4("ui4", 4, 22),
    /** No data: orders side effects. */
    TOKEN("!stablehlo.token", 0, 23),
    S2("i2", 2, 24),
    U2("ui2", 2, 25),
    F8E4M3("f8E4M3", 8, 26),
    F8E3M4("f8E3M4", 8, 27),
    F8E8M0FNU("f8E8M0FNU", 8, 28),
    F4E2M1FN("f4E2M1FN", 4, 29),
    S1("i1", 1, 30),
    U1("ui1", 1, 31),
    F6E2M3FN("f6E2M3FN", 6, 32),
    F6E3M2FN("f6E3M2FN", 6, 33);

    private static final int BASELINE = 57;
    private static final ElementType[] BY_CODE = byCode();

    private final String mlir;
    private final int bits;
    private final int code;

    ElementType(String mlir, int bits, int code) {
        this.mlir = mlir;
        this.bits = bits;
        this.code = code;
    }

    private static ElementType[] byCode() {
        ElementType[] table = new ElementType[34];
        Arrays.stream(values()).forEach(type -> table[type.code] = type);
        return table;
    }

    /** The constant of {@code PJRT_Buffer_Type}. */
    public int code() {
        return code;
    }

    /** The minor version of the C API that added it ({@value #BASELINE}: that or earlier); an older plugin crashes on it. */
    public int since() {
        return switch (this) {
            case F8E8M0FNU, F4E2M1FN -> 63;
            case S1, U1 -> 94;
            case F6E2M3FN, F6E3M2FN -> 114;
            default -> BASELINE;
        };
    }

    /** How StableHLO's text spells the type. */
    public String mlir() {
        return mlir;
    }

    /** Bits of one element's value; 8 for {@link #PRED}. */
    public int bits() {
        return bits;
    }

    /** Bytes that one element takes in host memory: types narrower than a byte take one. */
    public int hostBytes() {
        return (bits + 7) / 8;
    }

    /**
     * The type of a C constant.
     *
     * @throws UsageException.BadArgument if there is none, as for {@code PJRT_Buffer_Type_INVALID}
     */
    public static ElementType of(int code) {
        if (code < 1 || code >= BY_CODE.length) {
            throw new UsageException.BadArgument("PJRT element type " + code + " is unknown: 1 to "
                    + (BY_CODE.length - 1) + " are known; a newer plugin may need a newer Slipway");
        }
        return BY_CODE[code];
    }
}

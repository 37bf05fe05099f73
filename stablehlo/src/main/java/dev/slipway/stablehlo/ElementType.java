// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

/**
 * The type of a tensor's elements.
 *
 * <p>Signless integers ({@link #I32}) are read as signed by the operations that care; unsigned ones are a type of their
 * own ({@link #UI32}); {@link #I1} is the boolean.
 */
public sealed interface ElementType extends Type
        permits IntegerType, FloatType, ComplexType, QuantizedType, Type.Index, Type.Opaque {
    /** Boolean. */
    ElementType I1 = IntegerType.of(1);
    /** Signed integer of 2 bits. */
    ElementType I2 = IntegerType.of(2);
    /** Signed integer of 4 bits. */
    ElementType I4 = IntegerType.of(4);
    /** Signed integer of 8 bits. */
    ElementType I8 = IntegerType.of(8);
    /** Signed integer of 16 bits. */
    ElementType I16 = IntegerType.of(16);
    /** Signed integer of 32 bits. */
    ElementType I32 = IntegerType.of(32);
    /** Signed integer of 64 bits. */
    ElementType I64 = IntegerType.of(64);
    /** Unsigned integer of 2 bits. */
    ElementType UI2 = IntegerType.unsigned(2);
    /** Unsigned integer of 4 bits. */
    ElementType UI4 = IntegerType.unsigned(4);
    /** Unsigned integer of 8 bits. */
    ElementType UI8 = IntegerType.unsigned(8);
    /** Unsigned integer of 16 bits. */
    ElementType UI16 = IntegerType.unsigned(16);
    /** Unsigned integer of 32 bits. */
    ElementType UI32 = IntegerType.unsigned(32);
    /** Unsigned integer of 64 bits. */
    ElementType UI64 = IntegerType.unsigned(64);
    /** Brain float: the upper half of an IEEE single. */
    ElementType BF16 = FloatType.BF16;
    /** IEEE half precision. */
    ElementType F16 = FloatType.F16;
    /** IEEE single precision. */
    ElementType F32 = FloatType.F32;
    /** IEEE double precision. */
    ElementType F64 = FloatType.F64;
    /** 8-bit float, 4 exponent and 3 mantissa bits, finite numbers and NaN only. */
    ElementType F8E4M3FN = FloatType.F8E4M3FN;
    /** 8-bit float, 5 exponent and 2 mantissa bits. */
    ElementType F8E5M2 = FloatType.F8E5M2;
    /** Complex of two singles. */
    ElementType COMPLEX64 = new ComplexType(FloatType.F32);
    /** Complex of two doubles. */
    ElementType COMPLEX128 = new ComplexType(FloatType.F64);

    // No default methods here: they would make this interface's constants part of the initialisation of FloatType,
    // which they refer to.
}

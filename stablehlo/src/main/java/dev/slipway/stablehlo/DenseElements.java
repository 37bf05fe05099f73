// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.AttributePrinter;
import dev.slipway.stablehlo.internal.Floats;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The elements of a constant tensor, in row-major order, or one element for all (a splat).
 *
 * <p>Every element takes whole bytes, little-endian: booleans and integers or floats of less than 8 bits one byte, complex
 * numbers two parts.
 */
public final class DenseElements implements Attribute {
    private final TensorType type;
    private final byte[] data;
    private final boolean splat;

    private DenseElements(TensorType type, byte[] data, boolean splat) {
        this.type = type;
        this.data = data;
        this.splat = splat;
    }

    /**
     * Elements from bytes, which are copied; the bytes of one element are a splat.
     *
     * @throws IrException if the number of bytes is not that of the type or of one element
     */
    public static DenseElements ofBytes(TensorType type, byte[] data) {
        return wrap(type, data.clone());
    }

    /** Elements from bytes that the caller does not change any more. */
    static DenseElements wrap(TensorType type, byte[] data) {
        int size = elementBytes(type.element());
        long count = type.elementCount();
        if (data.length == size && count != 0) {
            return new DenseElements(type, data, true);
        }
        if (data.length != size * count) {
            throw new IrException("a constant of type " + type + " takes " + size * count + " bytes, or " + size
                    + " for a splat; got " + data.length);
        }
        return count != 0 && repeats(data, size)
                ? new DenseElements(type, Arrays.copyOf(data, size), true)
                : new DenseElements(type, data, false);
    }

    /** Whether the data is one element again and again: whether each byte equals that one element further on. */
    private static boolean repeats(byte[] data, int size) {
        return Arrays.equals(data, 0, data.length - size, data, size, data.length);
    }

    /** All elements from 64-bit integers. */
    public static DenseElements ofLongs(TensorType type, long... values) {
        int size = elementBytes(type.element());
        ByteBuffer buffer = ByteBuffer.allocate(values.length * size).order(ByteOrder.LITTLE_ENDIAN);
        for (long value : values) {
            putBits(buffer, size, narrow(value, type.element()));
        }
        return wrap(type, buffer.array());
    }

    /** All elements, of a floating-point, integer or complex type (then real parts), from doubles, rounded to even. */
    public static DenseElements ofDoubles(TensorType type, double... values) {
        int size = elementBytes(type.element());
        ByteBuffer buffer = ByteBuffer.allocate(values.length * size).order(ByteOrder.LITTLE_ENDIAN);
        for (double value : values) {
            putNumber(buffer, type.element(), value);
        }
        return wrap(type, buffer.array());
    }

    /** All elements from floats, rounded to the element type. */
    public static DenseElements ofFloats(TensorType type, float... values) {
        int size = elementBytes(type.element());
        ByteBuffer buffer = ByteBuffer.allocate(values.length * size).order(ByteOrder.LITTLE_ENDIAN);
        if (type.element() == FloatType.F32) {
            buffer.asFloatBuffer().put(values);
        } else {
            for (float value : values) {
                putNumber(buffer, type.element(), value);
            }
        }
        return wrap(type, buffer.array());
    }

    /** The same number for every element, rounded to the element type. */
    public static DenseElements splat(TensorType type, double value) {
        ByteBuffer buffer = ByteBuffer.allocate(elementBytes(type.element())).order(ByteOrder.LITTLE_ENDIAN);
        putNumber(buffer, type.element(), value);
        return wrap(type, type.elementCount() == 0 ? new byte[0] : buffer.array());
    }

    /** The same integer for every element. */
    public static DenseElements splat(TensorType type, long value) {
        if (!(type.element() instanceof IntegerType) && !(type.element() instanceof Type.Index)) {
            return splat(type, (double) value);
        }
        int size = elementBytes(type.element());
        ByteBuffer buffer = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
        putBits(buffer, size, narrow(value, type.element()));
        return wrap(type, type.elementCount() == 0 ? new byte[0] : buffer.array());
    }

    private static void putNumber(ByteBuffer buffer, ElementType element, double value) {
        switch (element) {
            case FloatType floating -> putBits(buffer, elementBytes(floating), Floats.fromDouble(value, floating));
            case ComplexType complex -> {
                putNumber(buffer, complex.element(), value);
                putNumber(buffer, complex.element(), 0);
            }
            default -> putBits(buffer, elementBytes(element), narrow((long) value, element));
        }
    }

    private static long narrow(long value, ElementType element) {
        if (!(element instanceof IntegerType integer) || integer.width() >= 64) {
            return value;
        }
        if (integer.width() == 1) {
            return value & 1;
        }
        return value & ((1L << integer.width()) - 1);
    }

    private static void putBits(ByteBuffer buffer, int size, long bits) {
        for (int i = 0; i < size; i++) {
            buffer.put((byte) (i < 8 ? bits >>> (8 * i) : bits >> 63));
        }
    }

    /**
     * How many bytes one element takes.
     *
     * @throws IrException if constants of the type cannot be held
     */
    public static int elementBytes(ElementType element) {
        return switch (element) {
            case IntegerType integer -> (integer.width() + 7) / 8;
            case FloatType floating -> (floating.width() + 7) / 8;
            case ComplexType complex -> 2 * elementBytes(complex.element());
            case Type.Index _ -> 8;
            default -> throw new IrException("a constant cannot have elements of type " + element);
        };
    }

    /** The type of the tensor. */
    public TensorType type() {
        return type;
    }

    /** Whether one element stands for all. */
    public boolean isSplat() {
        return splat;
    }

    /** Number of elements of the tensor. */
    public long size() {
        return type.elementCount();
    }

    /** Number of elements that are held: 1 for a splat. */
    public int storedSize() {
        return data.length == 0 ? 0 : data.length / elementBytes(type.element());
    }

    /** The bytes, read-only and little-endian: those of one element for a splat, of all otherwise. */
    public ByteBuffer bytes() {
        return ByteBuffer.wrap(data).asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
    }

    /**
     * The bits of an element, or of one part of a complex element.
     *
     * @param index the element, in row-major order
     * @param part 0; for the imaginary part 1
     */
    public long bits(long index, int part) {
        int size = elementBytes(type.element());
        int partSize = type.element() instanceof ComplexType ? size / 2 : size;
        int at = Math.toIntExact((splat ? 0 : index) * size) + part * partSize;
        long bits = 0;
        for (int i = 0; i < Math.min(8, partSize); i++) {
            bits |= (data[at + i] & 0xFFL) << (8 * i);
        }
        return bits;
    }

    /** An element of an integer or index type: sign-extended where it is signless or signed and no boolean. */
    public long longAt(long index) {
        long bits = bits(index, 0);
        if (type.element() instanceof IntegerType integer
                && !integer.isUnsigned()
                && !integer.equals(ElementType.I1)
                && integer.width() < 64) {
            int shift = 64 - integer.width();
            return bits << shift >> shift;
        }
        return bits;
    }

    /** An element as a double; the real part of a complex one. */
    public double doubleAt(long index) {
        return switch (type.element()) {
            case FloatType floating -> Floats.toDouble(bits(index, 0), floating);
            case ComplexType complex
            when complex.element() instanceof FloatType floating -> Floats.toDouble(bits(index, 0), floating);
            default -> longAt(index);
        };
    }

    /** All elements of an integer type. */
    public long[] toLongs() {
        long[] values = new long[Math.toIntExact(size())];
        for (int i = 0; i < values.length; i++) {
            values[i] = longAt(i);
        }
        return values;
    }

    /** These elements, in order, with another type of as many elements of the same size. */
    public DenseElements withType(TensorType other) {
        return wrap(other, data);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof DenseElements that
                && type.equals(that.type)
                && splat == that.splat
                && Arrays.equals(data, that.data);
    }

    @Override
    public int hashCode() {
        return type.hashCode() * 31 + Arrays.hashCode(data);
    }

    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}

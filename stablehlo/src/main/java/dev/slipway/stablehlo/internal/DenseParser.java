// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.ComplexType;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.IntegerType;
import dev.slipway.stablehlo.IrException;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** {@code dense<...> : type}: the elements come first, but only the type says how to read them. */
final class DenseParser {
    private final AttributeParser attributes;
    private final Scanner in;
    private byte[] data = new byte[64];
    private int size;

    DenseParser(AttributeParser attributes) {
        this.attributes = attributes;
        this.in = attributes.in;
    }

    Attribute parse() {
        in.skip();
        int open = in.at;
        in.skipBalanced();
        in.expect(':');
        Type type = attributes.types().type();
        int end = in.at;
        if (!(type instanceof TensorType tensor)) {
            if (type instanceof Type.Opaque || type instanceof Type.Buffer) {
                return new Attribute.Opaque("dense" + in.slice(open));
            }
            throw in.errorAt("a constant has the type of a tensor, got " + type, open);
        }
        if (!tensor.isStatic()) {
            throw in.errorAt("a constant has a static shape, got " + tensor, open);
        }
        in.at = open;
        in.expect('<');
        if (tensor.element() instanceof Type.Opaque) {
            in.at = end;
            return new Attribute.Opaque("dense" + in.slice(open));
        }
        DenseElements elements = elements(tensor, open);
        in.expect('>');
        in.at = end;
        return elements;
    }

    private DenseElements elements(TensorType type, int open) {
        int bytes;
        long count;
        try {
            bytes = DenseElements.elementBytes(type.element());
            count = type.elementCount();
        } catch (IrException | ArithmeticException e) {
            throw in.errorAt(String.valueOf(e.getMessage()), open);
        }
        char c = in.peek();
        if (c == '>') {
            if (count != 0) {
                throw in.errorAt("the constant has no elements, but its type " + type + " has " + count, open);
            }
            return DenseElements.ofBytes(type, new byte[0]);
        }
        if (c == '"') {
            return hexadecimal(type, count, bytes, open);
        }
        if (c != '[') {
            element(type.element());
            return DenseElements.ofBytes(type, count == 0 ? new byte[0] : Arrays.copyOf(data, size));
        }
        List<Long> shape = new ArrayList<>();
        nested(type.element(), 0, shape);
        long[] sizes = shape.stream().mapToLong(Long::longValue).toArray();
        boolean emptyTail = count == 0 && size == 0;
        if (!emptyTail && !Arrays.equals(sizes, type.shape().toArray())) {
            throw in.errorAt(
                    "the elements have the shape " + Arrays.toString(sizes) + ", but the type is " + type, open);
        }
        if (size != count * bytes) {
            throw in.errorAt(
                    "the constant has " + size / bytes + " elements, but its type " + type + " has " + count, open);
        }
        return DenseElements.ofBytes(type, Arrays.copyOf(data, size));
    }

    private DenseElements hexadecimal(TensorType type, long count, int bytes, int open) {
        int start = in.at + 1;
        byte[] text = in.text;
        if (start + 1 >= text.length || text[start] != '0' || text[start + 1] != 'x') {
            throw in.errorAt("the bytes of a constant start with 0x", open);
        }
        int end = start + 2;
        while (end < text.length && text[end] != '"') {
            end++;
        }
        int digits = end - start - 2;
        if (digits % 2 != 0) {
            throw in.errorAt("the bytes of a constant have an odd number of digits", open);
        }
        byte[] raw = new byte[digits / 2];
        for (int i = 0; i < raw.length; i++) {
            int high = Character.digit(text[start + 2 + 2 * i], 16);
            int low = Character.digit(text[start + 3 + 2 * i], 16);
            if (high < 0 || low < 0) {
                throw in.errorAt("the bytes of a constant are not hexadecimal", start + 2 + 2 * i);
            }
            raw[i] = (byte) (high << 4 | low);
        }
        in.at = Math.min(end + 1, text.length);
        if (type.element().equals(ElementType.I1)
                && count > 1
                && raw.length != count
                && raw.length == (count + 7) / 8) {
            // Booleans of older writers are packed, eight to a byte.
            byte[] unpacked = new byte[Math.toIntExact(count)];
            for (int i = 0; i < unpacked.length; i++) {
                unpacked[i] = (byte) (raw[i / 8] >> (i % 8) & 1);
            }
            raw = unpacked;
        }
        if (raw.length != bytes && raw.length != count * bytes) {
            throw in.errorAt(
                    "a constant of type " + type + " takes " + count * bytes + " bytes, got " + raw.length, open);
        }
        if (type.element().equals(ElementType.I1)) {
            for (int i = 0; i < raw.length; i++) {
                raw[i] = (byte) (raw[i] == 0 ? 0 : 1);
            }
        }
        return DenseElements.ofBytes(type, raw);
    }

    private void nested(ElementType element, int depth, List<Long> shape) {
        in.enter();
        in.expect('[');
        long count = 0;
        if (!in.accept(']')) {
            do {
                if (in.peek() == '[') {
                    nested(element, depth + 1, shape);
                } else {
                    element(element);
                }
                count++;
            } while (in.accept(','));
            in.expect(']');
        }
        while (shape.size() <= depth) {
            shape.add(-1L);
        }
        if (shape.get(depth) >= 0 && shape.get(depth) != count) {
            throw in.error("the lists of a constant differ in length, " + shape.get(depth) + " and " + count);
        }
        shape.set(depth, count);
        in.leave();
    }

    private void element(ElementType element) {
        if (element instanceof ComplexType complex) {
            in.expect('(');
            scalar(complex.element());
            in.expect(',');
            scalar(complex.element());
            in.expect(')');
        } else {
            scalar(element);
        }
    }

    private void scalar(ElementType element) {
        in.skip();
        int start = in.at;
        long bits;
        if (in.acceptWord("true")) {
            bits = 1;
            checkBoolean(element, start);
        } else if (in.acceptWord("false")) {
            bits = 0;
            checkBoolean(element, start);
        } else if (element instanceof FloatType floating) {
            AttributeParser.Numeral number = attributes.number();
            if (!number.isFloat() && !number.isHex()) {
                throw in.errorAt("expected a number with a decimal point, got " + number.text(), start);
            }
            bits = attributes.floatBits(number, floating, start);
        } else {
            AttributeParser.Numeral number = attributes.number();
            if (number.isFloat()) {
                throw in.errorAt("expected an integer, got " + number.text(), start);
            }
            if (element instanceof IntegerType integer && integer.width() > 64) {
                throw in.errorAt("integers of more than 64 bits cannot be held", start);
            }
            bits = attributes.integerValue(number, element, start);
            if (element instanceof IntegerType integer && integer.width() < 64) {
                bits &= (1L << integer.width()) - 1;
            }
        }
        int bytes = DenseElements.elementBytes(element);
        if (size + bytes > data.length) {
            data = Arrays.copyOf(data, data.length * 2);
        }
        for (int i = 0; i < bytes; i++) {
            data[size++] = (byte) (bits >>> (8 * i));
        }
    }

    private void checkBoolean(ElementType element, int start) {
        if (!element.equals(ElementType.I1)) {
            throw in.errorAt("true and false are elements of type i1, not " + element, start);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal.hlo;

import com.google.protobuf.CodedInputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** {@code LiteralProto}s as XLA writes small constants; large ones are {@code {...}}. */
final class Literals {

    /** XLA elides what has more elements. */
    private static final int MOST = 10;

    private Literals() {}

    /** The constant's value, or dots. */
    static String text(ProtoReader literal) {
        ProtoReader shape = literal.message(1).orElseThrow();
        List<Long> sizes = shape.numbers(3);
        long count = sizes.stream().reduce(1L, Math::multiplyExact);
        Optional<List<String>> values = count > MOST ? Optional.empty() : values(literal, (int) shape.number(2));
        if (values.isEmpty() || values.get().size() != count) {
            return "{...}";
        }
        return nest(values.get(), sizes, strides(shape, sizes), 0, 0);
    }

    /** How far apart neighbours of each dimension stand: values are kept in the order of the layout. */
    private static long[] strides(ProtoReader shape, List<Long> sizes) {
        List<Long> order = shape.message(5).map(layout -> layout.numbers(1)).orElse(List.of());
        long[] strides = new long[sizes.size()];
        long stride = 1;
        for (int i = 0; i < sizes.size(); i++) {
            int dimension = order.size() == sizes.size() ? order.get(i).intValue() : sizes.size() - 1 - i;
            strides[dimension] = stride;
            stride *= sizes.get(dimension);
        }
        return strides;
    }

    private static String nest(List<String> values, List<Long> sizes, long[] strides, int dimension, long at) {
        int left = sizes.size() - dimension;
        if (left == 0) {
            return values.get((int) at);
        }
        List<String> parts = new ArrayList<>();
        for (long i = 0; i < sizes.get(dimension); i++) {
            parts.add(nest(values, sizes, strides, dimension + 1, at + i * strides[dimension]));
        }
        // XLA sets no blanks in a vector, nor in an innermost dimension of one.
        boolean close = sizes.size() == 1 || (left == 1 && parts.size() == 1);
        return parts.stream().collect(Collectors.joining(", ", close ? "{" : "{ ", close ? "}" : " }"));
    }

    private static Optional<List<String>> values(ProtoReader literal, int type) {
        boolean scalar = literal.message(1).orElseThrow().numbers(3).isEmpty();
        return switch (type) {
            case 1 ->
                Optional.of(literal.numbers(2).stream()
                        .map(n -> scalar ? String.valueOf(n != 0) : n.toString())
                        .toList());
            case 2 -> narrow(literal.bytes(15), 1, true);
            case 6 -> narrow(literal.bytes(3), 1, false);
            case 3 -> narrow(literal.bytes(17), 2, true);
            case 7 -> narrow(literal.bytes(16), 2, false);
            case 4 ->
                Optional.of(literal.numbers(4).stream()
                        .map(n -> String.valueOf(n.intValue()))
                        .toList());
            case 5 ->
                Optional.of(literal.numbers(5).stream().map(String::valueOf).toList());
            case 8 ->
                Optional.of(literal.numbers(6).stream().map(String::valueOf).toList());
            case 9 ->
                Optional.of(
                        literal.numbers(7).stream().map(Long::toUnsignedString).toList());
            case 10 -> halves(literal.bytes(11), true);
            case 16 -> halves(literal.bytes(13), false);
            case 11 ->
                floats(literal, 8).map(all -> all.stream().map(v -> real(v)).toList());
            case 12 ->
                doubles(literal, 9).map(all -> all.stream().map(v -> real(v)).toList());
            case 15 ->
                floats(literal, 12)
                        .map(all -> pairs(all.stream().map(v -> real(v)).toList()));
            case 18 ->
                doubles(literal, 18)
                        .map(all -> pairs(all.stream().map(v -> real(v)).toList()));
            default -> Optional.empty();
        };
    }

    private static List<String> pairs(List<String> parts) {
        List<String> pairs = new ArrayList<>();
        for (int i = 0; i + 1 < parts.size(); i += 2) {
            pairs.add("(" + parts.get(i) + ", " + parts.get(i + 1) + ")");
        }
        return pairs;
    }

    private static Optional<List<String>> narrow(byte[] bytes, int width, boolean signed) {
        ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        List<String> values = new ArrayList<>();
        while (in.remaining() >= width) {
            int value = width == 1 ? in.get() : in.getShort();
            values.add(String.valueOf(signed ? value : value & (width == 1 ? 0xff : 0xffff)));
        }
        return Optional.of(values);
    }

    private static Optional<List<String>> halves(byte[] bytes, boolean ieee) {
        ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        List<String> values = new ArrayList<>();
        while (in.remaining() >= 2) {
            short bits = in.getShort();
            float value = ieee ? Float.float16ToFloat(bits) : Float.intBitsToFloat(bits << 16);
            values.add(shortest(value, ieee ? 5 : 4));
        }
        return Optional.of(values);
    }

    private static Optional<List<Float>> floats(ProtoReader literal, int field) {
        List<Float> values = new ArrayList<>();
        try {
            CodedInputStream in = CodedInputStream.newInstance(literal.bytes(field));
            while (!in.isAtEnd()) {
                values.add(in.readFloat());
            }
        } catch (IOException e) {
            return Optional.empty();
        }
        return Optional.of(values);
    }

    private static Optional<List<Double>> doubles(ProtoReader literal, int field) {
        List<Double> values = new ArrayList<>();
        try {
            CodedInputStream in = CodedInputStream.newInstance(literal.bytes(field));
            while (!in.isAtEnd()) {
                values.add(in.readDouble());
            }
        } catch (IOException e) {
            return Optional.empty();
        }
        return Optional.of(values);
    }

    private static String real(float value) {
        String text = shortest(value, 6);
        return Float.isFinite(value) && Float.parseFloat(text) != value ? shortest(value, 9) : text;
    }

    private static String real(double value) {
        String text = shortest(value, 15);
        return Double.isFinite(value) && Double.parseDouble(text) != value ? shortest(value, 17) : text;
    }

    /** C's {@code %.*g}. */
    private static String shortest(double value, int digits) {
        if (Double.isNaN(value)) {
            return "nan";
        }
        if (Double.isInfinite(value)) {
            return value > 0 ? "inf" : "-inf";
        }
        if (value == 0) {
            return Double.doubleToRawLongBits(value) < 0 ? "-0" : "0";
        }
        BigDecimal rounded =
                new BigDecimal(value).round(new MathContext(digits)).stripTrailingZeros();
        int exponent = rounded.precision() - rounded.scale() - 1;
        if (exponent >= -4 && exponent < digits) {
            return rounded.toPlainString();
        }
        String mantissa = rounded.unscaledValue().abs().toString();
        String sign = rounded.signum() < 0 ? "-" : "";
        String point = mantissa.length() == 1 ? mantissa : mantissa.charAt(0) + "." + mantissa.substring(1);
        return sign + point + "e" + (exponent < 0 ? "-" : "+") + (Math.abs(exponent) < 10 ? "0" : "")
                + Math.abs(exponent);
    }
}

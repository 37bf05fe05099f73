// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal.hlo;

import dev.slipway.runtime.ElementType;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** {@code ShapeProto}s as XLA writes them: {@code f32[16,128]{1,0:T(8,128)}}. */
public final class Shapes {

    private static final int TUPLE = 13;
    private static final int OPAQUE = 14;
    private static final int TOKEN = 17;
    private static final int BUFFER = 34;

    private Shapes() {}

    /** With layouts, or without. */
    static String text(ProtoReader shape, boolean layouts) {
        int type = (int) shape.number(2);
        return switch (type) {
            case TUPLE ->
                "("
                        + indexed(shape.messages(4).stream()
                                .map(s -> text(s, layouts))
                                .toList()) + ")";
            case OPAQUE -> "opaque[]";
            case TOKEN -> "token[]";
            case BUFFER -> "b(" + text(shape.messages(4).getFirst(), layouts) + ")";
            default -> array(shape, type) + (layouts ? layout(shape) : "");
        };
    }

    /** A list with every fifth place marked, as XLA marks it. */
    static String indexed(List<String> parts) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < parts.size(); i++) {
            text.append(i == 0 ? "" : ", ")
                    .append(i > 0 && i % 5 == 0 ? "/*index=" + i + "*/" : "")
                    .append(parts.get(i));
        }
        return text.toString();
    }

    /** XLA's name of an element type. */
    static String type(int number) {
        return switch (number) {
            case TOKEN -> "token";
            case 0 -> "invalid";
            default -> name(number);
        };
    }

    // The numbers of XLA's protos are not those of the C API.
    private static String name(int number) {
        return switch (number) {
            case 1 -> "pred";
            case 2 -> "s8";
            case 3 -> "s16";
            case 4 -> "s32";
            case 5 -> "s64";
            case 6 -> "u8";
            case 7 -> "u16";
            case 8 -> "u32";
            case 9 -> "u64";
            case 10 -> "f16";
            case 11 -> "f32";
            case 12 -> "f64";
            case 15 -> "c64";
            case 16 -> "bf16";
            case 18 -> "c128";
            case 19 -> "f8e5m2";
            case 20 -> "f8e4m3fn";
            case 21 -> "s4";
            case 22 -> "u4";
            case 23 -> "f8e4m3b11fnuz";
            case 24 -> "f8e5m2fnuz";
            case 25 -> "f8e4m3fnuz";
            case 26 -> "s2";
            case 27 -> "u2";
            case 28 -> "f8e4m3";
            case 29 -> "f8e3m4";
            case 30 -> "s1";
            case 31 -> "u1";
            case 32 -> "f4e2m1fn";
            case 33 -> "f8e8m0fnu";
            default -> "type" + number;
        };
    }

    /** The number that XLA's protos have for an element type. */
    public static int number(ElementType type) {
        String name = type.name().toLowerCase(Locale.ROOT);
        for (int number = 1; number <= BUFFER; number++) {
            if (type(number).equals(name)) {
                return number;
            }
        }
        throw new AssertionError(type);
    }

    private static String array(ProtoReader shape, int type) {
        List<Long> sizes = shape.numbers(3);
        List<Long> dynamic = shape.numbers(6);
        StringBuilder text = new StringBuilder(type(type)).append('[');
        for (int i = 0; i < sizes.size(); i++) {
            text.append(i == 0 ? "" : ",")
                    .append(i < dynamic.size() && dynamic.get(i) != 0 ? "<=" : "")
                    .append(sizes.get(i) == Long.MIN_VALUE ? "?" : sizes.get(i).toString());
        }
        return text.append(']').toString();
    }

    private static String layout(ProtoReader shape) {
        return shape.message(5)
                .map(Shapes::layoutText)
                .filter(text -> !(text.equals("{}") && shape.numbers(3).isEmpty()))
                .orElse("");
    }

    static String layoutText(ProtoReader layout) {
        StringBuilder more = new StringBuilder();
        List<ProtoReader> tiles = layout.messages(6);
        if (!tiles.isEmpty()) {
            more.append('T');
            // A dimension of Long.MIN_VALUE is combined with the next.
            tiles.forEach(tile -> more.append(tile.numbers(1).stream()
                    .map(n -> n == Long.MIN_VALUE ? "*" : n.toString())
                    .collect(Collectors.joining(",", "(", ")"))));
        }
        if (layout.number(16) > 1) {
            more.append("L(").append(layout.number(16)).append(')');
        }
        if (layout.number(7) != 0) {
            more.append("E(").append(layout.number(7)).append(')');
        }
        if (layout.number(8) != 0) {
            more.append("S(").append(layout.number(8)).append(')');
        }
        if (!layout.messages(17).isEmpty()) {
            more.append("SC");
            layout.messages(17)
                    .forEach(split -> more.append('(')
                            .append(split.number(1))
                            .append(':')
                            .append(join(split.numbers(2)))
                            .append(')'));
        }
        if (layout.number(15) != 0) {
            more.append("M(").append(layout.number(15)).append(')');
        }
        return "{" + join(layout.numbers(1)) + (more.isEmpty() ? "" : ":" + more) + "}";
    }

    /** Numbers with commas between. */
    static String join(List<Long> numbers) {
        return numbers.stream().map(String::valueOf).collect(Collectors.joining(","));
    }
}

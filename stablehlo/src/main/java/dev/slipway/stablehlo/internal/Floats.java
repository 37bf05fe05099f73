// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.FloatType;
import java.math.BigInteger;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Bit patterns of floating-point types to doubles and back, and MLIR's text for them. */
public final class Floats {
    private static final double LOG_2 = Math.log(2);
    private static final double LOG_2_OF_5 = Math.log(5) / LOG_2;

    private Floats() {}

    /** The number of a bit pattern; exact, as every type here fits a double. */
    public static double toDouble(long bits, FloatType type) {
        if (type == FloatType.F32) {
            return Float.intBitsToFloat((int) bits);
        }
        if (type == FloatType.F64) {
            return Double.longBitsToDouble(bits);
        }
        int mantissaBits = type.mantissaBits();
        long mantissa = bits & ((1L << mantissaBits) - 1);
        int exponent = (int) (bits >>> mantissaBits) & ((1 << type.exponentBits()) - 1);
        int greatest = (1 << type.exponentBits()) - 1;
        boolean negative = type.special() != FloatType.Special.POWER_OF_TWO && (bits >>> (type.width() - 1) & 1) != 0;
        double magnitude;
        switch (type.special()) {
            case IEEE -> {
                if (exponent == greatest) {
                    magnitude = mantissa == 0 ? Double.POSITIVE_INFINITY : Double.NaN;
                    return negative ? -magnitude : magnitude;
                }
            }
            case NAN_ALL_ONES -> {
                if (exponent == greatest && mantissa == (1L << mantissaBits) - 1) {
                    return Double.NaN;
                }
            }
            case NAN_NEGATIVE_ZERO -> {
                if (negative && exponent == 0 && mantissa == 0) {
                    return Double.NaN;
                }
            }
            case POWER_OF_TWO -> {
                return exponent == greatest ? Double.NaN : Math.scalb(1.0, exponent - type.bias());
            }
            case FINITE -> {}
        }
        magnitude = exponent == 0
                ? Math.scalb((double) mantissa, 1 - type.bias() - mantissaBits)
                : Math.scalb((double) (mantissa | 1L << mantissaBits), exponent - type.bias() - mantissaBits);
        return negative ? -magnitude : magnitude;
    }

    /** The bit pattern nearest to a number, ties to even; what is too large becomes infinity or, without one, NaN. */
    public static long fromDouble(double value, FloatType type) {
        if (type == FloatType.F64) {
            return Double.doubleToRawLongBits(value);
        }
        if (type == FloatType.F32) {
            return Float.floatToRawIntBits((float) value) & 0xFFFFFFFFL;
        }
        int mantissaBits = type.mantissaBits();
        long greatest = (1L << type.exponentBits()) - 1;
        boolean signed = type.special() != FloatType.Special.POWER_OF_TWO;
        long sign = signed && Double.doubleToRawLongBits(value) < 0 ? 1L << (type.width() - 1) : 0;
        if (Double.isNaN(value)) {
            return nan(type, sign);
        }
        double magnitude = Math.abs(value);
        if (Double.isInfinite(value)) {
            return overflow(type, sign);
        }
        if (magnitude == 0) {
            return type.special() == FloatType.Special.NAN_NEGATIVE_ZERO ? 0 : sign;
        }
        int exponent = Math.max(Math.getExponent(magnitude), signed ? 1 - type.bias() : -type.bias());
        // The significand as an integer of mantissaBits + 1 bits, with what is rounded away as a fraction.
        double scaled = Math.scalb(magnitude, mantissaBits - exponent);
        long significand = (long) Math.rint(scaled);
        if (!signed) {
            significand = Math.max(significand, 1);
        }
        if (significand >= 2L << mantissaBits) {
            significand >>= 1;
            exponent++;
        }
        long biased = significand < 1L << mantissaBits ? 0 : exponent + type.bias();
        long bits = biased == 0 && signed
                ? significand
                : (biased << mantissaBits) | (significand & ((1L << mantissaBits) - 1));
        long limit = (greatest << mantissaBits) | ((1L << mantissaBits) - 1);
        boolean tooLarge = switch (type.special()) {
            case IEEE -> biased >= greatest;
            case NAN_ALL_ONES, POWER_OF_TWO -> biased > greatest || bits >= limit;
            case NAN_NEGATIVE_ZERO, FINITE -> biased > greatest;
        };
        if (tooLarge) {
            return overflow(type, sign);
        }
        if (bits == 0 && type.special() == FloatType.Special.NAN_NEGATIVE_ZERO) {
            return 0;
        }
        return sign | bits;
    }

    private static long nan(FloatType type, long sign) {
        int mantissaBits = type.mantissaBits();
        long greatest = (1L << type.exponentBits()) - 1;
        return switch (type.special()) {
            case IEEE -> sign | greatest << mantissaBits | 1L << (mantissaBits - 1);
            case NAN_ALL_ONES, POWER_OF_TWO -> sign | greatest << mantissaBits | ((1L << mantissaBits) - 1);
            case NAN_NEGATIVE_ZERO -> 1L << (type.width() - 1);
            case FINITE -> 1L << (type.width() - 1);
        };
    }

    private static long overflow(FloatType type, long sign) {
        long greatest = (1L << type.exponentBits()) - 1;
        int mantissaBits = type.mantissaBits();
        return switch (type.special()) {
            case IEEE -> sign | greatest << mantissaBits;
            case FINITE -> sign | greatest << mantissaBits | ((1L << mantissaBits) - 1);
            default -> nan(type, sign);
        };
    }

    /**
     * Appends MLIR's text for a number: six decimals where they name it exactly, as many as the type needs otherwise,
     * and the bit pattern in hexadecimal for what has no decimal point.
     */
    public static void print(StringBuilder out, long bits, FloatType type) {
        double value = toDouble(bits, type);
        if (!Double.isFinite(value)) {
            printHex(out, bits, type);
            return;
        }
        if (value == 0) {
            out.append(1 / value < 0 ? "-0.000000e+00" : "0.000000e+00");
            return;
        }
        if (value < 0) {
            out.append('-');
            value = -value;
        }
        Digits six = digits(value, 6);
        if (fromDouble(toDouble(six), type) == fromDouble(value, type)) {
            scientific(out, six, true);
            return;
        }
        int start = out.length();
        natural(out, digits(value, 2 + (type.mantissaBits() + 1) * 59 / 196), 2 + (type.mantissaBits() + 1) * 59 / 196);
        for (int i = start; i < out.length(); i++) {
            if (out.charAt(i) == '.') {
                return;
            }
        }
        out.setLength(start);
        if (start > 0 && out.charAt(start - 1) == '-') {
            out.setLength(start - 1);
        }
        printHex(out, bits, type);
    }

    private static void printHex(StringBuilder out, long bits, FloatType type) {
        out.append("0x");
        String hex = Long.toHexString(bits).toUpperCase(Locale.ROOT);
        out.repeat('0', Math.max(0, (type.width() + 3) / 4 - hex.length())).append(hex);
    }

    /** Decimal digits without trailing zeros, and the power of ten of the first. */
    private record Digits(long digits, int count, int exponent) {}

    /** Digits of a number from its first on, cut off behind the one of this power of ten. */
    record Cut(String digits, int exponent) {}

    private static final BigInteger TEN = BigInteger.TEN;

    /**
     * The number's significant decimal digits as LLVM finds them: it cuts the exact number off where it sees that enough
     * digits are left, and rounds only what is left then.
     */
    private static Digits digits(double value, int precision) {
        Cut cut = quickCut(value, precision);
        return rounded(cut != null ? cut : cut(value, precision), precision);
    }

    /** A positive number as {@code significand * 2 ** exponent}. */
    private record Binary(long significand, int exponent) {
        /** With an exponent as great as it can be. */
        static Binary of(double value) {
            long bits = Double.doubleToRawLongBits(value);
            long mantissa = (bits & ((1L << 52) - 1)) | (value >= Double.MIN_NORMAL ? 1L << 52 : 0);
            int zeros = Long.numberOfTrailingZeros(mantissa);
            return new Binary(mantissa >>> zeros, Math.max(1, (int) (bits >>> 52 & 0x7FF)) - 1075 + zeros);
        }

        /** As a whole number, if that is one of at most 62 bits. */
        Binary whole() {
            return exponent > 0 && Long.SIZE - Long.numberOfLeadingZeros(significand) + exponent <= 62
                    ? new Binary(significand << exponent, 0)
                    : this;
        }
    }

    /** How many digits of an integer of so many bits are not needed. */
    private static int removable(int bits, int precision) {
        int required = (precision * 196 + 58) / 59;
        return Math.max(0, (bits - required) * 59 / 196);
    }

    /** The digits that are left of the exact number, which {@link #quickCut} finds faster where it can. */
    static Cut cut(double value, int precision) {
        Binary binary = Binary.of(value);
        BigInteger integer = BigInteger.valueOf(binary.significand());
        integer = binary.exponent() > 0
                ? integer.shiftLeft(binary.exponent())
                : integer.multiply(BigInteger.valueOf(5).pow(-binary.exponent()));
        int removable = removable(integer.bitLength(), precision);
        return new Cut(integer.divide(TEN.pow(removable)).toString(), Math.min(0, binary.exponent()) + removable);
    }

    /** The same in {@code long}s, as is possible for most numbers that programs hold; null for others. */
    static @Nullable Cut quickCut(double value, int precision) {
        Binary binary = Binary.of(value).whole();
        long digits = binary.significand();
        int fives = -binary.exponent(); // the number is digits * 5 ** fives * 10 ** -fives
        double bits = Math.log((double) digits) / LOG_2 + fives * LOG_2_OF_5;
        if (fives < 0 || (fives > 0 && Math.abs(bits - Math.rint(bits)) < 1e-6)) {
            return null;
        }
        int removable =
                removable(fives > 0 ? (int) bits + 1 : Long.SIZE - Long.numberOfLeadingZeros(digits), precision);
        int left = fives - removable;
        if (left < 0 || removable > 62 || bits - removable * LOG_2_OF_5 > 62) {
            return null;
        }
        for (int i = 0; i < left; i++) {
            digits *= 5;
        }
        return new Cut(Long.toString(digits >> removable), -left);
    }

    private static Digits rounded(Cut cut, int precision) {
        String digits = cut.digits();
        int count = digits.length();
        int first = cut.exponent() + count - 1;
        if (count <= precision) {
            return trim(Long.parseLong(digits), count, first);
        }
        long kept = Long.parseLong(digits.substring(0, precision));
        if (digits.charAt(precision) >= '5') {
            kept++;
            if (Long.toString(kept).length() > precision) {
                first++;
            }
        }
        return trim(kept, Long.toString(kept).length(), first);
    }

    private static Digits trim(long digits, int count, int exponent) {
        while (digits % 10 == 0 && count > 1) {
            digits /= 10;
            count--;
        }
        return new Digits(digits, count, exponent);
    }

    private static double toDouble(Digits digits) {
        return Double.parseDouble(digits.digits + "e" + (digits.exponent - digits.count + 1));
    }

    private static void scientific(StringBuilder out, Digits digits, boolean padded) {
        String text = Long.toString(digits.digits);
        out.append(text.charAt(0)).append('.');
        if (padded) {
            out.append(text, 1, text.length()).repeat('0', 7 - text.length()).append('e');
        } else {
            out.append(text.length() == 1 ? "0" : text.substring(1)).append('E');
        }
        out.append(digits.exponent >= 0 ? '+' : '-');
        int exponent = Math.abs(digits.exponent);
        if (padded && exponent < 10) {
            out.append('0');
        }
        out.append(exponent);
    }

    private static void natural(StringBuilder out, Digits digits, int precision) {
        String text = Long.toString(digits.digits);
        int count = text.length();
        int last = digits.exponent - count + 1;
        if (last >= 0) {
            if (last > 3 || count + last > precision) {
                scientific(out, digits, false);
            } else {
                out.append(text).repeat('0', last);
            }
        } else if (digits.exponent >= 0) {
            out.append(text, 0, digits.exponent + 1).append('.').append(text, digits.exponent + 1, count);
        } else if (-digits.exponent > 3) {
            scientific(out, digits, false);
        } else {
            out.append("0.").repeat('0', -digits.exponent - 1).append(text);
        }
    }
}

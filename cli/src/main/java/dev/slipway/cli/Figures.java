// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Numbers as reports for people show them; {@code -} for what is not known. */
final class Figures {
    private static final String UNKNOWN = "-";

    private Figures() {}

    /** A chip's or a machine's memory: {@code 16 GiB}, {@code 95 GiB}; binary, since memory is built so. */
    static String memory(long bytes) {
        if (bytes == 0) {
            return UNKNOWN;
        }
        double value = bytes / (double) (1L << 30);
        String unit = " GiB";
        if (value >= 1024) {
            value /= 1024;
            unit = " TiB";
        }
        return trim(String.format(Locale.ROOT, value >= 100 ? "%.0f" : "%.4g", value)) + unit;
    }

    /** What a program takes, in the unit that reads best: {@code 4.4 MiB}. */
    static String bytes(long bytes) {
        double value = bytes;
        String[] units = {"B", "KiB", "MiB", "GiB", "TiB"};
        int unit = 0;
        while (value >= 1024 && unit < units.length - 1) {
            value /= 1024;
            unit++;
        }
        return unit == 0 ? bytes + " B" : String.format(Locale.ROOT, "%.1f %s", value, units[unit]);
    }

    /** What a program takes, to the byte: {@code 4,639,744 B}. */
    static String exactBytes(long bytes) {
        return String.format(Locale.ROOT, "%,d B", bytes);
    }

    /** A count of operations or bytes: {@code 8.005e+08}. */
    static String count(@Nullable Double count) {
        return count == null ? UNKNOWN : String.format(Locale.ROOT, "%.3e", count);
    }

    /** A rate in the thousands that read well: {@code 819 GB/s}, {@code 197 Tflop/s}. */
    static String rate(double perSecond, String unit) {
        if (perSecond == 0 || Double.isNaN(perSecond)) {
            return UNKNOWN;
        }
        String[] prefixes = {"", "k", "M", "G", "T", "P"};
        int p = 0;
        double value = perSecond;
        while (value >= 1000 && p < prefixes.length - 1) {
            value /= 1000;
            p++;
        }
        String digits =
                value >= 100 ? String.format(Locale.ROOT, "%.0f", value) : String.format(Locale.ROOT, "%.3g", value);
        return trim(digits) + " " + prefixes[p] + unit;
    }

    /** A time: {@code 15.8 us}, {@code 3.21 ms}. */
    static String seconds(double seconds) {
        if (Double.isNaN(seconds)) {
            return UNKNOWN;
        }
        if (seconds == 0) {
            return "0";
        }
        return seconds < 1e-3
                ? String.format(Locale.ROOT, "%.1f us", seconds * 1e6)
                : seconds < 1
                        ? String.format(Locale.ROOT, "%.2f ms", seconds * 1e3)
                        : String.format(Locale.ROOT, "%.2f s", seconds);
    }

    /** Without zeros at the end of a fraction. */
    private static String trim(String digits) {
        return digits.contains(".") ? digits.replaceAll("0+$", "").replaceAll("\\.$", "") : digits;
    }
}

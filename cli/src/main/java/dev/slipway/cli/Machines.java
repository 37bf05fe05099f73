// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.topology.InvalidTopologyException;
import dev.slipway.topology.Platform;
import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Locale;
import java.util.OptionalInt;

/** Finds the machine that a command's TARGET means. */
final class Machines {
    private Machines() {}

    /**
     * A machine by name, or one that a JSON file describes.
     *
     * @param target a name, or the path of a file that ends in {@code .json}
     * @param slices how many slices were asked for, if any were
     */
    static Topology find(String target, OptionalInt slices) throws IOException {
        if (!target.endsWith(".json")) {
            return Topologies.resolve(target, slices.orElse(1));
        }
        Topology machine;
        try {
            machine = Topologies.fromJson(new String(InFile.read(Path.of(target)), StandardCharsets.UTF_8));
        } catch (InvalidTopologyException e) {
            throw new InvalidTopologyException(target + ": " + e.getMessage());
        }
        return slices.isPresent() ? machine.withSlices(slices.getAsInt()) : machine;
    }

    /** A machine's name with its number of slices, where the name does not tell. */
    static String title(Topology machine) {
        boolean told = machine.slices() == 1
                || (machine.platform() == Platform.GPU && machine.name().endsWith("x" + machine.hostCount()));
        return told ? machine.name() : machine.name() + " x " + machine.slices() + " slices";
    }

    /** {@code 16 GiB}, {@code 95 GiB}: binary, since memory is built so. */
    static String bytes(long count) {
        if (count == 0) {
            return "-";
        }
        double value = count / (double) (1L << 30);
        String unit = " GiB";
        if (value >= 1024) {
            value /= 1024;
            unit = " TiB";
        }
        return trim(String.format(Locale.ROOT, value >= 100 ? "%.0f" : "%.4g", value)) + unit;
    }

    /** A rate in the thousands that read well: {@code 819 GB/s}, {@code 197 Tflop/s}. */
    static String rate(double perSecond, String unit) {
        if (perSecond == 0 || Double.isNaN(perSecond)) {
            return "-";
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

    /** Without zeros at the end of a fraction. */
    private static String trim(String digits) {
        return digits.contains(".") ? digits.replaceAll("0+$", "").replaceAll("\\.$", "") : digits;
    }

    /** A time: {@code 15.8 us}, {@code 3.21 ms}. */
    static String seconds(double seconds) {
        if (Double.isNaN(seconds)) {
            return "-";
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
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench.conformance;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Counts of what held, row by row, and every failure with its reason. */
final class Report {
    private final Map<String, int[]> rows = new LinkedHashMap<>();
    private final List<String> failures = new ArrayList<>();
    private final List<String> others = new ArrayList<>();

    /** Counts a case that held. */
    synchronized void ok(String row) {
        count(row)[0]++;
    }

    /** Counts a case that did not hold. */
    synchronized void fail(String row, String where, String why) {
        count(row)[1]++;
        failures.add(row + " | " + where + " | " + why.strip().replaceAll("\\s*\\R\\s*", " / "));
    }

    /** Counts a case that is somebody else's to mend, or not ours to run. */
    synchronized void other(String row, String where, String why) {
        count(row)[2]++;
        others.add(row + " | " + where + " | " + why.strip().replaceAll("\\s*\\R\\s*", " / "));
    }

    private int[] count(String row) {
        return rows.computeIfAbsent(row, _ -> new int[3]);
    }

    /** Whether every case held. */
    boolean allHeld() {
        return failures.isEmpty();
    }

    /** Prints the table, then the failures, then what is left out. */
    void print(PrintStream out, String title) {
        int width = Math.max(
                title.length(),
                rows.keySet().stream().mapToInt(String::length).max().orElse(0));
        boolean hasOthers = rows.values().stream().anyMatch(counts -> counts[2] > 0);
        out.printf(
                Locale.ROOT,
                "%n%-" + width + "s  %7s %7s %7s%s%n",
                title,
                "cases",
                "held",
                "failed",
                hasOthers ? "  not ours" : "");
        int[] sum = new int[3];
        rows.forEach((row, counts) -> {
            line(out, width, row, counts, hasOthers);
            for (int i = 0; i < sum.length; i++) {
                sum[i] += counts[i];
            }
        });
        if (rows.size() > 1) {
            line(out, width, "together", sum, hasOthers);
        }
        failures.forEach(failure -> out.println("  FAILED " + failure));
        others.forEach(other -> out.println("  not ours " + other));
    }

    private static void line(PrintStream out, int width, String row, int[] counts, boolean hasOthers) {
        out.printf(
                Locale.ROOT,
                "%-" + width + "s  %,7d %,7d %,7d%s%n",
                row,
                counts[0] + counts[1] + counts[2],
                counts[0],
                counts[1],
                hasOthers ? String.format(Locale.ROOT, "  %,8d", counts[2]) : "");
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench.conformance;

import dev.slipway.stablehlo.Diagnostic;
import dev.slipway.stablehlo.IrException;
import dev.slipway.stablehlo.Location;
import dev.slipway.stablehlo.Module;
import dev.slipway.stablehlo.ParseException;
import dev.slipway.stablehlo.Verifier;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Whether what upstream refuses is refused, at the same line, and nothing else.
 *
 * <p>What upstream's passes say is not looked for: a file that does not check its errors by itself is read all the same, and its
 * expected errors are counted apart.
 */
final class Refusals {
    private final PrintStream out;
    private final boolean messages;
    private final List<String> failures = new ArrayList<>();
    private final List<String> elsewhere = new ArrayList<>();
    private final int[] sum = new int[5];
    private int ofPasses;

    /** @param messages whether each of our messages is printed beside upstream's */
    Refusals(PrintStream out, boolean messages) {
        this.out = out;
        this.messages = messages;
    }

    /** What is said of one case. */
    private record Finding(int line, String message, boolean atParsing) {}

    private static List<Finding> diagnose(String text) {
        try {
            Module module = Module.parse(text.getBytes(StandardCharsets.UTF_8), "-");
            return Verifier.diagnose(module).stream().map(Refusals::finding).toList();
        } catch (ParseException refused) {
            return List.of(new Finding(refused.line(), String.valueOf(refused.getMessage()), true));
        } catch (IrException refused) {
            return List.of(new Finding(0, String.valueOf(refused.getMessage()), true));
        }
    }

    private static Finding finding(Diagnostic diagnostic) {
        return new Finding(line(diagnostic.location()), diagnostic.operation() + ": " + diagnostic.message(), false);
    }

    private static int line(Location location) {
        return switch (location) {
            case Location.File file -> file.line();
            case Location.Name name -> line(name.child());
            case Location.CallSite site -> line(site.callee());
            case Location.Fused fused ->
                fused.locations().stream().mapToInt(Refusals::line).max().orElse(0);
            case Location.Unknown _ -> 0;
        };
    }

    /** Reads all cases of a file; prints a row of the table. */
    void check(TestFile file) {
        int[] row = new int[5];
        for (TestFile.Case one : file.cases()) {
            List<Finding> found = diagnose(one.text());
            if (one.expected().isEmpty()) {
                row[3]++;
                if (found.isEmpty()) {
                    row[4]++;
                } else {
                    failures.add("refused " + one.at(found.getFirst().line()) + " | "
                            + found.getFirst().message());
                }
                continue;
            }
            if (!file.checksErrors() && found.isEmpty()) {
                ofPasses += one.expected().size();
                continue;
            }
            for (TestFile.Expected expected : one.expected()) {
                row[0]++;
                Finding there = at(found, expected.line());
                if (there != null) {
                    row[1]++;
                    row[2]++;
                } else if (!found.isEmpty()
                        && (one.expected().size() == 1 || found.getFirst().atParsing())) {
                    // Reading ends with the first error, and upstream's line is at times that of an attribute or of
                    // what follows.
                    row[1]++;
                    there = found.getFirst();
                } else {
                    failures.add("accepted " + one.at(expected.line()) + " | " + expected.message());
                }
                if (messages && there != null) {
                    out.println(one.at(expected.line()) + "\n  upstream " + expected.message() + "\n  ours     "
                            + there.message().lines().findFirst().orElse(""));
                }
            }
            for (Finding finding : found) {
                boolean sole = one.expected().stream().noneMatch(expected -> at(found, expected.line()) != null);
                if (sole) {
                    elsewhere.add(one.at(finding.line()) + " | " + finding.message() + " | upstream "
                            + one.expected().stream()
                                    .map(TestFile.Expected::message)
                                    .toList());
                }
            }
        }
        print(String.valueOf(file.path().getFileName()), row);
        for (int i = 0; i < row.length; i++) {
            sum[i] += row[i];
        }
    }

    private static @Nullable Finding at(List<Finding> found, int line) {
        return found.stream()
                .filter(finding -> finding.line() == line)
                .findFirst()
                .orElse(null);
    }

    void printHead() {
        out.printf(
                Locale.ROOT,
                "%n%-42s %8s %8s %8s %9s %9s%n",
                "refusals",
                "errors",
                "refused",
                "in line",
                "positive",
                "accepted");
    }

    private void print(String name, int[] row) {
        out.printf(Locale.ROOT, "%-42s %,8d %,8d %,8d %,9d %,9d%n", name, row[0], row[1], row[2], row[3], row[4]);
    }

    /** Prints the sums and the failures; whether there were none. */
    boolean finish() {
        print("together", sum);
        if (ofPasses > 0) {
            out.println("and " + ofPasses + " expected errors that only a pass of upstream's tests can raise");
        }
        failures.forEach(failure -> out.println("  FAILED " + failure.replaceAll("\\s*\\R\\s*", " / ")));
        elsewhere.forEach(said -> out.println("  in another line " + said.replaceAll("\\s*\\R\\s*", " / ")));
        return sum[0] == sum[1] && sum[3] == sum[4];
    }
}

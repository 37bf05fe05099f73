// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.runtime.StatusException;
import dev.slipway.topology.Topology;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A model's programs compiled for several machines, side by side. */
record Comparison(List<Outcome> outcomes) {

    /**
     * A program for a machine.
     *
     * @param method the program, as it was asked for
     * @param report what was compiled; null where it is too large for the machine
     * @param tooLarge what the compiler said then
     */
    record Outcome(
            Topology machine,
            String method,
            @Nullable CompiledReport report,
            StatusException.@Nullable CompileTimeHbmOom tooLarge) {

        private Object document() {
            return report != null ? report : Failures.document(Objects.requireNonNull(tooLarge));
        }
    }

    /** Reports by machine and method, without the level of which there is one only. */
    Object document() {
        Map<String, Map<String, Object>> documents = new LinkedHashMap<>();
        for (Outcome outcome : outcomes) {
            documents
                    .computeIfAbsent(Machines.title(outcome.machine()), _ -> new LinkedHashMap<>())
                    .put(outcome.method(), outcome.document());
        }
        Map<String, Object> unwrapped = new LinkedHashMap<>();
        documents.forEach((machine, methods) -> unwrapped.put(machine, only(methods)));
        return only(unwrapped);
    }

    private static Object only(Map<String, ?> map) {
        return map.size() == 1 ? map.values().iterator().next() : map;
    }

    /** Prints a report each for one machine, a table for each program for several. */
    void print(Output output) {
        if (outcomes.stream().map(Outcome::machine).distinct().count() == 1) {
            outcomes.forEach(outcome -> Objects.requireNonNull(outcome.report()).print(output));
            return;
        }
        outcomes.stream().map(Outcome::method).distinct().forEach(method -> print(method, output));
    }

    private void print(String method, Output output) {
        Terminal terminal = output.terminal();
        List<Outcome> rows = outcomes.stream()
                .filter(outcome -> outcome.method().equals(method))
                .toList();
        String model = rows.stream()
                .map(Outcome::report)
                .filter(Objects::nonNull)
                .map(report -> " of " + report.model())
                .findFirst()
                .orElse("");
        output.out().println();
        output.out().println("  " + terminal.bold(method + model) + terminal.dim(", figures per device"));
        Table table = Table.of("target", "devices", "mesh", "compile", "peak", "HBM", "", "flops", "bytes accessed");
        for (Outcome row : rows) {
            CompiledReport report = row.report();
            long hbm = row.machine().chip().hbmBytesPerDevice();
            String memory = hbm == 0 ? "-" : CompiledReport.bytes(hbm);
            String title = Machines.title(row.machine());
            if (report == null) {
                table.row(
                        title,
                        row.machine().devices().size(),
                        "-",
                        "-",
                        "-",
                        memory,
                        terminal.red("does not fit"),
                        "-",
                        "-");
            } else {
                table.row(
                        title,
                        report.devices(),
                        report.meshText(),
                        String.format(Locale.ROOT, "%.2f s", report.compileS()),
                        CompiledReport.bytes(report.fit().needed()),
                        memory,
                        report.fit().fits() ? terminal.green("fits") : terminal.red("does not fit"),
                        number(report.cost().flops()),
                        number(report.cost().bytesAccessed()));
            }
        }
        table.print(output.out(), terminal);
        for (Outcome row : rows) {
            List<String> notes = row.report() != null
                    ? row.report().notes()
                    : List.of(firstLine(Objects.requireNonNull(row.tooLarge())));
            notes.forEach(note -> output.out()
                    .println("  " + terminal.yellow("note ") + Machines.title(row.machine()) + ": " + note));
        }
        output.out().flush();
    }

    private static String firstLine(Exception failure) {
        return String.valueOf(failure.getMessage()).lines().findFirst().orElse("");
    }

    private static String number(@Nullable Double value) {
        return value == null ? "-" : String.format(Locale.ROOT, "%.3e", value);
    }
}

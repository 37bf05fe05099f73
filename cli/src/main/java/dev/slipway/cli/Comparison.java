// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.runtime.StatusException;
import dev.slipway.topology.Topology;
import java.util.List;
import java.util.stream.Stream;

/** A model's programs compiled for several machines, side by side. */
record Comparison(List<Outcome> outcomes) {

    /**
     * A program for a machine.
     *
     * @param method the program, as it was asked for
     */
    record Outcome(Topology machine, String method, Result result) {}

    /** What became of a program: what was compiled, or that the machine is too small. */
    sealed interface Result permits CompiledReport, TooLarge {}

    /** A program that is too large for its machine, and what the compiler said. */
    record TooLarge(StatusException.CompileTimeHbmOom refusal) implements Result {}

    /** The reports as JSON has them. */
    Object document() {
        ByMachine documents = new ByMachine();
        for (Outcome outcome : outcomes) {
            documents.put(
                    outcome.machine(),
                    outcome.method(),
                    switch (outcome.result()) {
                        case CompiledReport report -> report;
                        case TooLarge small -> Failures.ErrorDocument.of(small.refusal());
                    });
        }
        return documents.document();
    }

    /** Prints a report each for one machine, a table for each program for several. */
    void print(Output output) {
        if (outcomes.stream().map(Outcome::machine).distinct().count() == 1) {
            outcomes.stream().flatMap(Comparison::report).forEach(report -> report.print(output));
            return;
        }
        outcomes.stream().map(Outcome::method).distinct().forEach(method -> print(method, output));
    }

    private static Stream<CompiledReport> report(Outcome outcome) {
        return outcome.result() instanceof CompiledReport report ? Stream.of(report) : Stream.empty();
    }

    private void print(String method, Output output) {
        Terminal terminal = output.terminal();
        List<Outcome> rows = outcomes.stream()
                .filter(outcome -> outcome.method().equals(method))
                .toList();
        String model = rows.stream()
                .flatMap(Comparison::report)
                .map(report -> " of " + report.model())
                .findFirst()
                .orElse("");
        output.out().println();
        output.out().println("  " + terminal.bold(method + model) + terminal.dim(", figures per device"));
        Table table = Table.of("target", "devices", "mesh", "compile", "peak", "HBM", "", "flops", "bytes accessed");
        for (Outcome row : rows) {
            long bytes = row.machine().chip().hbmBytesPerDevice();
            String hbm = bytes == 0 ? "-" : Figures.bytes(bytes);
            String title = Machines.title(row.machine());
            switch (row.result()) {
                case CompiledReport report ->
                    table.row(
                            title,
                            report.devices(),
                            report.meshText(),
                            report.compileText(),
                            Figures.bytes(report.fit().needed()),
                            hbm,
                            CompiledReport.fits(report.fit().fits(), terminal),
                            Figures.count(report.cost().flops()),
                            Figures.count(report.cost().bytesAccessed()));
                case TooLarge _ -> {
                    int devices = row.machine().devices().size();
                    table.row(title, devices, "-", "-", "-", hbm, CompiledReport.fits(false, terminal), "-", "-");
                }
            }
        }
        table.print(output.out(), terminal);
        for (Outcome row : rows) {
            List<String> notes = switch (row.result()) {
                case CompiledReport report -> report.notes();
                case TooLarge small ->
                    List.of(String.valueOf(small.refusal().getMessage())
                            .lines()
                            .findFirst()
                            .orElse(""));
            };
            notes.forEach(note -> output.out()
                    .println("  " + terminal.yellow("note ") + Machines.title(row.machine()) + ": " + note));
        }
        output.out().flush();
    }
}

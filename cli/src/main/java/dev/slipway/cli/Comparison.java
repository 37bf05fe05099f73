// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.runtime.StatusException;
import dev.slipway.topology.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A model's programs for several machines, side by side.
 *
 * @param heads of the columns behind target, devices and mesh
 */
record Comparison(List<String> heads, List<Outcome> outcomes) {
    private static final String UNKNOWN = "-";

    /** Of {@link LoweredReport}. */
    static final List<String> LOWERED = List.of("lower", "text", "operations", "module", "");

    /** Of {@link CompiledReport}. */
    static final List<String> COMPILED = List.of("compile", "peak", "HBM", "", "flops", "bytes accessed");

    /**
     * A program for a machine.
     *
     * @param method the program, as it was asked for
     */
    record Outcome(Topology machine, String method, Result result) {}

    /** What became of a program. */
    sealed interface Result permits ProgramReport, Refused {}

    /** A program that could not be had for its machine, and why. */
    record Refused(RuntimeException why) implements Result {
        /** Whether the machine is too small: an answer like others to the question what fits where, and no failure. */
        boolean tooLarge() {
            return why instanceof StatusException.CompileTimeHbmOom;
        }

        private String said() {
            return Failures.message(why).lines().findFirst().orElse("");
        }
    }

    /** How many programs could not be had, but for those whose machine is too small. */
    long failed() {
        return outcomes.stream()
                .filter(outcome -> outcome.result() instanceof Refused refused && !refused.tooLarge())
                .count();
    }

    /** The reports as JSON has them. */
    Object document() {
        ByMachine documents = new ByMachine();
        for (Outcome outcome : outcomes) {
            documents.put(
                    outcome.machine(),
                    outcome.method(),
                    switch (outcome.result()) {
                        case ProgramReport report -> report;
                        case Refused refused -> Failures.ErrorDocument.of(refused.why());
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

    private static Stream<ProgramReport> report(Outcome outcome) {
        return outcome.result() instanceof ProgramReport report ? Stream.of(report) : Stream.empty();
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
        String unit = heads.equals(COMPILED) ? terminal.dim(", figures per device") : "";
        output.out().println();
        output.out().println("  " + terminal.bold(method + model) + unit);
        List<String> all = new ArrayList<>(List.of("target", "devices", "mesh"));
        all.addAll(heads);
        Table table = Table.of(all.toArray(String[]::new));
        for (Outcome row : rows) {
            List<Object> cells = new ArrayList<>(List.of(Machines.title(row.machine())));
            switch (row.result()) {
                case ProgramReport report -> {
                    cells.add(report.devices());
                    cells.add(report.mesh().text());
                    cells.addAll(report.made().cells(report, terminal));
                }
                case Refused refused -> {
                    cells.add(row.machine().devices().size());
                    cells.add(UNKNOWN);
                    heads.forEach(head -> cells.add(cell(head, row.machine(), refused, terminal)));
                }
            }
            table.row(cells.toArray());
        }
        table.print(output.out(), terminal);
        for (Outcome row : rows) {
            List<String> notes = switch (row.result()) {
                case ProgramReport report -> report.notes();
                case Refused refused -> List.of(refused.said());
            };
            notes.forEach(note -> output.out()
                    .println("  " + terminal.yellow("note ") + Machines.title(row.machine()) + ": " + note));
        }
        output.out().flush();
    }

    private static String cell(String head, Topology machine, Refused refused, Terminal terminal) {
        long bytes = machine.chip().hbmBytesPerDevice();
        return switch (head) {
            case "HBM" -> bytes == 0 ? UNKNOWN : Figures.bytes(bytes);
            case "" -> refused.tooLarge() ? CompiledReport.fits(false, terminal) : terminal.red("failed");
            default -> UNKNOWN;
        };
    }
}

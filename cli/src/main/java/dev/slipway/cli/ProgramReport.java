// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.slipway.aot.AotCompiler;
import dev.slipway.aot.Compiled;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.TensorSpec;
import dev.slipway.topology.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * What {@code slipway compile} says of a program for a machine, as a table and as JSON.
 *
 * @param printMs how long it took to make the module's text
 * @param made what was made of it; JSON has its fields beside these
 */
record ProgramReport(
        String method,
        String model,
        String target,
        int slices,
        int devices,
        @JsonProperty("device_kind") String deviceKind,
        Mesh mesh,
        @JsonProperty("lower_ms") double lowerMs,
        @JsonProperty("print_ms") double printMs,
        @JsonUnwrapped Made made,
        List<Tensor> arguments,
        List<Tensor> results,
        List<String> notes)
        implements Comparison.Result {

    /** What a program became. */
    sealed interface Made permits CompiledReport, LoweredReport {
        /** Adds to the table of the program. */
        void addTo(Table table);

        /** Prints what has a table of its own. */
        void print(Output output);

        /** This beside that of other machines, under {@link Comparison}'s heads. */
        List<String> cells(ProgramReport program, Terminal terminal);
    }

    record Mesh(
            List<String> axes,
            List<Integer> shape,
            @JsonProperty("device_ids") int[] deviceIds) {
        static Mesh of(dev.slipway.mesh.Mesh mesh) {
            return new Mesh(mesh.axes(), mesh.shape(), mesh.deviceIds());
        }

        String text() {
            List<String> parts = new ArrayList<>();
            for (int i = 0; i < axes.size(); i++) {
                parts.add(axes.get(i) + "=" + shape.get(i));
            }
            return String.join(" x ", parts);
        }
    }

    record Tensor(String path, List<Long> shape, String dtype, String partition) {
        static Tensor of(TensorSpec spec) {
            List<Long> shape = new ArrayList<>();
            for (long size : spec.type().shape().toArray()) {
                shape.add(size);
            }
            return new Tensor(
                    spec.path(),
                    shape,
                    spec.type().element().toString(),
                    spec.partition().toString());
        }
    }

    static ProgramReport of(String model, Compiled compiled) {
        Compiled.Timings timings = compiled.timings();
        return of(
                model,
                compiled.program(),
                compiled.topology(),
                timings.lower(),
                timings.print(),
                CompiledReport.of(compiled));
    }

    static ProgramReport of(String model, AotCompiler.Lowered lowered, LoweredReport.Text text) {
        InferenceProgram program = lowered.program();
        LoweredReport report = LoweredReport.of(program.module(), text);
        return of(model, program, lowered.topology(), lowered.seconds(), text.printSeconds(), report);
    }

    private static ProgramReport of(
            String model,
            InferenceProgram program,
            Topology machine,
            double lowerSeconds,
            double printSeconds,
            Made made) {
        return new ProgramReport(
                program.method(),
                model,
                machine.name(),
                machine.slices(),
                program.mesh().size(),
                machine.chip().deviceKind(),
                Mesh.of(program.mesh()),
                lowerSeconds * 1e3,
                printSeconds * 1e3,
                made,
                program.arguments().stream().map(Tensor::of).toList(),
                program.results().stream().map(Tensor::of).toList(),
                program.notes());
    }

    /** Prints the report for a person. */
    void print(Output output) {
        Terminal terminal = output.terminal();
        String title = method + " of " + model + " for " + (slices > 1 ? slices + " x " : "") + target;
        output.out().println();
        output.out().println("  " + terminal.bold(title));
        Table table = Table.of()
                .row("devices", devices + " x " + deviceKind + (slices > 1 ? ", " + slices + " slices" : ""))
                .row("mesh", mesh.text())
                .row("lower", lowerText() + ", text " + printText());
        made.addTo(table);
        table.print(output.out(), terminal);
        made.print(output);
        notes.forEach(note -> output.out().println("  " + terminal.yellow("note ") + note));
        output.out().flush();
    }

    String lowerText() {
        return String.format(Locale.ROOT, "%.1f ms", lowerMs);
    }

    String printText() {
        return String.format(Locale.ROOT, "%.1f ms", printMs);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.slipway.aot.Compiled;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.TensorSpec;
import dev.slipway.topology.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;

/** What {@code slipway compile} says of a compiled program, as a table and as JSON. */
record CompiledReport(
        String method,
        String model,
        String target,
        int slices,
        int devices,
        @JsonProperty("device_kind") String deviceKind,
        Mesh mesh,
        @JsonProperty("lower_ms") double lowerMs,
        @JsonProperty("print_ms") double printMs,
        @JsonProperty("compile_s") double compileS,
        @JsonProperty("executable_bytes") long executableBytes,
        Memory memory,
        Cost cost,
        Fit fit,
        @JsonProperty("compiler_options") Map<String, Object> compilerOptions,
        List<Tensor> arguments,
        List<Tensor> results,
        List<String> notes)
        implements Comparison.Result {

    record Mesh(
            List<String> axes,
            List<Integer> shape,
            @JsonProperty("device_ids") int[] deviceIds) {
        static Mesh of(dev.slipway.mesh.Mesh mesh) {
            return new Mesh(mesh.axes(), mesh.shape(), mesh.deviceIds());
        }
    }

    /** Bytes per device. */
    record Memory(
            @JsonProperty("code_bytes") long code,
            @JsonProperty("argument_bytes") long arguments,
            @JsonProperty("output_bytes") long outputs,
            @JsonProperty("alias_bytes") long aliased,
            @JsonProperty("temp_bytes") long temporaries,
            @JsonProperty("peak_bytes") @Nullable Long peak) {}

    /** Per device; each loop's body counted once. */
    record Cost(
            @Nullable Double flops,
            @JsonProperty("bytes_accessed") @Nullable Double bytesAccessed) {}

    record Fit(
            boolean fits,
            @JsonProperty("needed_bytes") long needed,
            @JsonProperty("hbm_bytes") @Nullable Long hbm) {}

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

    static CompiledReport of(String model, Compiled compiled) {
        InferenceProgram program = compiled.program();
        Topology topology = compiled.topology();
        return new CompiledReport(
                program.method(),
                model,
                topology.name(),
                topology.slices(),
                compiled.mesh().size(),
                topology.chip().deviceKind(),
                Mesh.of(compiled.mesh()),
                compiled.timings().lower() * 1e3,
                compiled.timings().print() * 1e3,
                compiled.timings().compile(),
                compiled.executable().code().length,
                new Memory(
                        compiled.memory().code(),
                        compiled.memory().arguments(),
                        compiled.memory().outputs(),
                        compiled.memory().aliased(),
                        compiled.memory().temporaries(),
                        compiled.memory().peak().isPresent()
                                ? compiled.memory().peak().getAsLong()
                                : null),
                new Cost(boxed(compiled.flops()), boxed(compiled.bytesAccessed())),
                new Fit(
                        compiled.deviceBytes() == 0 || compiled.peakBytes() <= compiled.deviceBytes(),
                        compiled.peakBytes(),
                        compiled.deviceBytes() == 0 ? null : compiled.deviceBytes()),
                compiled.options().compilerOptions(),
                program.arguments().stream().map(Tensor::of).toList(),
                program.results().stream().map(Tensor::of).toList(),
                program.notes());
    }

    private static @Nullable Double boxed(OptionalDouble value) {
        return value.isPresent() ? value.getAsDouble() : null;
    }

    /** Prints the report for a person. */
    void print(Output output) {
        Terminal terminal = output.terminal();
        String title = method + " of " + model + " for " + (slices > 1 ? slices + " x " : "") + target;
        output.out().println();
        output.out().println("  " + terminal.bold(title));
        Long hbm = fit.hbm();
        Table.of()
                .row("devices", devices + " x " + deviceKind + (slices > 1 ? ", " + slices + " slices" : ""))
                .row("mesh", meshText())
                .row("lower", String.format(Locale.ROOT, "%.1f ms, text %.1f ms", lowerMs, printMs))
                .row("compile", compileText())
                .row("executable", Figures.bytes(executableBytes))
                .print(output.out(), terminal);
        output.out().println("  " + terminal.dim("per device"));
        Table table = Table.of()
                .row("code", Figures.exactBytes(memory.code()), share(memory.code(), hbm))
                .row("arguments", Figures.exactBytes(memory.arguments()), share(memory.arguments(), hbm))
                .row("outputs", Figures.exactBytes(memory.outputs()), share(memory.outputs(), hbm))
                .row("temporaries", Figures.exactBytes(memory.temporaries()), share(memory.temporaries(), hbm))
                .row("peak", Figures.exactBytes(fit.needed()), share(fit.needed(), hbm));
        if (hbm != null) {
            table.row("HBM", Figures.exactBytes(hbm), fits(fit.fits(), terminal));
        }
        table.row("flops", Figures.count(cost.flops()), "")
                .row("bytes accessed", Figures.count(cost.bytesAccessed()), terminal.dim("each loop body counted once"))
                .print(output.out(), terminal);
        notes.forEach(note -> output.out().println("  " + terminal.yellow("note ") + note));
        output.out().flush();
    }

    String meshText() {
        List<String> parts = new ArrayList<>();
        for (int i = 0; i < mesh.axes().size(); i++) {
            parts.add(mesh.axes().get(i) + "=" + mesh.shape().get(i));
        }
        return String.join(" x ", parts);
    }

    String compileText() {
        return String.format(Locale.ROOT, "%.2f s", compileS);
    }

    static String fits(boolean fits, Terminal terminal) {
        return fits ? terminal.green("fits") : terminal.red("does not fit");
    }

    private static String share(long bytes, @Nullable Long hbm) {
        return Figures.bytes(bytes)
                + (hbm == null || hbm == 0 ? "" : String.format(Locale.ROOT, " (%.1f%%)", 100.0 * bytes / hbm));
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.slipway.aot.Compiled;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;

/** What {@code slipway compile} says of a program's executable. */
record CompiledReport(
        @JsonProperty("compile_s") double compileS,
        @JsonProperty("executable_bytes") long executableBytes,
        Memory memory,
        Cost cost,
        Fit fit,
        @JsonProperty("compiler_options") Map<String, Object> compilerOptions)
        implements ProgramReport.Made {

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

    static CompiledReport of(Compiled compiled) {
        return new CompiledReport(
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
                compiled.options().compilerOptions());
    }

    private static @Nullable Double boxed(OptionalDouble value) {
        return value.isPresent() ? value.getAsDouble() : null;
    }

    @Override
    public void addTo(Table table) {
        table.row("compile", compileText()).row("executable", Figures.bytes(executableBytes));
    }

    @Override
    public void print(Output output) {
        Terminal terminal = output.terminal();
        Long hbm = fit.hbm();
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
    }

    @Override
    public List<String> cells(ProgramReport program, Terminal terminal) {
        return List.of(
                compileText(),
                Figures.bytes(fit.needed()),
                fit.hbm() == null ? "-" : Figures.bytes(fit.hbm()),
                fits(fit.fits(), terminal),
                Figures.count(cost.flops()),
                Figures.count(cost.bytesAccessed()));
    }

    private String compileText() {
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

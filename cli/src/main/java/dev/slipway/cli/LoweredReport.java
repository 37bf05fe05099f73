// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.slipway.stablehlo.Module;
import dev.slipway.stablehlo.Structure;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * What {@code slipway compile --lower-only} says of a program's module.
 *
 * @param module the file that it was written to, if it was
 * @param moduleBytes of its text
 */
record LoweredReport(
        @Nullable String module,
        @JsonProperty("module_bytes") long moduleBytes,
        long operations) implements ProgramReport.Made {

    /**
     * A module's text.
     *
     * @param file the one that it was written to, if it was
     * @param printSeconds how long it took to make it
     */
    record Text(@Nullable Path file, long bytes, double printSeconds) {
        /** Makes the text, and writes it where a file is given. */
        static Text of(Module module, @Nullable Path file) {
            long start = System.nanoTime();
            byte[] text = module.toString().getBytes(StandardCharsets.UTF_8);
            double seconds = (System.nanoTime() - start) / 1e9;
            if (file != null) {
                OutFile.write(file, text);
            }
            return new Text(file, text.length, seconds);
        }
    }

    static LoweredReport of(Module module, Text text) {
        LongAdder operations = new LongAdder();
        Structure.walk(module, _ -> operations.increment());
        return new LoweredReport(text.file() == null ? null : text.file().toString(), text.bytes(), operations.sum());
    }

    @Override
    public void addTo(Table table) {
        table.row("operations", operationsText())
                .row("module", Figures.bytes(moduleBytes) + (module == null ? "" : ", in " + module));
    }

    @Override
    public void print(Output output) {}

    @Override
    public List<String> cells(ProgramReport program, Terminal terminal) {
        return List.of(program.lowerText(), program.printText(), operationsText(), Figures.bytes(moduleBytes), "");
    }

    private String operationsText() {
        return String.format(Locale.ROOT, "%,d", operations);
    }
}

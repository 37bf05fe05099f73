// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.slipway.aot.AotCompiler;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.stablehlo.Module;
import dev.slipway.stablehlo.Structure;
import dev.slipway.topology.Topology;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/**
 * What {@code slipway compile --lower-only} says of a program as JSON: what {@link CompiledReport} says under the same
 * names, but for what only a compiler knows, and its module.
 */
record LoweredReport(
        String method,
        String model,
        String target,
        int slices,
        int devices,
        @JsonProperty("device_kind") String deviceKind,
        CompiledReport.Mesh mesh,
        @JsonProperty("lower_ms") double lowerMs,
        @JsonProperty("print_ms") double printMs,
        String module,
        @JsonProperty("module_bytes") long moduleBytes,
        long operations,
        List<CompiledReport.Tensor> arguments,
        List<CompiledReport.Tensor> results,
        List<String> notes) {

    /**
     * A module's text in a file.
     *
     * @param printSeconds how long it took to make the text
     */
    record Text(Path file, long bytes, double printSeconds) {
        static Text write(Module module, Path file) throws IOException {
            long start = System.nanoTime();
            byte[] text = module.toString().getBytes(StandardCharsets.UTF_8);
            double seconds = (System.nanoTime() - start) / 1e9;
            OutFile.write(file, text);
            return new Text(file, text.length, seconds);
        }
    }

    static LoweredReport of(String model, AotCompiler.Lowered lowered, Text text) {
        InferenceProgram program = lowered.program();
        Topology topology = lowered.topology();
        LongAdder operations = new LongAdder();
        Structure.walk(program.module(), _ -> operations.increment());
        return new LoweredReport(
                program.method(),
                model,
                topology.name(),
                topology.slices(),
                program.mesh().size(),
                topology.chip().deviceKind(),
                CompiledReport.Mesh.of(program.mesh()),
                lowered.seconds() * 1e3,
                text.printSeconds() * 1e3,
                text.file().toString(),
                text.bytes(),
                operations.sum(),
                program.arguments().stream().map(CompiledReport.Tensor::of).toList(),
                program.results().stream().map(CompiledReport.Tensor::of).toList(),
                program.notes());
    }
}

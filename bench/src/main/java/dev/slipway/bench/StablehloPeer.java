// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import dev.slipway.stablehlo.Module;
import dev.slipway.stablehlo.Verifier;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;

/** Our side of {@code bench/stablehlo-vs-mlir}: writes the modules, then does a task each time a line asks for it. */
final class StablehloPeer {
    /** Tasks on the smaller module: its operations. */
    private static final int SMALL = 10_000;

    /** Tasks on the larger module: enough operations for 10 MB of text. */
    private static final int LARGE = 130_000;

    private StablehloPeer() {}

    /** Answers lines with the name of a task by the seconds of wall and of CPU (all threads) that it took. */
    static void serve(Path folder) throws IOException {
        Module small = StablehloBenchmark.program(SMALL);
        Module large = StablehloBenchmark.program(LARGE);
        String text = large.toString();
        byte[] bytecode = large.toBytecode();
        byte[] artifact = large.toPortableArtifact("1.13.0");
        Files.writeString(folder.resolve("small.mlir"), small.toString());
        Files.writeString(folder.resolve("large.mlir"), text);
        Map<String, Supplier<?>> tasks = Map.of(
                "build", () -> StablehloBenchmark.program(SMALL),
                "build and print", () -> StablehloBenchmark.program(SMALL).toString(),
                "print", () -> large.toString().getBytes(StandardCharsets.UTF_8),
                "parse and verify", () -> verified(Module.parse(text)),
                "write bytecode", large::toBytecode,
                "read bytecode and verify", () -> verified(Module.fromBytecode(bytecode)),
                "write artifact", () -> large.toPortableArtifact("1.13.0"),
                "read artifact and verify", () -> verified(Module.fromBytecode(artifact)));
        System.out.println(Measure.operations(small) + " " + Measure.operations(large));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Supplier<?> task = tasks.get(line);
            if (task == null) {
                throw new IllegalArgumentException("no task is called '" + line + "'; there are " + tasks.keySet());
            }
            double before = Measure.processSeconds();
            Measure.Cost cost = Measure.cost(task);
            System.out.printf(Locale.ROOT, "%.6f %.6f%n", cost.wall(), Measure.processSeconds() - before);
        }
    }

    private static Module verified(Module module) {
        Verifier.verify(module);
        return module;
    }
}

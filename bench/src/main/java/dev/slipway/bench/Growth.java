// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import dev.slipway.aot.AotCompiler;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.aot.PluginLocator;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.runtime.PluginLog;
import dev.slipway.stablehlo.Module;
import dev.slipway.stablehlo.Verifier;
import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * How the cost of lowering and of compiling grows with one quantity while all others stand still. Lowering is measured by CPU
 * time, the least of several runs, and by bytes allocated, which no other process disturbs.
 */
final class Growth {
    private static final String MODEL = "llama-3-8b";
    private static final String COMPILED_MODEL = "fuji-1b";
    private static final int WARM_UPS = 100;
    private static final int RUNS = 25;

    private Growth() {}

    /** What is done at each point. */
    private record Job(InferenceRunner runner, Topology machine, InputBatchSpec batch) {
        AotCompiler.Lowered lower() {
            return AotCompiler.lower(runner, batch, machine, AotCompiler.SAMPLE_DECODE);
        }

        byte[] text() {
            return lower().program().module().toString().getBytes(StandardCharsets.UTF_8);
        }
    }

    /**
     * A point of a curve.
     *
     * @param x the quantity that grows
     * @param seconds CPU seconds
     * @param allocated bytes of heap; 0 where not measured
     * @param moduleBytes the text; 0 where there is none
     */
    record Point(long x, double seconds, long allocated, long moduleBytes) {}

    /**
     * A curve and its exponents.
     *
     * @param of {@code lowering}, {@code compiling} or {@code building}
     * @param against the quantity that grows
     * @param model which model
     * @param exponent of CPU time, over all points
     * @param tailExponent over the last three, where constant costs weigh least
     * @param allocationExponent of allocated bytes over the last three; null where not measured
     */
    record Curve(
            String of,
            String against,
            String model,
            List<Point> points,
            double exponent,
            double tailExponent,
            @Nullable Double allocationExponent) {
        static Curve of(String of, String against, String model, List<Point> points) {
            List<Point> tail = points.subList(Math.max(0, points.size() - 3), points.size());
            return new Curve(
                    of,
                    against,
                    model,
                    points,
                    fit(points),
                    fit(tail),
                    tail.getLast().allocated() == 0
                            ? null
                            : Statistics.exponent(tail.stream()
                                    .map(p -> new double[] {p.x(), p.allocated()})
                                    .toList()));
        }

        private static double fit(List<Point> points) {
            return Statistics.exponent(
                    points.stream().map(p -> new double[] {p.x(), p.seconds()}).toList());
        }
    }

    /** A page with a plot of each kind of curve. */
    static String html(List<Curve> curves) {
        StringBuilder out = new StringBuilder(
                        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>How Slipway grows</title>")
                .append(
                        "<style>body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}</style>")
                .append(
                        "<h1>How Slipway grows</h1><p>CPU time against one quantity while all others stand still, on logarithmic")
                .append(" axes: the exponent is the slope, 1 is linear, 0 is flat.</p>");
        for (String of : curves.stream().map(Curve::of).distinct().toList()) {
            List<Svg.Line> lines = curves.stream()
                    .filter(curve -> curve.of().equals(of))
                    .map(curve -> new Svg.Line(
                            "%s: %.2f".formatted(curve.against(), curve.tailExponent()),
                            curve.points().stream()
                                    .map(p -> new double[] {p.x(), p.seconds() * 1e3})
                                    .toList()))
                    .toList();
            if (!lines.isEmpty()) {
                out.append(Svg.lines(of + ", with the exponent of the last three points", "", "CPU ms", lines));
            }
        }
        return out.append('\n').toString();
    }

    /** All curves; those of XLA's compile time only if asked for, since they take minutes. */
    static List<Curve> curves(boolean compile) {
        List<Curve> curves = new ArrayList<>();
        curves.add(lowering("layers, unrolled", MODEL, layers(MODEL, Form.Layers.UNROLLED), 1, 2, 4, 8, 16, 32, 64));
        curves.add(lowering("layers, scanned", MODEL, layers(MODEL, Form.Layers.SCANNED), 1, 4, 16, 64, 256));
        curves.add(lowering("devices", MODEL, Growth::devices, 4, 32, 256, 1024, 4096, 8960));
        curves.add(lowering("slices", MODEL, slices(MODEL), 1, 2, 4, 8, 16, 64));
        curves.add(lowering("batch", MODEL, batch(MODEL), 16, 64, 256, 1024, 4096));
        curves.add(lowering("context", MODEL, context(MODEL), 64, 256, 1024, 4096, 8192));
        curves.add(building(100, 1000, 10_000, 100_000));
        if (compile) {
            try (PluginLog _ = PluginLog.capture()) {
                curves.add(compiling("layers, unrolled", layers(COMPILED_MODEL, Form.Layers.UNROLLED), 1, 2, 4, 8));
                curves.add(compiling("layers, scanned", layers(COMPILED_MODEL, Form.Layers.SCANNED), 1, 4, 16, 64));
                curves.add(compiling("slices", slices(COMPILED_MODEL), 1, 2, 4));
                curves.add(compiling("batch", batch(COMPILED_MODEL), 16, 64, 256));
                curves.add(compiling("context", context(COMPILED_MODEL), 64, 256, 1024));
            }
        }
        return curves;
    }

    private static IntFunction<Job> layers(String model, Form.Layers layers) {
        Topology machine = Cases.machine("v5e-16");
        return depth -> {
            DecoderConfig config = Cases.withDepth(Cases.model(model), depth);
            return new Job(
                    Cases.runner(config, machine).withForm(Cases.form(machine, layers)), machine, Cases.batch(machine));
        };
    }

    /** Slices of v5p, whose names count cores: two a device. The batch grows with them, as it would. */
    private static Job devices(int count) {
        Topology machine = Topologies.resolve("v5p-" + 2 * count);
        return new Job(Cases.runner(Cases.model(MODEL), machine), machine, InputBatchSpec.prefix(count, Cases.LENGTH));
    }

    private static IntFunction<Job> slices(String model) {
        return count -> {
            Topology machine = Topologies.resolve("v5e-16", count);
            return new Job(Cases.runner(Cases.model(model), machine), machine, Cases.batch(machine));
        };
    }

    private static IntFunction<Job> batch(String model) {
        Topology machine = Cases.machine("v5e-16");
        return rows ->
                new Job(Cases.runner(Cases.model(model), machine), machine, InputBatchSpec.prefix(rows, Cases.LENGTH));
    }

    private static IntFunction<Job> context(String model) {
        Topology machine = Cases.machine("v5e-16");
        return length -> {
            DecodeOptions options =
                    Cases.runner(Cases.model(model), machine).options().with(o -> o.maxLength(length));
            return new Job(
                    Cases.runner(Cases.model(model), machine).withOptions(options),
                    machine,
                    InputBatchSpec.prefix(Cases.BATCH, length));
        };
    }

    private static Curve lowering(String against, String model, IntFunction<Job> jobs, int... xs) {
        List<Point> points = new ArrayList<>();
        for (int x : xs) {
            Job job = jobs.apply(x);
            points.add(least(x, job.text().length, job::text));
        }
        return Curve.of("lowering", against, model, points);
    }

    private static Curve building(int... counts) {
        List<Point> points = new ArrayList<>();
        for (int count : counts) {
            points.add(least(count, 0, () -> StablehloBenchmark.chain(count)));
        }
        return Curve.of("building", "operations", "a chain of additions", points);
    }

    /** What the StableHLO library does with a module, up to a million operations. */
    static List<Curve> modules() {
        List<Curve> curves = new ArrayList<>();
        curves.add(module("building", count -> () -> StablehloBenchmark.program(count)));
        curves.add(module("printing", count -> StablehloBenchmark.program(count)::toString));
        curves.add(module("parsing", count -> {
            String text = StablehloBenchmark.program(count).toString();
            return () -> Module.parse(text);
        }));
        curves.add(module("verifying", count -> {
            var module = StablehloBenchmark.program(count);
            return () -> Verifier.diagnose(module);
        }));
        curves.add(module("writing", count -> StablehloBenchmark.program(count)::toBytecode));
        curves.add(module("reading", count -> {
            byte[] bytecode = StablehloBenchmark.program(count).toBytecode();
            return () -> Module.fromBytecode(bytecode);
        }));
        return curves;
    }

    private static Curve module(String of, IntFunction<Supplier<?>> prepare) {
        List<Point> points = new ArrayList<>();
        for (int count : List.of(1000, 10_000, 100_000, 300_000, 1_000_000)) {
            // The small ones have warmed the compiler up for the large ones.
            points.add(
                    least(count, 0, prepare.apply(count), count <= 10_000 ? WARM_UPS : 1, count <= 10_000 ? RUNS : 3));
        }
        return Curve.of(of, "operations", "of many kinds", points);
    }

    private static Point least(int x, int moduleBytes, Supplier<?> work) {
        return least(x, moduleBytes, work, WARM_UPS, RUNS);
    }

    private static Point least(int x, int moduleBytes, Supplier<?> work, int warmUps, int runs) {
        for (int i = 0; i < warmUps; i++) {
            var _ = work.get();
        }
        double seconds = Double.MAX_VALUE;
        long allocated = Long.MAX_VALUE;
        for (int i = 0; i < runs; i++) {
            Measure.Cost cost = Measure.cost(work);
            seconds = Math.min(seconds, cost.cpu());
            allocated = Math.min(allocated, cost.allocated());
        }
        return new Point(x, seconds, allocated, moduleBytes);
    }

    /** XLA's CPU time, once for each point after one compilation that warms the plugin up. */
    private static Curve compiling(String against, IntFunction<Job> jobs, int... xs) {
        AotCompiler compiler = new AotCompiler(PluginLocator.ofUser());
        compiler.compile(Cases.lower("tiny-llama", "v5e-16"), Map.of());
        List<Point> points = new ArrayList<>();
        for (int x : xs) {
            AotCompiler.Lowered lowered = jobs.apply(x).lower();
            double before = Measure.processSeconds();
            compiler.compile(lowered, Map.of());
            points.add(new Point(
                    x,
                    Measure.processSeconds() - before,
                    0,
                    lowered.program().module().toString().length()));
        }
        return Curve.of("compiling", against, COMPILED_MODEL, points);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import dev.slipway.bench.conformance.PluginWorker;
import dev.slipway.bench.conformance.StablehloConformance;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What {@code ./slipway-bench} starts: JMH and its arguments, or a measurement that JMH has no form for. */
public final class Main {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private Main() {}

    /** Runs the command of the first argument. */
    public static void main(String[] args) throws Exception {
        try {
            run(args);
        } catch (JsonFile.UnreadableException e) {
            System.err.println("slipway-bench: " + e.getMessage());
            System.exit(1);
        }
    }

    private static void run(String[] args) throws Exception {
        List<String> rest = args.length == 0 ? List.of() : Arrays.asList(args).subList(1, args.length);
        switch (args.length == 0 ? "" : args[0]) {
            case "jmh" -> org.openjdk.jmh.Main.main(rest.toArray(String[]::new));
            case "smoke" -> Smoke.run();
            case "stress" -> Stress.main(rest);
            case "lower" -> print(Measure.lower(rest.get(0), rest.get(1), Integer.parseInt(rest.get(2))));
            case "build" -> print(Measure.build(Integer.parseInt(rest.get(0)), Integer.parseInt(rest.get(1))));
            case "decode" -> print(Measure.decode(Integer.parseInt(rest.get(0)), Integer.parseInt(rest.get(1))));
            case "compile" -> print(Measure.compile(rest.get(0), rest.get(1)));
            case "figures" -> figures(rest.isEmpty() ? null : Path.of(rest.getFirst()));
            case "report" -> report(Path.of(rest.getFirst()));
            case "growth" -> growth(rest, Path.of(rest.getLast()));
            case "stablehlo-peer" -> StablehloPeer.serve(Path.of(rest.getFirst()));
            case "stablehlo-conformance" -> System.exit(StablehloConformance.run(rest.toArray(String[]::new)) ? 0 : 1);
            case "stablehlo-conformance-worker" -> PluginWorker.run(rest.getFirst());
            default -> {
                System.err.println(
                        "slipway-bench: jmh, smoke, stress, compare, growth, figures, report, lower, build, compile or decode is expected, not "
                                + (args.length == 0 ? "nothing" : "'" + args[0] + "'"));
                System.exit(2);
            }
        }
    }

    private static void print(Object document) {
        System.out.println(JSON.writeValueAsString(document));
    }

    /** Figures of all recorded cases to standard output, or to a file: then what changed is said. */
    private static void figures(@Nullable Path record) throws IOException {
        List<Figures> now = Figures.all();
        String json = JSON.writerWithDefaultPrettyPrinter().writeValueAsString(now);
        if (record == null) {
            System.out.println(json);
            return;
        }
        List<Figures> before = Files.exists(record)
                ? JsonFile.read(record, new TypeReference<List<Figures>>() {}, "get it again, or remove it")
                : List.of();
        Files.writeString(record, json + '\n');
        List<String> changes = Figures.changes(before, now);
        changes.forEach(System.out::println);
        System.out.println(
                record + ": " + (changes.isEmpty() ? "nothing changed" : changes.size() + " figures changed"));
    }

    /** {@code raw.json} in a folder to {@code results.md} and {@code results.html} beside it. */
    private static void report(Path folder) throws IOException {
        Path file = folder.resolve("raw.json");
        String remedy = "measure again with ./slipway-bench compare";
        JsonNode raw = JsonFile.read(file, new TypeReference<JsonNode>() {}, remedy);
        if (!raw.path("measurements").isArray()) {
            throw new JsonFile.UnreadableException("%s has no list of measurements; %s".formatted(file, remedy));
        }
        Report report = Report.of(raw);
        Files.writeString(folder.resolve("results.md"), report.markdown());
        Files.writeString(folder.resolve("results.html"), report.html());
        System.out.println(folder.resolve("results.md"));
        System.out.println(folder.resolve("results.html"));
    }

    /** Growth curves, as {@code growth.json} and {@code growth.html} in a folder and as a table on standard output. */
    private static void growth(List<String> options, Path folder) throws IOException {
        Files.createDirectories(folder);
        List<Growth.Curve> curves =
                options.contains("--modules") ? Growth.modules() : Growth.curves(options.contains("--compile"));
        Files.writeString(
                folder.resolve("growth.json"),
                JSON.writerWithDefaultPrettyPrinter().writeValueAsString(curves));
        Files.writeString(folder.resolve("growth.html"), Growth.html(curves));
        System.out.println(
                "| what | against | from | to | CPU ms, from | CPU ms, to | exponent | of the last three | of bytes |");
        System.out.println("|---|---|---|---|---|---|---|---|---|");
        for (Growth.Curve curve : curves) {
            Growth.Point first = curve.points().getFirst();
            Growth.Point last = curve.points().getLast();
            System.out.printf(
                    Locale.ROOT,
                    "| %s | %s | %d | %d | %.2f | %.2f | %.2f | %.2f | %s |%n",
                    curve.of() + " " + curve.model(),
                    curve.against(),
                    first.x(),
                    last.x(),
                    first.seconds() * 1e3,
                    last.seconds() * 1e3,
                    curve.exponent(),
                    curve.tailExponent(),
                    curve.allocationExponent() == null
                            ? "-"
                            : String.format(Locale.ROOT, "%.2f", curve.allocationExponent()));
        }
    }
}

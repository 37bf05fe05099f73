// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.summarizingDouble;

import com.google.common.collect.ImmutableList;
import dev.slipway.bench.Statistics.Interval;
import java.util.ArrayList;
import java.util.Collections;
import java.util.DoubleSummaryStatistics;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * A comparison's raw measurements as tables and plots: medians, and the ratio of Slipway to each rival, with bootstrap
 * intervals of 95 %.
 */
final class Report {
    private static final String OURS = "slipway";
    private static final String CANNOT = "cannot: ";

    /** Fewer measurements than these have no interval. */
    private static final int FOR_INTERVAL = 3;

    /** What is reported of a measurement, in the order of the tables. */
    private enum Metric {
        WALL("wall_s", "whole process", "s"),
        CPU("cpu_s", "whole process, CPU", "s"),
        RSS("rss_bytes", "peak memory", "GiB"),
        OUTSIDE("outside_s", "outside XLA", "s"),
        BEFORE("before_s", "imports and configuration", "s"),
        REST("rest_s", "all else", "s"),
        LOWER("lower_s", "lowering", "ms"),
        WARM_LOWER("warm_lower_s", "lowering, warm", "ms"),
        WARM_LOWER_CPU("warm_lower_cpu_s", "lowering, warm, CPU", "ms"),
        COMPILE("compile_s", "XLA", "s"),
        BUILD("build_s", "build and print", "ms"),
        MODULE("module_bytes", "module", "KiB"),
        TEMPORARIES("temp_bytes", "temporaries", "MiB"),
        FLOPS("flops", "flops", "G"),
        PREFILL("prefill_tokens_per_s", "prefill", "tokens/s"),
        DECODE("decode_tokens_per_s", "decode", "tokens/s");

        private final String field;
        private final String title;
        private final String unit;

        Metric(String field, String title, String unit) {
            this.field = field;
            this.title = title;
            this.unit = unit;
        }

        private String show(double value) {
            double scaled = switch (unit) {
                case "ms" -> value * 1e3;
                case "GiB" -> value / (1 << 30);
                case "MiB" -> value / (1 << 20);
                case "KiB" -> value / (1 << 10);
                case "G" -> value / 1e9;
                default -> value;
            };
            return String.format(Locale.ROOT, scaled >= 100 ? "%.0f" : scaled >= 1 ? "%.2f" : "%.3g", scaled);
        }
    }

    /** What a case is about: the first part of its name. */
    private enum Kind {
        COLD(
                "A cold process: names in, an executable out",
                ImmutableList.of(Metric.WALL, Metric.CPU, Metric.COMPILE, Metric.RSS),
                ImmutableList.of(Metric.REST, Metric.LOWER, Metric.COMPILE, Metric.WALL, Metric.CPU, Metric.RSS),
                ImmutableList.of(Metric.OUTSIDE, Metric.BEFORE, Metric.MODULE, Metric.TEMPORARIES, Metric.FLOPS)),
        WARM(
                "Lowering, in a process that has lowered before",
                ImmutableList.of(Metric.WARM_LOWER, Metric.WARM_LOWER_CPU),
                ImmutableList.of(Metric.WARM_LOWER, Metric.WARM_LOWER_CPU),
                ImmutableList.of(Metric.LOWER, Metric.MODULE)),
        BUILD(
                "A chain of additions, built and printed",
                ImmutableList.of(Metric.BUILD),
                ImmutableList.of(Metric.BUILD),
                ImmutableList.of(Metric.MODULE)),
        DECODE(
                "Tokens from this CPU",
                ImmutableList.of(Metric.DECODE, Metric.PREFILL),
                ImmutableList.of(Metric.DECODE, Metric.PREFILL, Metric.RSS),
                ImmutableList.of(Metric.WALL, Metric.CPU));

        private final String title;
        private final ImmutableList<Metric> compared;
        private final ImmutableList<Metric> shown;
        private final ImmutableList<Metric> details;

        Kind(String title, ImmutableList<Metric> compared, ImmutableList<Metric> shown, ImmutableList<Metric> details) {
            this.title = title;
            this.compared = compared;
            this.shown = shown;
            this.details = details;
        }

        static Kind of(String name) {
            return valueOf(name.substring(0, name.indexOf('/')).toUpperCase(Locale.ROOT));
        }

        /** What plots show. */
        private Metric plotted() {
            return compared.getFirst();
        }

        /** All that is kept of a measurement, each once, in the order of the tables. */
        private List<Metric> metrics() {
            return Stream.concat(shown.stream(), details.stream()).sorted().toList();
        }
    }

    /** A table before it is Markdown or HTML. */
    private record Table(List<String> header, List<List<String>> rows) {
        private String markdown() {
            StringBuilder out = new StringBuilder(line(header))
                    .append("|---".repeat(header.size()))
                    .append("|\n");
            rows.forEach(row -> out.append(line(row)));
            return out.toString();
        }

        private static String line(List<String> cells) {
            return cells.stream().map(cell -> cell.replace("|", "\\|")).collect(joining(" | ", "| ", " |\n"));
        }

        private String html() {
            StringBuilder out = new StringBuilder("<table><thead><tr>");
            header.forEach(cell -> out.append("<th>").append(Svg.escape(cell)));
            out.append("<tbody>");
            for (List<String> row : rows) {
                out.append(row.get(1).startsWith(OURS) ? "<tr class=\"ours\">" : "<tr>");
                // What cannot be measured is said across the columns.
                int last = row.get(2).startsWith(CANNOT) ? 2 : row.size() - 1;
                for (int i = 0; i <= last; i++) {
                    out.append(
                                    i == last && last < row.size() - 1
                                            ? "<td colspan=\"" + (row.size() - 2) + "\">"
                                            : "<td>")
                            .append(Svg.escape(row.get(i)));
                }
            }
            return out.append("</table>\n").toString();
        }
    }

    /**
     * A row of a table.
     *
     * @param count of measurements
     * @param ratio of Slipway to this contender; null for Slipway itself
     */
    private record Row(
            Metric metric,
            String contender,
            Interval value,
            int count,
            @Nullable Interval ratio) {}

    private final JsonNode raw;
    private final Map<String, Map<String, Map<Metric, List<Double>>>> samples = new LinkedHashMap<>();
    private final Map<String, Map<String, String>> absent = new LinkedHashMap<>();

    private Report(JsonNode raw) {
        this.raw = raw;
        for (JsonNode entry : raw.path("measurements")) {
            String name = entry.path("case").asString();
            String contender = entry.path("contender").asString();
            if (entry.has("unavailable")) {
                absent.computeIfAbsent(name, _ -> new LinkedHashMap<>())
                        .put(contender, entry.path("unavailable").asString());
            } else {
                Map<Metric, List<Double>> of = samples.computeIfAbsent(name, _ -> new LinkedHashMap<>())
                        .computeIfAbsent(contender, _ -> new TreeMap<>());
                add(of, Kind.of(name), entry);
            }
        }
    }

    /** A report of what {@code compare.py} wrote. */
    static Report of(JsonNode raw) {
        return new Report(raw);
    }

    private static void add(Map<Metric, List<Double>> of, Kind kind, JsonNode entry) {
        JsonNode values = entry.path("values");
        for (Metric metric : kind.metrics()) {
            List<Double> to = of.computeIfAbsent(metric, _ -> new ArrayList<>());
            JsonNode value = values.has(metric.field) ? values.path(metric.field) : entry.path(metric.field);
            if (metric == Metric.OUTSIDE || metric == Metric.REST) {
                double lower =
                        metric == Metric.REST ? values.path(Metric.LOWER.field).asDouble(0) : 0;
                to.add(entry.path(Metric.WALL.field).asDouble()
                        - values.path(Metric.COMPILE.field).asDouble()
                        - lower);
            } else if (value.isArray()) {
                double[] several =
                        value.valueStream().mapToDouble(JsonNode::asDouble).toArray();
                if (several.length > 0) {
                    to.add(Statistics.median(several));
                }
            } else if (value.isNumber()) {
                to.add(value.asDouble());
            }
        }
    }

    private List<Row> rows(Map<String, Map<Metric, List<Double>>> contenders) {
        List<Row> rows = new ArrayList<>();
        for (Metric metric : Metric.values()) {
            double[] ours = values(contenders.get(OURS), metric);
            contenders.forEach((contender, of) -> {
                double[] values = values(of, metric);
                if (values.length > 0) {
                    rows.add(new Row(
                            metric,
                            contender,
                            Statistics.median95(values),
                            values.length,
                            contender.equals(OURS) || ours.length == 0 ? null : Statistics.ratio95(ours, values)));
                }
            });
        }
        return rows;
    }

    private static double[] values(@Nullable Map<Metric, List<Double>> of, Metric metric) {
        return of == null
                ? new double[0]
                : of.getOrDefault(metric, List.of()).stream()
                        .mapToDouble(Double::doubleValue)
                        .toArray();
    }

    private static String ratio(Row row) {
        Interval ratio = row.ratio();
        if (ratio == null) {
            return "";
        }
        return row.count() < FOR_INTERVAL
                ? String.format(Locale.ROOT, "%.3g", ratio.value())
                : String.format(Locale.ROOT, "%.3g [%.3g, %.3g]", ratio.value(), ratio.low(), ratio.high());
    }

    private static String interval(Row row) {
        Metric metric = row.metric();
        String value = metric.show(row.value().value());
        return row.count() < FOR_INTERVAL
                ? value + " " + metric.unit
                : value + " [" + metric.show(row.value().low()) + ", "
                        + metric.show(row.value().high()) + "] " + metric.unit;
    }

    private String provenance() {
        JsonNode machine = raw.path("machine");
        return "%s, %s cores, %s GiB, %s; commit %s; %s; %s of %s rounds, contenders taking turns"
                .formatted(
                        machine.path("cpu").asString(),
                        machine.path("cores").asInt(),
                        machine.path("memory_gib").asDouble(),
                        machine.path("system").asString(),
                        machine.path("commit").asString(),
                        raw.path("started").asString(),
                        1
                                + raw.path("measurements")
                                        .valueStream()
                                        .mapToInt(entry -> entry.path("round").asInt(0))
                                        .max()
                                        .orElse(-1),
                        raw.path("rounds").asInt());
    }

    private String loadOf(String name) {
        DoubleSummaryStatistics load = raw.path("measurements")
                .valueStream()
                .filter(entry -> entry.path("case").asString().equals(name))
                .collect(summarizingDouble(entry -> entry.path("load").asDouble()));
        return String.format(Locale.ROOT, "Load of the machine %.1f to %.1f.", load.getMin(), load.getMax());
    }

    private List<String> names(Kind kind) {
        return names().stream().filter(name -> Kind.of(name) == kind).toList();
    }

    /** All cases of a kind: medians, and ratios to each rival. */
    private Table overview(Kind kind) {
        List<String> header = new ArrayList<>(List.of("case", "contender"));
        kind.shown.forEach(metric -> header.add(metric.title + ", " + metric.unit));
        kind.compared.forEach(metric -> header.add("Slipway / it: " + metric.title));
        List<List<String>> table = new ArrayList<>();
        for (String name : names(kind)) {
            String shortName = name.substring(name.indexOf('/') + 1);
            Map<String, Map<Metric, List<Double>>> contenders = samples.getOrDefault(name, Map.of());
            List<Row> rows = rows(contenders);
            for (String contender : contenders.keySet()) {
                List<String> cells = new ArrayList<>(List.of(shortName, contender));
                kind.shown.forEach(metric -> cells.add(find(rows, contender, metric)
                        .map(row -> metric.show(row.value().value()))
                        .orElse("")));
                kind.compared.forEach(metric -> cells.add(
                        find(rows, contender, metric).map(Report::ratio).orElse("")));
                table.add(cells);
            }
            absent.getOrDefault(name, Map.of())
                    .forEach((contender, reason) ->
                            table.add(padded(List.of(shortName, contender, CANNOT + reason), header.size())));
        }
        return new Table(header, table);
    }

    private static Optional<Row> find(List<Row> rows, String contender, Metric metric) {
        return rows.stream()
                .filter(row -> row.contender().equals(contender) && row.metric() == metric)
                .findFirst();
    }

    private static List<String> padded(List<String> cells, int size) {
        List<String> all = new ArrayList<>(cells);
        all.addAll(Collections.nCopies(Math.max(0, size - cells.size()), ""));
        return all;
    }

    /** All that was measured of a case, with intervals. */
    private Table details(String name) {
        List<List<String>> table = new ArrayList<>();
        for (Row row : rows(samples.getOrDefault(name, Map.of()))) {
            table.add(List.of(row.metric().title, row.contender(), interval(row), ratio(row)));
        }
        absent.getOrDefault(name, Map.of())
                .forEach((contender, reason) -> table.add(List.of("", contender, CANNOT + reason, "")));
        return new Table(List.of("what", "contender", "median", "Slipway / it"), table);
    }

    private static final String EXPLANATION =
            "Medians, with bootstrap intervals of 95 % from three measurements on; a ratio is Slipway's median by the rival's: below 1, Slipway takes less"
                    + " (of tokens a second: above 1, Slipway is faster).";

    /** Tables in Markdown: an overview of each kind of case, then each case. */
    String markdown() {
        StringBuilder out = new StringBuilder("# Slipway beside its rivals\n\n")
                .append(provenance())
                .append(".\n\n")
                .append(EXPLANATION)
                .append('\n');
        for (Kind kind : kinds()) {
            out.append("\n## ")
                    .append(kind.title)
                    .append("\n\n")
                    .append(overview(kind).markdown());
        }
        for (String name : names()) {
            out.append("\n### ")
                    .append(name)
                    .append("\n\n")
                    .append(loadOf(name))
                    .append("\n\n")
                    .append(details(name).markdown());
        }
        return out.toString();
    }

    /** One page with the same tables and a plot for each case, that needs nothing from elsewhere. */
    String html() {
        StringBuilder out = new StringBuilder("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">")
                .append(
                        "<meta name=\"viewport\" content=\"width=device-width\"><title>Slipway beside its rivals</title><style>")
                .append(
                        "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}")
                .append("table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}")
                .append("td,th{padding:.15rem .9rem .15rem 0;text-align:left;vertical-align:top}th{font-weight:600}")
                .append("td{border-top:1px solid #ddd}tr.ours td{background:#eef5fa}svg{display:block;margin:.7rem 0}")
                .append(
                        "td:nth-child(-n+2){white-space:nowrap}details{margin:.3rem 0 1.2rem}summary{cursor:pointer}.wide{overflow-x:auto}</style>\n")
                .append("<h1>Slipway beside its rivals</h1>\n<p>")
                .append(Svg.escape(provenance()))
                .append(".</p>\n<p>")
                .append(Svg.escape(EXPLANATION))
                .append("</p>\n");
        for (Kind kind : kinds()) {
            out.append("<h2>").append(Svg.escape(kind.title)).append("</h2>\n");
            out.append("<div class=\"wide\">").append(overview(kind).html()).append("</div>\n");
            for (String name : names(kind)) {
                List<Svg.Bar> bars = rows(samples.getOrDefault(name, Map.of())).stream()
                        .filter(row -> row.metric() == kind.plotted())
                        .map(row -> new Svg.Bar(
                                row.contender(),
                                row.value(),
                                interval(row),
                                row.contender().startsWith(OURS)))
                        .toList();
                if (!bars.isEmpty()) {
                    out.append(Svg.bars(name.substring(name.indexOf('/') + 1) + ": " + kind.plotted().title, bars));
                }
                out.append("<details><summary>all that was measured of ")
                        .append(Svg.escape(name))
                        .append("</summary><p>")
                        .append(loadOf(name))
                        .append("</p>")
                        .append(details(name).html())
                        .append("</details>\n");
            }
        }
        return out.append("</html>\n").toString();
    }

    private List<Kind> kinds() {
        return names().stream().map(Kind::of).distinct().toList();
    }

    private List<String> names() {
        return raw.path("measurements")
                .valueStream()
                .map(entry -> entry.path("case").asString())
                .distinct()
                .toList();
    }
}

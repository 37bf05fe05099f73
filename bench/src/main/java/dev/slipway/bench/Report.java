// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import dev.slipway.bench.Statistics.Interval;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * A comparison's raw measurements as tables and plots: medians, and the ratio of Slipway to each rival, with bootstrap
 * intervals of 95 %.
 */
final class Report {
    private static final String OURS = "slipway";

    /** What is reported of a measurement, in the order of the tables. */
    private enum Metric {
        WALL("wall_s", "whole process", "s"),
        CPU("cpu_s", "whole process, CPU", "s"),
        RSS("rss_bytes", "peak memory", "GiB"),
        OUTSIDE("outside_s", "outside XLA", "s"),
        LOWER("lower_s", "lower, first", "ms"),
        WARM_LOWER("warm_lower_s", "lower, warm", "ms"),
        WARM_LOWER_CPU("warm_lower_cpu_s", "lower, warm, CPU", "ms"),
        COMPILE("compile_s", "XLA", "s"),
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

        /** Whether a case of a kind is about it: a cold process is not about what it does later. */
        private boolean belongsTo(String kind) {
            return switch (this) {
                case WALL, CPU, RSS -> !kind.equals("warm");
                case OUTSIDE, COMPILE, TEMPORARIES, FLOPS -> kind.equals("cold");
                case LOWER, MODULE -> !kind.equals("decode");
                case WARM_LOWER, WARM_LOWER_CPU -> kind.equals("warm");
                case PREFILL, DECODE -> kind.equals("decode");
            };
        }
    }

    /**
     * A row of a table.
     *
     * @param ratio of Slipway to this contender; null for Slipway itself
     */
    private record Row(
            Metric metric,
            String contender,
            Interval value,
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
                add(of, name.substring(0, name.indexOf('/')), entry);
            }
        }
    }

    /** A report of what {@code compare.py} wrote. */
    static Report of(JsonNode raw) {
        return new Report(raw);
    }

    private static void add(Map<Metric, List<Double>> of, String kind, JsonNode entry) {
        JsonNode values = entry.path("values");
        for (Metric metric : Metric.values()) {
            if (!metric.belongsTo(kind)) {
                continue;
            }
            List<Double> to = of.computeIfAbsent(metric, _ -> new ArrayList<>());
            JsonNode value = values.has(metric.field) ? values.path(metric.field) : entry.path(metric.field);
            if (metric == Metric.OUTSIDE) {
                to.add(entry.path(Metric.WALL.field).asDouble()
                        - values.path(Metric.COMPILE.field).asDouble());
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

    private static String ratio(Interval ratio) {
        return String.format(Locale.ROOT, "%.3g [%.3g, %.3g]", ratio.value(), ratio.low(), ratio.high());
    }

    private static String interval(Row row) {
        Metric metric = row.metric();
        return metric.show(row.value().value()) + " [" + metric.show(row.value().low()) + ", "
                + metric.show(row.value().high()) + "] " + metric.unit;
    }

    private String provenance() {
        JsonNode machine = raw.path("machine");
        return "%s, %s cores, %s GiB, %s; commit %s; %s; %s rounds, contenders taking turns"
                .formatted(
                        machine.path("cpu").asString(),
                        machine.path("cores").asInt(),
                        machine.path("memory_gib").asDouble(),
                        machine.path("system").asString(),
                        machine.path("commit").asString(),
                        raw.path("started").asString(),
                        raw.path("rounds").asInt());
    }

    private double loadOf(String name) {
        return raw.path("measurements")
                .valueStream()
                .filter(entry -> entry.path("case").asString().equals(name))
                .mapToDouble(entry -> entry.path("load").asDouble())
                .max()
                .orElse(0);
    }

    /** Tables in Markdown. */
    String markdown() {
        StringBuilder out = new StringBuilder("# Slipway beside its rivals\n\n")
                .append(provenance())
                .append(
                        ".\n\nMedians with bootstrap intervals of 95 %; the ratio is Slipway's median by the rival's.\n");
        for (String name : names()) {
            out.append("\n## ")
                    .append(name)
                    .append(String.format(Locale.ROOT, "%n%nLoad of the machine up to %.1f.%n%n", loadOf(name)))
                    .append("| what | contender | median | Slipway / it |\n|---|---|---|---|\n");
            for (Row row : rows(samples.getOrDefault(name, Map.of()))) {
                out.append("| %s | %s | %s | %s |%n"
                        .formatted(
                                row.metric().title,
                                row.contender(),
                                interval(row),
                                row.ratio() == null ? "" : ratio(row.ratio())));
            }
            absent.getOrDefault(name, Map.of())
                    .forEach((contender, reason) -> out.append(
                            "| | %s | cannot run here: %s | |%n".formatted(contender, reason.replace("|", "\\|"))));
        }
        return out.toString();
    }

    /** One page with the same tables and a plot for each, that needs nothing from elsewhere. */
    String html() {
        StringBuilder out = new StringBuilder(
                        "<!doctype html><meta charset=\"utf-8\"><title>Slipway beside its rivals</title><style>")
                .append("body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}")
                .append("table{border-collapse:collapse}td,th{padding:.15rem .8rem .15rem 0;text-align:left}")
                .append("td{border-top:1px solid #ddd}svg{display:block;margin:.7rem 0}</style>")
                .append("<h1>Slipway beside its rivals</h1><p>")
                .append(Svg.escape(provenance()))
                .append(
                        ".</p><p>Medians with bootstrap intervals of 95 %; the ratio is Slipway's median by the rival's.</p>");
        for (String name : names()) {
            List<Row> rows = rows(samples.getOrDefault(name, Map.of()));
            out.append("<h2>").append(Svg.escape(name)).append("</h2>");
            Metric plotted = name.startsWith("cold/")
                    ? Metric.WALL
                    : name.startsWith("warm/") ? Metric.WARM_LOWER : Metric.DECODE;
            List<Svg.Bar> bars = rows.stream()
                    .filter(row -> row.metric() == plotted)
                    .map(row -> new Svg.Bar(row.contender(), row.value(), interval(row)))
                    .toList();
            if (!bars.isEmpty()) {
                out.append(Svg.bars(plotted.title, bars));
            }
            out.append("<table><tr><th>what<th>contender<th>median<th>Slipway / it</tr>");
            for (Row row : rows) {
                out.append("<tr><td>%s<td>%s<td>%s<td>%s</tr>"
                        .formatted(
                                row.metric().title,
                                Svg.escape(row.contender()),
                                interval(row),
                                row.ratio() == null ? "" : ratio(row.ratio())));
            }
            absent.getOrDefault(name, Map.of())
                    .forEach((contender, reason) -> out.append("<tr><td><td>%s<td>cannot run here: %s<td></tr>"
                            .formatted(Svg.escape(contender), Svg.escape(reason))));
            out.append("</table>");
        }
        return out.append('\n').toString();
    }

    private List<String> names() {
        return raw.path("measurements")
                .valueStream()
                .map(entry -> entry.path("case").asString())
                .distinct()
                .toList();
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import dev.slipway.bench.Statistics.Interval;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** The two plots that reports have, as SVG to stand in a page. */
final class Svg {
    private static final int WIDTH = 720;
    private static final int ROW = 26;
    private static final int LEFT = 170;
    private static final int RIGHT = 210;
    private static final int HEIGHT = 300;
    private static final String[] COLOURS = {"#1b6ca8", "#c8553d", "#588157", "#8e5ea2", "#b08900", "#444"};

    private Svg() {}

    /** A bar and what is written behind it. */
    record Bar(String name, Interval value, String label, boolean ours) {}

    /** A line of a plot; points with positive coordinates. */
    record Line(String name, List<double[]> points) {}

    /** Bars from zero, each with its interval as a whisker. */
    static String bars(String title, List<Bar> bars) {
        double longest =
                bars.stream().mapToDouble(bar -> bar.value().high()).max().orElse(1);
        StringBuilder out = open(ROW * bars.size() + 24, title);
        for (int i = 0; i < bars.size(); i++) {
            Bar bar = bars.get(i);
            int y = 24 + ROW * i;
            double end = x(bar.value().value(), longest);
            out.append(line("<text x=\"0\" y=\"%d\">%s</text>", y + 14, escape(bar.name())))
                    .append(line(
                            "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"16\" fill=\"%s\"/>",
                            LEFT, y + 2, end - LEFT, COLOURS[bar.ours() ? 0 : 1]))
                    .append(line(
                            "<path d=\"M%.1f %dH%.1f\" stroke=\"#000\"/>",
                            x(bar.value().low(), longest), y + 10, x(bar.value().high(), longest)))
                    .append(line(
                            "<text x=\"%.1f\" y=\"%d\">%s</text>",
                            x(bar.value().high(), longest) + 6, y + 14, escape(bar.label())));
        }
        return out.append("</svg>").toString();
    }

    private static double x(double value, double longest) {
        return LEFT + (WIDTH - LEFT - RIGHT) * value / longest;
    }

    /** Lines on logarithmic axes, where a power of x is straight. */
    static String lines(String title, String xTitle, String yTitle, List<Line> lines) {
        double[] all = lines.stream()
                .flatMap(line -> line.points().stream())
                .mapToDouble(point -> point[0])
                .toArray();
        double[] ys = lines.stream()
                .flatMap(line -> line.points().stream())
                .mapToDouble(point -> point[1])
                .toArray();
        Axis across = Axis.of(all, 60, WIDTH - RIGHT);
        Axis up = Axis.of(ys, HEIGHT - 30, 30);
        StringBuilder out = open(HEIGHT, title)
                .append(line("<path d=\"M60 30V%d H%d\" fill=\"none\" stroke=\"#888\"/>", HEIGHT - 30, WIDTH - RIGHT))
                .append(line("<text x=\"60\" y=\"%d\">%s</text>", HEIGHT - 12, number(across.low)))
                .append(line(
                        "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s %s</text>",
                        WIDTH - RIGHT, HEIGHT - 12, number(across.high), escape(xTitle)))
                .append(line("<text x=\"56\" y=\"40\" text-anchor=\"end\">%s</text>", number(up.high)))
                .append(line("<text x=\"56\" y=\"%d\" text-anchor=\"end\">%s</text>", HEIGHT - 32, number(up.low)))
                .append(line("<text x=\"64\" y=\"40\">%s</text>", escape(yTitle)));
        for (int i = 0; i < lines.size(); i++) {
            StringBuilder path = new StringBuilder();
            for (double[] point : lines.get(i).points()) {
                path.append(line("%s%.1f %.1f", path.isEmpty() ? "M" : "L", across.at(point[0]), up.at(point[1])));
            }
            String colour = COLOURS[i % COLOURS.length];
            out.append(line("<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>", path, colour))
                    .append(line(
                            "<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>",
                            WIDTH - RIGHT + 10,
                            40 + 18 * i,
                            colour,
                            escape(lines.get(i).name())));
        }
        return out.append("</svg>").toString();
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, value >= 10 || value == Math.rint(value) ? "%.0f" : "%.2g", value);
    }

    private record Axis(double low, double high, double from, double to) {
        static Axis of(double[] values, double from, double to) {
            double low = Arrays.stream(values).min().orElse(1);
            double high = Arrays.stream(values).max().orElse(10);
            return new Axis(low, high > low ? high : low * 10, from, to);
        }

        double at(double value) {
            return from + (to - from) * Math.log(value / low) / Math.log(high / low);
        }
    }

    private static StringBuilder open(int height, String title) {
        return new StringBuilder()
                .append(line(
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-size=\"12\" font-family=\"sans-serif\">",
                        WIDTH, height))
                .append(line("<text x=\"0\" y=\"14\" font-weight=\"bold\">%s</text>", escape(title)));
    }

    @SuppressWarnings("AnnotateFormatMethod") // its annotation would need a module of its own
    private static String line(String format, Object... values) {
        return String.format(Locale.ROOT, format, values);
    }

    /** Text as HTML and SVG take it. */
    static String escape(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }
}

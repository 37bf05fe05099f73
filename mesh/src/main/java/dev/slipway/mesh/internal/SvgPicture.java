// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh.internal;

import dev.slipway.topology.Platform;
import dev.slipway.topology.Topology;
import java.util.List;
import java.util.Locale;

/** Draws a mesh as an SVG document: a square for each device, a frame for each host, planes of slices apart. */
public final class SvgPicture {
    private static final int MARGIN = 20;
    private static final int HEADER = 44;
    private static final int PAGE = 1600;
    private static final int CHIP_HEIGHT = 26;
    private static final int HOST_GAP = 8;
    private static final int CAPTION = 20;
    private static final int PLANE_GAP = 16;
    private static final double LETTER = 6.8;
    private static final double TITLE_LETTER = 9.2;

    private final Drawing drawing;
    private final Planes planes;
    private final int deviceWidth;
    private final int chipWidth;
    private final StringBuilder out = new StringBuilder();

    public SvgPicture(Drawing drawing) {
        this.drawing = drawing;
        this.planes = drawing.planes();
        int longest = drawing.chips().stream()
                .flatMap(List::stream)
                .flatMap(List::stream)
                .mapToInt(position -> drawing.label(List.of(position)).length())
                .max()
                .orElse(1);
        this.deviceWidth = (int) Math.max(30, LETTER * longest + 10);
        this.chipWidth = deviceWidth * drawing.mesh().topology().chip().devicesPerChip() + 2;
    }

    /** The document. */
    public String render() {
        Topology topology = drawing.mesh().topology();
        int planeWidth = planes.columns() * chipWidth + (planes.columns() / planes.hostColumns() - 1) * HOST_GAP;
        int planeHeight = planes.rows() * CHIP_HEIGHT + (planes.rows() / planes.hostRows() - 1) * HOST_GAP;
        // The planes of one slice stay together; slices of one plane stand side by side.
        int perSlice = planes.count() / topology.slices();
        int group = perSlice == 1 ? planes.count() : perSlice;
        int across = Math.clamp(PAGE / (planeWidth + MARGIN), 1, group);
        int rowHeight = planeHeight + CAPTION + PLANE_GAP;
        int groupHeight = (group + across - 1) / across * rowHeight + (group == planes.count() ? 0 : PLANE_GAP);
        String title = topology.name()
                + (topology.slices() > 1 && topology.platform() == Platform.TPU
                        ? " x " + topology.slices() + " slices"
                        : "")
                + ", mesh " + drawing.mesh();
        int width =
                Math.max(across * (planeWidth + MARGIN) + MARGIN, (int) (TITLE_LETTER * title.length()) + 2 * MARGIN);
        int height = HEADER + planes.count() / group * groupHeight;

        line(String.format(
                Locale.ROOT,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\""
                        + " font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"11\">",
                width,
                height,
                width,
                height));
        line(String.format(Locale.ROOT, "<title>%s</title>", escape(title)));
        line("<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>");
        line(String.format(
                Locale.ROOT,
                "<text x=\"%d\" y=\"28\" font-size=\"15\" fill=\"#222222\">%s</text>",
                MARGIN,
                escape(title)));
        for (int plane = 0; plane < planes.count(); plane++) {
            int inGroup = plane % group;
            int x = MARGIN + inGroup % across * (planeWidth + MARGIN);
            int y = HEADER + plane / group * groupHeight + inGroup / across * rowHeight;
            line(String.format(
                    Locale.ROOT,
                    "<text x=\"%d\" y=\"%d\" fill=\"#555555\">%s</text>",
                    x,
                    y + 13,
                    Planes.title(topology, plane)));
            plane(plane, x, y + CAPTION);
        }
        line("</svg>");
        return out.toString();
    }

    private void plane(int plane, int left, int top) {
        for (int row = 0; row < planes.rows(); row++) {
            for (int column = 0; column < planes.columns(); column++) {
                int x = left + column * chipWidth + column / planes.hostColumns() * HOST_GAP;
                int y = top + row * CHIP_HEIGHT + row / planes.hostRows() * HOST_GAP;
                List<Integer> chip = drawing.chips().get(plane).get(row * planes.columns() + column);
                boolean corner = row % planes.hostRows() == 0 && column % planes.hostColumns() == 0;
                if (corner && !chip.isEmpty()) {
                    line(String.format(
                            Locale.ROOT,
                            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"none\" stroke=\"#999999\">"
                                    + "<title>host %d</title></rect>",
                            x - 2,
                            y - 2,
                            planes.hostColumns() * chipWidth + 2,
                            planes.hostRows() * CHIP_HEIGHT + 2,
                            drawing.mesh().topology().processAt(chip.getFirst())));
                }
                for (int i = 0; i < chip.size(); i++) {
                    device(chip.get(i), x + i * deviceWidth, y);
                }
            }
        }
    }

    private void device(int position, int x, int y) {
        Topology topology = drawing.mesh().topology();
        line(String.format(
                Locale.ROOT,
                "<g><title>device %d at %s</title><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" fill=\"%s\"/>"
                        + "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#111111\">%s</text></g>",
                topology.idAt(position),
                topology.coordsAt(position),
                x,
                y,
                deviceWidth - 2,
                CHIP_HEIGHT - 2,
                colour(drawing.coordinates(position)),
                x + deviceWidth / 2 - 1,
                y + CHIP_HEIGHT / 2 + 3,
                drawing.label(List.of(position))));
    }

    /** Hue by the first coordinate, lightness by the last: all light enough for dark letters. */
    private String colour(List<Integer> coordinates) {
        List<Integer> sizes =
                drawing.mesh().shape().stream().filter(size -> size > 1).toList();
        if (sizes.isEmpty()) {
            return rgb(210, 0.8);
        }
        double hue = 210 + 360.0 * coordinates.getFirst() / sizes.getFirst();
        double light = sizes.size() == 1 ? 0.8 : 0.88 - 0.24 * coordinates.getLast() / sizes.getLast();
        return rgb(hue, light);
    }

    /** A colour of the given hue in degrees and lightness at 60% saturation, as viewers of every age read it. */
    private static String rgb(double hue, double light) {
        double chroma = (1 - Math.abs(2 * light - 1)) * 0.6;
        StringBuilder text = new StringBuilder("#");
        for (int offset : new int[] {0, 8, 4}) {
            double k = (offset + hue / 30) % 12;
            double level = light - chroma / 2 * Math.max(-1, Math.min(Math.min(k - 3, 9 - k), 1));
            text.append(String.format(Locale.ROOT, "%02x", Math.round(255 * level)));
        }
        return text.toString();
    }

    private void line(String text) {
        out.append(text).append('\n');
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

import dev.slipway.mesh.internal.Planes;
import dev.slipway.topology.Topology;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Pictures of a mesh: the chips where they stand, with the mesh coordinates of their devices in them, hosts apart by lines
 * and slices by distance.
 */
public final class MeshPicture {
    private static final int GAP = 3;

    private final Mesh mesh;
    private final Planes planes;
    private final List<List<List<Integer>>> chips;
    private final int[] places;

    private MeshPicture(Mesh mesh) {
        Topology topology = mesh.topology();
        this.mesh = mesh;
        this.planes = Planes.of(topology);
        this.chips = planes.chips(topology);
        this.places = new int[mesh.size()];
        int[] positions = mesh.positions();
        for (int i = 0; i < positions.length; i++) {
            places[positions[i]] = i;
        }
    }

    public static MeshPicture of(Mesh mesh) {
        return new MeshPicture(mesh);
    }

    /**
     * The picture in letters and lines.
     *
     * @param width columns of the terminal: planes stand side by side as far as they fit
     * @param maxDevices how many devices to draw; what is left is told of in one line
     * @param highlight how to mark the devices of one ring of the last axis
     * @return the lines, without line ends
     */
    public List<String> lines(int width, int maxDevices, UnaryOperator<String> highlight) {
        int perPlane = mesh.size() / planes.count();
        int shown = Math.clamp(maxDevices / Math.max(1, perPlane), 1, planes.count());
        List<List<String>> blocks = new ArrayList<>();
        int cell = IntStream.range(0, shown)
                .flatMap(p -> chips.get(p).stream().mapToInt(c -> label(c).length()))
                .max()
                .orElse(1);
        int blockWidth = planes.columns() * (cell + 1)
                + (planes.columns() + planes.hostColumns() - 1) / planes.hostColumns() * 2
                + 1;
        for (int p = 0; p < shown; p++) {
            blocks.add(block(p, cell, blockWidth, highlight));
        }
        int across = Math.max(1, (width + GAP) / (blockWidth + GAP));
        List<String> lines = new ArrayList<>();
        for (int from = 0; from < blocks.size(); from += across) {
            List<List<String>> row = blocks.subList(from, Math.min(blocks.size(), from + across));
            for (int line = 0; line < row.getFirst().size(); line++) {
                int at = line;
                lines.add(row.stream()
                        .map(b -> b.get(at))
                        .collect(Collectors.joining(spaces(GAP)))
                        .stripTrailing());
            }
        }
        if (shown < planes.count()) {
            lines.add("and " + (planes.count() - shown) + " more planes like these, of " + perPlane + " devices each");
        }
        return lines;
    }

    private List<String> block(int plane, int cell, int width, UnaryOperator<String> highlight) {
        List<String> lines = new ArrayList<>();
        String title = Planes.title(mesh.topology(), plane);
        if (!title.isEmpty()) {
            lines.add(title + spaces(Math.max(0, width - title.length())));
        }
        lines.add(border(cell, "┌", "┬", "┐"));
        for (int row = 0; row < planes.rows(); row++) {
            if (row > 0 && row % planes.hostRows() == 0) {
                lines.add(border(cell, "├", "┼", "┤"));
            }
            StringBuilder line = new StringBuilder();
            for (int column = 0; column < planes.columns(); column++) {
                line.append(column % planes.hostColumns() == 0 ? "│ " : "");
                List<Integer> chip = chips.get(plane).get(row * planes.columns() + column);
                String label = label(chip);
                boolean onRing =
                        chip.stream().anyMatch(p -> places[p] < mesh.shape().getLast());
                line.append(spaces(cell - label.length()))
                        .append(onRing ? highlight.apply(label) : label)
                        .append(' ');
            }
            lines.add(line.append("│").toString());
        }
        lines.add(border(cell, "└", "┴", "┘"));
        return lines;
    }

    private String border(int cell, String left, String middle, String right) {
        StringBuilder line = new StringBuilder(left);
        for (int column = 0; column < planes.columns(); column++) {
            if (column > 0 && column % planes.hostColumns() == 0) {
                line.append(middle);
            }
            line.append(String.join(
                    "", Collections.nCopies(cell + 1 + (column % planes.hostColumns() == 0 ? 1 : 0), "─")));
        }
        return line.append(right).toString();
    }

    /** The mesh coordinates of a chip's devices, axes of size 1 left out. */
    private String label(List<Integer> chip) {
        return chip.stream()
                .map(position -> coordinates(places[position]).stream()
                        .map(String::valueOf)
                        .collect(Collectors.joining(",")))
                .collect(Collectors.joining(" "));
    }

    private List<Integer> coordinates(int place) {
        List<Integer> coordinates = new ArrayList<>();
        int rest = place;
        for (int axis = mesh.shape().size() - 1; axis >= 0; axis--) {
            int size = mesh.shape().get(axis);
            if (size > 1) {
                coordinates.addFirst(rest % size);
            }
            rest /= size;
        }
        return coordinates.isEmpty() ? List.of(0) : coordinates;
    }

    private static String spaces(int count) {
        return " ".repeat(Math.max(0, count));
    }

    /**
     * The whole picture as an SVG document. Colour tells the coordinate on the first axis that is longer than 1, lightness the
     * one on the last.
     */
    public String svg() {
        int devicesPerChip = mesh.topology().chip().devicesPerChip();
        int longest = chips.stream()
                .flatMap(List::stream)
                .flatMap(List::stream)
                .mapToInt(p -> label(List.of(p)).length())
                .max()
                .orElse(1);
        int cellWidth = Math.max(30, 7 * longest + 8);
        int chipWidth = cellWidth * devicesPerChip + 2;
        int chipHeight = 26;
        int hostGap = 8;
        int planeWidth = planes.columns() * chipWidth + (planes.columns() / planes.hostColumns() + 1) * hostGap;
        int planeHeight = planes.rows() * chipHeight + (planes.rows() / planes.hostRows() + 1) * hostGap;
        int perSlice = Math.max(1, planes.count() / mesh.topology().slices());
        int across = Math.clamp(Math.max(1, 1600 / (planeWidth + 20)), 1, perSlice);
        int rowsPerSlice = (perSlice + across - 1) / across;
        int sliceHeight = rowsPerSlice * (planeHeight + 34) + 16;
        int width = across * (planeWidth + 20) + 20;
        int height = mesh.topology().slices() * sliceHeight + 52;
        StringBuilder out = new StringBuilder();
        out.append(String.format(
                Locale.ROOT,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\""
                        + " font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"11\">%n",
                width,
                height,
                width,
                height));
        String title = mesh.topology().name()
                + (mesh.topology().slices() > 1 ? " x " + mesh.topology().slices() + " slices" : "") + ", mesh " + mesh;
        out.append("<title>").append(escape(title)).append("</title>\n");
        out.append("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
        out.append("<text x=\"20\" y=\"28\" font-size=\"15\" fill=\"#222\">")
                .append(escape(title))
                .append("</text>\n");
        for (int plane = 0; plane < planes.count(); plane++) {
            int inSlice = plane % perSlice;
            int x = 20 + inSlice % across * (planeWidth + 20);
            int y = 44 + plane / perSlice * sliceHeight + inSlice / across * (planeHeight + 34);
            out.append(String.format(
                    Locale.ROOT,
                    "<text x=\"%d\" y=\"%d\" fill=\"#555\">%s</text>%n",
                    x,
                    y + 14,
                    Planes.title(mesh.topology(), plane)));
            svgPlane(out, plane, x, y + 20, chipWidth, chipHeight, cellWidth, hostGap);
        }
        return out.append("</svg>\n").toString();
    }

    private void svgPlane(
            StringBuilder out, int plane, int left, int top, int chipWidth, int chipHeight, int cellWidth, int gap) {
        for (int row = 0; row < planes.rows(); row++) {
            for (int column = 0; column < planes.columns(); column++) {
                int x = left + column * chipWidth + column / planes.hostColumns() * gap;
                int y = top + row * chipHeight + row / planes.hostRows() * gap;
                List<Integer> chip = chips.get(plane).get(row * planes.columns() + column);
                if (row % planes.hostRows() == 0 && column % planes.hostColumns() == 0 && !chip.isEmpty()) {
                    out.append(String.format(
                            Locale.ROOT,
                            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"none\" stroke=\"#999\">"
                                    + "<title>host %d</title></rect>%n",
                            x - 2,
                            y - 2,
                            planes.hostColumns() * chipWidth + 2,
                            planes.hostRows() * chipHeight + 2,
                            mesh.topology().processAt(chip.getFirst())));
                }
                for (int i = 0; i < chip.size(); i++) {
                    int position = chip.get(i);
                    out.append(String.format(
                            Locale.ROOT,
                            "<g><title>device %d at %s</title><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\""
                                    + " fill=\"%s\"/><text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#111\">%s</text>"
                                    + "</g>%n",
                            mesh.topology().idAt(position),
                            mesh.topology().coordsAt(position),
                            x + i * cellWidth,
                            y,
                            cellWidth - 2,
                            chipHeight - 2,
                            colour(coordinates(places[position])),
                            x + i * cellWidth + cellWidth / 2 - 1,
                            y + chipHeight / 2 + 3,
                            label(List.of(position))));
                }
            }
        }
    }

    private String colour(List<Integer> coordinates) {
        List<Integer> sizes = mesh.shape().stream().filter(s -> s > 1).toList();
        if (sizes.isEmpty()) {
            return "hsl(210 55% 80%)";
        }
        int hue = 210 + 360 * coordinates.getFirst() / sizes.getFirst();
        int light = sizes.size() == 1 ? 78 : 88 - 26 * coordinates.getLast() / sizes.getLast();
        return "hsl(" + hue % 360 + " 60% " + light + "%)";
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }
}

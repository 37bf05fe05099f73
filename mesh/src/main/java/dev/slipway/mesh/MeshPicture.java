// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

import dev.slipway.mesh.internal.Drawing;
import dev.slipway.mesh.internal.Planes;
import dev.slipway.mesh.internal.SvgPicture;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Pictures of a mesh: the chips where they stand, with the mesh coordinates of their devices in them, hosts apart by lines
 * and slices by distance.
 */
public final class MeshPicture {
    private static final int GAP = 3;

    private final Drawing drawing;

    private MeshPicture(Drawing drawing) {
        this.drawing = drawing;
    }

    public static MeshPicture of(Mesh mesh) {
        return new MeshPicture(Drawing.of(mesh));
    }

    /**
     * The picture in letters and lines.
     *
     * @param width columns of the terminal: planes stand side by side as far as they fit
     * @param maxDevices how many devices to draw; one line says how many are left out
     * @param highlight how to mark the devices of one ring of the last axis
     * @return the lines, without line ends
     */
    public List<String> lines(int width, int maxDevices, UnaryOperator<String> highlight) {
        Planes planes = drawing.planes();
        int perPlane = drawing.mesh().size() / planes.count();
        int shown = Math.clamp(maxDevices / Math.max(1, perPlane), 1, planes.count());
        List<List<String>> blocks = new ArrayList<>();
        int cell = IntStream.range(0, shown)
                .flatMap(p -> drawing.chips().get(p).stream()
                        .mapToInt(c -> drawing.label(c).length()))
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
        Planes planes = drawing.planes();
        String title = Planes.title(drawing.mesh().topology(), plane);
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
                List<Integer> chip = drawing.chips().get(plane).get(row * planes.columns() + column);
                String label = drawing.label(chip);
                boolean onRing = chip.stream()
                        .anyMatch(p ->
                                drawing.placeInMesh(p) < drawing.mesh().shape().getLast());
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
        Planes planes = drawing.planes();
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

    private static String spaces(int count) {
        return " ".repeat(Math.max(0, count));
    }

    /**
     * The whole picture as an SVG document. Colour tells the coordinate on the first axis that is longer than 1, lightness the
     * one on the last; pointing at a device shows its id and place.
     */
    public String svg() {
        return new SvgPicture(drawing).render();
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh.internal;

import dev.slipway.topology.Coords;
import dev.slipway.topology.Platform;
import dev.slipway.topology.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A machine cut into planes to be drawn: each slice of a TPU along z, x to the right and y downwards; other machines with a
 * row for each host.
 *
 * @param columns chips side by side
 * @param rows chips one above the other
 * @param hostColumns chips of one host side by side
 * @param hostRows chips of one host one above the other
 * @param count how many planes there are
 */
public record Planes(int columns, int rows, int hostColumns, int hostRows, int count) {
    private static final int CPU_COLUMNS = 8;

    public static Planes of(Topology topology) {
        return switch (topology.platform()) {
            case TPU ->
                new Planes(
                        topology.slice().x(),
                        topology.slice().y(),
                        topology.host().x(),
                        topology.host().y(),
                        topology.slice().z() * topology.slices());
            case GPU ->
                new Planes(
                        topology.devicesPerHost(),
                        topology.hostsPerSlice(),
                        topology.devicesPerHost(),
                        1,
                        topology.slices());
            case CPU -> {
                int columns = Math.min(topology.deviceCount(), CPU_COLUMNS);
                int rows = (topology.deviceCount() + columns - 1) / columns;
                yield new Planes(columns, rows, columns, rows, 1);
            }
        };
    }

    /** What stands above a plane. */
    public static String title(Topology topology, int plane) {
        int perSlice = topology.platform() == Platform.TPU ? topology.slice().z() : 1;
        String unit =
                topology.platform() == Platform.TPU ? "slice " : topology.hostsPerSlice() == 1 ? "host " : "domain ";
        String slice = topology.slices() > 1 ? unit + plane / perSlice : "";
        String z = perSlice > 1 ? "z=" + plane % perSlice : "";
        return slice.isEmpty() || z.isEmpty() ? slice + z : slice + ", " + z;
    }

    /** The devices of each chip of each plane, as places in the device list: {@code [plane][row * columns + column]}. */
    public List<List<List<Integer>>> chips(Topology topology) {
        List<List<List<Integer>>> planes = new ArrayList<>();
        for (int p = 0; p < count; p++) {
            planes.add(IntStream.range(0, rows * columns)
                    .<List<Integer>>mapToObj(i -> new ArrayList<>())
                    .toList());
        }
        for (int position = 0; position < topology.deviceCount(); position++) {
            Coords c = topology.coordsAt(position);
            switch (topology.platform()) {
                case TPU ->
                    planes.get(topology.sliceAt(position) * topology.slice().z() + c.z())
                            .get(c.y() * columns + c.x())
                            .add(position);
                case GPU -> planes.get(topology.sliceAt(position)).get(c.x()).add(position);
                case CPU -> planes.getFirst().get(position).add(position);
            }
        }
        return planes;
    }
}

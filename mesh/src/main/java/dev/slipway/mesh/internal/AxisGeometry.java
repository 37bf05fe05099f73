// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh.internal;

import dev.slipway.topology.ChipSpec;
import dev.slipway.topology.Coords;
import dev.slipway.topology.Topology;
import dev.slipway.topology.Wrap;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * How the rings of one mesh axis lie in a machine: the worst of them all, field by field.
 *
 * @param inSlice devices of a ring in one slice
 * @param slices slices of a ring
 * @param hops links between neighbours in a slice
 * @param wraps whether the ring closes in a slice as it goes on
 * @param bytesPerSecond what a device takes in within a slice; 0 if not known
 * @param steps steps of an all-gather within a slice
 * @param allToAllBytesPerSecond bytes of the whole array over the time of an all-to-all in a slice; 0 if not known
 * @param allToAllSteps steps of an all-to-all within a slice
 */
public record AxisGeometry(
        int inSlice,
        int slices,
        int hops,
        boolean wraps,
        double bytesPerSecond,
        int steps,
        double allToAllBytesPerSecond,
        int allToAllSteps) {

    /** A TPU7x chip's two dies are joined by a link six times as fast as one of ICI (Google Cloud documentation, TPU7x). */
    private static final int DIE_TO_DIE = 6;

    private static final AxisGeometry ALONE =
            new AxisGeometry(1, 1, 0, true, Double.POSITIVE_INFINITY, 0, Double.POSITIVE_INFINITY, 0);

    /** Looks at every ring of an axis. */
    public static AxisGeometry of(Topology topology, int[] positions, List<Integer> shape, int axis) {
        int size = shape.get(axis);
        int stride = 1;
        for (int a = axis + 1; a < shape.size(); a++) {
            stride *= shape.get(a);
        }
        AxisGeometry worst = ALONE;
        for (int start = 0; size > 1 && start < positions.length; start++) {
            if (start / stride % size == 0) {
                int from = start;
                int step = stride;
                int[] ring = IntStream.range(0, size)
                        .map(i -> positions[from + i * step])
                        .toArray();
                worst = worst.or(ofRing(topology, ring));
            }
        }
        return worst;
    }

    private AxisGeometry or(AxisGeometry other) {
        return new AxisGeometry(
                Math.max(inSlice, other.inSlice),
                Math.max(slices, other.slices),
                Math.max(hops, other.hops),
                wraps && other.wraps,
                Math.min(bytesPerSecond, other.bytesPerSecond),
                Math.max(steps, other.steps),
                Math.min(allToAllBytesPerSecond, other.allToAllBytesPerSecond),
                Math.max(allToAllSteps, other.allToAllSteps));
    }

    private static AxisGeometry ofRing(Topology topology, int[] ring) {
        Map<Integer, List<Integer>> bySlice =
                Arrays.stream(ring).boxed().collect(Collectors.groupingBy(topology::sliceAt));
        AxisGeometry worst = ALONE;
        for (List<Integer> part : bySlice.values()) {
            if (part.size() > 1) {
                int[] devices = part.stream().mapToInt(Integer::intValue).toArray();
                worst = worst.or(
                        switch (topology.platform()) {
                            case TPU -> inTorus(topology, devices);
                            case GPU -> behindSwitch(topology.chip(), devices.length);
                            case CPU -> new AxisGeometry(devices.length, 1, 0, true, 0, 0, 0, 0);
                        });
            }
        }
        return new AxisGeometry(
                worst.inSlice,
                bySlice.size(),
                worst.hops,
                worst.wraps && worst.inSlice > 2,
                worst.bytesPerSecond,
                worst.steps,
                worst.allToAllBytesPerSecond,
                worst.allToAllSteps);
    }

    private static AxisGeometry behindSwitch(ChipSpec chip, int size) {
        double bandwidth = chip.links() * chip.linkBytesPerSecond();
        return new AxisGeometry(size, 1, 1, true, bandwidth, size - 1, bandwidth * size * size / (size - 1), 1);
    }

    private static AxisGeometry inTorus(Topology topology, int[] devices) {
        AxisGeometry path = alongPath(topology, devices);
        AxisGeometry box = asBox(topology, devices, path);
        return box.bytesPerSecond >= path.bytesPerSecond ? box : path;
    }

    /** The ring in mesh order, from neighbour to neighbour. */
    private static AxisGeometry alongPath(Topology topology, int[] devices) {
        int hops = 0;
        for (int i = 1; i < devices.length; i++) {
            hops = Math.max(hops, distance(topology, devices[i - 1], devices[i]));
        }
        int closing = distance(topology, devices[devices.length - 1], devices[0]);
        boolean wraps = devices.length > 2 && closing <= hops;
        double link = topology.chip().linkBytesPerSecond();
        if (hops == 0) {
            double dies = DIE_TO_DIE * link;
            return new AxisGeometry(devices.length, 1, 0, wraps, dies, 1, 4 * dies, 1);
        }
        double perLink = link / hops / topology.chip().devicesPerChip();
        int steps = hops * (wraps ? devices.length / 2 : devices.length - 1);
        return new AxisGeometry(
                devices.length,
                1,
                hops,
                wraps,
                wraps ? 2 * perLink : perLink,
                steps,
                wraps ? 8 * perLink : 4 * perLink,
                steps);
    }

    /** The ring as a box of chips that uses all dimensions it spans at once; the path's figures where it is no box. */
    private static AxisGeometry asBox(Topology topology, int[] devices, AxisGeometry path) {
        int[] extents = new int[4];
        int[] strides = new int[4];
        for (int d = 0; d < 4; d++) {
            int dimension = d;
            int[] values = Arrays.stream(devices)
                    .map(p -> coordinate(topology, p, dimension))
                    .sorted()
                    .distinct()
                    .toArray();
            extents[d] = values.length;
            strides[d] = values.length > 1 ? values[1] - values[0] : 1;
            for (int i = 1; i < values.length; i++) {
                if (values[i] - values[i - 1] != strides[d]) {
                    return path;
                }
            }
        }
        int volume = extents[0] * extents[1] * extents[2] * extents[3];
        if (volume != devices.length || extents[3] == volume) {
            return path;
        }
        int[] slice = {
            topology.slice().x(), topology.slice().y(), topology.slice().z()
        };
        Wrap wrap = topology.wrap();
        boolean[] closes = {wrap.x(), wrap.y(), wrap.z()};
        double link = topology.chip().linkBytesPerSecond()
                * extents[3]
                / topology.chip().devicesPerChip();
        double bandwidth = 0;
        double slowest = 0;
        int steps = extents[3] - 1;
        for (int d = 0; d < 3; d++) {
            if (extents[d] > 1) {
                boolean ring = closes[d] && extents[d] * strides[d] == slice[d];
                bandwidth += (ring ? 2 : 1) * link / strides[d];
                slowest = Math.max(
                        slowest,
                        (double) extents[d] * strides[d] / (ring ? 8 : 4) / (link * devices.length / extents[3]));
                steps += strides[d] * (ring ? extents[d] / 2 : extents[d] - 1);
            }
        }
        return new AxisGeometry(
                devices.length, 1, path.hops, path.wraps, bandwidth, steps, slowest == 0 ? 0 : 1 / slowest, steps);
    }

    private static int coordinate(Topology topology, int position, int dimension) {
        Coords c = topology.coordsAt(position);
        return switch (dimension) {
            case 0 -> c.x();
            case 1 -> c.y();
            case 2 -> c.z();
            default -> position % topology.chip().devicesPerChip();
        };
    }

    /** Links between two chips of a slice, the short way round where a dimension wraps. */
    private static int distance(Topology topology, int from, int to) {
        Coords a = topology.coordsAt(from);
        Coords b = topology.coordsAt(to);
        return along(a.x(), b.x(), topology.slice().x(), topology.wrap().x())
                + along(a.y(), b.y(), topology.slice().y(), topology.wrap().y())
                + along(a.z(), b.z(), topology.slice().z(), topology.wrap().z());
    }

    private static int along(int a, int b, int extent, boolean wraps) {
        int direct = Math.abs(a - b);
        return wraps ? Math.min(direct, extent - direct) : direct;
    }
}

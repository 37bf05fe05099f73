// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh.internal;

import dev.slipway.mesh.DeviceLayoutException;
import dev.slipway.topology.Bounds;
import dev.slipway.topology.Coords;
import dev.slipway.topology.Topology;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * Neighbouring devices of a machine's list: a slice, what a host holds, or all.
 *
 * @param topology the machine
 * @param first place of the first of them in the list
 * @param size how many they are
 */
record DeviceGroup(Topology topology, int first, int size) {
    private static final Comparator<Coords> BY_X_Y_Z =
            Comparator.comparingInt(Coords::x).thenComparingInt(Coords::y).thenComparingInt(Coords::z);
    private static final Comparator<Coords> BY_Z_Y_X =
            Comparator.comparingInt(Coords::z).thenComparingInt(Coords::y).thenComparingInt(Coords::x);

    static DeviceGroup all(Topology topology) {
        return new DeviceGroup(topology, 0, topology.deviceCount());
    }

    /** Their places in the list. */
    IntStream positions() {
        return IntStream.range(first, first + size);
    }

    private Iterable<Coords> coords() {
        return () -> positions().mapToObj(topology::coordsAt).iterator();
    }

    /** The positions with z slowest and x fastest; devices of the same chip stay in list order. */
    int[] sortedByCoords() {
        return positions()
                .boxed()
                .sorted(Comparator.comparing(topology::coordsAt, BY_Z_Y_X))
                .mapToInt(Integer::intValue)
                .toArray();
    }

    /**
     * One more than the coordinates that are greatest in the order x, y, z, as JAX takes a small slice's extent. For a group
     * in a slice's corner this is its size; for others it is not.
     */
    Coords extentByGreatest() {
        Coords greatest = positions().mapToObj(topology::coordsAt).max(BY_X_Y_Z).orElseThrow();
        return new Coords(greatest.x() + 1, greatest.y() + 1, greatest.z() + 1);
    }

    private Torus wholeSlice() {
        int[] grid = topology.slicePlaces();
        for (int i = 0; i < grid.length; i++) {
            grid[i] += first;
        }
        Bounds slice = topology.slice();
        int cores = topology.chip().devicesPerChip();
        return new Torus(
                cores == 1
                        ? new int[] {slice.x(), slice.y(), slice.z()}
                        : new int[] {slice.x(), slice.y(), slice.z(), cores},
                grid);
    }

    /**
     * The devices as a torus: axes x, y, z and, for chips with several devices, the device on the chip.
     *
     * @throws DeviceLayoutException if the devices are not one box of one slice
     */
    Torus torus() {
        if (size == topology.devicesPerSlice() && first % size == 0) {
            return wholeSlice();
        }
        int minX = Integer.MAX_VALUE;
        int minY = Integer.MAX_VALUE;
        int minZ = Integer.MAX_VALUE;
        int maxX = -1;
        int maxY = -1;
        int maxZ = -1;
        for (Coords c : coords()) {
            minX = Math.min(minX, c.x());
            minY = Math.min(minY, c.y());
            minZ = Math.min(minZ, c.z());
            maxX = Math.max(maxX, c.x());
            maxY = Math.max(maxY, c.y());
            maxZ = Math.max(maxZ, c.z());
        }
        int cores = topology.chip().devicesPerChip();
        int[] box = {maxX - minX + 1, maxY - minY + 1, maxZ - minZ + 1};
        long room = (long) box[0] * box[1] * box[2] * cores;
        if (room != size) {
            throw new DeviceLayoutException("The torus of " + topology.name() + " needs the devices of one slice: "
                    + size + " devices over " + topology.slices() + " slices were given for a box of " + room);
        }
        int[] grid = new int[size];
        for (int position = first; position < first + size; position++) {
            Coords c = topology.coordsAt(position);
            int chip = ((c.x() - minX) * box[1] + c.y() - minY) * box[2] + c.z() - minZ;
            grid[chip * cores + position % cores] = position;
        }
        int[] dims = cores == 1 ? box : new int[] {box[0], box[1], box[2], cores};
        return new Torus(dims, grid);
    }
}

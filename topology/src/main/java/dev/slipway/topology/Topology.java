// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology;

import dev.slipway.topology.internal.TopologyNames;
import java.util.AbstractList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.RandomAccess;

/**
 * A machine: a chip, how many of them stand in what shape, how hosts hold them, and how many such slices there are.
 *
 * <p>A slice is what the fast interconnect joins: a TPU slice by ICI, or GPUs in one NVLink domain. Slices are joined
 * by the data-centre network (DCN). The value is small whatever the machine's size: {@link #devices()} is a view that
 * computes each device when asked for it.
 *
 * @param name the machine's canonical name, without the number of slices; names of GPUs in several hosts count the hosts
 * @param chip the chip and its figures
 * @param slices number of slices, at least 1
 * @param slice chips of one slice along each dimension
 * @param host chips of one host along each dimension; tiles the slice
 * @param wrap along which dimensions of a slice the links close to rings
 */
public record Topology(String name, ChipSpec chip, int slices, Bounds slice, Bounds host, Wrap wrap) {
    /** libtpu numbers the devices of slice s from this times (s + 1) when there are several slices. */
    private static final int SLICE_ID_STRIDE = 100_000;

    /** Hundreds of times the largest machine there is; lists of many more fill the memory. */
    private static final int MAX_DEVICES = 1 << 23;

    /**
     * @throws InvalidTopologyException if there are fewer than one slice, the hosts do not tile a slice, or there are more
     *     than 2^23 devices, or than libtpu's ids can tell apart
     */
    public Topology {
        if (slices < 1) {
            throw new InvalidTopologyException(name + " with " + slices + " slices: at least 1 was expected");
        }
        if (!slice.isMultipleOf(host)) {
            throw new InvalidTopologyException("A slice of " + slice + " chips (" + name
                    + ") cannot be made of hosts of " + host + ": each extent must be a multiple of the host's");
        }
        long perSlice = (long) slice.volume() * chip.devicesPerChip();
        if (perSlice > MAX_DEVICES / slices) {
            throw new InvalidTopologyException(name + " with " + slices + " slices of " + perSlice + " devices: "
                    + MAX_DEVICES + " in all at most");
        }
        if (chip.accelerator() instanceof Accelerator.Tpu
                && slices > 1
                && (perSlice > SLICE_ID_STRIDE || (slices + 1L) * SLICE_ID_STRIDE > Integer.MAX_VALUE)) {
            throw new InvalidTopologyException(name + " with " + slices + " slices of " + perSlice
                    + " devices: libtpu's ids have room for " + SLICE_ID_STRIDE + " devices a slice and 21473 slices");
        }
        if (chip.accelerator() instanceof Accelerator.Cpu && slices > 1) {
            throw new InvalidTopologyException("A CPU has no slices: " + name + " was asked for with " + slices);
        }
    }

    /**
     * The same machine with another number of slices.
     *
     * @throws InvalidTopologyException if that is below 1
     */
    public Topology withSlices(int count) {
        boolean namedByHosts = chip.accelerator() instanceof Accelerator.Gpu gpu
                && name.equals(TopologyNames.gpuName(chip, gpu, slices, slice, host));
        return new Topology(
                namedByHosts && chip.accelerator() instanceof Accelerator.Gpu gpu
                        ? TopologyNames.gpuName(chip, gpu, count, slice, host)
                        : name,
                chip,
                count,
                slice,
                host,
                wrap);
    }

    public Platform platform() {
        return chip.platform();
    }

    public int devicesPerSlice() {
        return slice.volume() * chip.devicesPerChip();
    }

    public int devicesPerHost() {
        return host.volume() * chip.devicesPerChip();
    }

    /** Devices over all slices. */
    public int deviceCount() {
        return devicesPerSlice() * slices;
    }

    public int hostsPerSlice() {
        return slice.volume() / host.volume();
    }

    /** Hosts over all slices. */
    public int hostCount() {
        return hostsPerSlice() * slices;
    }

    /**
     * The devices in the order in which the platform's plugin lists them: slice by slice and, within a slice, host by host.
     * Once a TPU slice is wider than a host, ids are therefore not in list order.
     */
    public List<Device> devices() {
        return new DeviceList();
    }

    /** The device at a position of {@link #devices()}. */
    public Device device(int position) {
        OptionalInt sliceIndex = hasSliceIndex() ? OptionalInt.of(sliceAt(position)) : OptionalInt.empty();
        return new Device(
                idAt(position),
                processAt(position),
                coordsAt(position),
                position % chip.devicesPerChip(),
                sliceIndex,
                chip.deviceKind());
    }

    /** The id of the device at a position of the list, without making the device. */
    public int idAt(int position) {
        if (platform() != Platform.TPU) {
            return position;
        }
        Coords c = coordsAt(position);
        int local = ((c.z() * slice.y() + c.y()) * slice.x() + c.x()) * chip.devicesPerChip()
                + position % chip.devicesPerChip();
        return slices == 1 ? local : (sliceAt(position) + 1) * SLICE_ID_STRIDE + local;
    }

    /** The ids of all devices in list order: as {@link #idAt} for each, but at a few operations a device. */
    public int[] deviceIds() {
        int[] ids = new int[deviceCount()];
        if (platform() != Platform.TPU) {
            Arrays.setAll(ids, i -> i);
            return ids;
        }
        int perChip = chip.devicesPerChip();
        forEachChip((position, x, y, z) -> {
            int local = ((z * slice.y() + y) * slice.x() + x) * perChip;
            for (int k = 0; k < perChip; k++) {
                ids[position + k] = local + k;
            }
        });
        int perSlice = devicesPerSlice();
        for (int s = slices - 1; s >= 0 && slices > 1; s--) {
            int first = (s + 1) * SLICE_ID_STRIDE;
            for (int i = 0; i < perSlice; i++) {
                ids[s * perSlice + i] = first + ids[i];
            }
        }
        return ids;
    }

    /**
     * The places in the list of the first slice's devices, ordered by where they are: x slowest, then y, z and the device on
     * the chip. Other slices follow with the same places further on.
     */
    public int[] slicePlaces() {
        int perChip = chip.devicesPerChip();
        int[] places = new int[devicesPerSlice()];
        forEachChip((position, x, y, z) -> {
            int at = ((x * slice.y() + y) * slice.z() + z) * perChip;
            for (int k = 0; k < perChip; k++) {
                places[at + k] = position + k;
            }
        });
        return places;
    }

    /** Takes a chip of the first slice: the place of its first device in the list, and its coordinates. */
    @FunctionalInterface
    private interface ChipVisitor {
        void visit(int position, int x, int y, int z);
    }

    /** The order of the list itself: host by host and, in a host, chip by chip, x fastest in both. */
    private void forEachChip(ChipVisitor visitor) {
        int position = 0;
        for (int hz = 0; hz < slice.z(); hz += host.z()) {
            for (int hy = 0; hy < slice.y(); hy += host.y()) {
                for (int hx = 0; hx < slice.x(); hx += host.x()) {
                    for (int z = hz; z < hz + host.z(); z++) {
                        for (int y = hy; y < hy + host.y(); y++) {
                            for (int x = hx; x < hx + host.x(); x++) {
                                visitor.visit(position, x, y, z);
                                position += chip.devicesPerChip();
                            }
                        }
                    }
                }
            }
        }
    }

    /** The slice of the device at a position of the list. */
    public int sliceAt(int position) {
        return position / devicesPerSlice();
    }

    /** The host, counted over all slices, of the device at a position of the list. */
    public int processAt(int position) {
        return position / devicesPerHost();
    }

    /** The chip coordinates, in its slice, of the device at a position of the list. */
    public Coords coordsAt(int position) {
        int inSlice = position % devicesPerSlice();
        int hostNumber = inSlice / devicesPerHost();
        int chipNumber = inSlice % devicesPerHost() / chip.devicesPerChip();
        int hostsX = slice.x() / host.x();
        int hostsY = slice.y() / host.y();
        return new Coords(
                hostNumber % hostsX * host.x() + chipNumber % host.x(),
                hostNumber / hostsX % hostsY * host.y() + chipNumber / host.x() % host.y(),
                hostNumber / (hostsX * hostsY) * host.z() + chipNumber / (host.x() * host.y()));
    }

    /** Whether the plugin reports a slice index: TPU plugins only do for several slices. */
    public boolean hasSliceIndex() {
        return switch (platform()) {
            case TPU -> slices > 1;
            case GPU -> true;
            case CPU -> false;
        };
    }

    /** What this machine's plugin has to be told. */
    public PluginSpec plugin() {
        return switch (chip.accelerator()) {
            case Accelerator.Tpu tpu ->
                new PluginSpec.Tpu(
                        tpu.libtpuName() + ":" + shapeText(tpu.torusRank()), tpu.chipConfig(), host.toList(), slices);
            case Accelerator.Gpu gpu ->
                new PluginSpec.Gpu(
                        name, gpu.target().toTextProto(), slices + "x" + hostsPerSlice() + "x" + devicesPerHost());
            case Accelerator.Cpu _ -> new PluginSpec.Cpu(deviceCount());
        };
    }

    private String shapeText(int rank) {
        return rank == 2 && slice.z() == 1 ? slice.x() + "x" + slice.y() : slice.toString();
    }

    private final class DeviceList extends AbstractList<Device> implements RandomAccess {
        @Override
        public Device get(int index) {
            Objects.checkIndex(index, size());
            return device(index);
        }

        @Override
        public int size() {
            return deviceCount();
        }
    }
}

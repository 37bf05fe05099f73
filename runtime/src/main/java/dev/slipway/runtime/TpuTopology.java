// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_ChipBounds_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_ChipCount_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_ChipIdFromCoord_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_Extension;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_GetRoutingStrategy_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_IsReachableOverLimitedIci_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_LogiDeviceIdFromChipCoordAndIdx_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_LogiDeviceIdsOnProcess_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_ProcIdAndIdxOnProcForChip_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_ProcIdAndIdxOnProcForLogiDevice_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_ProcessCoordFromId_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_ProcessIds_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_ReplaceHostBounds_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_SubsliceDeviceIdFromFullDeviceId_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_Subslice_Args;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;

/**
 * What a TPU plugin knows of a slice beyond its list of devices (the TPU topology extension, {@link PluginTopology#tpu}): chips, cores,
 * processes, where they lie and how they are reached. It is closed with its topology.
 */
public final class TpuTopology {

    /** No bounds have more dimensions. */
    private static final int MAX_DIMENSIONS = 4;

    private static final int ROUTING_BYTES = 256;

    private final PluginTopology topology;

    TpuTopology(PluginTopology topology) {
        this.topology = topology;
    }

    /** A device's chip, and which of the chip's devices it is. */
    public record ChipPlace(List<Integer> chip, int indexOnChip) {}

    /** A process, and which of its chips or devices something is. */
    public record ProcessPlace(int process, int index) {}

    @FunctionalInterface
    private interface Question<T> {
        T ask(Api.Table table, Scratch scratch, long topology);
    }

    private <T> T ask(Question<T> question) {
        return topology.handle()
                .use((api, scratch, address) -> question.ask(api.extension(Extension.TPU_TOPOLOGY), scratch, address));
    }

    /** A function with arguments {@code {size, extension, topology, int32}}. */
    private int count(long function) {
        return ask((table, scratch, address) -> {
            // All such structs are alike; this one is the first of them.
            MemorySegment args = PJRT_TpuTopology_ChipCount_Args.in(scratch);
            PJRT_TpuTopology_ChipCount_Args.topology(args, address);
            table.call(function, args);
            return PJRT_TpuTopology_ChipCount_Args.chip_count(args);
        });
    }

    /** Chips of a slice. */
    public int chips() {
        return count(PJRT_TpuTopology_Extension.chip_count);
    }

    /** Chips that one process drives. */
    public int chipsPerProcess() {
        return count(PJRT_TpuTopology_Extension.chips_per_process);
    }

    /** Cores of a slice. */
    public int cores() {
        return count(PJRT_TpuTopology_Extension.core_count);
    }

    /** Cores of a chip. */
    public int coresPerChip() {
        return count(PJRT_TpuTopology_Extension.core_count_per_chip);
    }

    /** Cores that one process drives. */
    public int coresPerProcess() {
        return count(PJRT_TpuTopology_Extension.core_count_per_process);
    }

    /** Devices of a slice, as programs see them. */
    public int devices() {
        return count(PJRT_TpuTopology_Extension.logical_device_count);
    }

    /** Devices of a chip: 1 where both cores act as one. */
    public int devicesPerChip() {
        return count(PJRT_TpuTopology_Extension.logical_device_count_per_chip);
    }

    /** Devices that one process drives. */
    public int devicesPerProcess() {
        return count(PJRT_TpuTopology_Extension.logical_device_count_per_process);
    }

    /** Processes of a slice: one for each host. */
    public int processes() {
        return count(PJRT_TpuTopology_Extension.process_count);
    }

    /** Whether the slice is part of a larger one. */
    public boolean isSubslice() {
        return (count(PJRT_TpuTopology_Extension.is_subslice_topology) & 0xff) != 0;
    }

    /** Whether some chips reach others only by way of third ones. */
    public boolean hasLimitedIci() {
        return (count(PJRT_TpuTopology_Extension.has_limited_ici_connectivity) & 0xff) != 0;
    }

    /** Whether chips wait for each other by a barrier that the hardware helps with. */
    public boolean hasEnhancedBarrier() {
        return (count(PJRT_TpuTopology_Extension.is_enhanced_barrier_enabled) & 0xff) != 0;
    }

    /** A function with arguments {@code {size, topology, most, int32*, number}}. */
    private List<Integer> bounds(long function) {
        return ask((table, scratch, address) -> {
            // All such structs are alike; this one is the first of them.
            MemorySegment bounds = ints(scratch, MAX_DIMENSIONS);
            MemorySegment args = PJRT_TpuTopology_ChipBounds_Args.in(scratch);
            PJRT_TpuTopology_ChipBounds_Args.topology(args, address);
            PJRT_TpuTopology_ChipBounds_Args.chip_bounds_max_dims(args, MAX_DIMENSIONS);
            PJRT_TpuTopology_ChipBounds_Args.chip_bounds(args, bounds.address());
            table.call(function, args);
            return list(bounds, PJRT_TpuTopology_ChipBounds_Args.chip_bounds_num_dims(args));
        });
    }

    /** Chips along each axis. */
    public List<Integer> chipBounds() {
        return bounds(PJRT_TpuTopology_Extension.chip_bounds);
    }

    /** Chips of one process along each axis. */
    public List<Integer> chipsPerProcessBounds() {
        return bounds(PJRT_TpuTopology_Extension.chips_per_process_bounds);
    }

    /** Processes along each axis. */
    public List<Integer> processBounds() {
        return bounds(PJRT_TpuTopology_Extension.process_bounds);
    }

    /** The numbers of the processes. */
    public List<Integer> processIds() {
        int most = processes();
        return ask((table, scratch, address) -> {
            MemorySegment ids = ints(scratch, most);
            MemorySegment args = PJRT_TpuTopology_ProcessIds_Args.in(scratch);
            PJRT_TpuTopology_ProcessIds_Args.topology(args, address);
            PJRT_TpuTopology_ProcessIds_Args.max_process_ids(args, most);
            PJRT_TpuTopology_ProcessIds_Args.process_ids(args, ids.address());
            table.call(PJRT_TpuTopology_Extension.process_ids, args);
            return list(ids, PJRT_TpuTopology_ProcessIds_Args.num_process_ids(args));
        });
    }

    /** The ids of a process's devices. */
    public List<Integer> deviceIds(int process) {
        checkIndex("process", process, processes());
        int most = devicesPerProcess();
        return ask((table, scratch, address) -> {
            MemorySegment ids = ints(scratch, most);
            MemorySegment args = PJRT_TpuTopology_LogiDeviceIdsOnProcess_Args.in(scratch);
            PJRT_TpuTopology_LogiDeviceIdsOnProcess_Args.topology(args, address);
            PJRT_TpuTopology_LogiDeviceIdsOnProcess_Args.process_id(args, process);
            PJRT_TpuTopology_LogiDeviceIdsOnProcess_Args.max_logical_device_ids(args, most);
            PJRT_TpuTopology_LogiDeviceIdsOnProcess_Args.logical_device_of_default_type_ids(args, ids.address());
            table.call(PJRT_TpuTopology_Extension.logical_device_ids_on_process, args);
            return list(ids, PJRT_TpuTopology_LogiDeviceIdsOnProcess_Args.num_logical_device_ids(args));
        });
    }

    /** Where a process lies among the processes. */
    public List<Integer> processCoordinates(int process) {
        checkIndex("process", process, processes());
        return ask((table, scratch, address) -> {
            MemorySegment coordinates = ints(scratch, MAX_DIMENSIONS);
            MemorySegment args = PJRT_TpuTopology_ProcessCoordFromId_Args.in(scratch);
            PJRT_TpuTopology_ProcessCoordFromId_Args.topology(args, address);
            PJRT_TpuTopology_ProcessCoordFromId_Args.process_id(args, process);
            PJRT_TpuTopology_ProcessCoordFromId_Args.coords_max_dims(args, MAX_DIMENSIONS);
            PJRT_TpuTopology_ProcessCoordFromId_Args.coords(args, coordinates.address());
            table.call(PJRT_TpuTopology_Extension.process_coord_from_id, args);
            return list(coordinates, PJRT_TpuTopology_ProcessCoordFromId_Args.coords_num_dims(args));
        });
    }

    /** The process of a chip. */
    public ProcessPlace processOfChip(int chip) {
        checkIndex("chip", chip, chips());
        return ask((table, scratch, address) -> {
            MemorySegment args = PJRT_TpuTopology_ProcIdAndIdxOnProcForChip_Args.in(scratch);
            PJRT_TpuTopology_ProcIdAndIdxOnProcForChip_Args.topology(args, address);
            PJRT_TpuTopology_ProcIdAndIdxOnProcForChip_Args.chip_id(args, chip);
            table.call(PJRT_TpuTopology_Extension.proc_id_and_idx_on_proc_for_chip, args);
            return new ProcessPlace(
                    PJRT_TpuTopology_ProcIdAndIdxOnProcForChip_Args.process_id(args),
                    PJRT_TpuTopology_ProcIdAndIdxOnProcForChip_Args.index_on_process(args));
        });
    }

    /** The process of a device. */
    public ProcessPlace processOfDevice(int device) {
        checkIndex("device", device, devices());
        return ask((table, scratch, address) -> {
            MemorySegment args = PJRT_TpuTopology_ProcIdAndIdxOnProcForLogiDevice_Args.in(scratch);
            PJRT_TpuTopology_ProcIdAndIdxOnProcForLogiDevice_Args.topology(args, address);
            PJRT_TpuTopology_ProcIdAndIdxOnProcForLogiDevice_Args.device_id(args, device);
            table.call(PJRT_TpuTopology_Extension.proc_id_and_idx_on_proc_for_logi_device, args);
            return new ProcessPlace(
                    PJRT_TpuTopology_ProcIdAndIdxOnProcForLogiDevice_Args.process_id(args),
                    PJRT_TpuTopology_ProcIdAndIdxOnProcForLogiDevice_Args.index_on_process(args));
        });
    }

    /** The chip of a device. */
    public ChipPlace chipOfDevice(int device) {
        checkIndex("device", device, devices());
        return ask((table, scratch, address) -> {
            MemorySegment coordinates = ints(scratch, MAX_DIMENSIONS);
            MemorySegment args = PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice_Args.in(scratch);
            PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice_Args.topology(args, address);
            PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice_Args.device_id(args, device);
            PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice_Args.chip_coords_max_dims(args, MAX_DIMENSIONS);
            PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice_Args.chip_coords(args, coordinates.address());
            table.call(PJRT_TpuTopology_Extension.chip_coord_and_idx_for_logi_device, args);
            return new ChipPlace(
                    list(coordinates, PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice_Args.chip_coords_num_dims(args)),
                    PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice_Args.device_index_on_chip(args));
        });
    }

    /** The id of the device at a place: {@link #chipOfDevice} the other way. */
    public int deviceAt(ChipPlace place) {
        checkCoordinates(place.chip());
        checkIndex("device of the chip", place.indexOnChip(), devicesPerChip());
        return ask((table, scratch, address) -> {
            MemorySegment args = PJRT_TpuTopology_LogiDeviceIdFromChipCoordAndIdx_Args.in(scratch);
            PJRT_TpuTopology_LogiDeviceIdFromChipCoordAndIdx_Args.topology(args, address);
            PJRT_TpuTopology_LogiDeviceIdFromChipCoordAndIdx_Args.chip_coords(
                    args, ints(scratch, place.chip()).address());
            PJRT_TpuTopology_LogiDeviceIdFromChipCoordAndIdx_Args.chip_coords_num_dims(
                    args, place.chip().size());
            PJRT_TpuTopology_LogiDeviceIdFromChipCoordAndIdx_Args.logical_device_index_on_chip(
                    args, place.indexOnChip());
            table.call(PJRT_TpuTopology_Extension.logical_device_id_from_chip_coord_and_idx, args);
            return PJRT_TpuTopology_LogiDeviceIdFromChipCoordAndIdx_Args.logical_device_of_default_type_id(args);
        });
    }

    /** The id of the chip at a place. */
    public int chipAt(List<Integer> coordinates) {
        checkCoordinates(coordinates);
        return ask((table, scratch, address) -> {
            MemorySegment args = PJRT_TpuTopology_ChipIdFromCoord_Args.in(scratch);
            PJRT_TpuTopology_ChipIdFromCoord_Args.topology(args, address);
            PJRT_TpuTopology_ChipIdFromCoord_Args.coords(
                    args, ints(scratch, coordinates).address());
            PJRT_TpuTopology_ChipIdFromCoord_Args.coords_num_dims(args, coordinates.size());
            table.call(PJRT_TpuTopology_Extension.chip_id_from_coord, args);
            return PJRT_TpuTopology_ChipIdFromCoord_Args.chip_id(args);
        });
    }

    /** Whether one chip reaches another where the links are limited. */
    public boolean isReachable(int fromChip, int toChip) {
        checkIndex("chip", fromChip, chips());
        checkIndex("chip", toChip, chips());
        return ask((table, scratch, address) -> {
            MemorySegment args = PJRT_TpuTopology_IsReachableOverLimitedIci_Args.in(scratch);
            PJRT_TpuTopology_IsReachableOverLimitedIci_Args.topology(args, address);
            PJRT_TpuTopology_IsReachableOverLimitedIci_Args.source_chip_id(args, fromChip);
            PJRT_TpuTopology_IsReachableOverLimitedIci_Args.dest_chip_id(args, toChip);
            table.call(PJRT_TpuTopology_Extension.is_reachable_over_limited_ici, args);
            return PJRT_TpuTopology_IsReachableOverLimitedIci_Args.is_reachable_over_limited_ici(args);
        });
    }

    /** How packets find their way, by libtpu's name. */
    public String routingStrategy() {
        return ask((table, scratch, address) -> {
            MemorySegment text = scratch.allocate(ROUTING_BYTES, 8);
            text.fill((byte) 0);
            MemorySegment args = PJRT_TpuTopology_GetRoutingStrategy_Args.in(scratch);
            PJRT_TpuTopology_GetRoutingStrategy_Args.topology(args, address);
            PJRT_TpuTopology_GetRoutingStrategy_Args.routing_strategy(args, text.address());
            PJRT_TpuTopology_GetRoutingStrategy_Args.routing_strategy_len(args, ROUTING_BYTES - 1);
            table.call(PJRT_TpuTopology_Extension.get_routing_strategy, args);
            // libtpu leaves the length as it was given, and ends the text as C does.
            return text.getString(0);
        });
    }

    /**
     * A part of this slice, as a topology of its own; to be closed by the caller.
     *
     * @param chipsPerHost chips of a host along each axis
     * @param hosts hosts along each axis
     */
    public PluginTopology subslice(List<Integer> chipsPerHost, List<Integer> hosts) {
        return PluginTopology.owned(topology.plugin(), ask((table, scratch, address) -> {
            MemorySegment args = PJRT_TpuTopology_Subslice_Args.in(scratch);
            PJRT_TpuTopology_Subslice_Args.topology(args, address);
            PJRT_TpuTopology_Subslice_Args.chips_per_host_bounds(
                    args, ints(scratch, chipsPerHost).address());
            PJRT_TpuTopology_Subslice_Args.chips_per_host_bounds_num_dims(args, chipsPerHost.size());
            PJRT_TpuTopology_Subslice_Args.host_bounds(
                    args, ints(scratch, hosts).address());
            PJRT_TpuTopology_Subslice_Args.host_bounds_num_dims(args, hosts.size());
            table.call(PJRT_TpuTopology_Extension.subslice, args);
            return PJRT_TpuTopology_Subslice_Args.subslice_topology(args);
        }));
    }

    /**
     * The same chips, with as many hosts along each axis; to be closed by the caller.
     *
     * @throws UsageException.BadArgument if the bounds are not one for each axis, each above 0
     */
    public PluginTopology withHosts(List<Integer> hosts) {
        if (hosts.size() != processBounds().size() || hosts.stream().anyMatch(count -> count < 1)) {
            throw new UsageException.BadArgument("hosts as " + hosts + " do not fit a slice with " + processBounds()
                    + ": one number above 0 for each axis is needed");
        }
        return PluginTopology.owned(topology.plugin(), ask((table, scratch, address) -> {
            MemorySegment args = PJRT_TpuTopology_ReplaceHostBounds_Args.in(scratch);
            PJRT_TpuTopology_ReplaceHostBounds_Args.topology(args, address);
            PJRT_TpuTopology_ReplaceHostBounds_Args.host_bounds(
                    args, ints(scratch, hosts).address());
            PJRT_TpuTopology_ReplaceHostBounds_Args.host_bounds_dim_num(args, hosts.size());
            table.call(PJRT_TpuTopology_Extension.replace_host_bounds, args);
            return PJRT_TpuTopology_ReplaceHostBounds_Args.new_topology(args);
        }));
    }

    /**
     * The id that a device of this slice has in a part of it.
     *
     * @param part from {@link #subslice}
     * @param origin where the part begins, in chips along each axis
     * @throws UsageException.BadArgument if there is no such device here or in the part, at which libtpu ends the process, or the origin is
     *     no place here
     * @throws UsageException.Foreign if the part belongs to another plugin
     */
    public int deviceInPart(PluginTopology part, List<Integer> origin, int device) {
        checkIndex("device", device, devices());
        checkCoordinates(origin);
        if (part.plugin() != topology.plugin()) {
            throw new UsageException.Foreign("the part belongs to another plugin than the slice");
        }
        List<Integer> chip = chipOfDevice(device).chip();
        List<Integer> bounds = part.tpu().chipBounds();
        for (int d = 0; d < chip.size(); d++) {
            if (chip.get(d) < origin.get(d) || chip.get(d) >= origin.get(d) + bounds.get(d)) {
                throw new UsageException.BadArgument("device " + device + " on the chip " + chip
                        + " is not in the part of " + bounds + " chips that begins at " + origin);
            }
        }
        return part.handle()
                .use((_, _, subslice) -> ask((table, scratch, address) -> {
                    MemorySegment args = PJRT_TpuTopology_SubsliceDeviceIdFromFullDeviceId_Args.in(scratch);
                    PJRT_TpuTopology_SubsliceDeviceIdFromFullDeviceId_Args.client_topology(args, address);
                    PJRT_TpuTopology_SubsliceDeviceIdFromFullDeviceId_Args.subslice_topology(args, subslice);
                    PJRT_TpuTopology_SubsliceDeviceIdFromFullDeviceId_Args.subslice_origin(
                            args, ints(scratch, origin).address());
                    PJRT_TpuTopology_SubsliceDeviceIdFromFullDeviceId_Args.subslice_origin_dim_num(args, origin.size());
                    PJRT_TpuTopology_SubsliceDeviceIdFromFullDeviceId_Args.full_device_id(args, device);
                    table.call(PJRT_TpuTopology_Extension.subslice_device_id_from_full_device_id, args);
                    return PJRT_TpuTopology_SubsliceDeviceIdFromFullDeviceId_Args.subslice_device_id(args);
                }));
    }

    private void checkCoordinates(List<Integer> coordinates) {
        List<Integer> bounds = chipBounds();
        boolean inside = coordinates.size() == bounds.size();
        for (int d = 0; inside && d < bounds.size(); d++) {
            inside = coordinates.get(d) >= 0 && coordinates.get(d) < bounds.get(d);
        }
        if (!inside) {
            throw new UsageException.BadArgument("there is no chip at " + coordinates + " in a slice of " + bounds);
        }
    }

    private static void checkIndex(String what, int index, int count) {
        if (index < 0 || index >= count) {
            throw new UsageException.BadArgument("there is no " + what + " " + index + ": there are " + count);
        }
    }

    private static MemorySegment ints(Scratch scratch, int count) {
        return scratch.allocate(Math.max(1, (long) count) * Integer.BYTES, 8);
    }

    private static MemorySegment ints(Scratch scratch, List<Integer> values) {
        return scratch.allocateFrom(
                ValueLayout.JAVA_INT,
                values.isEmpty()
                        ? new int[1]
                        : values.stream().mapToInt(Integer::intValue).toArray());
    }

    private static List<Integer> list(MemorySegment ints, long count) {
        return Arrays.stream(ints.asSlice(0, count * Integer.BYTES).toArray(ValueLayout.JAVA_INT))
                .boxed()
                .toList();
    }
}

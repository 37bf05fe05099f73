// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_CreateAoTConfig_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_Extension;
import dev.slipway.runtime.internal.abi.PJRT_MultiSlice_Config_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_MultiSlice_Config_NumDevicesPerSlice_Args;
import dev.slipway.runtime.internal.abi.PJRT_MultiSlice_Config_NumSlices_Args;
import dev.slipway.runtime.internal.abi.PJRT_MultiSlice_Config_Serialize_Args;
import dev.slipway.runtime.internal.abi.PJRT_MultiSlice_Config_SliceId_Args;
import dev.slipway.runtime.internal.abi.PJRT_MultiSlice_Extension;
import java.lang.foreign.MemorySegment;
import java.util.SortedMap;
import java.util.TreeMap;

/** How several slices make one machine, over a data-centre network (the megascale and multi-slice extensions). */
public final class MultiSlice implements AutoCloseable {

    private final Handle handle;

    MultiSlice(Plugin plugin, long config) {
        this.handle =
                new Handle("multi-slice configuration", plugin.api(), config, null, this, (api, scratch, address) -> {
                    MemorySegment args = PJRT_MultiSlice_Config_Destroy_Args.in(scratch);
                    PJRT_MultiSlice_Config_Destroy_Args.config(args, address);
                    api.extension(Extension.MULTI_SLICE).call(PJRT_MultiSlice_Extension.config_destroy, args);
                });
    }

    static MultiSlice of(PluginTopology topology, int slices) {
        if (slices < 1) {
            throw new UsageException.BadArgument(slices + " slices make no machine: 1 or more do");
        }
        PluginTopology.checkSlices("this topology", topology.devices().size(), slices);
        return topology.handle().use((api, scratch, address) -> {
            // Both are needed, so neither is called where the other is missing.
            Api.Table megascale = api.extension(Extension.MEGASCALE);
            api.extension(Extension.MULTI_SLICE);
            MemorySegment args = PJRT_Megascale_CreateAoTConfig_Args.in(scratch);
            PJRT_Megascale_CreateAoTConfig_Args.topology(args, address);
            PJRT_Megascale_CreateAoTConfig_Args.num_slices(args, slices);
            megascale.call(PJRT_Megascale_Extension.create_aot_config, args);
            return new MultiSlice(topology.plugin(), PJRT_Megascale_CreateAoTConfig_Args.multi_slice_config(args));
        });
    }

    /** How many slices there are. */
    public int slices() {
        return handle.use((api, scratch, config) -> {
            MemorySegment args = PJRT_MultiSlice_Config_NumSlices_Args.in(scratch);
            PJRT_MultiSlice_Config_NumSlices_Args.config(args, config);
            api.extension(Extension.MULTI_SLICE).call(PJRT_MultiSlice_Extension.config_num_slices, args);
            return PJRT_MultiSlice_Config_NumSlices_Args.num_slices(args);
        });
    }

    /** Which of them this process is in. */
    public int slice() {
        return handle.use((api, scratch, config) -> {
            MemorySegment args = PJRT_MultiSlice_Config_SliceId_Args.in(scratch);
            PJRT_MultiSlice_Config_SliceId_Args.config(args, config);
            api.extension(Extension.MULTI_SLICE).call(PJRT_MultiSlice_Extension.config_slice_id, args);
            return PJRT_MultiSlice_Config_SliceId_Args.slice_id(args);
        });
    }

    /** The devices of each slice, by its number. */
    public SortedMap<Integer, Integer> devices() {
        return handle.use((api, scratch, config) -> {
            MemorySegment args = PJRT_MultiSlice_Config_NumDevicesPerSlice_Args.in(scratch);
            PJRT_MultiSlice_Config_NumDevicesPerSlice_Args.config(args, config);
            api.extension(Extension.MULTI_SLICE).call(PJRT_MultiSlice_Extension.config_num_devices_per_slice, args);
            try {
                long count = PJRT_MultiSlice_Config_NumDevicesPerSlice_Args.num_devices_per_slice_map(args);
                int[] slices = Native.ints(PJRT_MultiSlice_Config_NumDevicesPerSlice_Args.slice_ids(args), count);
                int[] devices = Native.ints(PJRT_MultiSlice_Config_NumDevicesPerSlice_Args.num_devices(args), count);
                SortedMap<Integer, Integer> each = new TreeMap<>();
                for (int i = 0; i < count; i++) {
                    each.put(slices[i], devices[i]);
                }
                return each;
            } finally {
                Native.free(
                        PJRT_MultiSlice_Config_NumDevicesPerSlice_Args.devices_per_slice_map_deleter(args),
                        PJRT_MultiSlice_Config_NumDevicesPerSlice_Args.devices_per_slice_map(args));
            }
        });
    }

    /** The configuration as a serialized proto of the plugin's: equal machines give equal bytes. */
    public byte[] serialize() {
        return handle.use((api, scratch, config) -> {
            MemorySegment args = PJRT_MultiSlice_Config_Serialize_Args.in(scratch);
            PJRT_MultiSlice_Config_Serialize_Args.config(args, config);
            api.extension(Extension.MULTI_SLICE).call(PJRT_MultiSlice_Extension.config_serialize, args);
            try {
                return Native.bytes(
                        PJRT_MultiSlice_Config_Serialize_Args.serialized(args),
                        PJRT_MultiSlice_Config_Serialize_Args.size(args));
            } finally {
                Native.free(
                        PJRT_MultiSlice_Config_Serialize_Args.serialized_config_deleter(args),
                        PJRT_MultiSlice_Config_Serialize_Args.serialized_config(args));
            }
        });
    }

    /** Whether it was closed. */
    public boolean isClosed() {
        return handle.isClosed();
    }

    @Override
    public void close() {
        handle.close();
    }
}

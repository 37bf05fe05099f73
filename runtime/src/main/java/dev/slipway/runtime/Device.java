// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_AsyncTrackingEvent_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_Device_AddressableMemories_Args;
import dev.slipway.runtime.internal.abi.PJRT_Device_ClearMemoryStats_Args;
import dev.slipway.runtime.internal.abi.PJRT_Device_CreateAsyncTrackingEvent_Args;
import dev.slipway.runtime.internal.abi.PJRT_Device_DefaultMemory_Args;
import dev.slipway.runtime.internal.abi.PJRT_Device_GetAttributes_Args;
import dev.slipway.runtime.internal.abi.PJRT_Device_GetDescription_Args;
import dev.slipway.runtime.internal.abi.PJRT_Device_IsAddressable_Args;
import dev.slipway.runtime.internal.abi.PJRT_Device_LocalHardwareId_Args;
import dev.slipway.runtime.internal.abi.PJRT_Device_MemoryStats_Args;
import dev.slipway.runtime.internal.abi.PJRT_Device_PoisonExecution_Args;
import dev.slipway.runtime.internal.abi.PJRT_Get_Stream_For_External_Ready_Events_Args;
import dev.slipway.runtime.internal.abi.PJRT_Stream_Extension;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A device of a client. It lives as long as the client and needs no closing. */
public final class Device {

    private final Client client;
    private final long address;
    private final DeviceDescription description;

    Device(Client client, long address) {
        this.client = client;
        this.address = address;
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_Device_GetDescription_Args.in(scratch);
            PJRT_Device_GetDescription_Args.device(args, address);
            client.api().call(PjrtFunction.PJRT_Device_GetDescription, args);
            this.description =
                    DeviceDescription.read(client.api(), PJRT_Device_GetDescription_Args.device_description(args));
        }
    }

    /** The client whose device it is. */
    public Client client() {
        return client;
    }

    long address() {
        return address;
    }

    /** What the plugin says of it. */
    public DeviceDescription description() {
        return description;
    }

    /** The device's number, as in device assignments. */
    public int id() {
        return description.id();
    }

    /** Whether this process can give it work. */
    public boolean isAddressable() {
        return client.handle().use((api, scratch, c) -> {
            MemorySegment args = PJRT_Device_IsAddressable_Args.in(scratch);
            PJRT_Device_IsAddressable_Args.device(args, address);
            api.call(PjrtFunction.PJRT_Device_IsAddressable, args);
            return PJRT_Device_IsAddressable_Args.is_addressable(args);
        });
    }

    /** The number by which the operating system knows it. */
    public int localHardwareId() {
        return client.handle().use((api, scratch, c) -> {
            MemorySegment args = PJRT_Device_LocalHardwareId_Args.in(scratch);
            PJRT_Device_LocalHardwareId_Args.device(args, address);
            api.call(PjrtFunction.PJRT_Device_LocalHardwareId, args);
            return PJRT_Device_LocalHardwareId_Args.local_hardware_id(args);
        });
    }

    /** The memories it reaches. */
    public List<Memory> memories() {
        return client.handle().use((api, scratch, c) -> {
            MemorySegment args = PJRT_Device_AddressableMemories_Args.in(scratch);
            PJRT_Device_AddressableMemories_Args.device(args, address);
            api.call(PjrtFunction.PJRT_Device_AddressableMemories, args);
            return Arrays.stream(Native.longs(
                            PJRT_Device_AddressableMemories_Args.memories(args),
                            PJRT_Device_AddressableMemories_Args.num_memories(args)))
                    .mapToObj(memory -> new Memory(client, memory))
                    .toList();
        });
    }

    /** The memory where buffers go unless told otherwise. */
    public Memory defaultMemory() {
        return client.handle().use((api, scratch, c) -> {
            MemorySegment args = PJRT_Device_DefaultMemory_Args.in(scratch);
            PJRT_Device_DefaultMemory_Args.device(args, address);
            api.call(PjrtFunction.PJRT_Device_DefaultMemory, args);
            return new Memory(client, PJRT_Device_DefaultMemory_Args.memory(args));
        });
    }

    /** The allocator's figures, in bytes or counts, by PJRT's names; only those that the plugin sets. */
    public Map<String, Long> memoryStats() {
        return client.handle().use((api, scratch, c) -> {
            MemorySegment args = PJRT_Device_MemoryStats_Args.in(scratch);
            PJRT_Device_MemoryStats_Args.device(args, address);
            api.call(PjrtFunction.PJRT_Device_MemoryStats, args);
            return stats(api, args);
        });
    }

    private static Map<String, Long> stats(Api api, MemorySegment args) {
        Map<String, Long> stats = new LinkedHashMap<>();
        stats.put("bytes_in_use", PJRT_Device_MemoryStats_Args.bytes_in_use(args));
        if (PJRT_Device_MemoryStats_Args.peak_bytes_in_use_is_set(args)) {
            stats.put("peak_bytes_in_use", PJRT_Device_MemoryStats_Args.peak_bytes_in_use(args));
        }
        if (PJRT_Device_MemoryStats_Args.num_allocs_is_set(args)) {
            stats.put("num_allocs", PJRT_Device_MemoryStats_Args.num_allocs(args));
        }
        if (PJRT_Device_MemoryStats_Args.largest_alloc_size_is_set(args)) {
            stats.put("largest_alloc_size", PJRT_Device_MemoryStats_Args.largest_alloc_size(args));
        }
        if (PJRT_Device_MemoryStats_Args.bytes_limit_is_set(args)) {
            stats.put("bytes_limit", PJRT_Device_MemoryStats_Args.bytes_limit(args));
        }
        if (PJRT_Device_MemoryStats_Args.bytes_reserved_is_set(args)) {
            stats.put("bytes_reserved", PJRT_Device_MemoryStats_Args.bytes_reserved(args));
        }
        if (PJRT_Device_MemoryStats_Args.peak_bytes_reserved_is_set(args)) {
            stats.put("peak_bytes_reserved", PJRT_Device_MemoryStats_Args.peak_bytes_reserved(args));
        }
        if (PJRT_Device_MemoryStats_Args.bytes_reservable_limit_is_set(args)) {
            stats.put("bytes_reservable_limit", PJRT_Device_MemoryStats_Args.bytes_reservable_limit(args));
        }
        if (PJRT_Device_MemoryStats_Args.largest_free_block_bytes_is_set(args)) {
            stats.put("largest_free_block_bytes", PJRT_Device_MemoryStats_Args.largest_free_block_bytes(args));
        }
        if (PJRT_Device_MemoryStats_Args.pool_bytes_is_set(args)) {
            stats.put("pool_bytes", PJRT_Device_MemoryStats_Args.pool_bytes(args));
        }
        if (PJRT_Device_MemoryStats_Args.peak_pool_bytes_is_set(args)) {
            stats.put("peak_pool_bytes", PJRT_Device_MemoryStats_Args.peak_pool_bytes(args));
        }
        if (api.minor() >= 113 && PJRT_Device_MemoryStats_Args.peak_allocated_bytes_is_set(args)) {
            stats.put("peak_allocated_bytes", PJRT_Device_MemoryStats_Args.peak_allocated_bytes(args));
        }
        return stats;
    }

    /** What the device says of itself at run time (plugins since 0.92). */
    public Map<String, NamedValue> attributes() {
        return client.handle().use((api, scratch, c) -> {
            MemorySegment args = PJRT_Device_GetAttributes_Args.in(scratch);
            PJRT_Device_GetAttributes_Args.device(args, address);
            api.call(PjrtFunction.PJRT_Device_GetAttributes, args);
            try {
                return Api.namedValues(
                        PJRT_Device_GetAttributes_Args.attributes(args),
                        PJRT_Device_GetAttributes_Args.num_attributes(args));
            } finally {
                Native.free(
                        PJRT_Device_GetAttributes_Args.attributes_deleter(args),
                        PJRT_Device_GetAttributes_Args.device_attributes(args));
            }
        });
    }

    /** Starts the allocator's peaks anew (plugins since 0.106). */
    public void clearMemoryStats() {
        client.handle().use((api, scratch, c) -> {
            MemorySegment args = PJRT_Device_ClearMemoryStats_Args.in(scratch);
            PJRT_Device_ClearMemoryStats_Args.device(args, address);
            api.call(PjrtFunction.PJRT_Device_ClearMemoryStats, args);
            return null;
        });
    }

    /**
     * Has a launch that is under way fail with an error (plugins since 0.85).
     *
     * @return whether there was such a launch
     */
    public boolean poison(int launchId, int statusCode, String message) {
        byte[] text = message.getBytes(StandardCharsets.UTF_8);
        return client.handle().use((api, scratch, c) -> {
            MemorySegment args = PJRT_Device_PoisonExecution_Args.in(scratch);
            PJRT_Device_PoisonExecution_Args.device(args, address);
            PJRT_Device_PoisonExecution_Args.launch_id(args, launchId);
            PJRT_Device_PoisonExecution_Args.error_code(args, StatusException.checkCode(statusCode));
            PJRT_Device_PoisonExecution_Args.error_message(
                    args, Native.bytes(scratch, text).address());
            PJRT_Device_PoisonExecution_Args.error_message_size(args, text.length);
            api.call(PjrtFunction.PJRT_Device_PoisonExecution, args);
            return PJRT_Device_PoisonExecution_Args.poisoned(args);
        });
    }

    /** The stream of the device on which buffers from outside become ready (the stream extension). */
    public long stream() {
        return client.handle().use((api, scratch, c) -> {
            MemorySegment args = PJRT_Get_Stream_For_External_Ready_Events_Args.in(scratch);
            PJRT_Get_Stream_For_External_Ready_Events_Args.device(args, address);
            api.extension(Extension.STREAM).call(PJRT_Stream_Extension.get_stream, args);
            return PJRT_Get_Stream_For_External_Ready_Events_Args.stream(args);
        });
    }

    /** Marks work that goes on outside the plugin's sight, for its profiles; closed when the work is done (plugins since 0.86). */
    public AutoCloseable track(String description) {
        byte[] text = description.getBytes(StandardCharsets.UTF_8);
        return client.handle().use((api, scratch, c) -> {
            MemorySegment args = PJRT_Device_CreateAsyncTrackingEvent_Args.in(scratch);
            PJRT_Device_CreateAsyncTrackingEvent_Args.device(args, address);
            PJRT_Device_CreateAsyncTrackingEvent_Args.description(
                    args, Native.bytes(scratch, text).address());
            PJRT_Device_CreateAsyncTrackingEvent_Args.description_size(args, text.length);
            api.call(PjrtFunction.PJRT_Device_CreateAsyncTrackingEvent, args);
            return new Tracking(client, PJRT_Device_CreateAsyncTrackingEvent_Args.event(args));
        });
    }

    private static final class Tracking implements AutoCloseable {
        private final Handle handle;

        Tracking(Client client, long event) {
            this.handle = new Handle(
                    "tracking event", client.api(), event, client.handle(), this, (api, scratch, address) -> {
                        MemorySegment args = PJRT_AsyncTrackingEvent_Destroy_Args.in(scratch);
                        PJRT_AsyncTrackingEvent_Destroy_Args.event(args, address);
                        api.call(PjrtFunction.PJRT_AsyncTrackingEvent_Destroy, args);
                    });
        }

        @Override
        public void close() {
            handle.close();
        }
    }

    @Override
    public String toString() {
        return description.debugString();
    }
}

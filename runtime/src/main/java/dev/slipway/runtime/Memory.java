// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.abi.PJRT_Memory_AddressableByDevices_Args;
import dev.slipway.runtime.internal.abi.PJRT_Memory_DebugString_Args;
import dev.slipway.runtime.internal.abi.PJRT_Memory_Id_Args;
import dev.slipway.runtime.internal.abi.PJRT_Memory_Kind_Args;
import dev.slipway.runtime.internal.abi.PJRT_Memory_Kind_Id_Args;
import dev.slipway.runtime.internal.abi.PJRT_Memory_ToString_Args;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/** A memory of a client: {@code device}, {@code pinned_host}, {@code unpinned_host}. It lives as long as the client. */
public final class Memory {

    private final Client client;
    private final long address;

    Memory(Client client, long address) {
        this.client = client;
        this.address = address;
    }

    /** The client whose memory it is. */
    public Client client() {
        return client;
    }

    long address() {
        return address;
    }

    /** The memory's number. */
    public int id() {
        return client.handle().use((api, scratch, c) -> {
            MemorySegment args = PJRT_Memory_Id_Args.in(scratch);
            PJRT_Memory_Id_Args.memory(args, address);
            api.call(PjrtFunction.PJRT_Memory_Id, args);
            return PJRT_Memory_Id_Args.id(args);
        });
    }

    /** What kind it is. */
    public String kind() {
        return client.handle().use((api, scratch, c) -> {
            MemorySegment args = PJRT_Memory_Kind_Args.in(scratch);
            PJRT_Memory_Kind_Args.memory(args, address);
            api.call(PjrtFunction.PJRT_Memory_Kind, args);
            return Native.string(PJRT_Memory_Kind_Args.kind(args), PJRT_Memory_Kind_Args.kind_size(args));
        });
    }

    /** The kind as a number. */
    public int kindId() {
        return client.handle().use((api, scratch, c) -> {
            MemorySegment args = PJRT_Memory_Kind_Id_Args.in(scratch);
            PJRT_Memory_Kind_Id_Args.memory(args, address);
            api.call(PjrtFunction.PJRT_Memory_Kind_Id, args);
            return PJRT_Memory_Kind_Id_Args.kind_id(args);
        });
    }

    /** The devices that reach it. */
    public List<Device> devices() {
        return client.handle().use((api, scratch, c) -> {
            MemorySegment args = PJRT_Memory_AddressableByDevices_Args.in(scratch);
            PJRT_Memory_AddressableByDevices_Args.memory(args, address);
            api.call(PjrtFunction.PJRT_Memory_AddressableByDevices, args);
            return Arrays.stream(Native.longs(
                            PJRT_Memory_AddressableByDevices_Args.devices(args),
                            PJRT_Memory_AddressableByDevices_Args.num_devices(args)))
                    .mapToObj(client::device)
                    .toList();
        });
    }

    /** For logs, at length. */
    public String debugString() {
        return client.handle().use((api, scratch, c) -> {
            MemorySegment args = PJRT_Memory_DebugString_Args.in(scratch);
            PJRT_Memory_DebugString_Args.memory(args, address);
            api.call(PjrtFunction.PJRT_Memory_DebugString, args);
            return Native.string(
                    PJRT_Memory_DebugString_Args.debug_string(args),
                    PJRT_Memory_DebugString_Args.debug_string_size(args));
        });
    }

    /** For people. */
    @Override
    public String toString() {
        return client.handle().use((api, scratch, c) -> {
            MemorySegment args = PJRT_Memory_ToString_Args.in(scratch);
            PJRT_Memory_ToString_Args.memory(args, address);
            api.call(PjrtFunction.PJRT_Memory_ToString, args);
            return Native.string(
                    PJRT_Memory_ToString_Args.to_string(args), PJRT_Memory_ToString_Args.to_string_size(args));
        });
    }
}

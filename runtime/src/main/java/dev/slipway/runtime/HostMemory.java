// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.abi.PJRT_HostAllocator_Allocate_Args;
import dev.slipway.runtime.internal.abi.PJRT_HostAllocator_Extension;
import dev.slipway.runtime.internal.abi.PJRT_HostAllocator_Free_Args;
import dev.slipway.runtime.internal.abi.PJRT_HostAllocator_GetPreferredAlignment_Args;
import dev.slipway.runtime.internal.abi.PJRT_HostMemoryAllocator_Allocate_Args;
import dev.slipway.runtime.internal.abi.PJRT_HostMemoryAllocator_Extension;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.OptionalInt;

/**
 * Host memory that a client's devices read and write without a copy in between (the host memory allocator extension, or the host allocator
 * before it: {@link Client#allocateHost}).
 */
public final class HostMemory implements AutoCloseable {

    /** XLA's number for a node that is not asked for. */
    private static final int ANY_NODE = -1;

    private final Handle handle;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment segment;

    private HostMemory(Client client, long address, long bytes, Handle.Destroyer free) {
        this.handle = new Handle("host memory", client.api(), address, client.handle(), this, free);
        this.segment = MemorySegment.ofAddress(address).reinterpret(bytes, arena, null);
    }

    static HostMemory allocate(Client client, long bytes, OptionalInt numaNode) {
        if (bytes < 1 || numaNode.orElse(0) < 0) {
            throw new UsageException.BadArgument(bytes + " bytes "
                    + (numaNode.isPresent() ? "on node " + numaNode.getAsInt() + " " : "")
                    + "cannot be had: 1 or more, on a node that counts from 0, are needed");
        }
        if (client.plugin().extensions().contains(Extension.HOST_MEMORY_ALLOCATOR)) {
            return current(client, bytes, numaNode);
        }
        // A plugin with neither is told what it lacks by the name of the newer one.
        if (!client.plugin().extensions().contains(Extension.HOST_ALLOCATOR) || numaNode.isPresent()) {
            throw new UsageException.Unsupported(client.plugin() + " does not have the extension "
                    + Extension.HOST_MEMORY_ALLOCATOR + ", without which no memory "
                    + (numaNode.isPresent() ? "of a node " : "") + "can be asked for");
        }
        return older(client, bytes);
    }

    private static HostMemory current(Client client, long bytes, OptionalInt numaNode) {
        return client.handle().use((api, scratch, address) -> {
            MemorySegment args = PJRT_HostMemoryAllocator_Allocate_Args.in(scratch);
            PJRT_HostMemoryAllocator_Allocate_Args.client(args, address);
            PJRT_HostMemoryAllocator_Allocate_Args.size(args, bytes);
            PJRT_HostMemoryAllocator_Allocate_Args.numa_node(args, numaNode.orElse(ANY_NODE));
            api.extension(Extension.HOST_MEMORY_ALLOCATOR).call(PJRT_HostMemoryAllocator_Extension.allocate, args);
            long deleter = PJRT_HostMemoryAllocator_Allocate_Args.deleter(args);
            long argument = PJRT_HostMemoryAllocator_Allocate_Args.deleter_arg(args);
            return new HostMemory(
                    client,
                    PJRT_HostMemoryAllocator_Allocate_Args.ptr(args),
                    bytes,
                    (_, _, pointer) -> Native.free(deleter, pointer, argument));
        });
    }

    private static HostMemory older(Client client, long bytes) {
        return client.handle().use((api, scratch, address) -> {
            Api.Table table = api.extension(Extension.HOST_ALLOCATOR);
            MemorySegment alignment = PJRT_HostAllocator_GetPreferredAlignment_Args.in(scratch);
            PJRT_HostAllocator_GetPreferredAlignment_Args.client(alignment, address);
            table.call(PJRT_HostAllocator_Extension.get_preferred_alignment, alignment);
            MemorySegment args = PJRT_HostAllocator_Allocate_Args.in(scratch);
            PJRT_HostAllocator_Allocate_Args.client(args, address);
            PJRT_HostAllocator_Allocate_Args.size(args, bytes);
            PJRT_HostAllocator_Allocate_Args.alignment(
                    args, PJRT_HostAllocator_GetPreferredAlignment_Args.preferred_alignment(alignment));
            table.call(PJRT_HostAllocator_Extension.allocate, args);
            return new HostMemory(client, PJRT_HostAllocator_Allocate_Args.ptr(args), bytes, (_, inner, pointer) -> {
                MemorySegment free = PJRT_HostAllocator_Free_Args.in(inner);
                PJRT_HostAllocator_Free_Args.client(free, address);
                PJRT_HostAllocator_Free_Args.ptr(free, pointer);
                table.call(PJRT_HostAllocator_Extension.free, free);
            });
        });
    }

    /** The memory; its access ends with {@link #close}. */
    public MemorySegment segment() {
        return segment;
    }

    /**
     * Gives the memory back; no buffer may be made of it any more, and none that lies in it be used.
     *
     * @throws UsageException.Closed if closed already
     */
    @Override
    public void close() {
        if (!handle.isClosed()) {
            arena.close();
        }
        handle.close();
    }
}

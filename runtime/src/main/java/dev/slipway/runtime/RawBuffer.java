// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_RawBuffer_CopyRawDeviceToHost_Args;
import dev.slipway.runtime.internal.abi.PJRT_RawBuffer_CopyRawHostToDevice_Args;
import dev.slipway.runtime.internal.abi.PJRT_RawBuffer_CreateRawAliasOfBuffer_Args;
import dev.slipway.runtime.internal.abi.PJRT_RawBuffer_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_RawBuffer_Extension;
import dev.slipway.runtime.internal.abi.PJRT_RawBuffer_GetHostPointer_Args;
import dev.slipway.runtime.internal.abi.PJRT_RawBuffer_GetMemorySpace_Args;
import dev.slipway.runtime.internal.abi.PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of a buffer as they lie on its device, read and written in place (the raw buffer extension, {@link Buffer#raw}). It keeps the
 * memory from being freed, not from being overwritten: a write that meets a running program is the caller's to prevent.
 */
public final class RawBuffer implements AutoCloseable {

    private final Client client;
    private final Handle handle;
    private final long bytes;

    private RawBuffer(Client client, long address) {
        this.client = client;
        this.handle = new Handle("raw buffer", client.api(), address, client.handle(), this, (api, scratch, raw) -> {
            MemorySegment args = PJRT_RawBuffer_Destroy_Args.in(scratch);
            PJRT_RawBuffer_Destroy_Args.buffer(args, raw);
            table(api).call(PJRT_RawBuffer_Extension.PJRT_RawBuffer_Destroy, args);
        });
        this.bytes = handle.use((api, scratch, raw) -> {
            MemorySegment args = PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args.in(scratch);
            PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args.buffer(args, raw);
            table(api).call(PJRT_RawBuffer_Extension.PJRT_RawBuffer_GetOnDeviceSizeInBytes, args);
            return PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args.on_device_size_in_bytes(args);
        });
    }

    static RawBuffer of(Client client, Api api, Scratch scratch, long buffer) {
        MemorySegment args = PJRT_RawBuffer_CreateRawAliasOfBuffer_Args.in(scratch);
        PJRT_RawBuffer_CreateRawAliasOfBuffer_Args.buffer(args, buffer);
        table(api).call(PJRT_RawBuffer_Extension.PJRT_RawBuffer_CreateRawAliasOfBuffer, args);
        return new RawBuffer(client, PJRT_RawBuffer_CreateRawAliasOfBuffer_Args.raw_buffer(args));
    }

    private static Api.Table table(Api api) {
        return api.extension(Extension.RAW_BUFFER);
    }

    /** How many bytes there are, padding and packing included. */
    public long bytes() {
        return bytes;
    }

    /** The memory they are in. */
    public Memory memory() {
        return handle.use((api, scratch, raw) -> {
            MemorySegment args = PJRT_RawBuffer_GetMemorySpace_Args.in(scratch);
            PJRT_RawBuffer_GetMemorySpace_Args.buffer(args, raw);
            table(api).call(PJRT_RawBuffer_Extension.PJRT_RawBuffer_GetMemorySpace, args);
            return new Memory(client, PJRT_RawBuffer_GetMemorySpace_Args.memory_space(args));
        });
    }

    /** The address of the bytes where this process reaches them; valid until this is closed. */
    public Optional<MemorySegment> host() {
        return handle.use((api, scratch, raw) -> {
            MemorySegment args = PJRT_RawBuffer_GetHostPointer_Args.in(scratch);
            PJRT_RawBuffer_GetHostPointer_Args.buffer(args, raw);
            table(api).call(PJRT_RawBuffer_Extension.PJRT_RawBuffer_GetHostPointer, args);
            long pointer = PJRT_RawBuffer_GetHostPointer_Args.host_pointer(args);
            return pointer == 0 ? Optional.empty() : Optional.of(Native.at(pointer, bytes));
        });
    }

    /**
     * Copies bytes of the device to the host, without waiting.
     *
     * @param destination writable native memory that stays until the future completes; its size says how many bytes
     * @param offset of the first byte
     * @throws UsageException.BadArgument if the range does not lie in the buffer
     */
    public CompletableFuture<@Nullable Void> read(MemorySegment destination, long offset) {
        check(destination, offset, !destination.isReadOnly());
        long event = handle.use((api, scratch, raw) -> {
            MemorySegment args = PJRT_RawBuffer_CopyRawDeviceToHost_Args.in(scratch);
            PJRT_RawBuffer_CopyRawDeviceToHost_Args.buffer(args, raw);
            PJRT_RawBuffer_CopyRawDeviceToHost_Args.dst(args, destination.address());
            PJRT_RawBuffer_CopyRawDeviceToHost_Args.offset(args, offset);
            PJRT_RawBuffer_CopyRawDeviceToHost_Args.transfer_size(args, destination.byteSize());
            table(api).call(PJRT_RawBuffer_Extension.PJRT_RawBuffer_CopyRawDeviceToHost, args);
            return PJRT_RawBuffer_CopyRawDeviceToHost_Args.event(args);
        });
        return client.api().events().future(event, destination);
    }

    /**
     * Copies bytes of the host to the device, without waiting.
     *
     * @param source native memory that stays as it is until the future completes; its size says how many bytes
     * @param offset of the first byte
     * @throws UsageException.BadArgument if the range does not lie in the buffer
     */
    public CompletableFuture<@Nullable Void> write(MemorySegment source, long offset) {
        check(source, offset, true);
        long event = handle.use((api, scratch, raw) -> {
            MemorySegment args = PJRT_RawBuffer_CopyRawHostToDevice_Args.in(scratch);
            PJRT_RawBuffer_CopyRawHostToDevice_Args.buffer(args, raw);
            PJRT_RawBuffer_CopyRawHostToDevice_Args.src(args, source.address());
            PJRT_RawBuffer_CopyRawHostToDevice_Args.offset(args, offset);
            PJRT_RawBuffer_CopyRawHostToDevice_Args.transfer_size(args, source.byteSize());
            table(api).call(PJRT_RawBuffer_Extension.PJRT_RawBuffer_CopyRawHostToDevice, args);
            return PJRT_RawBuffer_CopyRawHostToDevice_Args.event(args);
        });
        return client.api().events().future(event, source);
    }

    private void check(MemorySegment memory, long offset, boolean allowed) {
        if (!allowed || !memory.isNative() || offset < 0 || memory.byteSize() > bytes - offset) {
            throw new UsageException.BadArgument("bytes " + offset + " to " + (offset + memory.byteSize())
                    + " of a raw buffer of " + bytes
                    + " cannot be copied: they must lie in it, and the other side be native memory"
                    + " that may be written to where it is");
        }
    }

    @Override
    public void close() {
        handle.close();
    }
}

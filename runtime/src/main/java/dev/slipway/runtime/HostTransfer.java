// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.abi.PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args;
import dev.slipway.runtime.internal.abi.PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args;
import dev.slipway.runtime.internal.abi.PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args;
import dev.slipway.runtime.internal.abi.PJRT_AsyncHostToDeviceTransferManager_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_AsyncHostToDeviceTransferManager_Device_Args;
import dev.slipway.runtime.internal.abi.PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args;
import dev.slipway.runtime.internal.abi.PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args;
import dev.slipway.runtime.internal.abi.PJRT_AsyncHostToDeviceTransferManager_TransferData_Args;
import dev.slipway.runtime.internal.abi.PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_CreateBuffersForAsyncHostToDevice_Args;
import dev.slipway.runtime.internal.abi.PJRT_ShapeSpec;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Arrays that are sent to a device piece by piece, as they are read from a file or network. Their buffers can be had, and given to
 * programs, before the data is there.
 *
 * {@snippet :
 * try (HostTransfer transfer = client.transfer(types, memory)) {
 *     Buffer weights = transfer.buffer(0);
 *     transfer.send(0, firstHalf, 0, false).join();
 *     transfer.send(0, secondHalf, firstHalf.byteSize(), true).join();
 * }
 * }
 */
public final class HostTransfer implements AutoCloseable {

    private final Client client;
    private final List<TensorType> types;
    private final Handle handle;
    private final BitSet retrieved = new BitSet();
    private final BitSet ended = new BitSet();

    private HostTransfer(Client client, List<TensorType> types, long address) {
        this.client = client;
        this.types = List.copyOf(types);
        this.handle = new Handle("transfer", client.api(), address, client.handle(), this, (api, scratch, transfer) -> {
            MemorySegment args = PJRT_AsyncHostToDeviceTransferManager_Destroy_Args.in(scratch);
            PJRT_AsyncHostToDeviceTransferManager_Destroy_Args.transfer_manager(args, transfer);
            api.call(PjrtFunction.PJRT_AsyncHostToDeviceTransferManager_Destroy, args);
        });
    }

    static HostTransfer create(Client client, List<TensorType> types, Memory memory) {
        if (memory.client() != client) {
            throw new UsageException.Foreign("the memory " + memory + " belongs to another client");
        }
        if (types.isEmpty() || types.stream().anyMatch(type -> type.element() == ElementType.TOKEN)) {
            throw new UsageException.BadArgument("a transfer needs the types of one or more arrays, not " + types);
        }
        types.forEach(client.plugin()::check);
        return client.handle().use((api, scratch, address) -> {
            long stride = PJRT_ShapeSpec.LAYOUT.byteSize();
            MemorySegment shapes = scratch.allocate(stride * types.size(), 8);
            shapes.fill((byte) 0);
            for (int i = 0; i < types.size(); i++) {
                MemorySegment shape = shapes.asSlice(i * stride, stride);
                PJRT_ShapeSpec.struct_size(shape, PJRT_ShapeSpec.SIZE);
                PJRT_ShapeSpec.dims(
                        shape, Client.dimensions(scratch, types.get(i)).address());
                PJRT_ShapeSpec.num_dims(shape, types.get(i).dimensions().size());
                PJRT_ShapeSpec.element_type(shape, types.get(i).element().code());
            }
            MemorySegment args = PJRT_Client_CreateBuffersForAsyncHostToDevice_Args.in(scratch);
            PJRT_Client_CreateBuffersForAsyncHostToDevice_Args.client(args, address);
            PJRT_Client_CreateBuffersForAsyncHostToDevice_Args.shape_specs(args, shapes.address());
            PJRT_Client_CreateBuffersForAsyncHostToDevice_Args.num_shape_specs(args, types.size());
            PJRT_Client_CreateBuffersForAsyncHostToDevice_Args.memory(args, memory.address());
            api.call(PjrtFunction.PJRT_Client_CreateBuffersForAsyncHostToDevice, args);
            return new HostTransfer(
                    client, types, PJRT_Client_CreateBuffersForAsyncHostToDevice_Args.transfer_manager(args));
        });
    }

    /** How many arrays there are, as the plugin counts them. */
    public int count() {
        return handle.use((api, scratch, transfer) -> {
            MemorySegment args = PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args.in(scratch);
            PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args.transfer_manager(args, transfer);
            api.call(PjrtFunction.PJRT_AsyncHostToDeviceTransferManager_BufferCount, args);
            return (int) PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args.buffer_count(args);
        });
    }

    /** Bytes of an array. */
    public long bytes(int index) {
        check(index);
        return handle.use((api, scratch, transfer) -> {
            MemorySegment args = PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args.in(scratch);
            PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args.transfer_manager(args, transfer);
            PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args.buffer_index(args, index);
            api.call(PjrtFunction.PJRT_AsyncHostToDeviceTransferManager_BufferSize, args);
            return PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args.buffer_size(args);
        });
    }

    /** The device that the arrays go to. */
    public Device device() {
        return handle.use((api, scratch, transfer) -> {
            MemorySegment args = PJRT_AsyncHostToDeviceTransferManager_Device_Args.in(scratch);
            PJRT_AsyncHostToDeviceTransferManager_Device_Args.transfer_manager(args, transfer);
            api.call(PjrtFunction.PJRT_AsyncHostToDeviceTransferManager_Device, args);
            return client.device(PJRT_AsyncHostToDeviceTransferManager_Device_Args.device_out(args));
        });
    }

    /** The buffer of an array, to be had once; its data may still be under way. */
    public Buffer buffer(int index) {
        check(index);
        synchronized (retrieved) {
            if (retrieved.get(index)) {
                throw new UsageException.Closed(
                        "the buffer of array " + index + " was taken already: it is to be had once");
            }
            retrieved.set(index);
        }
        return handle.use((api, scratch, transfer) -> {
            MemorySegment args = PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args.in(scratch);
            PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args.transfer_manager(args, transfer);
            PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args.buffer_index(args, index);
            api.call(PjrtFunction.PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, args);
            return new Buffer(client, PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args.buffer_out(args));
        });
    }

    /**
     * Sends a piece of an array.
     *
     * @param data native memory that stays as it is until the future completes
     * @param offset where in the array it goes, in bytes
     * @param last whether it is the last piece to be sent
     * @throws UsageException.BadArgument if the piece does not lie in the array, at which plugins would write wildly
     */
    public CompletableFuture<@Nullable Void> send(int index, MemorySegment data, long offset, boolean last) {
        long size = bytes(index);
        if (!data.isNative() || offset < 0 || data.byteSize() > size - offset) {
            throw new UsageException.BadArgument("a piece of " + data.byteSize() + " bytes"
                    + (data.isNative() ? "" : " on the Java heap") + " at " + offset + " does not fit array " + index
                    + " of "
                    + size + " bytes: it must be native memory within the array");
        }
        long event = last ? lastly(index, () -> transfer(index, data, offset, true)) : more(index, data, offset);
        return client.api().events().future(event, data);
    }

    private long more(int index, MemorySegment data, long offset) {
        open(index);
        return transfer(index, data, offset, false);
    }

    private long transfer(int index, MemorySegment data, long offset, boolean last) {
        return handle.use((api, scratch, transfer) -> {
            MemorySegment args = PJRT_AsyncHostToDeviceTransferManager_TransferData_Args.in(scratch);
            PJRT_AsyncHostToDeviceTransferManager_TransferData_Args.transfer_manager(args, transfer);
            PJRT_AsyncHostToDeviceTransferManager_TransferData_Args.buffer_index(args, index);
            PJRT_AsyncHostToDeviceTransferManager_TransferData_Args.data(args, data.address());
            PJRT_AsyncHostToDeviceTransferManager_TransferData_Args.offset(args, offset);
            PJRT_AsyncHostToDeviceTransferManager_TransferData_Args.transfer_size(args, data.byteSize());
            PJRT_AsyncHostToDeviceTransferManager_TransferData_Args.is_last_transfer(args, last);
            api.call(PjrtFunction.PJRT_AsyncHostToDeviceTransferManager_TransferData, args);
            return PJRT_AsyncHostToDeviceTransferManager_TransferData_Args.done_with_h2d_transfer(args);
        });
    }

    /** Does what ends an array; of several threads that want to, one. */
    private long lastly(int index, LongSupplier call) {
        end(index);
        try {
            return call.getAsLong();
        } catch (PjrtException e) {
            reopen(index);
            throw e;
        }
    }

    private synchronized void open(int index) {
        if (ended.get(index)) {
            throw new UsageException.Closed(
                    "array " + index + " is ended: its last piece was sent, or it was given up, and the plugin aborts");
        }
    }

    private synchronized void end(int index) {
        open(index);
        ended.set(index);
    }

    private synchronized void reopen(int index) {
        ended.clear(index);
    }

    /** Sends a whole array at once (plugins since 0.83); {@code data} as in {@link #send}. */
    public CompletableFuture<@Nullable Void> sendWhole(int index, MemorySegment data) {
        check(index);
        TensorType type = types.get(index);
        if (!data.isNative() || data.byteSize() < type.hostBytes()) {
            throw new UsageException.BadArgument(type + " takes " + type.hostBytes() + " bytes of native memory, but "
                    + data.byteSize() + " were given");
        }
        long event = lastly(index, () -> transferWhole(index, data, type));
        return client.api().events().future(event, data);
    }

    private long transferWhole(int index, MemorySegment data, TensorType type) {
        return handle.use((api, scratch, transfer) -> {
            MemorySegment args = PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args.in(scratch);
            PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args.transfer_manager(args, transfer);
            PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args.buffer_index(args, index);
            PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args.data(args, data.address());
            PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args.shape_dims(
                    args, Client.dimensions(scratch, type).address());
            PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args.shape_num_dims(
                    args, type.dimensions().size());
            PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args.shape_element_type(
                    args, type.element().code());
            PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args.shape_layout(
                    args,
                    Layout.rowMajor(type.dimensions().size())
                            .write(scratch, type)
                            .address());
            api.call(PjrtFunction.PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, args);
            return PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args.done_with_h2d_transfer(args);
        });
    }

    /**
     * Gives an array up: its buffer, and whatever uses it, gets this error.
     *
     * @throws UsageException.Closed if the array was given up already, or its last piece was sent
     */
    public void fail(int index, int statusCode, String message) {
        check(index);
        StatusException.checkCode(statusCode);
        end(index);
        byte[] text = message.getBytes(StandardCharsets.UTF_8);
        handle.use((api, scratch, transfer) -> {
            MemorySegment args = PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args.in(scratch);
            PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args.transfer_manager(args, transfer);
            PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args.buffer_index(args, index);
            PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args.error_code(
                    args, StatusException.checkCode(statusCode));
            PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args.error_message(
                    args, Native.bytes(scratch, text).address());
            PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args.error_message_size(args, text.length);
            api.call(PjrtFunction.PJRT_AsyncHostToDeviceTransferManager_SetBufferError, args);
            return null;
        });
    }

    /** Tells the plugin something about the transfer. */
    public void addMetadata(Map<String, NamedValue> metadata) {
        handle.use((api, scratch, transfer) -> {
            MemorySegment args = PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args.in(scratch);
            PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args.transfer_manager(args, transfer);
            PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args.transfer_metadata(
                    args, Api.namedValues(scratch, metadata).address());
            PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args.num_metadata(args, metadata.size());
            api.call(PjrtFunction.PJRT_AsyncHostToDeviceTransferManager_AddMetadata, args);
            return null;
        });
    }

    private void check(int index) {
        if (index < 0 || index >= types.size()) {
            throw new UsageException.BadArgument(
                    "there is no array " + index + " in this transfer of " + types.size() + " arrays");
        }
    }

    @Override
    public void close() {
        handle.close();
    }
}

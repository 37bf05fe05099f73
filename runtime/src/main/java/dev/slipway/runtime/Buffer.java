// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.Layouts;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_Bitcast_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_CopyRawToHostFuture_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_CopyRawToHostFuture_Callback_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_CopyRawToHost_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_CopyToDevice_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_CopyToMemory_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_DecreaseExternalReferenceCount_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_Delete_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_Device_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_Dimensions_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_DonateWithControlDependency_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_DonateWithControlDependency_Callback_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_DynamicDimensionIndices_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_ElementType_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_GetMemoryLayout_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_IncreaseExternalReferenceCount_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_IsDeleted_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_IsOnCpu_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_MemoryLayout;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_MemoryLayout_Tiled;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_MemoryLayout_Type;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_Memory_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_OnDeviceSizeInBytes_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_ReadyEvent_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_ToHostBuffer_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_UnpaddedDimensions_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_UnsafePointer_Args;
import dev.slipway.runtime.internal.abi.PJRT_Stream_Extension;
import dev.slipway.runtime.internal.abi.PJRT_Wait_Until_Buffer_Ready_On_Stream_Args;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * An array in a device's memory, or on its way there.
 *
 * <p>A buffer that a program took over ({@code donated}) or that was {@linkplain #delete deleted} has no data: its use is a
 * {@link StatusException.InvalidArgument} of the plugin's, and it is still to be closed.
 */
public final class Buffer implements AutoCloseable {

    private final Client client;
    private final Handle handle;
    private @Nullable TensorType type;

    /** Whether it may lie in another order than the plugin's usual one: then {@link #layout} is worth the question. */
    private final boolean unusual;

    Buffer(Client client, long address) {
        this(client, address, null, false);
    }

    Buffer(Client client, long address, @Nullable TensorType type, boolean unusual) {
        this.client = client;
        this.type = type;
        this.unusual = unusual;
        this.handle = new Handle("buffer", client.api(), address, client.handle(), this, (api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_Destroy_Args.in(scratch);
            PJRT_Buffer_Destroy_Args.buffer(args, buffer);
            api.call(PjrtFunction.PJRT_Buffer_Destroy, args);
        });
    }

    /** The buffers that one call gave; where the client was closed meanwhile, none of them stays. */
    static List<Buffer> all(int count, IntFunction<Buffer> one) {
        List<Buffer> buffers = new ArrayList<>(count);
        UsageException.Closed closed = null;
        for (int i = 0; i < count; i++) {
            try {
                buffers.add(one.apply(i));
            } catch (UsageException.Closed e) {
                closed = e;
            }
        }
        if (closed != null) {
            buffers.forEach(Buffer::close);
            throw closed;
        }
        return buffers;
    }

    /** The client whose buffer it is. */
    public Client client() {
        return client;
    }

    Handle handle() {
        return handle;
    }

    boolean mayLieUnusually() {
        return unusual;
    }

    private void open() {
        if (client.isClosed() || handle.isClosed()) {
            throw new UsageException.Closed(
                    client.isClosed() ? "the client of this buffer is closed" : "this buffer is closed");
        }
    }

    private boolean glance(PjrtFunction function, long structSize) {
        if (client.isClosed()) {
            throw new UsageException.Closed("the client of this buffer is closed");
        }
        return handle.glance(function, structSize);
    }

    private <T extends @Nullable Object> T use(Handle.Use<T> use) {
        if (client.isClosed()) {
            throw new UsageException.Closed("the client of this buffer is closed");
        }
        return handle.use(use);
    }

    /** Element type and dimensions. */
    public TensorType type() {
        TensorType known = type;
        if (known != null) {
            open();
        } else {
            known = use((api, scratch, buffer) -> {
                MemorySegment element = PJRT_Buffer_ElementType_Args.in(scratch);
                PJRT_Buffer_ElementType_Args.buffer(element, buffer);
                api.call(PjrtFunction.PJRT_Buffer_ElementType, element);
                MemorySegment sizes = PJRT_Buffer_Dimensions_Args.in(scratch);
                PJRT_Buffer_Dimensions_Args.buffer(sizes, buffer);
                api.call(PjrtFunction.PJRT_Buffer_Dimensions, sizes);
                return TensorType.of(
                        ElementType.of(PJRT_Buffer_ElementType_Args.type(element)),
                        Native.longs(
                                PJRT_Buffer_Dimensions_Args.dims(sizes), PJRT_Buffer_Dimensions_Args.num_dims(sizes)));
            });
            type = known;
        }
        return known;
    }

    /** The device. */
    public Device device() {
        return use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_Device_Args.in(scratch);
            PJRT_Buffer_Device_Args.buffer(args, buffer);
            api.call(PjrtFunction.PJRT_Buffer_Device, args);
            return client.device(PJRT_Buffer_Device_Args.device(args));
        });
    }

    /** The memory. */
    public Memory memory() {
        return use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_Memory_Args.in(scratch);
            PJRT_Buffer_Memory_Args.buffer(args, buffer);
            api.call(PjrtFunction.PJRT_Buffer_Memory, args);
            return new Memory(client, PJRT_Buffer_Memory_Args.memory(args));
        });
    }

    /** Bytes on the device, padding and packing included. */
    public long onDeviceBytes() {
        return use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_OnDeviceSizeInBytes_Args.in(scratch);
            PJRT_Buffer_OnDeviceSizeInBytes_Args.buffer(args, buffer);
            api.call(PjrtFunction.PJRT_Buffer_OnDeviceSizeInBytes, args);
            return PJRT_Buffer_OnDeviceSizeInBytes_Args.on_device_size_in_bytes(args);
        });
    }

    /** Whether the data is in memory that this process reads directly. */
    public boolean isOnCpu() {
        return glance(PjrtFunction.PJRT_Buffer_IsOnCpu, PJRT_Buffer_IsOnCpu_Args.SIZE);
    }

    /** Whether the data is gone: donated or deleted. */
    public boolean isDeleted() {
        return glance(PjrtFunction.PJRT_Buffer_IsDeleted, PJRT_Buffer_IsDeleted_Args.SIZE);
    }

    /** Frees the data as soon as the work that uses it is done; the handle stays to be closed. */
    public void delete() {
        use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_Delete_Args.in(scratch);
            PJRT_Buffer_Delete_Args.buffer(args, buffer);
            api.call(PjrtFunction.PJRT_Buffer_Delete, args);
            return null;
        });
    }

    private long readyEvent() {
        return use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_ReadyEvent_Args.in(scratch);
            PJRT_Buffer_ReadyEvent_Args.buffer(args, buffer);
            api.call(PjrtFunction.PJRT_Buffer_ReadyEvent, args);
            return PJRT_Buffer_ReadyEvent_Args.event(args);
        });
    }

    /**
     * Waits until the data is there.
     *
     * @throws StatusException the error of the work that was to make it
     */
    public void await() {
        client.api().events().await(readyEvent());
    }

    /** Completes when the data is there, or with the error of the work that was to make it. */
    public CompletableFuture<@Nullable Void> ready() {
        return client.api().events().future(readyEvent(), this);
    }

    /**
     * Copies the data to the host as a dense array, major to minor, and waits for it.
     *
     * @param destination at least {@link TensorType#hostBytes} bytes, on the heap or native
     * @throws UsageException.BadArgument if it is shorter or read-only
     */
    public void toHost(MemorySegment destination) {
        if (destination.isNative()) {
            client.api().events().await(startToHost(destination));
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment copy = arena.allocate(Math.max(1, type().hostBytes()), 64);
            client.api().events().await(startToHost(copy));
            check(destination);
            MemorySegment.copy(copy, 0, destination, 0, type().hostBytes());
        }
    }

    /** A copy of the data on the host, in {@code arena}. */
    public MemorySegment toHost(Arena arena) {
        MemorySegment copy = arena.allocate(Math.max(1, type().hostBytes()), 64).asSlice(0, type().hostBytes());
        toHost(copy);
        return copy;
    }

    /**
     * Copies the data to native memory in another order than C's, and waits for it; plugins do not cut it into tiles on the host.
     *
     * @throws UsageException.BadArgument if the layout is of another rank, or has tiles
     */
    public void toHost(MemorySegment destination, Layout layout) {
        if (!destination.isNative() || !layout.tiles().isEmpty()) {
            throw new UsageException.BadArgument(
                    "a copy in the order " + layout + " needs native memory and a layout without tiles");
        }
        client.plugin().checkLayouts();
        client.api().events().await(startToHost(destination, layout));
    }

    /** As {@link #toHost(MemorySegment)} without waiting; {@code destination} must be native and stay until it completes. */
    public CompletableFuture<@Nullable Void> toHostAsync(MemorySegment destination) {
        if (!destination.isNative()) {
            throw new UsageException.BadArgument("an asynchronous copy needs native memory, not the Java heap");
        }
        return client.api().events().future(startToHost(destination), destination);
    }

    private void check(MemorySegment destination) {
        if (type().element() == ElementType.TOKEN) {
            throw new UsageException.BadArgument("a token has no data to copy, and the plugin aborts if it is asked");
        }
        if (destination.byteSize() < type().hostBytes() || destination.isReadOnly()) {
            throw new UsageException.BadArgument(type() + " takes " + type().hostBytes() + " bytes, but "
                    + destination.byteSize() + (destination.isReadOnly() ? " read-only" : "") + " were given");
        }
    }

    private long startToHost(MemorySegment destination) {
        int rank = type().dimensions().size();
        return startToHost(destination, rank > 1 ? Layout.rowMajor(rank) : null);
    }

    private long startToHost(MemorySegment destination, @Nullable Layout layout) {
        check(destination);
        return use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_ToHostBuffer_Args.in(scratch);
            PJRT_Buffer_ToHostBuffer_Args.src(args, buffer);
            PJRT_Buffer_ToHostBuffer_Args.dst(args, destination.address());
            PJRT_Buffer_ToHostBuffer_Args.dst_size(args, destination.byteSize());
            if (layout != null) {
                PJRT_Buffer_ToHostBuffer_Args.host_layout(
                        args, layout.write(scratch, type()).address());
            }
            api.call(PjrtFunction.PJRT_Buffer_ToHostBuffer, args);
            return PJRT_Buffer_ToHostBuffer_Args.event(args);
        });
    }

    /** A copy on another device of the same client. */
    public Buffer copyTo(Device device) {
        own(device.client());
        return use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_CopyToDevice_Args.in(scratch);
            PJRT_Buffer_CopyToDevice_Args.buffer(args, buffer);
            PJRT_Buffer_CopyToDevice_Args.dst_device(args, device.address());
            api.call(PjrtFunction.PJRT_Buffer_CopyToDevice, args);
            return new Buffer(client, PJRT_Buffer_CopyToDevice_Args.dst_buffer(args), type, unusual);
        });
    }

    /** A copy in another memory of the same client. */
    public Buffer copyTo(Memory memory) {
        own(memory.client());
        return use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_CopyToMemory_Args.in(scratch);
            PJRT_Buffer_CopyToMemory_Args.buffer(args, buffer);
            PJRT_Buffer_CopyToMemory_Args.dst_memory(args, memory.address());
            api.call(PjrtFunction.PJRT_Buffer_CopyToMemory, args);
            return new Buffer(client, PJRT_Buffer_CopyToMemory_Args.dst_buffer(args), type, unusual);
        });
    }

    private void own(Client other) {
        if (other != client) {
            throw new UsageException.Foreign("the device or memory belongs to another client: copy through the host");
        }
    }

    /**
     * The data itself, without a copy, where {@link #isOnCpu}. The view keeps the data alive and the buffer from being donated
     * until it is closed; its layout is the buffer's.
     *
     * @throws UsageException.BadArgument if the data is not on the CPU
     */
    public View view() {
        if (!isOnCpu()) {
            throw new UsageException.BadArgument("the buffer is in " + memory() + ", which has no view: use toHost");
        }
        await();
        long bytes = onDeviceBytes();
        use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_IncreaseExternalReferenceCount_Args.in(scratch);
            PJRT_Buffer_IncreaseExternalReferenceCount_Args.buffer(args, buffer);
            api.call(PjrtFunction.PJRT_Buffer_IncreaseExternalReferenceCount, args);
            return null;
        });
        handle.acquire();
        try {
            long address = use((api, scratch, buffer) -> {
                MemorySegment args = PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args.in(scratch);
                PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args.buffer(args, buffer);
                api.call(PjrtFunction.PJRT_Buffer_OpaqueDeviceMemoryDataPointer, args);
                return PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args.device_memory_ptr(args);
            });
            return new View(this, address, bytes);
        } catch (PjrtException e) {
            handle.release();
            throw e;
        }
    }

    /** Read access to a buffer's memory. */
    public static final class View implements AutoCloseable {
        private final Buffer buffer;
        private final Arena arena = Arena.ofShared();
        private final MemorySegment segment;

        private View(Buffer buffer, long address, long bytes) {
            this.buffer = buffer;
            this.segment = MemorySegment.ofAddress(address)
                    .reinterpret(bytes, arena, null)
                    .asReadOnly();
        }

        /** The memory; its access ends with the view. */
        public MemorySegment segment() {
            return segment;
        }

        /** @throws UsageException.Closed if closed already */
        @Override
        public void close() {
            if (!segment.scope().isAlive()) {
                throw new UsageException.Closed("this view is closed already");
            }
            arena.close();
            try (Scratch scratch = Scratch.open()) {
                MemorySegment args = PJRT_Buffer_DecreaseExternalReferenceCount_Args.in(scratch);
                PJRT_Buffer_DecreaseExternalReferenceCount_Args.buffer(args, buffer.handle.identity());
                buffer.client.api().call(PjrtFunction.PJRT_Buffer_DecreaseExternalReferenceCount, args);
            } finally {
                buffer.handle.release();
            }
        }
    }

    /** The layout on the device (the layouts extension). */
    public Layout layout() {
        return Layout.parse(use(Layouts::ofBuffer));
    }

    /** The dimensions without padding, where they differ on a device with dynamic shapes. */
    public long[] unpaddedDimensions() {
        return use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_UnpaddedDimensions_Args.in(scratch);
            PJRT_Buffer_UnpaddedDimensions_Args.buffer(args, buffer);
            api.call(PjrtFunction.PJRT_Buffer_UnpaddedDimensions, args);
            return Native.longs(
                    PJRT_Buffer_UnpaddedDimensions_Args.unpadded_dims(args),
                    PJRT_Buffer_UnpaddedDimensions_Args.num_dims(args));
        });
    }

    /** Which dimensions are dynamic within a bound. */
    public long[] dynamicDimensions() {
        return use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_DynamicDimensionIndices_Args.in(scratch);
            PJRT_Buffer_DynamicDimensionIndices_Args.buffer(args, buffer);
            api.call(PjrtFunction.PJRT_Buffer_DynamicDimensionIndices, args);
            return Native.longs(
                    PJRT_Buffer_DynamicDimensionIndices_Args.dynamic_dim_indices(args),
                    PJRT_Buffer_DynamicDimensionIndices_Args.num_dynamic_dims(args));
        });
    }

    /** The order of the dimensions on the device, minor to major, by the C API's older way. */
    public long[] minorToMajor() {
        return use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_GetMemoryLayout_Args.in(scratch);
            PJRT_Buffer_GetMemoryLayout_Args.buffer(args, buffer);
            api.call(PjrtFunction.PJRT_Buffer_GetMemoryLayout, args);
            MemorySegment layout = PJRT_Buffer_GetMemoryLayout_Args.layout(args);
            if (PJRT_Buffer_MemoryLayout.type(layout) != PJRT_Buffer_MemoryLayout_Type.Tiled) {
                throw new UsageException.Unsupported("the plugin gives strides instead of an order of dimensions");
            }
            MemorySegment tiled = PJRT_Buffer_MemoryLayout.tiled(layout);
            return Native.longs(
                    PJRT_Buffer_MemoryLayout_Tiled.minor_to_major(tiled),
                    PJRT_Buffer_MemoryLayout_Tiled.minor_to_major_size(tiled));
        });
    }

    /** The address of the data on its device, for code that runs there. */
    public long unsafePointer() {
        return use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_UnsafePointer_Args.in(scratch);
            PJRT_Buffer_UnsafePointer_Args.buffer(args, buffer);
            api.call(PjrtFunction.PJRT_Buffer_UnsafePointer, args);
            return PJRT_Buffer_UnsafePointer_Args.buffer_pointer(args);
        });
    }

    /**
     * Copies bytes as they lie on the device, without waiting.
     *
     * @param destination native memory that stays until the future completes; its size says how many bytes
     * @param offset of the first byte
     * @throws UsageException.BadArgument if the range does not lie in the buffer
     */
    public CompletableFuture<@Nullable Void> copyRawToHost(MemorySegment destination, long offset) {
        long size = onDeviceBytes();
        if (!destination.isNative()
                || destination.isReadOnly()
                || offset < 0
                || destination.byteSize() > size - offset) {
            throw new UsageException.BadArgument("bytes " + offset + " to " + (offset + destination.byteSize())
                    + " of a buffer of " + size
                    + " cannot be copied there: they must lie in the buffer, and go to writable native"
                    + " memory");
        }
        long event = use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_CopyRawToHost_Args.in(scratch);
            PJRT_Buffer_CopyRawToHost_Args.buffer(args, buffer);
            PJRT_Buffer_CopyRawToHost_Args.dst(args, destination.address());
            PJRT_Buffer_CopyRawToHost_Args.offset(args, offset);
            PJRT_Buffer_CopyRawToHost_Args.transfer_size(args, destination.byteSize());
            api.call(PjrtFunction.PJRT_Buffer_CopyRawToHost, args);
            return PJRT_Buffer_CopyRawToHost_Args.event(args);
        });
        return client.api().events().future(event, destination);
    }

    /**
     * The bytes as they lie on the device, to be read and written in place; to be closed.
     *
     * @throws UsageException.Unsupported if the plugin has no raw buffer extension
     */
    public RawBuffer raw() {
        return use((api, scratch, buffer) -> RawBuffer.of(client, api, scratch, buffer));
    }

    /**
     * Makes a stream of the device wait for the data (the stream extension).
     *
     * @param stream as {@link Device#stream} or the device's own library has it
     * @throws UsageException.BadArgument if it is 0
     * @throws UsageException.Unsupported if the plugin has no stream extension
     */
    public void awaitOn(long stream) {
        if (stream == 0) {
            throw new UsageException.BadArgument("0 is no stream: Device.stream() gives one");
        }
        use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Wait_Until_Buffer_Ready_On_Stream_Args.in(scratch);
            PJRT_Wait_Until_Buffer_Ready_On_Stream_Args.stream(args, stream);
            PJRT_Wait_Until_Buffer_Ready_On_Stream_Args.buffer(args, buffer);
            api.extension(Extension.STREAM).call(PJRT_Stream_Extension.wait_stream, args);
            return null;
        });
    }

    /** The same bytes as another type; this buffer gives them up, as by donation (plugins since 0.98). */
    public Buffer bitcast(TensorType as) {
        client.plugin().check(as);
        return use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_Bitcast_Args.in(scratch);
            PJRT_Buffer_Bitcast_Args.buffer(args, buffer);
            PJRT_Buffer_Bitcast_Args.element_type(args, as.element().code());
            PJRT_Buffer_Bitcast_Args.dims(args, Client.dimensions(scratch, as).address());
            PJRT_Buffer_Bitcast_Args.num_dims(args, as.dimensions().size());
            api.call(PjrtFunction.PJRT_Buffer_Bitcast, args);
            return new Buffer(client, PJRT_Buffer_Bitcast_Args.out_buffer(args), as, unusual);
        });
    }

    /**
     * A copy of raw bytes that is set up before its destination is known: the future of {@code done} completes once
     * {@code destination} did, and the bytes were copied there (plugins since 0.84).
     *
     * @param destination native memory of {@code size} bytes; if it fails, the copy fails
     */
    public CompletableFuture<@Nullable Void> copyRawToHostLater(
            CompletableFuture<MemorySegment> destination, long offset, long size) {
        if (offset < 0 || size < 0 || size > onDeviceBytes() - offset) {
            throw new UsageException.BadArgument("bytes " + offset + " to " + (offset + size)
                    + " do not lie in a buffer of " + onDeviceBytes() + " bytes");
        }
        return use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_CopyRawToHostFuture_Args.in(scratch);
            PJRT_Buffer_CopyRawToHostFuture_Args.buffer(args, buffer);
            PJRT_Buffer_CopyRawToHostFuture_Args.offset(args, offset);
            PJRT_Buffer_CopyRawToHostFuture_Args.transfer_size(args, size);
            api.call(PjrtFunction.PJRT_Buffer_CopyRawToHostFuture, args);
            long data = PJRT_Buffer_CopyRawToHostFuture_Args.callback_data(args);
            MemorySegment ready =
                    MemorySegment.ofAddress(PJRT_Buffer_CopyRawToHostFuture_Args.future_ready_callback(args));
            CompletableFuture<@Nullable Void> done =
                    api.events().future(PJRT_Buffer_CopyRawToHostFuture_Args.event(args), destination);
            CompletableFuture<MemorySegment> _ = destination.whenComplete((memory, failure) -> {
                try (Scratch inner = Scratch.open()) {
                    boolean fits =
                            failure == null && memory.isNative() && memory.byteSize() >= size && !memory.isReadOnly();
                    MemorySegment answer = PJRT_Buffer_CopyRawToHostFuture_Callback_Args.in(inner);
                    PJRT_Buffer_CopyRawToHostFuture_Callback_Args.callback_data(answer, data);
                    if (fits) {
                        PJRT_Buffer_CopyRawToHostFuture_Callback_Args.dst(answer, memory.address());
                    } else {
                        byte[] text = (failure == null
                                        ? "the destination is no native memory of " + size + " bytes"
                                        : failure.toString())
                                .getBytes(StandardCharsets.UTF_8);
                        PJRT_Buffer_CopyRawToHostFuture_Callback_Args.error_code(answer, 10);
                        PJRT_Buffer_CopyRawToHostFuture_Callback_Args.error_message(
                                answer, Native.bytes(inner, text).address());
                        PJRT_Buffer_CopyRawToHostFuture_Callback_Args.error_message_size(answer, text.length);
                    }
                    Native.callVoid(ready, answer.address());
                }
            });
            return done;
        });
    }

    /**
     * Hands the data to a new buffer that is ready once {@code dependency} is too; this buffer gives it up (plugins since 0.88).
     * If the dependency fails, so does the new buffer.
     */
    public Buffer donateAfter(CompletableFuture<?> dependency) {
        return use((api, scratch, buffer) -> {
            MemorySegment args = PJRT_Buffer_DonateWithControlDependency_Args.in(scratch);
            PJRT_Buffer_DonateWithControlDependency_Args.buffer(args, buffer);
            api.call(PjrtFunction.PJRT_Buffer_DonateWithControlDependency, args);
            long data = PJRT_Buffer_DonateWithControlDependency_Args.callback_data(args);
            MemorySegment ready = MemorySegment.ofAddress(
                    PJRT_Buffer_DonateWithControlDependency_Args.dependency_ready_callback(args));
            Buffer donated =
                    new Buffer(client, PJRT_Buffer_DonateWithControlDependency_Args.out_buffer(args), type, unusual);
            CompletableFuture<?> _ = dependency.whenComplete((_, failure) -> {
                try (Scratch inner = Scratch.open()) {
                    MemorySegment answer = PJRT_Buffer_DonateWithControlDependency_Callback_Args.in(inner);
                    PJRT_Buffer_DonateWithControlDependency_Callback_Args.callback_data(answer, data);
                    if (failure != null) {
                        byte[] text = failure.toString().getBytes(StandardCharsets.UTF_8);
                        PJRT_Buffer_DonateWithControlDependency_Callback_Args.error_code(answer, 10);
                        PJRT_Buffer_DonateWithControlDependency_Callback_Args.error_message(
                                answer, Native.bytes(inner, text).address());
                        PJRT_Buffer_DonateWithControlDependency_Callback_Args.error_message_size(answer, text.length);
                    }
                    Native.callVoid(ready, answer.address());
                }
            });
            return donated;
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

    @Override
    public String toString() {
        return handle.isClosed() || client.isClosed() ? "a closed buffer" : "buffer of " + type();
    }
}

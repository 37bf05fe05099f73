// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.CrossHostUpcall;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_CrossHostTransfers_Extension;
import dev.slipway.runtime.internal.abi.PJRT_Transfers_CrossHostRecvNotifierInfo;
import dev.slipway.runtime.internal.abi.PJRT_Transfers_CrossHostRemoteSendCallbackInfo;
import dev.slipway.runtime.internal.abi.PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args;
import dev.slipway.runtime.internal.abi.PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args;
import dev.slipway.runtime.internal.abi.PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args;
import dev.slipway.runtime.internal.abi.PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Arrays that go from a device of one process to a device of another without passing through host memory (the cross-host transfers
 * extension, {@link Client#crossHost}).
 *
 * <p>There are two ways. By keys: both sides name the device of the other and a number that they agreed on. By descriptors: whoever
 * receives gets a text for each array, hands it to the sender by a way of its own, and the sender sends to it.
 */
public final class CrossHostTransfers {

    private final Client client;

    CrossHostTransfers(Client client) {
        this.client = client;
    }

    /**
     * An array to be sent.
     *
     * @param device the number of the device that it goes to, among those of all processes
     * @param key the same as the receiver's
     */
    public record Outgoing(Buffer buffer, int device, long key) {}

    /**
     * An array to be received.
     *
     * @param device the number of the device that it comes from, among those of all processes
     * @param key the same as the sender's
     */
    public record Incoming(TensorType type, int device, long key) {}

    /**
     * Sends arrays by keys.
     *
     * @return for each a future that completes when it was sent; the buffers are to stay open until then
     * @throws UsageException.BadArgument if there are none
     * @throws UsageException.Foreign if a buffer is another client's
     */
    public List<CompletableFuture<@Nullable Void>> send(List<Outgoing> arrays) {
        checkCount(arrays.size());
        for (Outgoing array : arrays) {
            own(array.buffer());
        }
        List<Buffer> held = new ArrayList<>();
        try {
            for (Outgoing array : arrays) {
                array.buffer().handle().acquire();
                held.add(array.buffer());
            }
            long[] events = client.handle().use((api, scratch, address) -> {
                MemorySegment made = scratch.allocate((long) arrays.size() * Long.BYTES, 8);
                MemorySegment args = PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args.in(scratch);
                PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args.client(args, address);
                PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args.num_buffers(args, arrays.size());
                PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args.buffers(
                        args,
                        scratch.longs(held.stream()
                                .mapToLong(buffer -> buffer.handle().identity())));
                PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args.dst_global_device_ids(
                        args, scratch.ints(arrays.stream().mapToInt(Outgoing::device)));
                PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args.transfer_keys(
                        args, scratch.longs(arrays.stream().mapToLong(Outgoing::key)));
                PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args.send_events(args, made.address());
                api.extension(Extension.CROSS_HOST_TRANSFERS)
                        .call(PJRT_CrossHostTransfers_Extension.PJRT_Transfers_PJRT_Client_CrossHostSendBuffers, args);
                return made.toArray(ValueLayout.JAVA_LONG);
            });
            List<CompletableFuture<@Nullable Void>> sent = new ArrayList<>();
            for (int i = 0; i < events.length; i++) {
                sent.add(client.api().events().future(events[i], held.get(i)));
            }
            return sent;
        } finally {
            held.forEach(buffer -> buffer.handle().release());
        }
    }

    /**
     * Receives arrays by keys, on one device; they are ready when their data is there.
     *
     * @throws UsageException.BadArgument if there are none
     * @throws UsageException.Foreign if the device is another client's
     */
    public List<Buffer> receive(Device device, List<Incoming> arrays) {
        List<TensorType> types = arrays.stream().map(Incoming::type).toList();
        check(device, types);
        return client.handle().use((api, scratch, address) -> {
            MemorySegment made = scratch.allocate((long) arrays.size() * Long.BYTES, 8);
            Shapes shapes = new Shapes(scratch, types);
            MemorySegment args = PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args.in(scratch);
            PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args.client(args, address);
            PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args.num_shapes(args, types.size());
            PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args.shape_num_dims(args, shapes.ranks);
            PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args.num_dims(args, shapes.dimensions);
            PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args.element_types(args, shapes.elements);
            PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args.layouts(args, shapes.layouts);
            PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args.device(args, device.address());
            PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args.src_global_device_ids(
                    args, scratch.ints(arrays.stream().mapToInt(Incoming::device)));
            PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args.transfer_keys(
                    args, scratch.longs(arrays.stream().mapToLong(Incoming::key)));
            PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args.buffers(args, made.address());
            api.extension(Extension.CROSS_HOST_TRANSFERS)
                    .call(PJRT_CrossHostTransfers_Extension.PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers, args);
            return buffers(made, types);
        });
    }

    /**
     * Arrays that are expected from somewhere.
     *
     * @param buffers ready when their data is there
     * @param descriptors one for each, to be given to whoever sends; fails if the plugin cannot make them
     */
    public record Expected(List<Buffer> buffers, CompletableFuture<List<byte[]>> descriptors) {}

    /**
     * Receives arrays by descriptors, on one device.
     *
     * @throws UsageException.BadArgument if there are none
     * @throws UsageException.Foreign if the device is another client's
     */
    public Expected expect(Device device, List<TensorType> types) {
        check(device, types);
        CompletableFuture<List<byte[]>> descriptors = new CompletableFuture<>();
        List<Buffer> buffers = client.handle().use((api, scratch, address) -> {
            MemorySegment made = scratch.allocate((long) types.size() * Long.BYTES, 8);
            Shapes shapes = new Shapes(scratch, types);
            MemorySegment args = PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args.in(scratch);
            PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args.client(args, address);
            PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args.num_shapes(args, types.size());
            PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args.shape_num_dims(args, shapes.ranks);
            PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args.num_dims(args, shapes.dimensions);
            PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args.element_types(args, shapes.elements);
            PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args.layouts(args, shapes.layouts);
            PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args.device(args, device.address());
            PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args.buffers(args, made.address());
            CrossHostUpcall.Callback told = api.crossHost().expect(descriptors);
            MemorySegment notifier = PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args.notifier(args);
            PJRT_Transfers_CrossHostRecvNotifierInfo.notifier(notifier, told.function());
            PJRT_Transfers_CrossHostRecvNotifierInfo.user_arg(notifier, told.number());
            try {
                api.extension(Extension.CROSS_HOST_TRANSFERS)
                        .call(
                                PJRT_CrossHostTransfers_Extension
                                        .PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers,
                                args);
            } catch (RuntimeException e) {
                api.crossHost().forget(told);
                throw e;
            }
            return buffers(made, types);
        });
        return new Expected(buffers, descriptors);
    }

    /**
     * Sends an array to whoever made a descriptor.
     *
     * @return completes when it was sent, with whether anything was: false if the receiver gave up before
     * @throws UsageException.BadArgument if the descriptor is empty
     * @throws UsageException.Foreign if the buffer is another client's
     * @throws UsageException.Unsupported also if the plugin is too old to have events that Java sets (before 0.89)
     */
    public CompletableFuture<Boolean> send(Buffer buffer, byte[] descriptor) {
        own(buffer);
        if (descriptor.length == 0) {
            throw new UsageException.BadArgument("an empty descriptor names nobody: give one that a receiver made");
        }
        CompletableFuture<Boolean> sent = new CompletableFuture<>();
        return buffer.handle().use((api, scratch, address) -> {
            Api.Table table = api.extension(Extension.CROSS_HOST_TRANSFERS);
            long function = PJRT_CrossHostTransfers_Extension.PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice;
            // What C is to free is not made for a function that is not there.
            MemorySegment _ = table.pointer(function);
            long event = Promise.kept(api, scratch);
            CrossHostUpcall.Descriptor copy = api.crossHost().descriptor(descriptor);
            CrossHostUpcall.Callback told = api.crossHost().send(sent, buffer);
            MemorySegment args = PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args.in(scratch);
            PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args.buffer(args, address);
            PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args.event(args, event);
            PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args.serialized_descriptor(args, copy.data());
            PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args.serialized_descriptor_size(args, copy.size());
            PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args.descriptor_destructor(args, copy.destructor());
            MemorySegment done = PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args.on_done(args);
            PJRT_Transfers_CrossHostRemoteSendCallbackInfo.on_done(done, told.function());
            PJRT_Transfers_CrossHostRemoteSendCallbackInfo.user_arg(done, told.number());
            table.callVoid(function, args);
            return sent;
        });
    }

    private void own(Buffer buffer) {
        if (buffer.client() != client) {
            throw new UsageException.Foreign(buffer + " belongs to another client, which is to send it");
        }
    }

    private void check(Device device, List<TensorType> types) {
        if (device.client() != client) {
            throw new UsageException.Foreign(device + " belongs to another client, which is to receive there");
        }
        checkCount(types.size());
        types.forEach(client.plugin()::check);
    }

    private static void checkCount(int count) {
        if (count == 0) {
            throw new UsageException.BadArgument("no arrays were given: one or more are needed");
        }
    }

    private List<Buffer> buffers(MemorySegment addresses, List<TensorType> types) {
        return Buffer.all(
                types.size(),
                i -> new Buffer(client, addresses.getAtIndex(ValueLayout.JAVA_LONG, i), types.get(i), false));
    }

    /** The types as four arrays of C's. */
    private static final class Shapes {
        private final long ranks;
        private final long dimensions;
        private final long elements;
        private final long layouts;

        Shapes(Scratch scratch, List<TensorType> types) {
            ranks = scratch.longs(
                    types.stream().mapToLong(type -> type.dimensions().size()));
            dimensions = scratch.longs(types.stream()
                    .mapToLong(type -> Client.dimensions(scratch, type).address()));
            elements =
                    scratch.ints(types.stream().mapToInt(type -> type.element().code()));
            layouts = scratch.longs(types.stream()
                    .mapToLong(type -> Layout.rowMajor(type.dimensions().size())
                            .write(scratch, type)
                            .address()));
        }
    }
}

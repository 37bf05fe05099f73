// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.abi.PJRT_Chunk;
import dev.slipway.runtime.internal.abi.PJRT_ExecuteOptions;
import dev.slipway.runtime.internal.abi.PJRT_RecvCallbackInfo;
import dev.slipway.runtime.internal.abi.PJRT_SendCallbackInfo;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** {@link HostChannel}s as the C structs and functions that a run is given. */
final class HostCallbacks {

    private static final FunctionDescriptor SEND = FunctionDescriptor.of(
            ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_BOOLEAN,
            ValueLayout.JAVA_LONG);
    private static final FunctionDescriptor RECEIVE =
            FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG);

    private final List<HostChannel> channels;

    /** Runs share them. A run goes on after it was started, and may call at any time: they are never freed. */
    private final Map<Upcall, MemorySegment> functions = new ConcurrentHashMap<>();

    HostCallbacks(List<HostChannel> channels) {
        this.channels = List.copyOf(channels);
    }

    /** Fills in the callbacks of a run on so many devices; each device has all channels. */
    void write(Api api, MemorySegment options, SegmentAllocator allocator, int devices) {
        if (channels.isEmpty()) {
            return;
        }
        List<HostChannel.Send> sends = channels.stream()
                .filter(HostChannel.Send.class::isInstance)
                .map(HostChannel.Send.class::cast)
                .toList();
        List<HostChannel.Receive> receives = channels.stream()
                .filter(HostChannel.Receive.class::isInstance)
                .map(HostChannel.Receive.class::cast)
                .toList();
        if (!sends.isEmpty()) {
            long stride = PJRT_SendCallbackInfo.LAYOUT.byteSize();
            MemorySegment infos = allocator.allocate(stride * sends.size(), 8);
            for (int i = 0; i < sends.size(); i++) {
                MemorySegment info = infos.asSlice(stride * i, stride);
                PJRT_SendCallbackInfo.channel_id(info, sends.get(i).channel());
                PJRT_SendCallbackInfo.user_arg(info, 0);
                PJRT_SendCallbackInfo.send_callback(info, function(api, sends.get(i)));
            }
            PJRT_ExecuteOptions.send_callbacks(options, repeat(allocator, infos, devices));
            PJRT_ExecuteOptions.num_send_ops(options, sends.size());
        }
        if (!receives.isEmpty()) {
            long stride = PJRT_RecvCallbackInfo.LAYOUT.byteSize();
            MemorySegment infos = allocator.allocate(stride * receives.size(), 8);
            for (int i = 0; i < receives.size(); i++) {
                MemorySegment info = infos.asSlice(stride * i, stride);
                PJRT_RecvCallbackInfo.channel_id(info, receives.get(i).channel());
                PJRT_RecvCallbackInfo.user_arg(info, 0);
                PJRT_RecvCallbackInfo.recv_callback(info, function(api, receives.get(i)));
            }
            PJRT_ExecuteOptions.recv_callbacks(options, repeat(allocator, infos, devices));
            PJRT_ExecuteOptions.num_recv_ops(options, receives.size());
        }
    }

    private static long repeat(SegmentAllocator allocator, MemorySegment infos, int devices) {
        MemorySegment lists = allocator.allocate((long) devices * Long.BYTES, 8);
        for (int d = 0; d < devices; d++) {
            lists.setAtIndex(ValueLayout.JAVA_LONG, d, infos.address());
        }
        return lists.address();
    }

    private long function(Api api, HostChannel channel) {
        return functions
                .computeIfAbsent(new Upcall(api, channel), Upcall::function)
                .address();
    }

    /** The C function of a channel that sends. */
    static MemorySegment sender(Api api, HostChannel.Send channel) {
        return new Upcall(api, channel).function();
    }

    /** The end of a channel that C calls. */
    private record Upcall(Api api, HostChannel channel) {
        MemorySegment function() {
            return switch (channel) {
                case HostChannel.Send _ -> Native.upcall(MethodHandles.lookup(), this, "sent", SEND);
                case HostChannel.Receive _ -> Native.upcall(MethodHandles.lookup(), this, "wanted", RECEIVE);
            };
        }

        @SuppressWarnings("unused") // called from C
        private long sent(long chunkAddress, long makeError, long total, boolean done, long user) {
            MemorySegment chunk = Native.at(chunkAddress, PJRT_Chunk.LAYOUT.byteSize());
            try {
                ((HostChannel.Send) channel)
                        .handler()
                        .sent(
                                Native.at(PJRT_Chunk.data(chunk), PJRT_Chunk.size(chunk))
                                        .asReadOnly(),
                                total,
                                done);
                return 0;
            } catch (Throwable e) {
                return Native.error(makeError, 13, String.valueOf(e));
            } finally {
                // The piece is the callback's to free.
                Native.free(PJRT_Chunk.deleter(chunk), PJRT_Chunk.data(chunk), PJRT_Chunk.deleter_arg(chunk));
            }
        }

        @SuppressWarnings("unused") // called from C
        private void wanted(long stream, long user) {
            try {
                ((HostChannel.Receive) channel).handler().wanted(new HostChannel.Stream(api, stream));
            } catch (Throwable e) {
                // The program goes on waiting, so the stack trace is all there is to say it.
                Native.uncaught(e);
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.abi.PJRT_Chunk;
import dev.slipway.runtime.internal.abi.PJRT_CopyToDeviceStream_AddChunk_Args;
import dev.slipway.runtime.internal.abi.PJRT_CopyToDeviceStream_CurrentBytes_Args;
import dev.slipway.runtime.internal.abi.PJRT_CopyToDeviceStream_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_CopyToDeviceStream_GranuleSize_Args;
import dev.slipway.runtime.internal.abi.PJRT_CopyToDeviceStream_TotalBytes_Args;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The host's end of {@code stablehlo.send} and {@code stablehlo.recv} with {@code is_host_transfer}: given to a run by
 * {@link ExecuteOptions.Builder#onSend} and {@link ExecuteOptions.Builder#onReceive}. Handlers are called on threads of the
 * plugin's, and are kept as long as the process: make the options once.
 */
public sealed interface HostChannel {

    /** The channel's number in the program. */
    long channel();

    /** The program sends. */
    record Send(long channel, SendHandler handler) implements HostChannel {}

    /** The program receives. */
    record Receive(long channel, ReceiveHandler handler) implements HostChannel {}

    /** Takes what a program sends. */
    @FunctionalInterface
    interface SendHandler {
        /**
         * A piece has come.
         *
         * @param data read-only, and gone when this returns
         * @param totalBytes of all pieces
         * @param done whether it is the last piece
         */
        void sent(MemorySegment data, long totalBytes, boolean done) throws Exception;
    }

    /** Gives a program what it receives. */
    @FunctionalInterface
    interface ReceiveHandler {
        /** The program waits for {@link Stream#totalBytes} bytes; they may be added now or later, from any thread. */
        void wanted(Stream stream) throws Exception;
    }

    /** The way to the program, to be closed when all was added. */
    final class Stream implements AutoCloseable {
        private final Handle handle;

        /** For the callbacks of this module. */
        Stream(Api api, long stream) {
            this.handle = new Handle("stream", api, stream, null, this, (plugin, scratch, address) -> {
                MemorySegment args = PJRT_CopyToDeviceStream_Destroy_Args.in(scratch);
                PJRT_CopyToDeviceStream_Destroy_Args.stream(args, address);
                plugin.call(PjrtFunction.PJRT_CopyToDeviceStream_Destroy, args);
            });
        }

        /** How many bytes the program waits for. */
        public long totalBytes() {
            return handle.use((api, scratch, stream) -> {
                MemorySegment args = PJRT_CopyToDeviceStream_TotalBytes_Args.in(scratch);
                PJRT_CopyToDeviceStream_TotalBytes_Args.stream(args, stream);
                api.call(PjrtFunction.PJRT_CopyToDeviceStream_TotalBytes, args);
                return PJRT_CopyToDeviceStream_TotalBytes_Args.total_bytes(args);
            });
        }

        /** Pieces are multiples of this many bytes. */
        public long granuleBytes() {
            return handle.use((api, scratch, stream) -> {
                MemorySegment args = PJRT_CopyToDeviceStream_GranuleSize_Args.in(scratch);
                PJRT_CopyToDeviceStream_GranuleSize_Args.stream(args, stream);
                api.call(PjrtFunction.PJRT_CopyToDeviceStream_GranuleSize, args);
                return PJRT_CopyToDeviceStream_GranuleSize_Args.granule_size_in_bytes(args);
            });
        }

        /** How many bytes were added so far. */
        public long currentBytes() {
            return handle.use((api, scratch, stream) -> {
                MemorySegment args = PJRT_CopyToDeviceStream_CurrentBytes_Args.in(scratch);
                PJRT_CopyToDeviceStream_CurrentBytes_Args.stream(args, stream);
                api.call(PjrtFunction.PJRT_CopyToDeviceStream_CurrentBytes, args);
                return PJRT_CopyToDeviceStream_CurrentBytes_Args.current_bytes(args);
            });
        }

        /**
         * Adds a piece.
         *
         * @param data native memory, kept reachable until the plugin is done with it
         * @throws UsageException.BadArgument if it is on the heap, or no multiple of {@link #granuleBytes}, or too much
         */
        public CompletableFuture<@Nullable Void> add(MemorySegment data) {
            if (!data.isNative()
                    || data.byteSize() % Math.max(1, granuleBytes()) != 0
                    || data.byteSize() > totalBytes() - currentBytes()) {
                throw new UsageException.BadArgument("a piece of " + data.byteSize() + " bytes cannot be added after "
                        + currentBytes() + " of " + totalBytes() + ": native memory in multiples of " + granuleBytes()
                        + " bytes is taken");
            }
            return handle.use((api, scratch, stream) -> {
                MemorySegment chunk = PJRT_Chunk.in(scratch);
                PJRT_Chunk.data(chunk, data.address());
                PJRT_Chunk.size(chunk, data.byteSize());
                MemorySegment args = PJRT_CopyToDeviceStream_AddChunk_Args.in(scratch);
                PJRT_CopyToDeviceStream_AddChunk_Args.stream(args, stream);
                PJRT_CopyToDeviceStream_AddChunk_Args.chunk(args, chunk.address());
                api.events().keepUntilDeleted(data, () -> {}, (callback, number) -> {
                    PJRT_Chunk.deleter(chunk, callback);
                    PJRT_Chunk.deleter_arg(chunk, number);
                    api.call(PjrtFunction.PJRT_CopyToDeviceStream_AddChunk, args);
                });
                return api.events().future(PJRT_CopyToDeviceStream_AddChunk_Args.transfer_complete(args), data);
            });
        }

        @Override
        public void close() {
            handle.close();
        }
    }
}

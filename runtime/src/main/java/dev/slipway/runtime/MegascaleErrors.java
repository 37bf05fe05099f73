// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_ErrorAggregator_Active_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_ErrorAggregator_AddError_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_ErrorAggregator_Create_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_ErrorAggregator_Delete_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_ErrorAggregator_LogErrorDigest_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_ErrorAggregator_ProcessAndShutdown_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_ErrorAggregator_Size_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_ErrorDigest_Delete_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_Extension;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_GetOrCreateRuntimeError_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_RegisterErrorHandler_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_UnregisterErrorHandler_Args;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The errors of the workers of a job over several slices, gathered in one place until it is known what broke (the megascale extension,
 * {@link Plugin#megascaleErrors}).
 */
public final class MegascaleErrors implements AutoCloseable {

    private final Handle handle;
    private boolean processed;

    private MegascaleErrors(Plugin plugin, long address) {
        this.handle = new Handle("error aggregator", plugin.api(), address, null, this, (api, scratch, aggregator) -> {
            MemorySegment args = PJRT_Megascale_ErrorAggregator_Delete_Args.in(scratch);
            PJRT_Megascale_ErrorAggregator_Delete_Args.aggregator(args, aggregator);
            table(api).call(PJRT_Megascale_Extension.error_aggregator_delete, args);
        });
    }

    static MegascaleErrors create(Plugin plugin, String application) {
        byte[] text = application.getBytes(StandardCharsets.UTF_8);
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_Megascale_ErrorAggregator_Create_Args.in(scratch);
            PJRT_Megascale_ErrorAggregator_Create_Args.app_type(
                    args, Native.bytes(scratch, text).address());
            PJRT_Megascale_ErrorAggregator_Create_Args.app_type_size(args, text.length);
            table(plugin.api()).call(PJRT_Megascale_Extension.error_aggregator_create, args);
            return new MegascaleErrors(plugin, PJRT_Megascale_ErrorAggregator_Create_Args.aggregator(args));
        }
    }

    private static Api.Table table(Api api) {
        return api.extension(Extension.MEGASCALE);
    }

    /**
     * Adds a worker's error.
     *
     * @param error as {@link RuntimeError#bytes} or an {@linkplain Plugin#onMegascaleError error handler} has it
     * @throws UsageException.BadArgument if the worker has no name or the error no bytes
     */
    public void add(String worker, byte[] error) {
        if (worker.isEmpty() || error.length == 0) {
            throw new UsageException.BadArgument(
                    "an error of " + error.length + " bytes of the worker '" + worker + "': both are needed");
        }
        byte[] text = worker.getBytes(StandardCharsets.UTF_8);
        handle.use((api, scratch, aggregator) -> {
            MemorySegment args = PJRT_Megascale_ErrorAggregator_AddError_Args.in(scratch);
            PJRT_Megascale_ErrorAggregator_AddError_Args.aggregator(args, aggregator);
            PJRT_Megascale_ErrorAggregator_AddError_Args.worker_id(
                    args, Native.bytes(scratch, text).address());
            PJRT_Megascale_ErrorAggregator_AddError_Args.worker_id_size(args, text.length);
            PJRT_Megascale_ErrorAggregator_AddError_Args.serialized_error(
                    args, Native.bytes(scratch, error).address());
            PJRT_Megascale_ErrorAggregator_AddError_Args.serialized_error_size(args, error.length);
            table(api).call(PJRT_Megascale_Extension.error_aggregator_add_error, args);
            return null;
        });
    }

    /** How many errors there are. */
    public long size() {
        return handle.use((api, scratch, aggregator) -> {
            MemorySegment args = PJRT_Megascale_ErrorAggregator_Size_Args.in(scratch);
            PJRT_Megascale_ErrorAggregator_Size_Args.aggregator(args, aggregator);
            table(api).call(PJRT_Megascale_Extension.error_aggregator_size, args);
            return PJRT_Megascale_ErrorAggregator_Size_Args.size(args);
        });
    }

    /** Whether it takes errors. */
    public boolean isActive() {
        return handle.use((api, scratch, aggregator) -> {
            MemorySegment args = PJRT_Megascale_ErrorAggregator_Active_Args.in(scratch);
            PJRT_Megascale_ErrorAggregator_Active_Args.aggregator(args, aggregator);
            table(api).call(PJRT_Megascale_Extension.error_aggregator_active, args);
            return PJRT_Megascale_ErrorAggregator_Active_Args.active(args);
        });
    }

    /**
     * Finds out what broke, writes it to the plugin's log, and takes no more errors; once.
     *
     * @throws UsageException.Closed if this was done already
     */
    public synchronized void report() {
        if (processed) {
            throw new UsageException.Closed("these errors were reported already: gather others in another");
        }
        handle.use((api, scratch, aggregator) -> {
            processed = true;
            MemorySegment args = PJRT_Megascale_ErrorAggregator_ProcessAndShutdown_Args.in(scratch);
            PJRT_Megascale_ErrorAggregator_ProcessAndShutdown_Args.aggregator(args, aggregator);
            table(api).call(PJRT_Megascale_Extension.error_aggregator_process_and_shutdown, args);
            long digest = PJRT_Megascale_ErrorAggregator_ProcessAndShutdown_Args.digest(args);
            try {
                MemorySegment log = PJRT_Megascale_ErrorAggregator_LogErrorDigest_Args.in(scratch);
                PJRT_Megascale_ErrorAggregator_LogErrorDigest_Args.aggregator(log, aggregator);
                PJRT_Megascale_ErrorAggregator_LogErrorDigest_Args.digest(log, digest);
                table(api).call(PJRT_Megascale_Extension.error_aggregator_log_error_digest, log);
            } finally {
                MemorySegment delete = PJRT_Megascale_ErrorDigest_Delete_Args.in(scratch);
                PJRT_Megascale_ErrorDigest_Delete_Args.digest(delete, digest);
                table(api).call(PJRT_Megascale_Extension.error_digest_delete, delete);
            }
            return null;
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

    /**
     * An error of the runtime's as workers exchange it.
     *
     * @param bytes a serialized proto of libtpu's
     * @param isNew whether it is the first of its kind in this process
     */
    public record RuntimeError(byte[] bytes, boolean isNew) {
        public RuntimeError {
            bytes = bytes.clone();
        }

        @Override
        public byte[] bytes() {
            return bytes.clone();
        }
    }

    static RuntimeError runtimeError(
            Plugin plugin,
            int type,
            Instant start,
            int statusCode,
            String message,
            int launchId,
            OptionalInt unrecoverableType) {
        byte[] text = message.getBytes(StandardCharsets.UTF_8);
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_Megascale_GetOrCreateRuntimeError_Args.in(scratch);
            PJRT_Megascale_GetOrCreateRuntimeError_Args.error_type(args, type);
            PJRT_Megascale_GetOrCreateRuntimeError_Args.start_time_nanos(
                    args, TimeUnit.SECONDS.toNanos(start.getEpochSecond()) + start.getNano());
            PJRT_Megascale_GetOrCreateRuntimeError_Args.status_code(args, StatusException.checkCode(statusCode));
            PJRT_Megascale_GetOrCreateRuntimeError_Args.status_message(
                    args, Native.bytes(scratch, text).address());
            PJRT_Megascale_GetOrCreateRuntimeError_Args.status_message_size(args, text.length);
            PJRT_Megascale_GetOrCreateRuntimeError_Args.launch_id(args, launchId);
            PJRT_Megascale_GetOrCreateRuntimeError_Args.has_unrecoverable_error_type(
                    args, unrecoverableType.isPresent());
            PJRT_Megascale_GetOrCreateRuntimeError_Args.unrecoverable_error_type(args, unrecoverableType.orElse(0));
            table(plugin.api()).call(PJRT_Megascale_Extension.get_or_create_runtime_error, args);
            try {
                return new RuntimeError(
                        Native.bytes(
                                PJRT_Megascale_GetOrCreateRuntimeError_Args.serialized_error(args),
                                PJRT_Megascale_GetOrCreateRuntimeError_Args.serialized_error_size(args)),
                        PJRT_Megascale_GetOrCreateRuntimeError_Args.is_new_error(args));
            } finally {
                Native.free(
                        PJRT_Megascale_GetOrCreateRuntimeError_Args.error_deleter(args),
                        PJRT_Megascale_GetOrCreateRuntimeError_Args.error(args));
            }
        }
    }

    /** Hears of errors, until closed. */
    public static final class Handler implements AutoCloseable {
        private final Plugin plugin;
        private final String name;
        private boolean closed;

        private Handler(Plugin plugin, String name) {
            this.plugin = plugin;
            this.name = name;
        }

        static Handler register(Plugin plugin, String name, Consumer<byte[]> listener) {
            if (name.isEmpty()) {
                throw new UsageException.BadArgument(
                        "a handler of errors needs a name, by which it is taken away again");
            }
            byte[] text = name.getBytes(StandardCharsets.UTF_8);
            Api.Table table = table(plugin.api());
            try (Scratch scratch = Scratch.open()) {
                MemorySegment args = PJRT_Megascale_RegisterErrorHandler_Args.in(scratch);
                PJRT_Megascale_RegisterErrorHandler_Args.handler_name(
                        args, Native.bytes(scratch, text).address());
                PJRT_Megascale_RegisterErrorHandler_Args.handler_name_size(args, text.length);
                PJRT_Megascale_RegisterErrorHandler_Args.handler(
                        args, new Upcall(listener).stub().address());
                table.call(PJRT_Megascale_Extension.register_megascale_error_handler, args);
            }
            return new Handler(plugin, name);
        }

        /**
         * Takes the handler away.
         *
         * @throws UsageException.Closed if it was taken away already
         */
        @Override
        public synchronized void close() {
            if (closed) {
                throw new UsageException.Closed("the handler '" + name + "' was taken away already");
            }
            closed = true;
            byte[] text = name.getBytes(StandardCharsets.UTF_8);
            try (Scratch scratch = Scratch.open()) {
                MemorySegment args = PJRT_Megascale_UnregisterErrorHandler_Args.in(scratch);
                PJRT_Megascale_UnregisterErrorHandler_Args.handler_name(
                        args, Native.bytes(scratch, text).address());
                PJRT_Megascale_UnregisterErrorHandler_Args.handler_name_size(args, text.length);
                table(plugin.api()).call(PJRT_Megascale_Extension.unregister_megascale_error_handler, args);
            }
        }

        private record Upcall(Consumer<byte[]> listener) {
            MemorySegment stub() {
                return Native.upcall(
                        MethodHandles.lookup(),
                        this,
                        "call",
                        FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
            }

            @SuppressWarnings("unused") // called from C
            private void call(long error, long size, long user) {
                try {
                    listener.accept(Native.bytes(error, size));
                } catch (Throwable e) {
                    Native.uncaught(e);
                }
            }
        }
    }
}

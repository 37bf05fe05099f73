// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.abi.PJRT_Callback_Extension;
import dev.slipway.runtime.internal.abi.PJRT_Callback_InvokeCallback_Args;
import dev.slipway.runtime.internal.abi.PJRT_Callback_PrefatalArgs;
import dev.slipway.runtime.internal.abi.PJRT_Callback_RegisterCallback_Args;
import dev.slipway.runtime.internal.abi.PJRT_Callback_Tpu_SliceBuilderArgs;
import dev.slipway.runtime.internal.abi.PJRT_Callback_Type;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * What a client's runtime says while it runs (the callback extension, {@link Client#events}). Listeners are called on a thread of the
 * plugin's, must not call the plugin, and stay for as long as the process lives; what they throw goes to the thread's handler of uncaught
 * exceptions.
 */
public final class RuntimeEvents {

    private final Client client;

    RuntimeEvents(Client client) {
        this.client = client;
    }

    /** Something that the runtime says. */
    public sealed interface Event {}

    /** A TPU slice failed. */
    public record SliceFailure(Cause cause) implements Event {

        /** Why, by the extension's numbers. */
        public enum Cause {
            UNKNOWN(0),
            /** While the links between its chips were set up. */
            INITIALIZATION(1),
            /** A worker was not heard of for too long. */
            WORKER_UNAVAILABLE(2),
            /** A worker restarts again and again. */
            FLAPPING_TASK(3),
            /** It was asked for, by a test or by control software. */
            INJECTED(4),
            /** A chip's driver found a fault, in a chip or a link. */
            CHIP_DRIVER(5);

            private final int code;

            Cause(int code) {
                this.code = code;
            }

            private static Cause of(int code) {
                return Arrays.stream(values())
                        .filter(cause -> cause.code == code)
                        .findFirst()
                        .orElse(UNKNOWN);
            }
        }
    }

    /**
     * The runtime is about to end the process.
     *
     * @param code 1 to 16, as {@link StatusException#code}
     */
    public record Prefatal(int code, String message) implements Event {
        public Prefatal {
            StatusException.checkCode(code);
        }
    }

    /** Hears of failures of the slice. */
    public void onSliceFailure(Consumer<SliceFailure> listener) {
        register(
                PJRT_Callback_Type.Tpu_SliceBuilder,
                args -> listener.accept(
                        new SliceFailure(SliceFailure.Cause.of(PJRT_Callback_Tpu_SliceBuilderArgs.failure_type(
                                Native.at(args, PJRT_Callback_Tpu_SliceBuilderArgs.SIZE))))));
    }

    /** Hears of errors after which the runtime ends the process. */
    public void onPrefatal(Consumer<Prefatal> listener) {
        register(PJRT_Callback_Type.Prefatal, address -> {
            MemorySegment args = Native.at(address, PJRT_Callback_PrefatalArgs.SIZE);
            int code = PJRT_Callback_PrefatalArgs.error_code(args);
            listener.accept(new Prefatal(
                    code < 1 || code > 16 ? 2 : code,
                    Native.string(
                            PJRT_Callback_PrefatalArgs.error_message(args),
                            PJRT_Callback_PrefatalArgs.error_message_size(args))));
        });
    }

    /** Calls the listeners of an event, as the runtime would; for tests of what hangs on them. */
    public void raise(Event event) {
        client.handle().use((api, scratch, address) -> {
            MemorySegment args = PJRT_Callback_InvokeCallback_Args.in(scratch);
            PJRT_Callback_InvokeCallback_Args.client(args, address);
            switch (event) {
                case SliceFailure failure -> {
                    MemorySegment what = PJRT_Callback_Tpu_SliceBuilderArgs.in(scratch);
                    PJRT_Callback_Tpu_SliceBuilderArgs.failure_type(what, failure.cause().code);
                    PJRT_Callback_InvokeCallback_Args.type(args, PJRT_Callback_Type.Tpu_SliceBuilder);
                    PJRT_Callback_InvokeCallback_Args.args(args, what.address());
                }
                case Prefatal fatal -> {
                    byte[] text = fatal.message().getBytes(StandardCharsets.UTF_8);
                    MemorySegment what = PJRT_Callback_PrefatalArgs.in(scratch);
                    PJRT_Callback_PrefatalArgs.error_code(what, fatal.code());
                    PJRT_Callback_PrefatalArgs.error_message(
                            what, Native.bytes(scratch, text).address());
                    PJRT_Callback_PrefatalArgs.error_message_size(what, text.length);
                    PJRT_Callback_InvokeCallback_Args.type(args, PJRT_Callback_Type.Prefatal);
                    PJRT_Callback_InvokeCallback_Args.args(args, what.address());
                }
            }
            api.extension(Extension.CALLBACK).call(PJRT_Callback_Extension.invoke_callback, args);
            return null;
        });
    }

    /** Takes the address of the event's own struct. */
    @FunctionalInterface
    private interface Listener {
        void hear(long args);
    }

    private record Upcall(Listener listener) {
        MemorySegment stub() {
            return Native.upcall(
                    MethodHandles.lookup(),
                    this,
                    "call",
                    FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
        }

        @SuppressWarnings("unused") // called from C
        private void call(long args, long user) {
            try {
                listener.hear(args);
            } catch (Throwable e) {
                Native.uncaught(e);
            }
        }
    }

    private void register(int type, Listener listener) {
        client.handle().use((api, scratch, address) -> {
            var table = api.extension(Extension.CALLBACK);
            MemorySegment args = PJRT_Callback_RegisterCallback_Args.in(scratch);
            PJRT_Callback_RegisterCallback_Args.client(args, address);
            PJRT_Callback_RegisterCallback_Args.type(args, type);
            PJRT_Callback_RegisterCallback_Args.callback(
                    args, new Upcall(listener).stub().address());
            table.call(PJRT_Callback_Extension.register_callback, args);
            return null;
        });
    }
}

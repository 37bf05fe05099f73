// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.KeyValueStore;
import dev.slipway.runtime.internal.abi.PJRT_KeyValueGetCallback_Args;
import dev.slipway.runtime.internal.abi.PJRT_KeyValuePutCallback_Args;
import dev.slipway.runtime.internal.abi.PJRT_KeyValueTryGetCallback_Args;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/** A {@link KeyValueStore} as the three callbacks of C. They live as long as the process: a client may call them at any time. */
public final class KeyValueCallbacks {

    private static final int DEADLINE_EXCEEDED = 4;
    private static final int NOT_FOUND = 5;
    private static final int INTERNAL = 13;

    private static final FunctionDescriptor CALLBACK =
            FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG);

    private final KeyValueStore store;

    /** The callbacks of a store. */
    public KeyValueCallbacks(KeyValueStore store) {
        this.store = store;
    }

    /** The C function for blocking gets. */
    public MemorySegment get() {
        return stub("get");
    }

    /** The C function for gets that do not block. */
    public MemorySegment tryGet() {
        return stub("tryGet");
    }

    /** The C function for puts. */
    public MemorySegment put() {
        return stub("put");
    }

    private MemorySegment stub(String method) {
        return Native.upcall(MethodHandles.lookup(), this, method, CALLBACK);
    }

    // Nothing may be thrown into C, so each of these turns whatever comes into an error of the plugin's.

    @SuppressWarnings({"unused", "CatchAndPrintStackTrace"}) // called from C
    private long get(long address) {
        MemorySegment args = Native.at(address, PJRT_KeyValueGetCallback_Args.SIZE);
        long error = PJRT_KeyValueGetCallback_Args.callback_error(args);
        try {
            byte[] value = store.get(
                    Native.string(
                            PJRT_KeyValueGetCallback_Args.key(args), PJRT_KeyValueGetCallback_Args.key_size(args)),
                    Duration.ofMillis(PJRT_KeyValueGetCallback_Args.timeout_in_ms(args)));
            PJRT_KeyValueGetCallback_Args.value(args, Native.malloc(value));
            PJRT_KeyValueGetCallback_Args.value_size(args, value.length);
            PJRT_KeyValueGetCallback_Args.value_deleter_callback(args, Native.FREE.address());
            return 0;
        } catch (TimeoutException e) {
            return error(error, DEADLINE_EXCEEDED, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return error(error, INTERNAL, e);
        } catch (Throwable e) {
            return error(error, INTERNAL, e);
        }
    }

    @SuppressWarnings("unused") // called from C
    private long tryGet(long address) {
        MemorySegment args = Native.at(address, PJRT_KeyValueTryGetCallback_Args.SIZE);
        long error = PJRT_KeyValueTryGetCallback_Args.callback_error(args);
        try {
            String key = Native.string(
                    PJRT_KeyValueTryGetCallback_Args.key(args), PJRT_KeyValueTryGetCallback_Args.key_size(args));
            Optional<byte[]> value = store.tryGet(key);
            if (value.isEmpty()) {
                return error(error, NOT_FOUND, new IllegalStateException("nobody put '" + key + "' yet"));
            }
            PJRT_KeyValueTryGetCallback_Args.value(args, Native.malloc(value.get()));
            PJRT_KeyValueTryGetCallback_Args.value_size(args, value.get().length);
            PJRT_KeyValueTryGetCallback_Args.value_deleter_callback(args, Native.FREE.address());
            return 0;
        } catch (Throwable e) {
            return error(error, INTERNAL, e);
        }
    }

    @SuppressWarnings("unused") // called from C
    private long put(long address) {
        MemorySegment args = Native.at(address, PJRT_KeyValuePutCallback_Args.SIZE);
        try {
            store.put(
                    Native.string(
                            PJRT_KeyValuePutCallback_Args.key(args), PJRT_KeyValuePutCallback_Args.key_size(args)),
                    Native.bytes(
                            PJRT_KeyValuePutCallback_Args.value(args), PJRT_KeyValuePutCallback_Args.value_size(args)));
            return 0;
        } catch (Throwable e) {
            return error(PJRT_KeyValuePutCallback_Args.callback_error(args), INTERNAL, e);
        }
    }

    private static long error(long maker, int code, Throwable e) {
        return Native.error(maker, code, String.valueOf(e.getMessage()));
    }
}

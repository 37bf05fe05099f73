// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.runtime.KeyValueStore;
import dev.slipway.runtime.internal.abi.PJRT_KeyValueGetCallback_Args;
import dev.slipway.runtime.internal.abi.PJRT_KeyValuePutCallback_Args;
import dev.slipway.runtime.internal.abi.PJRT_KeyValueTryGetCallback_Args;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.junit.jupiter.api.Test;

/** The callbacks, called as a plugin calls them: through their C functions. */
class KeyValueCallbacksTest {

    private final KeyValueStore store = KeyValueStore.inMemory();
    private final KeyValueCallbacks callbacks = new KeyValueCallbacks(store);

    /** The plugin's part: makes an error, here its code. */
    @SuppressWarnings("unused") // called from C
    private static long makeError(int code, long message, long size) {
        return 1000L + code;
    }

    private static long errorMaker(Arena arena) throws ReflectiveOperationException {
        MemorySegment function = Native.upcall(
                MethodHandles.lookup(),
                KeyValueCallbacksTest.class,
                "makeError",
                MethodType.methodType(long.class, int.class, long.class, long.class),
                FunctionDescriptor.of(
                        ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
        return arena.allocateFrom(ValueLayout.JAVA_LONG, function.address()).address();
    }

    @Test
    void whatIsPutIsGot() throws Exception {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment put = PJRT_KeyValuePutCallback_Args.in(arena);
            PJRT_KeyValuePutCallback_Args.key(put, Native.utf8(arena, "key").address());
            PJRT_KeyValuePutCallback_Args.key_size(put, 3);
            PJRT_KeyValuePutCallback_Args.value(put, Native.utf8(arena, "value").address());
            PJRT_KeyValuePutCallback_Args.value_size(put, 5);
            PJRT_KeyValuePutCallback_Args.callback_error(put, errorMaker(arena));
            assertThat(Native.call(callbacks.put(), put.address())).isZero();

            MemorySegment get = PJRT_KeyValueGetCallback_Args.in(arena);
            PJRT_KeyValueGetCallback_Args.key(get, Native.utf8(arena, "key").address());
            PJRT_KeyValueGetCallback_Args.key_size(get, 3);
            PJRT_KeyValueGetCallback_Args.timeout_in_ms(get, 1000);
            PJRT_KeyValueGetCallback_Args.callback_error(get, errorMaker(arena));
            assertThat(Native.call(callbacks.get(), get.address())).isZero();
            long value = PJRT_KeyValueGetCallback_Args.value(get);
            assertThat(Native.string(value, PJRT_KeyValueGetCallback_Args.value_size(get)))
                    .isEqualTo("value");
            Native.free(PJRT_KeyValueGetCallback_Args.value_deleter_callback(get), value);
        }
    }

    @Test
    void whatIsNotThereIsThePluginsError() throws Exception {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment get = PJRT_KeyValueGetCallback_Args.in(arena);
            PJRT_KeyValueGetCallback_Args.key(get, Native.utf8(arena, "absent").address());
            PJRT_KeyValueGetCallback_Args.key_size(get, 6);
            PJRT_KeyValueGetCallback_Args.timeout_in_ms(get, 10);
            PJRT_KeyValueGetCallback_Args.callback_error(get, errorMaker(arena));
            assertThat(Native.call(callbacks.get(), get.address())).isEqualTo(1004);

            MemorySegment tryGet = PJRT_KeyValueTryGetCallback_Args.in(arena);
            PJRT_KeyValueTryGetCallback_Args.key(
                    tryGet, Native.utf8(arena, "absent").address());
            PJRT_KeyValueTryGetCallback_Args.key_size(tryGet, 6);
            PJRT_KeyValueTryGetCallback_Args.callback_error(tryGet, errorMaker(arena));
            assertThat(Native.call(callbacks.tryGet(), tryGet.address())).isEqualTo(1005);
        }
    }
}

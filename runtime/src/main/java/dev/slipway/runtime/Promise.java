// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_Event_Create_Args;
import dev.slipway.runtime.internal.abi.PJRT_Event_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_Event_Error_Args;
import dev.slipway.runtime.internal.abi.PJRT_Event_IsReady_Args;
import dev.slipway.runtime.internal.abi.PJRT_Event_Set_Args;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** An event of the plugin's that Java sets (plugins since 0.89). */
public final class Promise implements AutoCloseable {

    private final Handle handle;

    private Promise(Plugin plugin, long event) {
        this.handle = new Handle("promise", plugin.api(), event, null, this, (api, scratch, address) -> {
            MemorySegment args = PJRT_Event_Destroy_Args.in(scratch);
            PJRT_Event_Destroy_Args.event(args, address);
            api.call(PjrtFunction.PJRT_Event_Destroy, args);
        });
    }

    static Promise create(Plugin plugin) {
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_Event_Create_Args.in(scratch);
            plugin.api().call(PjrtFunction.PJRT_Event_Create, args);
            return new Promise(plugin, PJRT_Event_Create_Args.event(args));
        }
    }

    /** An event that is done, for a function that takes it over and destroys it. */
    static long kept(Api api, Scratch scratch) {
        MemorySegment create = PJRT_Event_Create_Args.in(scratch);
        api.call(PjrtFunction.PJRT_Event_Create, create);
        MemorySegment set = PJRT_Event_Set_Args.in(scratch);
        PJRT_Event_Set_Args.event(set, PJRT_Event_Create_Args.event(create));
        PJRT_Event_Set_Args.error_message(
                set, Native.bytes(scratch, new byte[0]).address());
        api.call(PjrtFunction.PJRT_Event_Set, set);
        return PJRT_Event_Create_Args.event(create);
    }

    /** Says that it is done; once. */
    public void complete() {
        set(0, "");
    }

    /** Says that it failed; once. */
    public void fail(int statusCode, String message) {
        set(StatusException.checkCode(statusCode), message);
    }

    private void set(int code, String message) {
        byte[] text = message.getBytes(StandardCharsets.UTF_8);
        if (isDone()) {
            throw new UsageException.Closed("this promise was kept already: it is to be set once");
        }
        handle.use((api, scratch, event) -> {
            MemorySegment args = PJRT_Event_Set_Args.in(scratch);
            PJRT_Event_Set_Args.event(args, event);
            PJRT_Event_Set_Args.error_code(args, code);
            PJRT_Event_Set_Args.error_message(args, Native.bytes(scratch, text).address());
            PJRT_Event_Set_Args.error_message_size(args, text.length);
            api.call(PjrtFunction.PJRT_Event_Set, args);
            return null;
        });
    }

    /** Whether it was set. */
    public boolean isDone() {
        return handle.use((api, scratch, event) -> {
            MemorySegment args = PJRT_Event_IsReady_Args.in(scratch);
            PJRT_Event_IsReady_Args.event(args, event);
            api.call(PjrtFunction.PJRT_Event_IsReady, args);
            return PJRT_Event_IsReady_Args.is_ready(args);
        });
    }

    /** The error it was set to; empty if it is not set, or is done without one. */
    public Optional<StatusException> error() {
        if (!isDone()) {
            return Optional.empty();
        }
        return handle.use((api, scratch, event) -> {
            MemorySegment args = PJRT_Event_Error_Args.in(scratch);
            PJRT_Event_Error_Args.event(args, event);
            try {
                api.call(PjrtFunction.PJRT_Event_Error, args);
                return Optional.empty();
            } catch (StatusException e) {
                return Optional.of(e);
            }
        });
    }

    @Override
    public void close() {
        handle.close();
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_ExecuteContext_Create_Args;
import dev.slipway.runtime.internal.abi.PJRT_ExecuteContext_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_FFI_Extension;
import dev.slipway.runtime.internal.abi.PJRT_FFI_Type_Info;
import dev.slipway.runtime.internal.abi.PJRT_FFI_Type_Register_Args;
import dev.slipway.runtime.internal.abi.PJRT_FFI_UserData;
import dev.slipway.runtime.internal.abi.PJRT_FFI_UserData_Add_Args;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;

/**
 * What a run carries along for the custom calls in it: memory by the type's number, which handlers written in C ask for. It must
 * outlive the runs that it is given to ({@link ExecuteOptions.Builder#context}).
 */
public final class ExecuteContext implements AutoCloseable {

    private final Handle handle;

    private ExecuteContext(Plugin plugin, long address) {
        this.handle = new Handle("execute context", plugin.api(), address, null, this, (api, scratch, context) -> {
            MemorySegment args = PJRT_ExecuteContext_Destroy_Args.in(scratch);
            PJRT_ExecuteContext_Destroy_Args.context(args, context);
            api.call(PjrtFunction.PJRT_ExecuteContext_Destroy, args);
        });
    }

    static ExecuteContext create(Plugin plugin) {
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_ExecuteContext_Create_Args.in(scratch);
            plugin.api().call(PjrtFunction.PJRT_ExecuteContext_Create, args);
            return new ExecuteContext(plugin, PJRT_ExecuteContext_Create_Args.context(args));
        }
    }

    /** The number that a type of user data has in the plugin, given to it if it has none yet (the FFI extension). */
    static long registerType(Plugin plugin, String name) {
        byte[] text = name.getBytes(StandardCharsets.UTF_8);
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_FFI_Type_Register_Args.in(scratch);
            PJRT_FFI_Type_Register_Args.type_name(
                    args, Native.bytes(scratch, text).address());
            PJRT_FFI_Type_Register_Args.type_name_size(args, text.length);
            PJRT_FFI_Type_Register_Args.type_info(
                    args, PJRT_FFI_Type_Info.in(scratch).address());
            plugin.api().extension(Extension.FFI).call(PJRT_FFI_Extension.type_register, args);
            return PJRT_FFI_Type_Register_Args.type_id(args);
        }
    }

    /** Adds user data (the FFI extension); {@code data} must outlive the runs. */
    public ExecuteContext add(long typeId, MemorySegment data) {
        if (!data.isNative()) {
            throw new UsageException.BadArgument("user data of custom calls must be native memory, not the Java heap");
        }
        handle.use((api, scratch, context) -> {
            MemorySegment args = PJRT_FFI_UserData_Add_Args.in(scratch);
            PJRT_FFI_UserData_Add_Args.context(args, context);
            MemorySegment user = PJRT_FFI_UserData_Add_Args.user_data(args);
            PJRT_FFI_UserData.type_id(user, typeId);
            PJRT_FFI_UserData.data(user, data.address());
            api.extension(Extension.FFI).call(PJRT_FFI_Extension.user_data_add, args);
            return null;
        });
        return this;
    }

    Handle handle() {
        return handle;
    }

    @Override
    public void close() {
        handle.close();
    }
}

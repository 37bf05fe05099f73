// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.Extension;
import dev.slipway.runtime.internal.abi.PJRT_AbiVersion_Extension;
import dev.slipway.runtime.internal.abi.PJRT_Client_RuntimeAbiVersion_Args;
import dev.slipway.runtime.internal.abi.PJRT_ExecutableAbiVersion_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_ExecutableAbiVersion_FromProto_Args;
import dev.slipway.runtime.internal.abi.PJRT_ExecutableAbiVersion_PlatformId_Args;
import dev.slipway.runtime.internal.abi.PJRT_ExecutableAbiVersion_ToProto_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_GetAbiVersion_Args;
import dev.slipway.runtime.internal.abi.PJRT_RuntimeAbiVersion_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_RuntimeAbiVersion_FromProto_Args;
import dev.slipway.runtime.internal.abi.PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args;
import dev.slipway.runtime.internal.abi.PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args;
import dev.slipway.runtime.internal.abi.PJRT_RuntimeAbiVersion_PlatformId_Args;
import dev.slipway.runtime.internal.abi.PJRT_RuntimeAbiVersion_ToProto_Args;
import java.lang.foreign.MemorySegment;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/** The ABI version extension: whether an executable fits a runtime. */
public final class AbiVersions {

    private AbiVersions() {}

    /** An executable's version as a serialized proto. */
    public static byte[] ofExecutable(Api api, Scratch scratch, long executable) {
        Api.Table table = api.extension(Extension.ABI_VERSION);
        MemorySegment get = PJRT_Executable_GetAbiVersion_Args.in(scratch);
        PJRT_Executable_GetAbiVersion_Args.executable(get, executable);
        table.call(PJRT_AbiVersion_Extension.executable_get_abi_version, get);
        long version = PJRT_Executable_GetAbiVersion_Args.abi_version(get);
        try {
            MemorySegment args = PJRT_ExecutableAbiVersion_ToProto_Args.in(scratch);
            PJRT_ExecutableAbiVersion_ToProto_Args.abi_version(args, version);
            table.call(PJRT_AbiVersion_Extension.executable_abi_version_to_proto, args);
            try {
                return Native.bytes(
                        PJRT_ExecutableAbiVersion_ToProto_Args.serialized_proto(args),
                        PJRT_ExecutableAbiVersion_ToProto_Args.serialized_proto_size(args));
            } finally {
                Native.free(
                        PJRT_ExecutableAbiVersion_ToProto_Args.serialized_proto_deleter(args),
                        PJRT_ExecutableAbiVersion_ToProto_Args.serialized_proto_holder(args));
            }
        } finally {
            destroyExecutable(table, scratch, version);
        }
    }

    private static void destroyExecutable(Api.Table table, Scratch scratch, long version) {
        MemorySegment destroy = PJRT_ExecutableAbiVersion_Destroy_Args.in(scratch);
        PJRT_ExecutableAbiVersion_Destroy_Args.abi_version(destroy, version);
        table.call(PJRT_AbiVersion_Extension.executable_abi_version_destroy, destroy);
    }

    private static long runtime(Api.Table table, Scratch scratch, long client) {
        MemorySegment get = PJRT_Client_RuntimeAbiVersion_Args.in(scratch);
        PJRT_Client_RuntimeAbiVersion_Args.client(get, client);
        table.call(PJRT_AbiVersion_Extension.client_runtime_abi_version, get);
        return PJRT_Client_RuntimeAbiVersion_Args.abi_version(get);
    }

    private static void destroyRuntime(Api.Table table, Scratch scratch, long version) {
        MemorySegment destroy = PJRT_RuntimeAbiVersion_Destroy_Args.in(scratch);
        PJRT_RuntimeAbiVersion_Destroy_Args.abi_version(destroy, version);
        table.call(PJRT_AbiVersion_Extension.runtime_abi_version_destroy, destroy);
    }

    /** A client's version as a serialized proto. */
    public static byte[] ofClient(Api api, Scratch scratch, long client) {
        Api.Table table = api.extension(Extension.ABI_VERSION);
        long version = runtime(table, scratch, client);
        try {
            MemorySegment args = PJRT_RuntimeAbiVersion_ToProto_Args.in(scratch);
            PJRT_RuntimeAbiVersion_ToProto_Args.abi_version(args, version);
            table.call(PJRT_AbiVersion_Extension.runtime_abi_version_to_proto, args);
            try {
                return Native.bytes(
                        PJRT_RuntimeAbiVersion_ToProto_Args.serialized_proto(args),
                        PJRT_RuntimeAbiVersion_ToProto_Args.serialized_proto_size(args));
            } finally {
                Native.free(
                        PJRT_RuntimeAbiVersion_ToProto_Args.serialized_proto_deleter(args),
                        PJRT_RuntimeAbiVersion_ToProto_Args.serialized_proto_holder(args));
            }
        } finally {
            destroyRuntime(table, scratch, version);
        }
    }

    /** Throws the plugin's error unless the executable of that version runs on the client. */
    public static void check(Api api, Scratch scratch, long client, byte[] executableVersion) {
        Api.Table table = api.extension(Extension.ABI_VERSION);
        long version = runtime(table, scratch, client);
        try {
            checkExecutable(table, scratch, version, executableVersion);
        } finally {
            destroyRuntime(table, scratch, version);
        }
    }

    private static void checkExecutable(Api.Table table, Scratch scratch, long runtime, byte[] executableVersion) {
        withExecutable(table, scratch, executableVersion, executable -> {
            MemorySegment args = PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args.in(scratch);
            PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args.abi_version(args, runtime);
            PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args.executable_abi_version(args, executable);
            table.call(PJRT_AbiVersion_Extension.runtime_abi_version_is_compatible_with_executable, args);
            return null;
        });
    }

    /** What is done with a version, as long as C has it. */
    private static <T extends @Nullable Object> T withExecutable(
            Api.Table table, Scratch scratch, byte[] proto, LongFunction<T> use) {
        MemorySegment args = PJRT_ExecutableAbiVersion_FromProto_Args.in(scratch);
        PJRT_ExecutableAbiVersion_FromProto_Args.serialized_proto(
                args, Native.bytes(scratch, proto).address());
        PJRT_ExecutableAbiVersion_FromProto_Args.serialized_proto_size(args, proto.length);
        table.call(PJRT_AbiVersion_Extension.executable_abi_version_from_proto, args);
        long version = PJRT_ExecutableAbiVersion_FromProto_Args.abi_version(args);
        try {
            return use.apply(version);
        } finally {
            destroyExecutable(table, scratch, version);
        }
    }

    private static <T extends @Nullable Object> T withRuntime(
            Api.Table table, Scratch scratch, byte[] proto, LongFunction<T> use) {
        MemorySegment args = PJRT_RuntimeAbiVersion_FromProto_Args.in(scratch);
        PJRT_RuntimeAbiVersion_FromProto_Args.serialized_proto(
                args, Native.bytes(scratch, proto).address());
        PJRT_RuntimeAbiVersion_FromProto_Args.serialized_proto_size(args, proto.length);
        table.call(PJRT_AbiVersion_Extension.runtime_abi_version_from_proto, args);
        long version = PJRT_RuntimeAbiVersion_FromProto_Args.abi_version(args);
        try {
            return use.apply(version);
        } finally {
            destroyRuntime(table, scratch, version);
        }
    }

    /** Throws the plugin's error unless an executable runs on a runtime, by their versions. */
    public static void checkExecutable(Api api, byte[] runtimeVersion, byte[] executableVersion) {
        Api.Table table = api.extension(Extension.ABI_VERSION);
        try (Scratch scratch = Scratch.open()) {
            withRuntime(table, scratch, runtimeVersion, runtime -> {
                checkExecutable(table, scratch, runtime, executableVersion);
                return null;
            });
        }
    }

    /** Throws the plugin's error unless a runtime takes the place of another, by their versions. */
    public static void checkRuntime(Api api, byte[] runtimeVersion, byte[] otherVersion) {
        Api.Table table = api.extension(Extension.ABI_VERSION);
        try (Scratch scratch = Scratch.open()) {
            withRuntime(
                    table,
                    scratch,
                    runtimeVersion,
                    runtime -> withRuntime(table, scratch, otherVersion, other -> {
                        MemorySegment args = PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args.in(scratch);
                        PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args.abi_version(args, runtime);
                        PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args.other_abi_version(args, other);
                        table.call(PJRT_AbiVersion_Extension.runtime_abi_version_is_compatible_with_runtime, args);
                        return null;
                    }));
        }
    }

    /** The number of the platform that an executable is for, by its version. */
    public static long platformOfExecutable(Api api, byte[] version) {
        Api.Table table = api.extension(Extension.ABI_VERSION);
        try (Scratch scratch = Scratch.open()) {
            return withExecutable(table, scratch, version, executable -> {
                MemorySegment args = PJRT_ExecutableAbiVersion_PlatformId_Args.in(scratch);
                PJRT_ExecutableAbiVersion_PlatformId_Args.abi_version(args, executable);
                table.call(PJRT_AbiVersion_Extension.executable_abi_version_platform_id, args);
                return PJRT_ExecutableAbiVersion_PlatformId_Args.platform_id(args);
            });
        }
    }

    /** The number of the platform that a runtime is of, by its version. */
    public static long platformOfRuntime(Api api, byte[] version) {
        Api.Table table = api.extension(Extension.ABI_VERSION);
        try (Scratch scratch = Scratch.open()) {
            return withRuntime(table, scratch, version, runtime -> {
                MemorySegment args = PJRT_RuntimeAbiVersion_PlatformId_Args.in(scratch);
                PJRT_RuntimeAbiVersion_PlatformId_Args.abi_version(args, runtime);
                table.call(PJRT_AbiVersion_Extension.runtime_abi_version_platform_id, args);
                return PJRT_RuntimeAbiVersion_PlatformId_Args.platform_id(args);
            });
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_TpuExecutable_Extension;
import dev.slipway.runtime.internal.abi.PJRT_TpuExecutable_GetCompiledMemoryStats_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuExecutable_GetHloModuleWithConfig_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuExecutable_GetTargetArguments_Args;
import dev.slipway.runtime.internal.hlo.ProtoReader;
import java.lang.foreign.MemorySegment;
import java.util.OptionalLong;

/**
 * What a TPU plugin reads from a serialized executable without loading it, on a machine without TPUs too (the TPU executable extension,
 * {@link Plugin#tpuExecutables}).
 */
public final class TpuExecutables {

    private final Plugin plugin;

    TpuExecutables(Plugin plugin) {
        this.plugin = plugin;
    }

    /** The program after optimisation, with its configuration and without the compiler's own notes ({@code backend_config}). */
    public Program program(SerializedExecutable executable) {
        byte[] code = own(executable);
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_TpuExecutable_GetHloModuleWithConfig_Args.in(scratch);
            PJRT_TpuExecutable_GetHloModuleWithConfig_Args.serialized_executable(
                    args, Native.bytes(scratch, code).address());
            PJRT_TpuExecutable_GetHloModuleWithConfig_Args.serialized_executable_size(args, code.length);
            table().call(PJRT_TpuExecutable_Extension.get_hlo_module_with_config, args);
            try {
                return Program.of(
                        "hlo_with_config",
                        Native.bytes(
                                PJRT_TpuExecutable_GetHloModuleWithConfig_Args.hlo_module_with_config(args),
                                PJRT_TpuExecutable_GetHloModuleWithConfig_Args.hlo_module_with_config_size(args)));
            } finally {
                Native.free(
                        PJRT_TpuExecutable_GetHloModuleWithConfig_Args.hlo_module_with_config_deleter(args),
                        PJRT_TpuExecutable_GetHloModuleWithConfig_Args.hlo_module_with_config_ptr(args));
            }
        }
    }

    /** The machine that it was compiled for, as a serialized proto of libtpu's. */
    public byte[] target(SerializedExecutable executable) {
        byte[] code = own(executable);
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_TpuExecutable_GetTargetArguments_Args.in(scratch);
            PJRT_TpuExecutable_GetTargetArguments_Args.serialized_executable(
                    args, Native.bytes(scratch, code).address());
            PJRT_TpuExecutable_GetTargetArguments_Args.serialized_executable_size(args, code.length);
            table().call(PJRT_TpuExecutable_Extension.get_target_arguments, args);
            try {
                return Native.bytes(
                        PJRT_TpuExecutable_GetTargetArguments_Args.target_arguments(args),
                        PJRT_TpuExecutable_GetTargetArguments_Args.target_arguments_size(args));
            } finally {
                Native.free(
                        PJRT_TpuExecutable_GetTargetArguments_Args.target_arguments_deleter(args),
                        PJRT_TpuExecutable_GetTargetArguments_Args.target_arguments_ptr(args));
            }
        }
    }

    /** What it needs of each device's memory. */
    public MemoryStats memory(SerializedExecutable executable) {
        byte[] code = own(executable);
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_TpuExecutable_GetCompiledMemoryStats_Args.in(scratch);
            PJRT_TpuExecutable_GetCompiledMemoryStats_Args.serialized_executable(
                    args, Native.bytes(scratch, code).address());
            PJRT_TpuExecutable_GetCompiledMemoryStats_Args.serialized_executable_size(args, code.length);
            table().call(PJRT_TpuExecutable_Extension.get_compiled_memory_stats, args);
            try {
                return stats(ProtoReader.of(Native.bytes(
                        PJRT_TpuExecutable_GetCompiledMemoryStats_Args.compiled_memory_stats(args),
                        PJRT_TpuExecutable_GetCompiledMemoryStats_Args.compiled_memory_stats_size(args))));
            } finally {
                Native.free(
                        PJRT_TpuExecutable_GetCompiledMemoryStats_Args.compiled_memory_stats_deleter(args),
                        PJRT_TpuExecutable_GetCompiledMemoryStats_Args.compiled_memory_stats_ptr(args));
            }
        }
    }

    /** The fields of {@code CompiledMemoryStatsProto}. */
    private static MemoryStats stats(ProtoReader proto) {
        return new MemoryStats(
                proto.number(1),
                proto.number(2),
                proto.number(3),
                proto.number(4),
                proto.number(5),
                OptionalLong.of(proto.number(14)),
                new MemoryStats.Host(
                        proto.number(7), proto.number(8), proto.number(9), proto.number(10), proto.number(11)));
    }

    private Api.Table table() {
        return plugin.api().extension(Extension.TPU_EXECUTABLE);
    }

    /** The bytes of an executable for TPUs: others would not be read. */
    private static byte[] own(SerializedExecutable executable) {
        if (!executable.platform().name().equals("tpu")) {
            throw new UsageException.Foreign("the executable was compiled for "
                    + executable.platform().name() + ", and only those for tpu are read here");
        }
        return executable.bare();
    }
}

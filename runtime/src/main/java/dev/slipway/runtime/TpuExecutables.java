// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_TpuExecutable_Extension;
import dev.slipway.runtime.internal.abi.PJRT_TpuExecutable_GetCompiledMemoryStats_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuExecutable_GetHloModuleWithConfig_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuExecutable_GetTargetArguments_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuExecutable_GetTpuCompilationEnvFieldAsString_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuExecutable_IsTpuPredeterminedError_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuExecutable_RunHloCostAnalysis_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuExecutable_SetTpuCompilationEnv_Args;
import dev.slipway.runtime.internal.hlo.ProtoReader;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
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

    /**
     * XLA's cost analysis of modules for a machine, as the plugin names its figures: {@code flops}, {@code bytes accessed} ...
     *
     * @param target from {@link #target}
     * @param modules in the format {@code hlo_with_config}, as {@link #program} gives them
     * @throws UsageException.BadArgument if there is no target or module, or one is of another format
     */
    public Map<String, NamedValue> cost(byte[] target, List<Program> modules) {
        if (target.length == 0
                || modules.isEmpty()
                || modules.stream().anyMatch(module -> !module.format().equals("hlo_with_config"))) {
            throw new UsageException.BadArgument("a target of " + target.length + " bytes and modules in the formats "
                    + modules.stream().map(Program::format).toList()
                    + " cannot be analysed: a target and one or more modules in 'hlo_with_config' are needed");
        }
        List<byte[]> codes = modules.stream().map(Program::code).toList();
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_TpuExecutable_RunHloCostAnalysis_Args.in(scratch);
            PJRT_TpuExecutable_RunHloCostAnalysis_Args.target_arguments(
                    args, Native.bytes(scratch, target).address());
            PJRT_TpuExecutable_RunHloCostAnalysis_Args.target_arguments_size(args, target.length);
            PJRT_TpuExecutable_RunHloCostAnalysis_Args.hlo_module(args, scratch.pointers(codes));
            PJRT_TpuExecutable_RunHloCostAnalysis_Args.hlo_module_size(args, scratch.sizes(codes));
            PJRT_TpuExecutable_RunHloCostAnalysis_Args.num_hlo_modules(args, codes.size());
            table().call(PJRT_TpuExecutable_Extension.run_hlo_cost_analysis, args);
            try {
                return Api.namedValues(
                        PJRT_TpuExecutable_RunHloCostAnalysis_Args.analysis_results(args),
                        PJRT_TpuExecutable_RunHloCostAnalysis_Args.num_analysis_results(args));
            } finally {
                Native.free(
                        PJRT_TpuExecutable_RunHloCostAnalysis_Args.analysis_results_deleter(args),
                        PJRT_TpuExecutable_RunHloCostAnalysis_Args.analysis_results_ptr(args));
            }
        }
    }

    /**
     * Compilation environments with the TPU's among them.
     *
     * @param environments a serialized {@code CompilationEnvironmentsProto}; empty for none
     */
    public byte[] withTpuEnvironment(byte[] environments) {
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_TpuExecutable_SetTpuCompilationEnv_Args.in(scratch);
            PJRT_TpuExecutable_SetTpuCompilationEnv_Args.serialized_compilation_environments(
                    args, Native.bytes(scratch, environments).address());
            PJRT_TpuExecutable_SetTpuCompilationEnv_Args.serialized_compilation_environments_size(
                    args, environments.length);
            table().call(PJRT_TpuExecutable_Extension.set_tpu_compilation_env, args);
            try {
                return Native.bytes(
                        PJRT_TpuExecutable_SetTpuCompilationEnv_Args.result_compilation_environments(args),
                        PJRT_TpuExecutable_SetTpuCompilationEnv_Args.result_compilation_environments_size(args));
            } finally {
                Native.free(
                        PJRT_TpuExecutable_SetTpuCompilationEnv_Args.result_compilation_environments_deleter(args),
                        PJRT_TpuExecutable_SetTpuCompilationEnv_Args.result_compilation_environments_ptr(args));
            }
        }
    }

    /**
     * The value of a flag of libtpu's in compilation environments, as text.
     *
     * @param environments from {@link #withTpuEnvironment}
     * @param field as {@code xla_tpu_scoped_vmem_limit_kib}
     * @throws UsageException.BadArgument if the field has no name
     */
    public String environmentField(byte[] environments, String field) {
        if (field.isEmpty()) {
            throw new UsageException.BadArgument("a field of the environment has a name");
        }
        byte[] name = field.getBytes(StandardCharsets.UTF_8);
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_TpuExecutable_GetTpuCompilationEnvFieldAsString_Args.in(scratch);
            PJRT_TpuExecutable_GetTpuCompilationEnvFieldAsString_Args.serialized_compilation_environments(
                    args, Native.bytes(scratch, environments).address());
            PJRT_TpuExecutable_GetTpuCompilationEnvFieldAsString_Args.serialized_compilation_environments_size(
                    args, environments.length);
            PJRT_TpuExecutable_GetTpuCompilationEnvFieldAsString_Args.field_name(
                    args, Native.bytes(scratch, name).address());
            PJRT_TpuExecutable_GetTpuCompilationEnvFieldAsString_Args.field_name_size(args, name.length);
            table().call(PJRT_TpuExecutable_Extension.get_tpu_compilation_env_field_as_string, args);
            try {
                return Native.string(
                        PJRT_TpuExecutable_GetTpuCompilationEnvFieldAsString_Args.field_value(args),
                        PJRT_TpuExecutable_GetTpuCompilationEnvFieldAsString_Args.field_value_size(args));
            } finally {
                Native.free(
                        PJRT_TpuExecutable_GetTpuCompilationEnvFieldAsString_Args.field_value_deleter(args),
                        PJRT_TpuExecutable_GetTpuCompilationEnvFieldAsString_Args.field_value_ptr(args));
            }
        }
    }

    /**
     * Whether a status would come again, however often the same program is compiled.
     *
     * @param status a serialized {@code google.rpc.Status} or what the plugin attached to an error ({@link StatusException#payloads})
     */
    public boolean isPredetermined(byte[] status) {
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_TpuExecutable_IsTpuPredeterminedError_Args.in(scratch);
            PJRT_TpuExecutable_IsTpuPredeterminedError_Args.serialized_status(
                    args, Native.bytes(scratch, status).address());
            PJRT_TpuExecutable_IsTpuPredeterminedError_Args.serialized_status_size(args, status.length);
            table().call(PJRT_TpuExecutable_Extension.is_tpu_predetermined_error, args);
            return PJRT_TpuExecutable_IsTpuPredeterminedError_Args.is_predetermined(args);
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

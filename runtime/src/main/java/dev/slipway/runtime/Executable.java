// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.AbiVersions;
import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.Layouts;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.abi.PJRT_ExecutableMetadata;
import dev.slipway.runtime.internal.abi.PJRT_ExecutableMetadata_DestroySerializedMetadata_Args;
import dev.slipway.runtime.internal.abi.PJRT_ExecutableMetadata_Extension;
import dev.slipway.runtime.internal.abi.PJRT_ExecutableMetadata_GetExecutableMetadata_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_Fingerprint_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_GetCompileOptions_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_GetCompiledMemoryStats_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_GetCostAnalysis_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_Name_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_NumOutputs_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_NumPartitions_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_NumReplicas_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_OptimizedProgram_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_OutputDimensions_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_OutputElementTypes_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_OutputMemoryKinds_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_ParameterMemoryKinds_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_Serialize_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_SizeOfGeneratedCodeInBytes_Args;
import dev.slipway.runtime.internal.abi.PJRT_Program;
import dev.slipway.runtime.internal.abi.PJRT_Shardings_Extension;
import dev.slipway.runtime.internal.abi.PJRT_Shardings_PJRT_Executable_OutputShardings_Args;
import dev.slipway.runtime.internal.abi.PJRT_Shardings_PJRT_Executable_ParameterShardings_Args;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import dev.slipway.runtime.internal.hlo.EntryLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * What a compiler made: code for a machine, with what the compiler knows of it. It cannot run before a {@link Client} loads it.
 *
 * <p>Which of the answers there are depends on the plugin; one that it lacks is a {@link StatusException.Unimplemented} or a
 * {@link UsageException.Unsupported}.
 */
public final class Executable implements AutoCloseable {

    private final Platform platform;
    private final Handle handle;

    Executable(Plugin plugin, long address, @Nullable Handle parent, Platform platform) {
        this.platform = platform;
        this.handle = new Handle("executable", plugin.api(), address, parent, this, (api, scratch, executable) -> {
            MemorySegment args = PJRT_Executable_Destroy_Args.in(scratch);
            PJRT_Executable_Destroy_Args.executable(args, executable);
            api.call(PjrtFunction.PJRT_Executable_Destroy, args);
        });
    }

    /** The platform that it was compiled for. */
    public Platform platform() {
        return platform;
    }

    Handle handle() {
        return handle;
    }

    /** The module's name. */
    public String name() {
        return handle.use((api, scratch, executable) -> {
            MemorySegment args = PJRT_Executable_Name_Args.in(scratch);
            PJRT_Executable_Name_Args.executable(args, executable);
            api.call(PjrtFunction.PJRT_Executable_Name, args);
            return Native.string(
                    PJRT_Executable_Name_Args.executable_name(args),
                    PJRT_Executable_Name_Args.executable_name_size(args));
        });
    }

    /** How many copies of the program work on different data. */
    public int numReplicas() {
        return handle.use((api, scratch, executable) -> {
            MemorySegment args = PJRT_Executable_NumReplicas_Args.in(scratch);
            PJRT_Executable_NumReplicas_Args.executable(args, executable);
            api.call(PjrtFunction.PJRT_Executable_NumReplicas, args);
            return (int) PJRT_Executable_NumReplicas_Args.num_replicas(args);
        });
    }

    /** How many devices one copy is spread over. */
    public int numPartitions() {
        return handle.use((api, scratch, executable) -> {
            MemorySegment args = PJRT_Executable_NumPartitions_Args.in(scratch);
            PJRT_Executable_NumPartitions_Args.executable(args, executable);
            api.call(PjrtFunction.PJRT_Executable_NumPartitions, args);
            return (int) PJRT_Executable_NumPartitions_Args.num_partitions(args);
        });
    }

    /** How many results there are per device. */
    public int numOutputs() {
        return handle.use((api, scratch, executable) -> {
            MemorySegment args = PJRT_Executable_NumOutputs_Args.in(scratch);
            PJRT_Executable_NumOutputs_Args.executable(args, executable);
            api.call(PjrtFunction.PJRT_Executable_NumOutputs, args);
            return (int) PJRT_Executable_NumOutputs_Args.num_outputs(args);
        });
    }

    /** Size of the generated code, in bytes. */
    public long codeSize() {
        return handle.use((api, scratch, executable) -> {
            MemorySegment args = PJRT_Executable_SizeOfGeneratedCodeInBytes_Args.in(scratch);
            PJRT_Executable_SizeOfGeneratedCodeInBytes_Args.executable(args, executable);
            api.call(PjrtFunction.PJRT_Executable_SizeOfGeneratedCodeInBytes, args);
            return PJRT_Executable_SizeOfGeneratedCodeInBytes_Args.size_in_bytes(args);
        });
    }

    /** A name for the code that is equal for equal code. */
    public String fingerprint() {
        return handle.use((api, scratch, executable) -> {
            MemorySegment args = PJRT_Executable_Fingerprint_Args.in(scratch);
            PJRT_Executable_Fingerprint_Args.executable(args, executable);
            api.call(PjrtFunction.PJRT_Executable_Fingerprint, args);
            return Native.string(
                    PJRT_Executable_Fingerprint_Args.executable_fingerprint(args),
                    PJRT_Executable_Fingerprint_Args.executable_fingerprint_size(args));
        });
    }

    /** The results' types on one device, in order. */
    public List<TensorType> outputs() {
        return handle.use((api, scratch, executable) -> {
            MemorySegment types = PJRT_Executable_OutputElementTypes_Args.in(scratch);
            PJRT_Executable_OutputElementTypes_Args.executable(types, executable);
            api.call(PjrtFunction.PJRT_Executable_OutputElementTypes, types);
            int[] codes = Native.ints(
                    PJRT_Executable_OutputElementTypes_Args.output_types(types),
                    PJRT_Executable_OutputElementTypes_Args.num_output_types(types));
            MemorySegment args = PJRT_Executable_OutputDimensions_Args.in(scratch);
            PJRT_Executable_OutputDimensions_Args.executable(args, executable);
            api.call(PjrtFunction.PJRT_Executable_OutputDimensions, args);
            long[] ranks = Native.longs(
                    PJRT_Executable_OutputDimensions_Args.dim_sizes(args),
                    PJRT_Executable_OutputDimensions_Args.num_outputs(args));
            long[] sizes = Native.longs(
                    PJRT_Executable_OutputDimensions_Args.dims(args),
                    Arrays.stream(ranks).sum());
            List<TensorType> outputs = new ArrayList<>();
            int at = 0;
            for (int i = 0; i < codes.length; i++) {
                outputs.add(
                        TensorType.of(ElementType.of(codes[i]), Arrays.copyOfRange(sizes, at, at + (int) ranks[i])));
                at += (int) ranks[i];
            }
            return outputs;
        });
    }

    /** The kind of memory of each result, in order. */
    public List<String> outputMemoryKinds() {
        return handle.use((api, scratch, executable) -> {
            MemorySegment args = PJRT_Executable_OutputMemoryKinds_Args.in(scratch);
            PJRT_Executable_OutputMemoryKinds_Args.executable(args, executable);
            api.call(PjrtFunction.PJRT_Executable_OutputMemoryKinds, args);
            return strings(
                    PJRT_Executable_OutputMemoryKinds_Args.memory_kinds(args),
                    PJRT_Executable_OutputMemoryKinds_Args.memory_kind_sizes(args),
                    PJRT_Executable_OutputMemoryKinds_Args.num_outputs(args));
        });
    }

    /** The kind of memory of each parameter, in order (plugins since 0.102). */
    public List<String> parameterMemoryKinds() {
        return handle.use((api, scratch, executable) -> {
            MemorySegment args = PJRT_Executable_ParameterMemoryKinds_Args.in(scratch);
            PJRT_Executable_ParameterMemoryKinds_Args.executable(args, executable);
            api.call(PjrtFunction.PJRT_Executable_ParameterMemoryKinds, args);
            return strings(
                    PJRT_Executable_ParameterMemoryKinds_Args.memory_kinds(args),
                    PJRT_Executable_ParameterMemoryKinds_Args.memory_kind_sizes(args),
                    PJRT_Executable_ParameterMemoryKinds_Args.num_parameters(args));
        });
    }

    static List<String> strings(long pointers, long sizes, long count) {
        long[] addresses = Native.longs(pointers, count);
        long[] lengths = Native.longs(sizes, count);
        List<String> strings = new ArrayList<>();
        for (int i = 0; i < addresses.length; i++) {
            strings.add(Native.string(addresses[i], lengths[i]));
        }
        return strings;
    }

    /**
     * What one run costs on one device: {@code flops}, {@code bytes accessed} and more, by XLA's names. XLA counts the body of each
     * {@code while} once.
     */
    public Map<String, Double> costAnalysis() {
        return handle.use((api, scratch, executable) -> {
            MemorySegment args = PJRT_Executable_GetCostAnalysis_Args.in(scratch);
            PJRT_Executable_GetCostAnalysis_Args.executable(args, executable);
            api.call(PjrtFunction.PJRT_Executable_GetCostAnalysis, args);
            Map<String, Double> costs = new LinkedHashMap<>();
            Api.namedValues(
                            PJRT_Executable_GetCostAnalysis_Args.properties(args),
                            PJRT_Executable_GetCostAnalysis_Args.num_properties(args))
                    .forEach((name, value) -> {
                        switch (value) {
                            case NamedValue.Float32 number -> costs.put(name, (double) number.value());
                            case NamedValue.Int64 number -> costs.put(name, (double) number.value());
                            case NamedValue.Text _, NamedValue.Int64List _, NamedValue.Bool _ -> {}
                        }
                    });
            return costs;
        });
    }

    /** What the program needs of each device's memory. */
    public MemoryStats memory() {
        return handle.use((api, scratch, executable) -> {
            MemorySegment args = PJRT_Executable_GetCompiledMemoryStats_Args.in(scratch);
            PJRT_Executable_GetCompiledMemoryStats_Args.executable(args, executable);
            api.call(PjrtFunction.PJRT_Executable_GetCompiledMemoryStats, args);
            return new MemoryStats(
                    PJRT_Executable_GetCompiledMemoryStats_Args.generated_code_size_in_bytes(args),
                    PJRT_Executable_GetCompiledMemoryStats_Args.argument_size_in_bytes(args),
                    PJRT_Executable_GetCompiledMemoryStats_Args.output_size_in_bytes(args),
                    PJRT_Executable_GetCompiledMemoryStats_Args.alias_size_in_bytes(args),
                    PJRT_Executable_GetCompiledMemoryStats_Args.temp_size_in_bytes(args),
                    api.minor() >= 72
                            ? OptionalLong.of(PJRT_Executable_GetCompiledMemoryStats_Args.peak_memory_in_bytes(args))
                            : OptionalLong.empty(),
                    new MemoryStats.Host(
                            PJRT_Executable_GetCompiledMemoryStats_Args.host_generated_code_size_in_bytes(args),
                            PJRT_Executable_GetCompiledMemoryStats_Args.host_argument_size_in_bytes(args),
                            PJRT_Executable_GetCompiledMemoryStats_Args.host_output_size_in_bytes(args),
                            PJRT_Executable_GetCompiledMemoryStats_Args.host_alias_size_in_bytes(args),
                            PJRT_Executable_GetCompiledMemoryStats_Args.host_temp_size_in_bytes(args)));
        });
    }

    /** The program after optimisation, in the plugin's format. */
    public Program optimizedProgram() {
        return handle.use((api, scratch, executable) -> {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment program = PJRT_Program.in(scratch);
                MemorySegment args = PJRT_Executable_OptimizedProgram_Args.in(scratch);
                PJRT_Executable_OptimizedProgram_Args.executable(args, executable);
                PJRT_Executable_OptimizedProgram_Args.program(args, program.address());
                api.call(PjrtFunction.PJRT_Executable_OptimizedProgram, args);
                MemorySegment code = arena.allocate(Math.max(1, PJRT_Program.code_size(program)));
                PJRT_Program.code(program, code.address());
                api.call(PjrtFunction.PJRT_Executable_OptimizedProgram, args);
                return Program.of(
                        Native.string(PJRT_Program.format(program), PJRT_Program.format_size(program)),
                        code.asSlice(0, PJRT_Program.code_size(program)).toArray(ValueLayout.JAVA_BYTE));
            }
        });
    }

    /**
     * The parameters on one device, in order, as the program after optimisation has them; one that is a token, or dynamic, or a tuple
     * within a tuple, is empty.
     *
     * @throws UsageException.Unsupported if that program is not HLO
     */
    public List<Optional<Shape>> parameters() {
        return parameters(optimizedProgram());
    }

    static List<Optional<Shape>> parameters(Program program) {
        return switch (program.format()) {
            case "hlo" -> EntryLayout.parameters(program.code(), false);
            case "hlo_with_config" -> EntryLayout.parameters(program.code(), true);
            default ->
                throw new UsageException.Unsupported(
                        "a program in the format '" + program.format() + "' does not tell its parameters");
        };
    }

    /** The options it was compiled with, as a serialized {@code CompileOptionsProto} (plugins since 0.87). */
    public byte[] compileOptions() {
        return handle.use((api, scratch, executable) -> {
            MemorySegment args = PJRT_Executable_GetCompileOptions_Args.in(scratch);
            PJRT_Executable_GetCompileOptions_Args.executable(args, executable);
            api.call(PjrtFunction.PJRT_Executable_GetCompileOptions, args);
            try {
                return Native.bytes(
                        PJRT_Executable_GetCompileOptions_Args.serialized_bytes(args),
                        PJRT_Executable_GetCompileOptions_Args.serialized_bytes_size(args));
            } finally {
                Native.free(
                        PJRT_Executable_GetCompileOptions_Args.serialized_compile_options_deleter(args),
                        PJRT_Executable_GetCompileOptions_Args.serialized_compile_options(args));
            }
        });
    }

    /** The executable in an envelope that says for which platform and version it is: {@link SerializedExecutable}. */
    public SerializedExecutable serialize() {
        return new SerializedExecutable(platform, serializeBare());
    }

    /** The executable as bytes of the plugin's format, with nothing that tells what they are. */
    public byte[] serializeBare() {
        return handle.use((api, scratch, executable) -> {
            MemorySegment args = PJRT_Executable_Serialize_Args.in(scratch);
            PJRT_Executable_Serialize_Args.executable(args, executable);
            api.call(PjrtFunction.PJRT_Executable_Serialize, args);
            try {
                return Native.bytes(
                        PJRT_Executable_Serialize_Args.serialized_bytes(args),
                        PJRT_Executable_Serialize_Args.serialized_bytes_size(args));
            } finally {
                Native.free(
                        PJRT_Executable_Serialize_Args.serialized_executable_deleter(args),
                        PJRT_Executable_Serialize_Args.serialized_executable(args));
            }
        });
    }

    /** The layout of each result (the layouts extension). */
    public List<Layout> outputLayouts() {
        return handle.use(Layouts::ofOutputs).stream().map(Layout::parse).toList();
    }

    /** The layout of each parameter (the layouts extension, since 0.93). */
    public List<Layout> parameterLayouts() {
        return handle.use(Layouts::ofParameters).stream().map(Layout::parse).toList();
    }

    /** The sharding of each parameter as a serialized {@code OpSharding}; empty where there is none (the shardings extension). */
    public List<byte[]> parameterShardings() {
        return handle.use((api, scratch, executable) -> {
            MemorySegment args = PJRT_Shardings_PJRT_Executable_ParameterShardings_Args.in(scratch);
            PJRT_Shardings_PJRT_Executable_ParameterShardings_Args.executable(args, executable);
            api.extension(Extension.SHARDINGS)
                    .call(PJRT_Shardings_Extension.PJRT_Shardings_PJRT_Executable_ParameterShardings, args);
            return blobs(
                    PJRT_Shardings_PJRT_Executable_ParameterShardings_Args.shardings(args),
                    PJRT_Shardings_PJRT_Executable_ParameterShardings_Args.sharding_sizes(args),
                    PJRT_Shardings_PJRT_Executable_ParameterShardings_Args.num_parameters(args));
        });
    }

    /** The sharding of each result as a serialized {@code OpSharding}; empty where there is none (the shardings extension). */
    public List<byte[]> outputShardings() {
        return handle.use((api, scratch, executable) -> {
            MemorySegment args = PJRT_Shardings_PJRT_Executable_OutputShardings_Args.in(scratch);
            PJRT_Shardings_PJRT_Executable_OutputShardings_Args.executable(args, executable);
            api.extension(Extension.SHARDINGS)
                    .call(PJRT_Shardings_Extension.PJRT_Shardings_PJRT_Executable_OutputShardings, args);
            return blobs(
                    PJRT_Shardings_PJRT_Executable_OutputShardings_Args.shardings(args),
                    PJRT_Shardings_PJRT_Executable_OutputShardings_Args.sharding_sizes(args),
                    PJRT_Shardings_PJRT_Executable_OutputShardings_Args.num_outputs(args));
        });
    }

    private static List<byte[]> blobs(long pointers, long sizes, long count) {
        if (pointers == 0) {
            return List.of();
        }
        long[] addresses = Native.longs(pointers, count);
        long[] lengths = Native.longs(sizes, count);
        List<byte[]> blobs = new ArrayList<>();
        for (int i = 0; i < addresses.length; i++) {
            blobs.add(Native.bytes(addresses[i], lengths[i]));
        }
        return blobs;
    }

    /** The ABI version that it was compiled against, as a serialized proto (the ABI version extension). */
    public byte[] abiVersion() {
        return handle.use(AbiVersions::ofExecutable);
    }

    /** What the plugin keeps of it beside the code, as a serialized proto (the executable metadata extension). */
    public byte[] metadata() {
        return handle.use((api, scratch, executable) -> {
            MemorySegment metadata = PJRT_ExecutableMetadata.in(scratch);
            MemorySegment args = PJRT_ExecutableMetadata_GetExecutableMetadata_Args.in(scratch);
            PJRT_ExecutableMetadata_GetExecutableMetadata_Args.executable(args, executable);
            PJRT_ExecutableMetadata_GetExecutableMetadata_Args.metadata(args, metadata.address());
            Api.Table table = api.extension(Extension.EXECUTABLE_METADATA);
            table.call(PJRT_ExecutableMetadata_Extension.get_executable_metadata, args);
            long given = PJRT_ExecutableMetadata_GetExecutableMetadata_Args.metadata(args);
            MemorySegment answer = Native.at(given, PJRT_ExecutableMetadata.SIZE);
            byte[] bytes = Native.bytes(
                    PJRT_ExecutableMetadata.serialized_metadata(answer),
                    PJRT_ExecutableMetadata.serialized_metadata_size(answer));
            if (given != metadata.address()) {
                MemorySegment destroy = PJRT_ExecutableMetadata_DestroySerializedMetadata_Args.in(scratch);
                PJRT_ExecutableMetadata_DestroySerializedMetadata_Args.metadata(destroy, given);
                table.callVoid(PJRT_ExecutableMetadata_Extension.destroy_serialized_metadata, destroy);
            }
            return bytes;
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
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.Extension;
import dev.slipway.runtime.UsageException;
import dev.slipway.runtime.internal.abi.PJRT_PhaseCompile_C_Buffers_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_PhaseCompile_Destroy_Compiler_Args;
import dev.slipway.runtime.internal.abi.PJRT_PhaseCompile_Extension;
import dev.slipway.runtime.internal.abi.PJRT_PhaseCompile_Get_Compiler_Args;
import dev.slipway.runtime.internal.abi.PJRT_PhaseCompile_Get_PhaseNames_Args;
import dev.slipway.runtime.internal.abi.PJRT_PhaseCompile_Run_Phase_Args;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongFunction;

/** The phase compile extension: a compiler, phase by phase. */
public final class PhaseCompiler {

    private PhaseCompiler() {}

    private static <T> T with(Api.Table table, Scratch scratch, LongFunction<T> use) {
        MemorySegment get = PJRT_PhaseCompile_Get_Compiler_Args.in(scratch);
        table.call(PJRT_PhaseCompile_Extension.phase_compile_get_compiler, get);
        long compiler = PJRT_PhaseCompile_Get_Compiler_Args.phase_compiler(get);
        try {
            return use.apply(compiler);
        } finally {
            MemorySegment destroy = PJRT_PhaseCompile_Destroy_Compiler_Args.in(scratch);
            PJRT_PhaseCompile_Destroy_Compiler_Args.phase_compiler(destroy, compiler);
            table.callVoid(PJRT_PhaseCompile_Extension.phase_compile_destroy_compiler, destroy);
        }
    }

    /** The names of the phases, in order. */
    public static List<String> names(Api api, Scratch scratch) {
        Api.Table table = api.extension(Extension.PHASE_COMPILE);
        return with(table, scratch, compiler -> names(table, scratch, compiler));
    }

    private static List<String> names(Api.Table table, Scratch scratch, long compiler) {
        MemorySegment args = PJRT_PhaseCompile_Get_PhaseNames_Args.in(scratch);
        PJRT_PhaseCompile_Get_PhaseNames_Args.phase_compiler(args, compiler);
        table.call(PJRT_PhaseCompile_Extension.phase_compile_get_phase_names, args);
        return take(
                        table,
                        scratch,
                        PJRT_PhaseCompile_Get_PhaseNames_Args.phase_names(args),
                        PJRT_PhaseCompile_Get_PhaseNames_Args.phase_names_sizes(args),
                        PJRT_PhaseCompile_Get_PhaseNames_Args.num_phase_names(args))
                .stream()
                .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
                .toList();
    }

    /** The programs after {@code phases}. */
    public static List<byte[]> run(
            Api api, Scratch scratch, long topology, List<byte[]> programs, List<String> phases, byte[] options) {
        Api.Table table = api.extension(Extension.PHASE_COMPILE);
        return with(table, scratch, compiler -> {
            List<String> known = names(table, scratch, compiler);
            if (!known.containsAll(phases) || phases.isEmpty() || programs.isEmpty()) {
                throw new UsageException.BadArgument("the phases " + phases + " cannot be run on " + programs.size()
                        + " programs: there are " + known);
            }
            List<byte[]> names = phases.stream()
                    .map(name -> name.getBytes(StandardCharsets.UTF_8))
                    .toList();
            MemorySegment args = PJRT_PhaseCompile_Run_Phase_Args.in(scratch);
            PJRT_PhaseCompile_Run_Phase_Args.phase_compiler(args, compiler);
            PJRT_PhaseCompile_Run_Phase_Args.input_programs(
                    args, pointers(scratch, programs).address());
            PJRT_PhaseCompile_Run_Phase_Args.input_programs_sizes(
                    args, sizes(scratch, programs).address());
            PJRT_PhaseCompile_Run_Phase_Args.num_input_programs(args, programs.size());
            PJRT_PhaseCompile_Run_Phase_Args.phases_to_run(
                    args, pointers(scratch, names).address());
            PJRT_PhaseCompile_Run_Phase_Args.phases_to_run_sizes(
                    args, sizes(scratch, names).address());
            PJRT_PhaseCompile_Run_Phase_Args.num_phases_to_run(args, names.size());
            PJRT_PhaseCompile_Run_Phase_Args.compile_options(
                    args, Native.bytes(scratch, options).address());
            PJRT_PhaseCompile_Run_Phase_Args.compile_options_size(args, options.length);
            PJRT_PhaseCompile_Run_Phase_Args.topology(args, topology);
            table.call(PJRT_PhaseCompile_Extension.phase_compile_run_phases, args);
            return take(
                    table,
                    scratch,
                    PJRT_PhaseCompile_Run_Phase_Args.output_programs(args),
                    PJRT_PhaseCompile_Run_Phase_Args.output_programs_sizes(args),
                    PJRT_PhaseCompile_Run_Phase_Args.num_output_programs(args));
        });
    }

    private static MemorySegment pointers(Scratch scratch, List<byte[]> all) {
        return scratch.allocateFrom(
                ValueLayout.JAVA_LONG,
                all.stream()
                        .mapToLong(bytes -> scratch.allocateFrom(
                                        new String(bytes, StandardCharsets.ISO_8859_1), StandardCharsets.ISO_8859_1)
                                .address())
                        .toArray());
    }

    private static MemorySegment sizes(Scratch scratch, List<byte[]> all) {
        return scratch.allocateFrom(
                ValueLayout.JAVA_LONG,
                all.stream().mapToLong(bytes -> bytes.length).toArray());
    }

    /** Copies what the plugin allocated, and frees it. */
    private static List<byte[]> take(Api.Table table, Scratch scratch, long pointers, long sizes, long count) {
        List<byte[]> copies = new ArrayList<>();
        long[] addresses = Native.longs(pointers, count);
        long[] lengths = Native.longs(sizes, count);
        for (int i = 0; i < addresses.length; i++) {
            copies.add(Native.bytes(addresses[i], lengths[i]));
        }
        if (count > 0) {
            MemorySegment destroy = PJRT_PhaseCompile_C_Buffers_Destroy_Args.in(scratch);
            PJRT_PhaseCompile_C_Buffers_Destroy_Args.char_buffers(destroy, pointers);
            PJRT_PhaseCompile_C_Buffers_Destroy_Args.char_buffer_sizes(destroy, sizes);
            PJRT_PhaseCompile_C_Buffers_Destroy_Args.num_char_buffers(destroy, count);
            table.callVoid(PJRT_PhaseCompile_Extension.phase_compile_c_buffers_destroy, destroy);
        }
        return copies;
    }
}

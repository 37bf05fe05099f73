// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_Triton_Compile_Args;
import dev.slipway.runtime.internal.abi.PJRT_Triton_Extension;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;

/**
 * A kernel that a plugin's Triton compiler made (the Triton extension, {@link Plugin#compileTriton}).
 *
 * @param assembly the kernel in the GPU's assembly; empty if the plugin gives a file
 * @param path of the kernel's file; empty if the plugin gives assembly
 * @param sharedMemoryBytes what a block of threads needs
 */
public record TritonKernel(String assembly, String path, long sharedMemoryBytes) {

    /**
     * How a kernel is launched.
     *
     * @param warps in a block of threads
     * @param blocks in a cluster
     * @param stages of the software pipeline
     */
    public record Launch(int warps, int blocks, int stages) {
        /**
         * A launch.
         *
         * @throws UsageException.BadArgument if a figure is below 1
         */
        public Launch {
            if (warps < 1 || blocks < 1 || stages < 1) {
                throw new UsageException.BadArgument(warps + " warps, " + blocks + " blocks and " + stages
                        + " stages are no launch: 1 or more of each are needed");
            }
        }
    }

    static TritonKernel compile(Plugin plugin, String module, String architecture, Launch launch) {
        byte[] text = module.getBytes(StandardCharsets.UTF_8);
        byte[] name = architecture.getBytes(StandardCharsets.UTF_8);
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_Triton_Compile_Args.in(scratch);
            PJRT_Triton_Compile_Args.module(args, Native.bytes(scratch, text).address());
            PJRT_Triton_Compile_Args.module_size(args, text.length);
            PJRT_Triton_Compile_Args.arch_name(args, Native.bytes(scratch, name).address());
            PJRT_Triton_Compile_Args.arch_name_size(args, name.length);
            PJRT_Triton_Compile_Args.num_warps(args, launch.warps());
            PJRT_Triton_Compile_Args.num_ctas(args, launch.blocks());
            PJRT_Triton_Compile_Args.num_stages(args, launch.stages());
            plugin.api().extension(Extension.TRITON).call(PJRT_Triton_Extension.compile, args);
            // Both texts are made by the plugin's allocator, and the extension has no function that frees them: they
            // stay.
            return new TritonKernel(
                    Native.string(PJRT_Triton_Compile_Args.out_asm(args), PJRT_Triton_Compile_Args.out_asm_size(args)),
                    Native.string(
                            PJRT_Triton_Compile_Args.out_path(args), PJRT_Triton_Compile_Args.out_path_size(args)),
                    PJRT_Triton_Compile_Args.out_smem_bytes(args));
        }
    }
}

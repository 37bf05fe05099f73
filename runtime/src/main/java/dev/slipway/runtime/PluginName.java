// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** The plugins that have a name here: which packages they come from, and what they need in the C environment. */
public enum PluginName {
    /** Compiles for and runs on this machine's processor. */
    CPU("cpu", List.of(PipPackage.CPU)),
    /** Compiles for TPUs, which need not be there. */
    TPU("tpu", List.of(PipPackage.TPU)),
    /** Compiles for NVIDIA GPUs, which need not be there. */
    CUDA("cuda", List.of(PipPackage.CUDA, PipPackage.CUDA_NVCC, PipPackage.CUDA_NVVM)),
    /** The CPU plugin of PJRT 0.106, for tests of older versions. */
    CPU_0_106("cpu-0.106", List.of(PipPackage.CPU_0_106)),
    /** The CPU plugin of PJRT 0.81, for tests of older versions. */
    CPU_0_81("cpu-0.81", List.of(PipPackage.CPU_0_81));

    private final String text;

    @SuppressWarnings("ImmutableEnumChecker") // List.of
    private final List<PipPackage> packages;

    PluginName(String text, List<PipPackage> packages) {
        this.text = text;
        this.packages = packages;
    }

    /** As users write it. */
    public String text() {
        return text;
    }

    /** The packages, that of the library first. */
    public List<PipPackage> packages() {
        return packages;
    }

    /** The name of the library's file. */
    public String library() {
        String file = packages.getFirst().files().getFirst();
        return file.substring(file.lastIndexOf('/') + 1);
    }

    /** The plugin of that name, in any case. */
    public static Optional<PluginName> of(String text) {
        for (PluginName name : values()) {
            if (name.text.equals(text.toLowerCase(Locale.ROOT))) {
                return Optional.of(name);
            }
        }
        return Optional.empty();
    }

    /**
     * What the C environment must have before it is loaded.
     *
     * @param store where its packages are
     * @param environment what is set now: its values are kept and added to
     */
    public Map<String, String> environment(PackageStore store, Map<String, String> environment) {
        return switch (this) {
            case CPU, CPU_0_106, CPU_0_81 -> Map.of();
            case TPU -> Environment.DEVICELESS_TPU;
            case CUDA ->
                store.find(PipPackage.CUDA_NVCC)
                        .flatMap(nvcc -> store.find(PipPackage.CUDA_NVVM)
                                .map(nvvm -> Map.of(
                                        "PATH",
                                        nvcc.resolve("nvidia/cu13/bin") + ":" + environment.getOrDefault("PATH", ""),
                                        "XLA_FLAGS",
                                        (environment.getOrDefault("XLA_FLAGS", "") + " --xla_gpu_cuda_data_dir="
                                                        + nvvm.resolve("nvidia/cu13"))
                                                .strip())))
                        .orElse(Map.of());
        };
    }
}

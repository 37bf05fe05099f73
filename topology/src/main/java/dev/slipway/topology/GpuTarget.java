// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology;

import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * What XLA's GPU compiler has to know of a GPU to compile for it without one: the figures of a {@code
 * GpuTargetConfigProto}.
 *
 * @param model the name that the driver reports, such as {@code NVIDIA H100 80GB HBM3}
 * @param capability CUDA compute capability such as {@code 9.0a} (the letter stands for accelerated features), or an AMD
 *     architecture such as {@code gfx942:sramecc+:xnack-}
 * @param cores streaming multiprocessors (compute units)
 * @param fpusPerCore single-precision units of one core
 * @param clockGhz boost clock
 * @param memoryBytes device memory as the driver reports it
 * @param memoryBytesPerSecond device memory bandwidth
 * @param l2Bytes second-level cache
 * @param sharedBytesPerCore shared memory of one core
 * @param sharedBytesPerBlock shared memory that a block gets without asking
 * @param sharedBytesPerBlockOptIn shared memory that a block can ask for
 * @param threadsPerCore threads that one core can hold
 * @param threadsPerWarp threads that step together
 * @param registersPerCore 32-bit registers of one core
 * @param matrixClockGhz clock of the matrix units under load; 0 where XLA has no figure
 * @param matrixHalfOpsPerClock 16-bit multiply-adds of one of the core's four matrix units per clock; 0 as above
 * @param activeLinks NVLinks in use; 0 for none
 */
public record GpuTarget(
        String model,
        String capability,
        int cores,
        int fpusPerCore,
        double clockGhz,
        long memoryBytes,
        long memoryBytesPerSecond,
        long l2Bytes,
        int sharedBytesPerCore,
        int sharedBytesPerBlock,
        int sharedBytesPerBlockOptIn,
        int threadsPerCore,
        int threadsPerWarp,
        int registersPerCore,
        double matrixClockGhz,
        int matrixHalfOpsPerClock,
        int activeLinks) {

    private static final String DNN_VERSION = "9.10.0";

    /**
     * @throws InvalidTopologyException if the capability is none, or a figure is below 0 or without end, on which
     *     compilers may abort
     */
    public GpuTarget {
        if (!isCapability(capability)) {
            throw new InvalidTopologyException(
                    "Chip %s has capability \"%s\": one like 9.0, 9.0a or gfx942 was expected"
                            .formatted(model, capability));
        }
        ChipSpec.figure(model, "cores", cores);
        ChipSpec.figure(model, "fpus_per_core", fpusPerCore);
        ChipSpec.figure(model, "clock_ghz", clockGhz);
        ChipSpec.figure(model, "hbm_bytes", memoryBytes);
        ChipSpec.figure(model, "hbm_bytes_per_second", memoryBytesPerSecond);
        ChipSpec.figure(model, "l2_bytes", l2Bytes);
        ChipSpec.figure(model, "shared_bytes_per_core", sharedBytesPerCore);
        ChipSpec.figure(model, "shared_bytes_per_block", sharedBytesPerBlock);
        ChipSpec.figure(model, "shared_bytes_per_block_optin", sharedBytesPerBlockOptIn);
        ChipSpec.figure(model, "threads_per_core", threadsPerCore);
        ChipSpec.figure(model, "threads_per_warp", threadsPerWarp);
        ChipSpec.figure(model, "registers_per_core", registersPerCore);
        ChipSpec.figure(model, "matrix_clock_ghz", matrixClockGhz);
        ChipSpec.figure(model, "matrix_half_ops_per_clock", matrixHalfOpsPerClock);
        ChipSpec.figure(model, "active_links", activeLinks);
    }

    /** Whether this is one of AMD's. */
    public boolean isRocm() {
        return capability.startsWith("gfx");
    }

    /** The {@code GpuTargetConfigProto} in protobuf's text form, as the plugin's {@code target_config} option takes it. */
    public String toTextProto() {
        StringBuilder out = new StringBuilder(2048);
        out.append("gpu_device_info {\n");
        field(out, "name", quoted(model));
        field(out, "threads_per_block_limit", 1024);
        field(out, "threads_per_warp", threadsPerWarp);
        field(out, "shared_memory_per_block", sharedBytesPerBlock);
        field(out, "shared_memory_per_core", sharedBytesPerCore);
        field(out, "shared_memory_per_block_optin", sharedBytesPerBlockOptIn);
        field(out, "threads_per_core_limit", threadsPerCore);
        field(out, "core_count", cores);
        field(out, "fpus_per_core", fpusPerCore);
        field(out, "block_dim_limit_x", Integer.MAX_VALUE);
        field(out, "block_dim_limit_y", 65535);
        field(out, "block_dim_limit_z", 65535);
        field(out, "thread_dim_limit_x", 1024);
        field(out, "thread_dim_limit_y", 1024);
        field(out, "thread_dim_limit_z", isRocm() ? 1024 : 64);
        field(out, "memory_bandwidth", memoryBytesPerSecond);
        field(out, "l2_cache_size", l2Bytes);
        field(out, "clock_rate_ghz", clockGhz);
        field(out, "device_memory_size", memoryBytes);
        field(out, "registers_per_core_limit", registersPerCore);
        field(out, "registers_per_block_limit", registersPerCore);
        field(out, "device_address_bits", 64);
        if (isRocm()) {
            out.append("  rocm_compute_capability { gcn_arch_name: ")
                    .append(quoted(capability))
                    .append(" }\n");
        } else {
            appendCuda(out);
        }
        out.append("}\n");
        out.append("platform_name: ").append(isRocm() ? "\"ROCM\"" : "\"CUDA\"").append('\n');
        if (!isRocm()) {
            out.append("dnn_version_info { major: 9 minor: 10 patch: 0 }\n");
        }
        out.append("device_description_str: ").append(quoted(model)).append('\n');
        return out.toString();
    }

    private void appendCuda(StringBuilder out) {
        boolean accelerated = capability.endsWith("a");
        String[] version =
                (accelerated ? capability.substring(0, capability.length() - 1) : capability).split("\\.", -1);
        out.append("  cuda_compute_capability { major: ")
                .append(version[0])
                .append(" minor: ")
                .append(version[1])
                .append(" feature_extension: ")
                .append(accelerated ? "ACCELERATED_FEATURES" : "NONE")
                .append(" }\n");
        field(out, "dnn_version", quoted(DNN_VERSION));
        if (activeLinks > 0) {
            out.append("  device_interconnect_info { active_links: ")
                    .append(activeLinks)
                    .append(" }\n");
        }
        if (Integer.parseInt(version[0]) >= 9 && activeLinks > 0) {
            field(out, "collective_memory_granularity", 2 << 20);
        }
        if (matrixHalfOpsPerClock > 0) {
            appendRates(out, Integer.parseInt(version[0]) >= 10);
        }
    }

    /**
     * The rates by element type (the keys are XLA's {@code PrimitiveType} numbers). All of them follow from the 16-bit
     * rate: 8-bit types run twice as fast and tf32 half as fast, and from Blackwell on 4-bit types four times.
     */
    private void appendRates(StringBuilder out, boolean blackwell) {
        out.append("  scalar_unit_description {\n");
        for (int type : new int[] {S32, S64, F16, F32, F64, BF16}) {
            boolean full = type == F16 || type == F32 || type == BF16;
            boolean packed = !blackwell && (type == F16 || type == BF16);
            rate(out, type, clockGhz, full ? 128 : 64, packed ? 2 : 1);
        }
        out.append("  }\n  matrix_unit_description {\n");
        for (int type : EIGHT_BIT) {
            rate(out, type, matrixClockGhz, 4, 2 * matrixHalfOpsPerClock);
        }
        rate(out, F16, matrixClockGhz, 4, matrixHalfOpsPerClock);
        rate(out, BF16, matrixClockGhz, 4, matrixHalfOpsPerClock);
        rate(out, F32, matrixClockGhz, 4, matrixHalfOpsPerClock / 2);
        rate(out, F64, clockGhz, 4, blackwell ? 16 : 32);
        if (blackwell) {
            rate(out, F4E2M1FN, matrixClockGhz, 4, 4 * matrixHalfOpsPerClock);
        }
        out.append("  }\n");
    }

    private static final int S32 = 4;
    private static final int S64 = 8;
    private static final int F16 = 10;
    private static final int F32 = 11;
    private static final int F64 = 12;
    private static final int BF16 = 16;
    private static final int F4E2M1FN = 32;

    private static final int[] EIGHT_BIT = {2, 6, 19, 20, 23, 24, 25, 28, 29, 33, 35, 36};

    private static void rate(StringBuilder out, int type, double clock, int units, int ops) {
        out.append("    rate_infos { key: ")
                .append(type)
                .append(" value { clock_rate_ghz: ")
                .append(clock)
                .append(" units_per_core: ")
                .append(units)
                .append(" ops_per_clock: ")
                .append(ops)
                .append(" } }\n");
    }

    private static void field(StringBuilder out, String name, Object value) {
        out.append("  ").append(name).append(": ").append(value).append('\n');
    }

    /** No regular expression, as all chips of the catalogue pass here at every start. */
    private static boolean isCapability(String text) {
        if (text.startsWith("gfx")) {
            return text.length() > 3
                    && text.chars().skip(3).allMatch(c -> Character.isLetterOrDigit(c) || "_:+-".indexOf(c) >= 0);
        }
        int dot = text.indexOf('.');
        int end = text.endsWith("a") ? text.length() - 1 : text.length();
        return dot > 0 && isShortNumber(text.substring(0, dot)) && isShortNumber(text.substring(dot + 1, end));
    }

    private static boolean isShortNumber(String text) {
        return !text.isEmpty() && text.length() <= 3 && text.chars().allMatch(c -> c >= '0' && c <= '9');
    }

    /** As protobuf reads it back, whatever stands in it. */
    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            if (b >= ' ' && b <= '~' && b != '"' && b != '\\') {
                out.append((char) b);
            } else {
                out.append(String.format(Locale.ROOT, "\\%03o", b & 0xff));
            }
        }
        return out.append('"').toString();
    }
}

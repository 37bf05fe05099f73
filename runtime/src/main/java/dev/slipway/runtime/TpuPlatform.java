// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_Extension;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_GetDefaultPlatformConfig_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_GetSliceConfig_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_GetSliceConfigs_Args;
import dev.slipway.runtime.internal.abi.PJRT_TpuTopology_SliceConfig;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/** What a TPU plugin knows of a generation of TPUs (the TPU topology extension, {@link Plugin#tpuPlatform}). */
public final class TpuPlatform {

    /** More slices than any generation has. */
    private static final int MAX_SLICES = 4096;

    private final Plugin plugin;
    private final String name;

    TpuPlatform(Plugin plugin, String name) {
        if (name.isEmpty()) {
            throw new UsageException.BadArgument("a generation of TPUs has a name, as libtpu spells it");
        }
        this.plugin = plugin;
        this.name = name;
    }

    /**
     * A form that a slice comes in.
     *
     * @param dimensions chips along each axis
     * @param wraps whether the last chip of an axis is linked to the first
     * @param twisted whether the links that go round are shifted
     */
    public record Slice(List<Integer> dimensions, List<Boolean> wraps, boolean twisted) {
        public Slice {
            dimensions = List.copyOf(dimensions);
            wraps = List.copyOf(wraps);
        }

        private static Slice read(MemorySegment config) {
            int axes = Math.toIntExact(PJRT_TpuTopology_SliceConfig.dim_size(config));
            int[] sizes = PJRT_TpuTopology_SliceConfig.dimensions(config).toArray(ValueLayout.JAVA_INT);
            byte[] round = PJRT_TpuTopology_SliceConfig.wrap(config).toArray(ValueLayout.JAVA_BYTE);
            return new Slice(
                    IntStream.range(0, axes).mapToObj(i -> sizes[i]).toList(),
                    IntStream.range(0, axes).mapToObj(i -> round[i] != 0).toList(),
                    PJRT_TpuTopology_SliceConfig.twist(config));
        }
    }

    /** A machine as it is usually built. */
    public record Tray(long chipsPerTray, long trays) {}

    /** The name that this was asked for by. */
    public String name() {
        return name;
    }

    /**
     * The slice of a name, as {@code 4x4}.
     *
     * @throws StatusException if the plugin knows no such platform or slice
     */
    public Slice slice(String slice) {
        byte[] text = slice.getBytes(StandardCharsets.UTF_8);
        try (Scratch scratch = Scratch.open()) {
            byte[] platform = platform();
            MemorySegment config = configs(scratch, 1);
            MemorySegment args = PJRT_TpuTopology_GetSliceConfig_Args.in(scratch);
            PJRT_TpuTopology_GetSliceConfig_Args.platform_type_name(
                    args, Native.bytes(scratch, platform).address());
            PJRT_TpuTopology_GetSliceConfig_Args.platform_type_name_len(args, platform.length);
            PJRT_TpuTopology_GetSliceConfig_Args.slice_name(
                    args, Native.bytes(scratch, text).address());
            PJRT_TpuTopology_GetSliceConfig_Args.slice_name_len(args, text.length);
            PJRT_TpuTopology_GetSliceConfig_Args.slice_config(args, config.address());
            table().call(PJRT_TpuTopology_Extension.get_slice_config, args);
            return Slice.read(config);
        }
    }

    /**
     * All slices there are.
     *
     * @throws StatusException if the plugin knows no such platform
     */
    public List<Slice> slices() {
        try (Scratch scratch = Scratch.open()) {
            byte[] platform = platform();
            MemorySegment configs = configs(scratch, MAX_SLICES);
            MemorySegment args = PJRT_TpuTopology_GetSliceConfigs_Args.in(scratch);
            PJRT_TpuTopology_GetSliceConfigs_Args.platform_type_name(
                    args, Native.bytes(scratch, platform).address());
            PJRT_TpuTopology_GetSliceConfigs_Args.platform_type_name_len(args, platform.length);
            PJRT_TpuTopology_GetSliceConfigs_Args.slice_configs(args, configs.address());
            PJRT_TpuTopology_GetSliceConfigs_Args.max_slice_configs(args, MAX_SLICES);
            table().call(PJRT_TpuTopology_Extension.get_slice_configs, args);
            long stride = PJRT_TpuTopology_SliceConfig.LAYOUT.byteSize();
            return LongStream.range(0, PJRT_TpuTopology_GetSliceConfigs_Args.num_slice_configs(args))
                    .mapToObj(i -> Slice.read(configs.asSlice(i * stride, stride)))
                    .toList();
        }
    }

    /**
     * How a machine is usually built.
     *
     * @throws StatusException if the plugin knows no such platform
     */
    public Tray tray() {
        try (Scratch scratch = Scratch.open()) {
            byte[] platform = platform();
            MemorySegment args = PJRT_TpuTopology_GetDefaultPlatformConfig_Args.in(scratch);
            PJRT_TpuTopology_GetDefaultPlatformConfig_Args.platform_type_name(
                    args, Native.bytes(scratch, platform).address());
            PJRT_TpuTopology_GetDefaultPlatformConfig_Args.platform_type_name_len(args, platform.length);
            table().call(PJRT_TpuTopology_Extension.get_default_platform_config, args);
            return new Tray(
                    PJRT_TpuTopology_GetDefaultPlatformConfig_Args.num_chips_per_tray(args),
                    PJRT_TpuTopology_GetDefaultPlatformConfig_Args.num_trays(args));
        }
    }

    private static MemorySegment configs(Scratch scratch, int count) {
        MemorySegment configs = scratch.allocate(PJRT_TpuTopology_SliceConfig.LAYOUT, count);
        configs.fill((byte) 0);
        return configs;
    }

    private byte[] platform() {
        return name.getBytes(StandardCharsets.UTF_8);
    }

    private Api.Table table() {
        return plugin.api().extension(Extension.TPU_TOPOLOGY);
    }
}

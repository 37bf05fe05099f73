// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology;

import java.util.List;

/** What a PJRT plugin has to be told to describe a machine that is not there. */
public sealed interface PluginSpec {
    /**
     * For libtpu: the topology's name and its create options.
     *
     * @param topologyName such as {@code v5e:4x4}
     * @param chipConfigName create option {@code chip_config_name}
     * @param chipsPerHostBounds create option {@code chips_per_host_bounds}, three numbers
     * @param numSlices create option {@code num_slices}
     */
    record Tpu(String topologyName, String chipConfigName, List<Integer> chipsPerHostBounds, int numSlices)
            implements PluginSpec {}

    /**
     * For XLA's GPU plugins.
     *
     * @param topologyName a name for messages
     * @param targetConfig create option {@code target_config}: a {@code GpuTargetConfigProto} as text
     * @param topology create option {@code topology}: partitions x hosts per partition x devices per host
     */
    record Gpu(String topologyName, String targetConfig, String topology) implements PluginSpec {}

    /**
     * For XLA's CPU plugin.
     *
     * @param deviceCount client option {@code cpu_device_count}: how many virtual devices to make
     */
    record Cpu(int deviceCount) implements PluginSpec {}
}

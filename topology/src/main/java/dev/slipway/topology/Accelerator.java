// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology;

/** What the chips of one platform have and others do not: what their plugin has to be told about them. */
public sealed interface Accelerator {
    /**
     * A TPU.
     *
     * @param libtpuName the generation as libtpu spells it, such as {@code v5} for v5p
     * @param chipConfig libtpu's chip configuration: {@code megacore} joins two cores into one device
     * @param torusRank how many dimensions a slice has, 2 or 3
     * @param nameUnitsPerChip what the number in names such as {@code v5p-8} counts, per chip
     */
    record Tpu(String libtpuName, String chipConfig, int torusRank, int nameUnitsPerChip) implements Accelerator {}

    /**
     * A GPU.
     *
     * @param target what XLA's compiler has to know of it
     * @param devicesPerHost GPUs in a full host
     * @param hostsPerDomain how many hosts one fast-link (NVLink) domain can join; 1 where the domain ends at the host
     */
    record Gpu(GpuTarget target, int devicesPerHost, int hostsPerDomain) implements Accelerator {}

    /** The processor that this program runs on. */
    record Cpu() implements Accelerator {}
}

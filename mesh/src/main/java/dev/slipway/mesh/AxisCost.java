// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

import dev.slipway.mesh.internal.AxisGeometry;
import dev.slipway.topology.Accelerator;
import dev.slipway.topology.ChipSpec;
import dev.slipway.topology.Topology;

/**
 * What collectives along one axis of a mesh cost, by the alpha-beta model: a latency for each step plus bytes over
 * bandwidth. The devices that differ only in their place on the axis form a ring. The figures are those of the slowest
 * of these rings, with all of them communicating at once.
 *
 * <p>Bandwidths are those of the chip ({@link ChipSpec#sources()} cites them):
 *
 * <ul>
 *   <li>In a TPU slice a ring uses every torus dimension that it spans, in both directions where the dimension closes,
 *   and shares links with the rings that it is interleaved with. Where the devices form a closed path of neighbours, as
 *   in AXLearn's rings, that path is used if it is faster.
 *   <li>The two devices of a TPU7x chip share its links, and communicate six times as fast as over one link (Google
 *   Cloud documentation, TPU7x).
 *   <li>GPUs of one NVLink domain all reach each other in one step.
 *   <li>Across slices, each slice receives what it lacks once, over the network ports of all its hosts on the ring, and
 *       then spreads it within the slice.
 * </ul>
 *
 * <p>Steps take 1 us over ICI ("How to Scale Your Model", jax-ml/scaling-book, sharding.md, which has the bandwidth terms as
 * well); 1.9 us over NVLink, 2.5 us over PCIe and 4 us over a network (ring latencies of NCCL's tuning model, LL128 protocol,
 * NVIDIA/nccl src/graph/tuning.cc). No latency is published for Google's data-centre network; the last figure stands in
 * for it.
 *
 * @param axis the axis
 * @param size its size
 * @param inSlice how many devices of a ring share a slice; 1 where every step crosses slices
 * @param slices how many slices a ring visits
 * @param hops within a slice, the most links between neighbours of a ring; 0 for devices on one chip, or when there are none
 * @param wraps within a slice, whether the last device of a ring is as near to the first as neighbours are
 * @param iciBytesPerSecond what each device can receive from its ring within the slice
 * @param iciSteps steps of latency that an all-gather within the slice takes
 * @param allToAllBytesPerSecond the whole array's bytes over the time that an all-to-all of it takes within the slice
 * @param allToAllSteps steps of latency that an all-to-all within the slice takes
 * @param dcnBytesPerSecond what the devices of a ring in one slice can together receive from other slices
 * @param stepSeconds latency of a step within a slice
 */
public record AxisCost(
        String axis,
        int size,
        int inSlice,
        int slices,
        int hops,
        boolean wraps,
        double iciBytesPerSecond,
        int iciSteps,
        double allToAllBytesPerSecond,
        int allToAllSteps,
        double dcnBytesPerSecond,
        double stepSeconds) {

    /** What carries the traffic of an axis. On GPUs ICI stands for NVLink, or PCIe where there is none. */
    public enum Medium {
        /** One device: nothing to say. */
        NONE,
        /** The fast interconnect of a slice. */
        ICI,
        /** The data-centre network. */
        DCN,
        /** Both: a part of the axis lies within slices, another across. */
        ICI_AND_DCN
    }

    private static final double ICI_STEP = 1e-6;
    private static final double NVLINK_STEP = 1.9e-6;
    private static final double PCIE_STEP = 2.5e-6;
    private static final double NETWORK_STEP = 4e-6;

    /**
     * The cost of one axis.
     *
     * @throws MeshAxisException if the mesh has no such axis
     */
    public static AxisCost of(Mesh mesh, String axis) {
        Topology topology = mesh.topology();
        AxisGeometry geometry = AxisGeometry.of(topology, mesh.positions(), mesh.shape(), mesh.axisIndex(axis));
        double perDevice = topology.chip().dcnBytesPerSecondPerHost() / topology.devicesPerHost();
        return new AxisCost(
                axis,
                mesh.axisSize(axis),
                geometry.inSlice(),
                geometry.slices(),
                geometry.hops(),
                geometry.wraps(),
                known(geometry.bytesPerSecond()),
                geometry.steps(),
                known(geometry.allToAllBytesPerSecond()),
                geometry.allToAllSteps(),
                known(perDevice * geometry.inSlice()),
                stepSeconds(topology.chip()));
    }

    private static double known(double bytesPerSecond) {
        return bytesPerSecond == 0 ? Double.NaN : bytesPerSecond;
    }

    private static double stepSeconds(ChipSpec chip) {
        return switch (chip.accelerator()) {
            case Accelerator.Tpu _ -> ICI_STEP;
            case Accelerator.Gpu gpu -> gpu.target().activeLinks() > 0 || chip.links() > 1 ? NVLINK_STEP : PCIE_STEP;
            case Accelerator.Cpu _ -> 0;
        };
    }

    /** What carries the axis's traffic. */
    public Medium medium() {
        if (size == 1) {
            return Medium.NONE;
        }
        if (slices == 1) {
            return Medium.ICI;
        }
        return inSlice == 1 ? Medium.DCN : Medium.ICI_AND_DCN;
    }

    /**
     * Seconds until each device of a ring has the whole array of which it held one part.
     *
     * @param bytes size of the whole array
     * @return seconds; NaN where the catalogue does not know a bandwidth, as for CPUs
     */
    public double allGatherSeconds(double bytes) {
        double seconds = 0;
        if (slices > 1) {
            seconds += bytes * (slices - 1) / slices / dcnBytesPerSecond + (slices - 1) * NETWORK_STEP;
        }
        if (inSlice > 1) {
            seconds += bytes * (inSlice - 1) / inSlice / iciBytesPerSecond + iciSteps * stepSeconds;
        }
        return seconds;
    }

    /**
     * Seconds until each device of a ring has its part of the sum of the arrays that all of them hold.
     *
     * @param bytes size of one such array
     * @return seconds, as for an all-gather
     */
    public double reduceScatterSeconds(double bytes) {
        return allGatherSeconds(bytes);
    }

    /**
     * Seconds until each device of a ring has the sum of the arrays that all of them hold: a reduce-scatter, then an
     * all-gather.
     *
     * @param bytes size of one such array
     * @return seconds, as for an all-gather
     */
    public double allReduceSeconds(double bytes) {
        return 2 * allGatherSeconds(bytes);
    }

    /**
     * Seconds until an array that was divided along one dimension is divided along another.
     *
     * @param bytes size of the whole array, of which each device holds one part before and after
     * @return seconds, as for an all-gather
     */
    public double allToAllSeconds(double bytes) {
        double seconds = 0;
        if (slices > 1) {
            double held = bytes / slices;
            seconds += held * (slices - 1) / slices / dcnBytesPerSecond + NETWORK_STEP;
        }
        if (inSlice > 1) {
            seconds += bytes / slices / allToAllBytesPerSecond + allToAllSteps * stepSeconds;
        }
        return seconds;
    }
}

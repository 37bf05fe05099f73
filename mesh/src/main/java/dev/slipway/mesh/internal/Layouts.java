// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh.internal;

import dev.slipway.mesh.DeviceLayoutException;
import dev.slipway.mesh.LayoutRule;
import dev.slipway.mesh.MeshShape;
import dev.slipway.mesh.MeshShapeException;
import dev.slipway.topology.Platform;
import dev.slipway.topology.Topology;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.IntStream;

/** The device orders of whole machines: as AXLearn makes them at run time, and as JAX's own functions do. */
public final class Layouts {
    private static final int SIDE = 16;
    private static final Set<String> RING_KINDS = Set.of("TPU v5 lite", "TPU v5e", "TPU v6 lite", "TPU v6e");

    private Layouts() {}

    /** Every device as listed. */
    public static Layout asListed(Topology topology) {
        return Layout.of(IntStream.range(0, topology.deviceCount()).toArray(), LayoutRule.ROW_MAJOR);
    }

    /**
     * AXLearn's {@code create_device_mesh}, for a shape without -1.
     *
     * @throws MeshShapeException if no axis can take the slices of a plain shape
     */
    public static Layout runtime(Topology topology, MeshShape shape, List<String> axes) {
        if (topology.platform() != Platform.TPU && shape instanceof MeshShape.Plain) {
            // Hosts come one after another in the list, so JAX's row-major order is also that of any split by hosts.
            return asListed(topology);
        }
        MeshShape.Hybrid hybrid = switch (shape) {
            case MeshShape.Hybrid h -> h;
            case MeshShape.Plain(List<Integer> sizes) -> slicesOutermost(topology, sizes, axes);
        };
        int[] ici = Sizes.array(hybrid.ici());
        return layOutGranules(
                topology, ShapeInference.granules(hybrid, topology), hybrid, group -> standard(group, ici, axes));
    }

    /**
     * JAX's {@code create_device_mesh} on all devices.
     *
     * @throws MeshShapeException if the sizes do not multiply to the devices
     * @throws DeviceLayoutException if no rule serves the shape, or a torus would have to span slices
     */
    public static Layout jax(
            Topology topology, int[] shape, boolean allowSplit, boolean contiguousSubmeshes, List<String> axes) {
        return JaxLayouts.create(DeviceGroup.all(topology), shape, allowSplit, contiguousSubmeshes, axes);
    }

    /**
     * JAX's {@code create_hybrid_device_mesh}.
     *
     * @throws MeshShapeException if the sizes do not multiply to the granules, or to the devices of one
     * @throws DeviceLayoutException if the devices carry no slice index, or no rule serves the shape
     */
    public static Layout jaxHybrid(
            Topology topology,
            MeshShape.Hybrid shape,
            boolean allowSplit,
            boolean processIsGranule,
            List<String> axes) {
        if (!processIsGranule && !topology.hasSliceIndex()) {
            throw new DeviceLayoutException("The devices of " + topology.name()
                    + " (one slice) carry no slice index: take hosts as granules, or a plain shape");
        }
        int granules = processIsGranule ? topology.hostCount() : topology.slices();
        int[] dcn = Sizes.array(shape.dcn());
        if (Sizes.product(dcn) != granules) {
            throw new MeshShapeException(Sizes.describe(axes, dcn) + " (dcn) multiplies to " + Sizes.product(dcn)
                    + ", but there are " + granules + (processIsGranule ? " hosts" : " slices"));
        }
        int[] ici = Sizes.array(shape.ici());
        return layOutGranules(
                topology, granules, shape, group -> JaxLayouts.create(group, ici, allowSplit, false, axes));
    }

    /** Gives the slices of a plain shape to the first axis that can take them all. */
    private static MeshShape.Hybrid slicesOutermost(Topology topology, List<Integer> sizes, List<String> axes) {
        int slices = topology.slices();
        for (int axis = 0; axis < sizes.size(); axis++) {
            int size = sizes.get(axis);
            if (size % slices == 0) {
                int[] ici = Sizes.array(sizes);
                int[] dcn = new int[ici.length];
                Arrays.fill(dcn, 1);
                ici[axis] /= slices;
                dcn[axis] = slices;
                return new MeshShape.Hybrid(Sizes.list(ici), Sizes.list(dcn));
            }
            if (size != 1) {
                throw new MeshShapeException("Axis \"" + axes.get(axis) + "\" has size " + size + " in "
                        + Sizes.describe(axes, sizes) + ", which is no multiple of the " + slices
                        + " slices of "
                        + topology.name() + ": the first axis that is not 1 must be one, or give ici and dcn sizes");
            }
        }
        throw new MeshShapeException(
                Sizes.describe(axes, sizes) + " has no axis for the " + slices + " slices of " + topology.name());
    }

    /** AXLearn's {@code build_standard_mesh}: rings where it has them, else JAX's order with splitting. */
    private static Layout standard(DeviceGroup devices, int[] shape, List<String> axes) {
        int[] sizes = IntStream.of(shape).filter(s -> s != 1).toArray();
        if (devices.size() == SIDE * SIDE
                && sizes.length == 2
                && RING_KINDS.contains(devices.topology().chip().deviceKind())) {
            if (sizes[0] == 64 && sizes[1] == 4) {
                return rings(devices, 2);
            }
            if (sizes[0] == 32 && sizes[1] == 8) {
                return rings(devices, 4);
            }
        }
        return JaxLayouts.create(devices, shape, true, false, axes);
    }

    /** Cuts a 16x16 slice into blocks of 2 x width chips, each a ring: along one row and back along the other. */
    private static Layout rings(DeviceGroup devices, int width) {
        int[] square = JaxLayouts.create(devices, new int[] {SIDE, SIDE}, true, false, List.of("x", "y"))
                .order();
        int[] order = new int[square.length];
        int next = 0;
        for (int row = 0; row < SIDE; row += 2) {
            for (int column = 0; column < SIDE; column += width) {
                for (int i = 0; i < width; i++) {
                    order[next++] = square[row * SIDE + column + i];
                }
                for (int i = width - 1; i >= 0; i--) {
                    order[next++] = square[(row + 1) * SIDE + column + i];
                }
            }
        }
        return Layout.of(order, LayoutRule.RINGS);
    }

    /** Lays out each of the equal parts of the device list, and puts the parts on the outside of every axis. */
    private static Layout layOutGranules(
            Topology topology, int granules, MeshShape.Hybrid shape, Function<DeviceGroup, Layout> inner) {
        int size = topology.deviceCount() / granules;
        Layout first = inner.apply(new DeviceGroup(topology, 0, size));
        if (granules == 1) {
            return first;
        }
        int[] blocks = new int[topology.deviceCount()];
        for (int g = 0; g < granules; g++) {
            // Slices are alike, so one layout serves all; the hosts of one slice have coordinates of their own.
            int[] order = granules == topology.slices() || g == 0
                    ? first.order()
                    : inner.apply(new DeviceGroup(topology, g * size, size)).order();
            int shift = granules == topology.slices() ? g * size : 0;
            for (int i = 0; i < size; i++) {
                blocks[g * size + i] = order[i] + shift;
            }
        }
        int rank = shape.rank();
        int[] dims = new int[2 * rank];
        int[] axes = new int[2 * rank];
        for (int axis = 0; axis < rank; axis++) {
            dims[axis] = shape.dcn().get(axis);
            dims[rank + axis] = shape.ici().get(axis);
            axes[2 * axis] = axis;
            axes[2 * axis + 1] = rank + axis;
        }
        return Layout.of(Transposition.apply(blocks, dims, axes), first.rule(), first.assignment());
    }
}

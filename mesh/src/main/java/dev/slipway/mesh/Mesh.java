// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

import dev.slipway.mesh.internal.Layout;
import dev.slipway.mesh.internal.Layouts;
import dev.slipway.topology.Device;
import dev.slipway.topology.Topology;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The devices of a machine in an array with named axes, like JAX's {@code Mesh}. Immutable; two meshes are equal when their
 * machine, axes, shape and device order are.
 */
public final class Mesh {
    private final Topology topology;
    private final MeshSpec spec;
    private final List<Integer> shape;
    private final int[] positions;
    private final LayoutRule rule;
    private final List<List<Integer>> assignment;

    private Mesh(Topology topology, MeshSpec spec, Layout layout) {
        this.topology = topology;
        this.spec = spec;
        this.shape = spec.shape().sizes();
        this.positions = layout.order();
        this.rule = layout.rule();
        this.assignment = layout.assignment();
    }

    /** A mesh in {@link DeviceOrder#RUNTIME} order. */
    public static Mesh of(Topology topology, MeshSpec spec) {
        return of(topology, spec, DeviceOrder.RUNTIME);
    }

    /**
     * Lays a spec on a machine.
     *
     * @throws MeshShapeException if the sizes do not fit the machine; see {@link MeshSpec#resolve}
     * @throws DeviceLayoutException if {@code RUNTIME} order has no layout for the shape
     */
    public static Mesh of(Topology topology, MeshSpec spec, DeviceOrder order) {
        MeshSpec resolved = spec.resolve(topology);
        Layout layout = switch (order) {
            case TOPOLOGY -> Layouts.asListed(topology);
            case RUNTIME -> Layouts.runtime(topology, resolved.shape(), resolved.axes());
        };
        return new Mesh(topology, resolved, layout);
    }

    /** AXLearn's {@code reshape_devices}: {@link DeviceOrder#TOPOLOGY} order. */
    public static Mesh reshapeDevices(Topology topology, MeshSpec spec) {
        return of(topology, spec, DeviceOrder.TOPOLOGY);
    }

    /**
     * JAX's {@code mesh_utils.create_device_mesh}, with its flags.
     *
     * @param sizes one size for each axis; -1 is not inferred
     * @param allowSplitPhysicalAxes whether an axis may take a part of a torus axis
     * @param contiguousSubmeshes whether each host's devices must stay together
     * @throws MeshAxisException if the axes are not as many as the sizes
     * @throws MeshShapeException if the sizes do not multiply to the devices
     * @throws DeviceLayoutException if no rule serves the shape
     */
    public static Mesh jaxDeviceMesh(
            Topology topology,
            List<String> axes,
            List<Integer> sizes,
            boolean allowSplitPhysicalAxes,
            boolean contiguousSubmeshes) {
        if (sizes.isEmpty()) {
            throw new MeshAxisException(
                    "No sizes for the axes " + axes + ": JAX's mesh_utils infer no size, so each needs one");
        }
        MeshSpec spec = new MeshSpec(axes, new MeshShape.Plain(requireKnown(sizes)));
        int[] shape = spec.resolve(topology).shape().sizes().stream()
                .mapToInt(Integer::intValue)
                .toArray();
        return new Mesh(
                topology, spec, Layouts.jax(topology, shape, allowSplitPhysicalAxes, contiguousSubmeshes, spec.axes()));
    }

    /**
     * JAX's {@code mesh_utils.create_hybrid_device_mesh}, with its flags.
     *
     * @param shape sizes within and across granules; -1 is not inferred
     * @param allowSplitPhysicalAxes whether an axis may take a part of a torus axis
     * @param processIsGranule whether a granule is what one host holds, rather than a slice
     * @throws MeshAxisException if the axes are not as many as the sizes
     * @throws MeshShapeException if the sizes do not multiply to the granules and the devices of one
     * @throws DeviceLayoutException if the devices carry no slice index and slices were to be granules, or no rule serves
     *     the shape
     */
    public static Mesh jaxHybridDeviceMesh(
            Topology topology,
            List<String> axes,
            MeshShape.Hybrid shape,
            boolean allowSplitPhysicalAxes,
            boolean processIsGranule) {
        requireKnown(shape.ici());
        requireKnown(shape.dcn());
        MeshSpec spec = new MeshSpec(axes, shape);
        return new Mesh(
                topology,
                spec,
                Layouts.jaxHybrid(topology, shape, allowSplitPhysicalAxes, processIsGranule, spec.axes()));
    }

    private static List<Integer> requireKnown(List<Integer> sizes) {
        for (int size : sizes) {
            if (size < 1) {
                throw new MeshShapeException("Size " + size + " in " + sizes
                        + ": JAX's mesh_utils infer no size, so each has to be at least 1");
            }
        }
        return sizes;
    }

    public Topology topology() {
        return topology;
    }

    public List<String> axes() {
        return spec.axes();
    }

    /** The size of each axis. */
    public List<Integer> shape() {
        return shape;
    }

    /** The axes and shape with every -1 replaced; a hybrid shape stays in its two parts. */
    public MeshSpec spec() {
        return spec;
    }

    /** The number of devices. */
    public int size() {
        return positions.length;
    }

    /**
     * The size of one axis.
     *
     * @throws MeshAxisException if there is no such axis
     */
    public int axisSize(String axis) {
        return shape.get(axisIndex(axis));
    }

    /**
     * The place of one axis.
     *
     * @throws MeshAxisException if there is no such axis
     */
    public int axisIndex(String axis) {
        int index = spec.axes().indexOf(axis);
        if (index < 0) {
            throw new MeshAxisException(
                    "No axis \"" + axis + "\" in the mesh " + this + ": its axes are " + spec.axes());
        }
        return index;
    }

    /** The ids of the devices in mesh order, last axis fastest: the device assignment of a program. */
    public int[] deviceIds() {
        int[] listed = topology.deviceIds();
        int[] ids = new int[positions.length];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = listed[positions[i]];
        }
        return ids;
    }

    /** Places in {@link Topology#devices()}, in mesh order. */
    public int[] positions() {
        return positions.clone();
    }

    /** The devices in mesh order. */
    public List<Device> devices() {
        return IntStream.of(positions).mapToObj(topology::device).toList();
    }

    /**
     * The device at mesh coordinates, one for each axis.
     *
     * @throws IndexOutOfBoundsException if a coordinate is outside its axis
     */
    public Device deviceAt(int... coordinates) {
        if (coordinates.length != shape.size()) {
            throw new IndexOutOfBoundsException(
                    coordinates.length + " coordinates for a mesh of " + shape.size() + " axes");
        }
        int index = 0;
        for (int axis = 0; axis < coordinates.length; axis++) {
            index = index * shape.get(axis) + Objects.checkIndex(coordinates[axis], shape.get(axis));
        }
        return topology.device(positions[index]);
    }

    /** What put the devices in this order. */
    public LayoutRule rule() {
        return rule;
    }

    /**
     * For the torus rules, which extent of each physical axis of a slice (rows: x, y, z and, for chips with several devices,
     * the device on the chip) each logical axis (columns) took; else empty.
     */
    public List<List<Integer>> assignment() {
        return assignment;
    }

    /**
     * Whether stepping along the ICI part of some axis leaves a slice. Never so in {@link DeviceOrder#RUNTIME} order; in
     * {@link DeviceOrder#TOPOLOGY} order of a hybrid shape it often is, and such a program is slow. A plain shape has no ICI
     * part to speak of, and gives false.
     */
    public boolean crossesSlicesWithinIci() {
        if (!(spec.shape() instanceof MeshShape.Hybrid hybrid)) {
            return false;
        }
        int rank = shape.size();
        int stride = 1;
        for (int axis = rank - 1; axis >= 0; axis--) {
            int size = shape.get(axis);
            int ici = hybrid.ici().get(axis);
            for (int i = 0; i < positions.length; i++) {
                boolean lastOfBlock = (i / stride % size + 1) % ici == 0;
                if (!lastOfBlock && topology.sliceAt(positions[i]) != topology.sliceAt(positions[i + stride])) {
                    return true;
                }
            }
            stride *= size;
        }
        return false;
    }

    /** What collectives along each axis cost, in the order of the axes. */
    public List<AxisCost> axisCosts() {
        return axes().stream().map(axis -> AxisCost.of(this, axis)).toList();
    }

    /** The mesh as the Shardy dialect writes it: {@code <["data"=2, "model"=4]>}. */
    public String sdyText() {
        return IntStream.range(0, shape.size())
                .mapToObj(i -> "\"" + axes().get(i) + "\"=" + shape.get(i))
                .collect(Collectors.joining(", ", "<[", "]>"));
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof Mesh other
                && topology.equals(other.topology)
                && spec.axes().equals(other.spec.axes())
                && shape.equals(other.shape)
                && Arrays.equals(positions, other.positions);
    }

    @Override
    public int hashCode() {
        return Objects.hash(topology, spec.axes(), shape, Arrays.hashCode(positions));
    }

    /** Axes and sizes, as in {@code (data=2, model=4)}. */
    @Override
    public String toString() {
        return IntStream.range(0, shape.size())
                .mapToObj(i -> axes().get(i) + "=" + shape.get(i))
                .collect(Collectors.joining(", ", "(", ")"));
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

import dev.slipway.mesh.internal.ShapeInference;
import dev.slipway.topology.Topology;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * A mesh before it is laid on a machine: named axes, and a shape.
 *
 * @param axes axis names, distinct, the one with the most traffic last
 * @param shape their sizes
 */
public record MeshSpec(List<String> axes, MeshShape shape) {
    /** The axis names that AXLearn takes where none are given. */
    public static final List<String> DEFAULT_AXES = List.of("data", "model");

    /** @throws MeshAxisException if there is no axis, a name is blank or comes twice, or the shape has another rank */
    public MeshSpec {
        axes = List.copyOf(axes);
        if (axes.isEmpty()) {
            throw new MeshAxisException("A mesh needs at least one axis");
        }
        Set<String> seen = new HashSet<>();
        for (String axis : axes) {
            if (axis.isBlank()) {
                throw new MeshAxisException("Axis names " + axes + " contain an empty one");
            }
            if (axis.contains(":(")) {
                throw new MeshAxisException("Axis \"" + axis + "\": \":(\" begins a part of an axis, as in model:(1)8");
            }
            if (!seen.add(axis)) {
                throw new MeshAxisException("Axis \"" + axis + "\" comes twice in " + axes);
            }
        }
        boolean absent = shape instanceof MeshShape.Plain && shape.rank() == 0;
        if (!absent && shape.rank() != axes.size()) {
            throw new MeshAxisException("Shape " + shape + " has " + shape.rank()
                    + (shape.rank() == 1 ? " size" : " sizes") + ", but there "
                    + (axes.size() == 1 ? "is 1 axis name " : "are " + axes.size() + " axis names ") + axes
                    + "; give a size for each, of which one may be -1");
        }
    }

    /** Axes data and model, with all devices on data. */
    public static MeshSpec byDefault() {
        return new MeshSpec(DEFAULT_AXES, MeshShape.of());
    }

    public static MeshSpec of(List<String> axes, int... sizes) {
        return new MeshSpec(axes, MeshShape.of(sizes));
    }

    public static MeshSpec hybrid(List<String> axes, List<Integer> ici, List<Integer> dcn) {
        return new MeshSpec(axes, new MeshShape.Hybrid(ici, dcn));
    }

    /**
     * This spec with its sizes worked out for a machine: an absent shape becomes [n, 1, ...] and each -1 what is left of the
     * devices (of a slice's devices in the ICI part, of the slices in the DCN part).
     *
     * @throws MeshShapeException if a size is 0 or negative, there is more than one -1 in one list, what is left does not
     *     divide, or the sizes do not multiply to the number of devices (in a hybrid shape: of devices in a slice, and of
     *     slices)
     */
    public MeshSpec resolve(Topology topology) {
        return new MeshSpec(axes, ShapeInference.resolve(this, topology));
    }

    /** All devices on the first axis, and 1 on the others. */
    public static List<Integer> onFirstAxis(int devices, int rank) {
        return IntStream.range(0, rank).map(i -> i == 0 ? devices : 1).boxed().toList();
    }
}

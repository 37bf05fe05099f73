// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh.internal;

import dev.slipway.mesh.MeshShape;
import dev.slipway.mesh.MeshShapeException;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.topology.Platform;
import dev.slipway.topology.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Works out the sizes of a mesh's axes. */
public final class ShapeInference {
    private ShapeInference() {}

    /**
     * The shape with every size worked out.
     *
     * @throws MeshShapeException if the sizes do not fit the machine
     */
    public static MeshShape resolve(MeshSpec spec, Topology topology) {
        List<String> axes = spec.axes();
        return switch (spec.shape()) {
            case MeshShape.Plain(List<Integer> sizes)
            when sizes.isEmpty() -> new MeshShape.Plain(MeshSpec.onFirstAxis(topology.deviceCount(), axes.size()));
            case MeshShape.Plain(List<Integer> sizes) ->
                new MeshShape.Plain(fit(
                        axes,
                        sizes,
                        topology.deviceCount(),
                        () -> describe(topology) + " has " + count(topology.deviceCount(), "device")));
            case MeshShape.Hybrid hybrid -> {
                int parts = granules(hybrid, topology);
                int perPart = topology.deviceCount() / parts;
                String part = parts == topology.slices() ? "slice" : "host";
                yield new MeshShape.Hybrid(
                        fit(
                                axes,
                                hybrid.ici(),
                                perPart,
                                () -> "one " + part + " of " + topology.name() + " has " + count(perPart, "device")
                                        + " (ici)"),
                        fit(
                                axes,
                                hybrid.dcn(),
                                parts,
                                () -> topology.name() + " was given " + count(parts, part) + " (dcn)"));
            }
        };
    }

    /**
     * How many parts of a machine the DCN sizes of a shape count: its slices. On GPUs JAX and AXLearn count hosts even where
     * several share an NVLink domain, so a shape whose sizes multiply to the hosts is taken at its word.
     */
    public static int granules(MeshShape.Hybrid shape, Topology topology) {
        if (topology.platform() == Platform.GPU && topology.hostsPerSlice() > 1) {
            long dcn = product(shape.dcn());
            if (dcn == topology.hostCount()) {
                return topology.hostCount();
            }
        }
        return topology.slices();
    }

    private static List<Integer> fit(List<String> axes, List<Integer> sizes, int count, Supplier<String> fact) {
        int hole = -1;
        for (int i = 0; i < sizes.size(); i++) {
            int size = sizes.get(i);
            if (size == -1) {
                if (hole >= 0) {
                    throw new MeshShapeException("Axes \"" + axes.get(hole) + "\" and \"" + axes.get(i)
                            + "\" are both -1 in " + Sizes.describe(axes, sizes) + ": only one can be inferred, and "
                            + fact.get());
                }
                hole = i;
            } else if (size < 1) {
                throw new MeshShapeException(
                        "Axis \"" + axes.get(i) + "\" has size " + size + " in " + Sizes.describe(axes, sizes)
                                + ": a size is at least 1, or -1 to be inferred, and " + fact.get());
            }
        }
        long product = product(sizes);
        if (hole < 0) {
            if (product != count) {
                throw new MeshShapeException(
                        Sizes.describe(axes, sizes) + " multiplies to " + product + ", but " + fact.get());
            }
            return sizes;
        }
        if (count % product != 0) {
            throw new MeshShapeException(
                    "Axis \"" + axes.get(hole) + "\" is -1 in " + Sizes.describe(axes, sizes) + ", but "
                            + fact.get() + ", and " + count + " does not divide by the product " + product
                            + " of the other sizes");
        }
        List<Integer> filled = new ArrayList<>(sizes);
        filled.set(hole, (int) (count / product));
        return List.copyOf(filled);
    }

    /** The product of the sizes that are given. */
    private static long product(List<Integer> sizes) {
        return Sizes.product(sizes.stream()
                .filter(size -> size != -1)
                .mapToInt(Integer::intValue)
                .toArray());
    }

    private static String count(int number, String unit) {
        return number + " " + unit + (number == 1 ? "" : "s");
    }

    private static String describe(Topology topology) {
        return topology.slices() == 1 ? topology.name() : topology.name() + " x " + topology.slices() + " slices";
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import dev.slipway.lowering.Parameters.Axis;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Which mesh axes a dimension of a weight, of the cache or of the batch is cut along. A dimension takes each of its mesh
 * axes that the mesh has, that no other dimension of the tensor has taken, and that divides what is left of it; what
 * does not divide is left whole, and said so.
 *
 * @param weights mesh axes by what a dimension means, in order of preference
 * @param batch mesh axes for the batch
 */
public record ShardingRules(ImmutableMap<Axis, ImmutableList<String>> weights, ImmutableList<String> batch) {
    /**
     * Tensor parallelism over {@code model} (heads, feed-forward, vocabulary), experts over {@code expert}, the vocabulary
     * over {@code fsdp} too, the other weights' width over {@code fsdp}, the batch over {@code data} and {@code fsdp}: the axis names of AXLearn's decoders.
     */
    public static ShardingRules standard() {
        ImmutableList<String> model = ImmutableList.of("model");
        return new ShardingRules(
                ImmutableMap.of(
                        Axis.VOCABULARY,
                        ImmutableList.of("model", "fsdp"),
                        Axis.HEADS,
                        model,
                        Axis.KV_HEADS,
                        model,
                        Axis.HIDDEN,
                        model,
                        Axis.EXPERTS,
                        ImmutableList.of("expert"),
                        Axis.WIDTH,
                        ImmutableList.of("fsdp")),
                ImmutableList.of("data", "fsdp"));
    }

    /** The mesh axes of a dimension that means {@code axis}. */
    public ImmutableList<String> of(Axis axis) {
        return weights.getOrDefault(axis, ImmutableList.of());
    }

    /**
     * Assigns mesh axes to the dimensions of a tensor.
     *
     * @param what names the tensor in notes
     * @param shape its sizes
     * @param wished per dimension, the mesh axes that it may be cut along
     * @param mesh sizes of the mesh axes
     * @param notes takes a line for each dimension that is left whole because it does not divide
     * @return per dimension, the mesh axes that it is cut along
     */
    public static List<List<String>> assign(
            String what,
            List<Long> shape,
            List<? extends List<String>> wished,
            Map<String, Integer> mesh,
            Set<String> notes) {
        Set<String> taken = new HashSet<>();
        List<List<String>> assigned = new ArrayList<>();
        for (int i = 0; i < shape.size(); i++) {
            List<String> axes = new ArrayList<>();
            long left = shape.get(i);
            for (String axis : wished.get(i)) {
                int size = mesh.getOrDefault(axis, 1);
                if (size == 1 || taken.contains(axis)) {
                    continue;
                }
                if (left % size == 0) {
                    axes.add(axis);
                    taken.add(axis);
                    left /= size;
                } else {
                    notes.add("%s: dimension %d of %d does not divide by %s=%d, left whole"
                            .formatted(what, i, shape.get(i), axis, size));
                }
            }
            assigned.add(axes);
        }
        return assigned;
    }
}

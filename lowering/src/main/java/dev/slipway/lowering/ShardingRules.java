// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import dev.slipway.lowering.Parameters.Axis;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

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
     * Tensor parallelism over {@code model} (heads, feed-forward, vocabulary), experts over {@code expert}, all of these but
     * the experts over {@code fsdp} too, the batch over {@code data} and {@code fsdp}: the axis names of AXLearn's decoders.
     * Matrices of which nothing else divides are cut over the same axes along the residual stream, e.g. those of 8 KV heads on
     * 16 devices; norms' scales are whole. The cache is cut by its rows as the batch and by its heads as keys and values, by the
     * heads first where these axes cut the heads of all attention's matrices alike, and along a part of an axis where that alone
     * divides them.
     *
     * <p>A {@link Form} may leave small layers whole along the axes of the batch.
     */
    public static ShardingRules standard() {
        ImmutableList<String> outputs = ImmutableList.of("model", "fsdp");
        return new ShardingRules(
                ImmutableMap.<Axis, ImmutableList<String>>builder()
                        .put(Axis.VOCABULARY, outputs)
                        .put(Axis.HEADS, outputs)
                        .put(Axis.KV_HEADS, outputs)
                        .put(Axis.ATTENDED, outputs)
                        .put(Axis.HIDDEN, outputs)
                        .put(Axis.EXPERTS, ImmutableList.of("expert"))
                        .put(Axis.WIDTH, ImmutableList.of("fsdp", "model"))
                        .buildOrThrow(),
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
     * @param notes takes a line for each dimension that is left whole because it does not divide, where no other takes its
     *     mesh axis
     * @return per dimension, the mesh axes that it is cut along
     */
    public static List<List<String>> assign(
            String what,
            List<Long> shape,
            List<? extends List<String>> wished,
            Map<String, Integer> mesh,
            Set<String> notes) {
        List<Integer> order = IntStream.range(0, shape.size()).boxed().toList();
        return assign(what, shape, wished, order, mesh, notes);
    }

    /**
     * Assigns mesh axes to the dimensions of a tensor, in an order of their own.
     *
     * @param order all dimensions; the first takes its axes first
     */
    public static List<List<String>> assign(
            String what,
            List<Long> shape,
            List<? extends List<String>> wished,
            List<Integer> order,
            Map<String, Integer> mesh,
            Set<String> notes) {
        Set<String> taken = new HashSet<>();
        Map<String, String> whole = new LinkedHashMap<>();
        List<List<String>> assigned = new ArrayList<>(Collections.nCopies(shape.size(), List.of()));
        for (int i : order) {
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
                    whole.putIfAbsent(
                            axis,
                            what + ": dimension " + i + " of " + shape.get(i) + " does not divide by " + axis + "="
                                    + size + ", left whole");
                }
            }
            assigned.set(i, axes);
        }
        whole.forEach((axis, note) -> {
            if (!taken.contains(axis)) {
                notes.add(note);
            }
        });
        return assigned;
    }
}

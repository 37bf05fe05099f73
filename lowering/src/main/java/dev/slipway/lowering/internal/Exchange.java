// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import dev.slipway.lowering.Parameters.Weight;
import dev.slipway.mesh.PartitionSpec;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;

/**
 * How activations move where the batch and a matrix are cut along the same mesh axes: to the parts of the matrix, and the
 * products back to their rows. Left to itself XLA gathers the matrix, tens or hundreds of megabytes, on every device.
 *
 * @param rows mesh axes of the batch
 * @param matrices how the matrices that share axes with it lie, by name as a layer has it; without the dimension of layers
 * @param byHeads whether queries, keys and values stay where their matrices are until they are attended to
 */
record Exchange(ImmutableList<String> rows, ImmutableMap<String, PartitionSpec> matrices, boolean byHeads) {
    private static final String KEYS = "k/weight";

    /** Nothing moves. */
    static final Exchange NONE = new Exchange(ImmutableList.of(), ImmutableMap.of(), false);

    /** Whether a matrix shares mesh axes with the batch. */
    boolean shares(String matrix) {
        return matrices.containsKey(matrix);
    }

    /**
     * Whether a product's activations {@code [batch, length, ...]} should move: where inputs and outputs together are
     * no larger than the matrix. Those of a long prompt are larger, and XLA is left the choice.
     */
    boolean moves(Ops o, Weight matrix, Value x) {
        long tokens = o.size(x, 0) * o.size(x, 1);
        return shares(matrix.name()) && tokens * (matrix.in() + matrix.out()) <= matrix.numbers();
    }

    /**
     * What attention gives, {@code [batch, length, heads * head_dim]}, on the devices that attend to its rows. The parts of the
     * matrix that it moves to may begin within heads, and XLA would cut heads so before, which costs it another exchange.
     */
    Value attended(Ops o, Weight matrix, Value x) {
        if (byHeads || !shares(matrix.name())) {
            return x;
        }
        List<String> inputs = spec(matrix.name()).axes(matrix.outputs());
        return Collections.disjoint(inputs, rows) ? x : lay(o, x, rows, List.of(without(inputs, rows)));
    }

    /** Moves activations {@code [batch, ..., inputs...]} to the devices that hold the parts of a matrix. */
    Value to(Ops o, Weight matrix, Value x) {
        PartitionSpec spec = spec(matrix.name());
        return lay(o, x, others(matrix.name()), spec.dimensions().subList(matrix.outputs(), spec.rank()));
    }

    /** Products {@code [batch, ..., outputs...]} as the parts of a matrix give them. */
    Value at(Ops o, Weight matrix, Value y) {
        return lay(o, y, others(matrix.name()), outputs(matrix));
    }

    /** Whether the batch's mesh axes cut what a matrix gives: if not, its parts give sums of all of it, to be added up. */
    boolean cutsOutputs(Weight matrix) {
        return outputs(matrix).stream().anyMatch(axes -> !Collections.disjoint(axes, rows));
    }

    /** Moves products {@code [batch, ..., outputs...]} back to the devices that hold their rows. */
    Value back(Ops o, Weight matrix, Value y) {
        // Sums of parts are to be added and cut in one: no constraint between.
        return lay(
                o,
                cutsOutputs(matrix) ? at(o, matrix, y) : y,
                rows,
                outputs(matrix).stream().map(axes -> without(axes, rows)).toList());
    }

    /** Moves what attention must know of each row, {@code [batch, ...]}, to the devices that hold the heads. */
    Value toHeads(Ops o, Value x) {
        return byHeads && shares(KEYS) ? lay(o, x, others(KEYS), List.of()) : x;
    }

    /** Moves what is looked up in a table, {@code [batch, ...]}, to the devices that hold its parts. */
    Value toTable(Ops o, String table, Value x) {
        return lay(o, x, others(table), List.of());
    }

    /** Moves values {@code [batch, ...]}, whole but for the batch, back to the devices that hold their rows. */
    Value back(Ops o, Value x) {
        return lay(o, x, rows, List.of());
    }

    /** The batch's mesh axes that cut no matrix: a device's matrices meet its own part of the rows only. */
    List<String> apart() {
        return without(
                rows,
                matrices.values().stream()
                        .flatMap(spec -> spec.dimensions().stream())
                        .flatMap(List::stream)
                        .toList());
    }

    /** The batch's mesh axes that do not cut a matrix. */
    private List<String> others(String matrix) {
        return without(
                rows, spec(matrix).dimensions().stream().flatMap(List::stream).toList());
    }

    private List<List<String>> outputs(Weight matrix) {
        return spec(matrix.name()).dimensions().subList(0, matrix.outputs());
    }

    private PartitionSpec spec(String matrix) {
        return Objects.requireNonNull(matrices.get(matrix), matrix);
    }

    /** Mesh axes that are not among those taken. */
    static List<String> without(List<String> axes, List<String> taken) {
        return axes.stream().filter(axis -> !taken.contains(axis)).toList();
    }

    /** Cuts the first dimension and the last ones, and no other. */
    private static Value lay(Ops o, Value x, List<String> first, List<List<String>> last) {
        List<List<String>> spec = new ArrayList<>(Collections.nCopies(o.rank(x), List.of()));
        spec.set(0, first);
        for (int i = 0; i < last.size(); i++) {
            spec.set(o.rank(x) - last.size() + i, last.get(i));
        }
        return Modules.constrain(o, x, new PartitionSpec(spec));
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.QuantizedType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Rules of operations that move elements about. */
final class ShapeRules {
    private static final long DYNAMIC = TensorType.DYNAMIC;

    private ShapeRules() {}

    static void checkDimension(long dimension, int rank, String name) {
        Violation.check(
                dimension >= 0 && dimension < rank, "%s must be in range [0, %s), got %s", name, rank, dimension);
    }

    static void checkUnique(ImmutableLongArray dimensions, int rank, String name) {
        long[] sorted = dimensions.toArray();
        Arrays.sort(sorted);
        for (int i = 0; i < sorted.length; i++) {
            Violation.check(
                    sorted[i] >= 0 && sorted[i] < rank, "%s must be in range [0, %s), got %s", name, rank, dimensions);
            Violation.check(i == 0 || sorted[i] != sorted[i - 1], "%s must be unique, got %s", name, dimensions);
        }
    }

    static @Nullable List<Type> iota(Draft draft) {
        TensorType result = draft.resultTensor();
        long dimension = draft.integer("iota_dimension");
        Violation.check(result.rank() > 0, "does not support scalars, got %s", result);
        checkDimension(dimension, result.rank(), "iota_dimension");
        return null;
    }

    static @Nullable List<Type> reshape(Draft draft) {
        reshapeFits(draft.tensor(0), draft.resultTensor());
        return null;
    }

    static void reshapeFits(TensorType from, TensorType to) {
        if (from.isStatic() && to.isStatic()) {
            Violation.check(
                    from.elementCount() == to.elementCount(),
                    "operand and result must have as many elements, got %s and %s",
                    from.elementCount(),
                    to.elementCount());
        }
        if (from.element() instanceof QuantizedType a && to.element() instanceof QuantizedType b) {
            if (a.isPerAxis() && b.isPerAxis()) {
                perAxisReshape(from, to, a, b);
            } else {
                Violation.check(
                        a.equals(b),
                        "quantization parameters of operand and result must be equal, got %s and %s",
                        a,
                        b);
            }
        }
    }

    private static void perAxisReshape(TensorType from, TensorType to, QuantizedType a, QuantizedType b) {
        Violation.check(
                a.scales().equals(b.scales()) && a.zeroPoints().equals(b.zeroPoints()),
                "quantization parameters of operand and result must be equal, got %s and %s",
                a,
                b);
        int fromAxis = a.axes().getFirst();
        int toAxis = b.axes().getFirst();
        Violation.check(
                Types.compatibleSizes(from.dim(fromAxis), to.dim(toAxis)),
                "a reshape per axis must keep the quantized dimension, got %s and %s",
                from,
                to);
        if (!from.isStatic() || !to.isStatic()) {
            return;
        }
        long before = 1;
        for (int i = 0; i < fromAxis; i++) {
            before *= from.dim(i);
        }
        long after = 1;
        for (int i = 0; i < toAxis; i++) {
            after *= to.dim(i);
        }
        Violation.check(
                from.dim(fromAxis) == to.dim(toAxis) && before == after,
                "a reshape per axis must keep the quantized dimension, got %s and %s",
                from,
                to);
    }

    static @Nullable List<Type> broadcastInDim(Draft draft) {
        checkBroadcast(draft.tensor(0), draft.resultTensor(), draft.ints("broadcast_dimensions"));
        return null;
    }

    static void checkBroadcast(TensorType from, TensorType to, ImmutableLongArray dimensions) {
        Violation.check(
                dimensions.length() == from.rank(),
                "broadcast_dimensions must have as many entries as the operand's rank %s, got %s",
                from.rank(),
                dimensions);
        checkUnique(dimensions, to.rank(), "broadcast_dimensions");
        for (int i = 0; i < from.rank(); i++) {
            int target = Math.toIntExact(dimensions.get(i));
            long size = from.dim(i);
            long resultSize = to.dim(target);
            Violation.check(
                    size == DYNAMIC || size == 1 || resultSize == DYNAMIC || size == resultSize,
                    "operand dimension %s of size %s does not fit result dimension %s of size %s; it must be 1 or equal",
                    i,
                    Types.show(size),
                    target,
                    Types.show(resultSize));
        }
        if (from.element() instanceof QuantizedType a && to.element() instanceof QuantizedType b) {
            quantizedBroadcast(from, to, a, b, dimensions);
        }
    }

    private static void quantizedBroadcast(
            TensorType from, TensorType to, QuantizedType a, QuantizedType b, ImmutableLongArray dimensions) {
        if (a.isPerTensor() && b.isPerTensor()) {
            Violation.check(a.equals(b), "scales and zero points must be equal, got %s and %s", from, to);
        }
        if (!a.isPerAxis() || !b.isPerAxis()) {
            return;
        }
        int axis = a.axes().getFirst();
        Violation.check(
                b.axes().getFirst() == dimensions.get(axis),
                "the result's quantized dimension %s must be broadcast_dimensions[%s] = %s",
                b.axes().getFirst(),
                axis,
                dimensions.get(axis));
        if (from.dim(axis) == 1) {
            for (int j = 0; j < b.scales().length(); j++) {
                Violation.check(
                        b.scales().get(j) == a.scales().get(0)
                                && b.zeroPoints().get(j) == a.zeroPoints().get(0),
                        "scales and zero points of the result must be those of the operand, got %s and %s",
                        a,
                        b);
            }
        } else {
            Violation.check(
                    a.scales().equals(b.scales()) && a.zeroPoints().equals(b.zeroPoints()),
                    "scales and zero points of the result must be those of the operand, got %s and %s",
                    from,
                    to);
        }
    }

    static List<Type> transpose(Draft draft) {
        TensorType from = draft.tensor(0);
        ImmutableLongArray permutation = draft.ints("permutation");
        int rank = from.rank();
        Violation.check(
                permutation.length() == rank,
                "permutation must have as many entries as the operand's rank %s, got %s",
                rank,
                permutation);
        checkUnique(permutation, rank, "permutation");
        long[] shape = new long[rank];
        long[] bounds = new long[rank];
        for (int i = 0; i < rank; i++) {
            int source = Math.toIntExact(permutation.get(i));
            shape[i] = from.dim(source);
            bounds[i] = from.bound(source);
        }
        ElementType element = from.element();
        if (element instanceof QuantizedType quantized && quantized.isPerAxis()) {
            int axis = quantized.axes().getFirst();
            for (int i = 0; i < rank; i++) {
                if (permutation.get(i) == axis) {
                    element = new QuantizedType(
                            quantized.storage(),
                            quantized.expressed(),
                            quantized.storageMin(),
                            quantized.storageMax(),
                            com.google.common.collect.ImmutableList.of(i),
                            quantized.blockSizes(),
                            quantized.scaleShape(),
                            quantized.scales(),
                            quantized.zeroPoints());
                    break;
                }
            }
        }
        if (element instanceof QuantizedType && draft.isResultRanked()) {
            Violation.check(
                    draft.resultTensor().element().equals(element),
                    "the result's element type must be %s, got %s",
                    element,
                    draft.resultTensor());
        }
        return List.of(Types.tensor(element, shape, bounds, from.encoding()));
    }

    static List<Type> slice(Draft draft) {
        TensorType from = draft.tensor(0);
        int rank = from.rank();
        ImmutableLongArray starts = draft.ints("start_indices");
        ImmutableLongArray limits = draft.ints("limit_indices");
        ImmutableLongArray strides = draft.ints("strides");
        Violation.check(
                starts.length() == rank,
                "start_indices must have as many entries as the operand's rank %s, got %s",
                rank,
                starts);
        long[] shape = new long[rank];
        for (int i = 0; i < rank; i++) {
            long size = from.dim(i) == DYNAMIC ? from.bound(i) : from.dim(i);
            Violation.check(starts.get(i) >= 0, "start index %s of dimension %s is negative", starts.get(i), i);
            Violation.check(
                    size == DYNAMIC || limits.get(i) <= size,
                    "limit index %s is greater than the size %s of dimension %s",
                    limits.get(i),
                    size,
                    i);
            Violation.check(
                    starts.get(i) <= limits.get(i),
                    "start index %s is greater than limit index %s in dimension %s",
                    starts.get(i),
                    limits.get(i),
                    i);
            Violation.check(strides.get(i) > 0, "stride %s of dimension %s must be positive", strides.get(i), i);
            shape[i] = Math.ceilDiv(limits.get(i) - starts.get(i), strides.get(i));
        }
        return List.of(TensorType.of(from.element(), shape));
    }

    static List<Type> dynamicSlice(Draft draft) {
        TensorType from = draft.tensor(0);
        ImmutableLongArray sizes = draft.ints("slice_sizes");
        checkStarts(draft, 1, from.rank());
        Violation.check(
                sizes.length() == from.rank(),
                "slice_sizes must have as many entries as the operand's rank %s, got %s",
                from.rank(),
                sizes);
        for (int i = 0; i < from.rank(); i++) {
            Violation.check(sizes.get(i) >= 0, "slice size %s of dimension %s is negative", sizes.get(i), i);
            Violation.check(
                    from.isDynamic(i) || sizes.get(i) <= from.dim(i),
                    "slice size %s is greater than the size %s of dimension %s",
                    sizes.get(i),
                    Types.show(from.dim(i)),
                    i);
        }
        return List.of(TensorType.of(from.element(), sizes));
    }

    private static void checkStarts(Draft draft, int first, int rank) {
        int count = draft.operands().size() - first;
        Violation.check(
                count == rank, "needs one start index for each of the operand's %s dimensions, got %s", rank, count);
        for (int i = first + 1; i < draft.operands().size(); i++) {
            Violation.check(
                    draft.tensor(i).element().equals(draft.tensor(first).element()),
                    "start indices must have one element type, got %s and %s",
                    draft.type(first),
                    draft.type(i));
        }
    }

    static List<Type> dynamicUpdateSlice(Draft draft) {
        TensorType from = draft.tensor(0);
        TensorType update = draft.tensor(1);
        Violation.check(
                update.rank() == from.rank(),
                "the update must have the operand's rank %s, got %s",
                from.rank(),
                update);
        checkStarts(draft, 2, from.rank());
        for (int i = 0; i < from.rank(); i++) {
            Violation.check(
                    from.isDynamic(i) || update.isDynamic(i) || update.dim(i) <= from.dim(i),
                    "the update's size %s is greater than the size %s of dimension %s",
                    Types.show(update.dim(i)),
                    Types.show(from.dim(i)),
                    i);
        }
        Violation.check(
                update.element().equals(from.element()),
                "operand and update must have one element type, got %s and %s",
                from,
                update);
        return List.of(from);
    }

    static List<Type> concatenate(Draft draft) {
        Violation.check(!draft.operands().isEmpty(), "needs at least one input");
        int dimension = Math.toIntExact(draft.integer("dimension"));
        TensorType first = draft.tensor(0);
        Violation.check(
                dimension < first.rank(),
                "dimension %s is out of bounds for inputs of rank %s",
                dimension,
                first.rank());
        long[] shape = first.shape().toArray();
        long[] bounds = new long[first.rank()];
        for (int d = 0; d < shape.length; d++) {
            bounds[d] = first.bound(d);
        }
        for (int i = 1; i < draft.operands().size(); i++) {
            TensorType input = draft.tensor(i);
            Violation.check(input.rank() == first.rank(), "inputs must have one rank, got %s and %s", first, input);
            for (int d = 0; d < shape.length; d++) {
                if (d == dimension) {
                    long left = shape[d] == DYNAMIC ? bounds[d] : shape[d];
                    long right = input.isDynamic(d) ? input.bound(d) : input.dim(d);
                    boolean isStatic = shape[d] != DYNAMIC && !input.isDynamic(d);
                    long sum = left == DYNAMIC || right == DYNAMIC ? DYNAMIC : left + right;
                    shape[d] = isStatic ? sum : DYNAMIC;
                    bounds[d] = isStatic ? DYNAMIC : sum;
                    continue;
                }
                Violation.check(
                        Types.compatibleSizes(shape[d], input.dim(d)),
                        "inputs must agree in all dimensions but %s, got %s and %s",
                        dimension,
                        first,
                        input);
                if (shape[d] == DYNAMIC) {
                    shape[d] = input.dim(d);
                }
                bounds[d] = shape[d] != DYNAMIC
                        ? DYNAMIC
                        : bounds[d] == DYNAMIC
                                ? input.bound(d)
                                : input.bound(d) == DYNAMIC ? bounds[d] : Math.min(bounds[d], input.bound(d));
            }
        }
        return List.of(Types.tensor(first.element(), shape, bounds, first.encoding()));
    }

    static List<Type> pad(Draft draft) {
        TensorType from = draft.tensor(0);
        ImmutableLongArray low = draft.ints("edge_padding_low");
        ImmutableLongArray high = draft.ints("edge_padding_high");
        ImmutableLongArray interior = draft.ints("interior_padding");
        int rank = from.rank();
        Violation.check(
                low.length() == rank,
                "edge_padding_low must have as many entries as the operand's rank %s, got %s",
                rank,
                low);
        Violation.check(
                draft.tensor(1).element().equals(from.element()),
                "operand and padding value must have one element type, got %s and %s",
                from,
                draft.type(1));
        long[] shape = new long[rank];
        long[] bounds = new long[rank];
        for (int i = 0; i < rank; i++) {
            Violation.check(
                    interior.get(i) >= 0, "interior padding %s of dimension %s is negative", interior.get(i), i);
            long size = from.isDynamic(i) ? from.bound(i) : from.dim(i);
            shape[i] = DYNAMIC;
            bounds[i] = DYNAMIC;
            if (size == DYNAMIC) {
                continue;
            }
            long padded = size + low.get(i) + high.get(i) + Math.max(size - 1, 0) * interior.get(i);
            Violation.check(padded >= 0, "padding gives dimension %s the negative size %s", i, padded);
            if (from.isDynamic(i)) {
                bounds[i] = padded;
            } else {
                shape[i] = padded;
            }
        }
        return List.of(Types.tensor(from.element(), shape, bounds, from.encoding()));
    }

    static List<Type> reverse(Draft draft) {
        checkUnique(draft.ints("dimensions"), draft.tensor(0).rank(), "dimensions");
        return List.of(draft.type(0));
    }

    static List<Type> getDimensionSize(Draft draft) {
        checkDimension(draft.integer("dimension"), draft.tensor(0).rank(), "dimension");
        return List.of(TensorType.of(ElementType.I32));
    }
}

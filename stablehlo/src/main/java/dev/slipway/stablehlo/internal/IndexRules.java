// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.GatherDimensionNumbers;
import dev.slipway.stablehlo.ScatterDimensionNumbers;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.util.ArrayList;
import java.util.List;

/** Rules of gather and scatter. */
final class IndexRules {
    private static final long DYNAMIC = TensorType.DYNAMIC;

    private IndexRules() {}

    static void checkSorted(ImmutableLongArray values, String name) {
        for (int i = 1; i < values.length(); i++) {
            Violation.check(values.get(i - 1) <= values.get(i), "%s must be sorted, got %s", name, values);
        }
    }

    private static ImmutableLongArray concat(ImmutableLongArray... arrays) {
        ImmutableLongArray.Builder all = ImmutableLongArray.builder();
        for (ImmutableLongArray array : arrays) {
            all.addAll(array);
        }
        return all.build();
    }

    /** Size of the indices' dimension, where the dimension past the last one stands for size 1. */
    private static long indexSize(TensorType indices, long dimension) {
        return dimension == indices.rank() ? 1 : indices.dim(Math.toIntExact(dimension));
    }

    /** The indices' shape without the dimension along which an index lies. */
    private static List<Long> batchShape(TensorType indices, long indexVectorDim) {
        List<Long> shape = new ArrayList<>();
        for (int i = 0; i < indices.rank(); i++) {
            if (i != indexVectorDim) {
                shape.add(indices.dim(i));
            }
        }
        return shape;
    }

    private static void checkIndexed(
            TensorType operand,
            TensorType indices,
            ImmutableLongArray map,
            ImmutableLongArray windowed,
            ImmutableLongArray operandBatch,
            ImmutableLongArray indicesBatch,
            long indexVectorDim,
            String[] names) {
        Violation.check(
                indexVectorDim >= 0 && indexVectorDim <= indices.rank(),
                "index_vector_dim must be in range [0, %s], got %s",
                indices.rank(),
                indexVectorDim);
        long size = indexSize(indices, indexVectorDim);
        Violation.check(
                size == DYNAMIC || map.length() == size,
                "%s must have one entry for each of the %s components of an index, got %s",
                names[0],
                size,
                map);
        ShapeRules.checkUnique(concat(map, operandBatch), operand.rank(), names[0] + " and " + names[2]);
        ShapeRules.checkUnique(concat(windowed, operandBatch), operand.rank(), names[1] + " and " + names[2]);
        checkSorted(windowed, names[1]);
        checkSorted(operandBatch, names[2]);
        ShapeRules.checkUnique(indicesBatch, indices.rank(), names[3]);
        Violation.check(
                !indicesBatch.contains(indexVectorDim),
                "%s must not contain index_vector_dim %s, got %s",
                names[3],
                indexVectorDim,
                indicesBatch);
        Violation.check(
                operandBatch.length() == indicesBatch.length(),
                "%s and %s must have as many entries, got %s and %s",
                names[2],
                names[3],
                operandBatch,
                indicesBatch);
        for (int i = 0; i < operandBatch.length(); i++) {
            long a = operand.dim(Math.toIntExact(operandBatch.get(i)));
            long b = indices.dim(Math.toIntExact(indicesBatch.get(i)));
            Violation.check(
                    Types.compatibleSizes(a, b),
                    "%s[%s] and %s[%s] must have one size, got %s and %s",
                    names[2],
                    i,
                    names[3],
                    i,
                    a,
                    b);
        }
    }

    static List<Type> gather(Draft draft) {
        return gather(draft, draft.ints("slice_sizes"));
    }

    static List<Type> gather(Draft draft, ImmutableLongArray sizes) {
        TensorType operand = draft.tensor(0);
        TensorType indices = draft.tensor(1);
        GatherDimensionNumbers numbers = draft.attribute("dimension_numbers", GatherDimensionNumbers.class);
        ImmutableLongArray collapsed = numbers.collapsedSliceDims();
        ImmutableLongArray batch = numbers.operandBatchingDims();
        ImmutableLongArray offsets = numbers.offsetDims();
        checkIndexed(
                operand,
                indices,
                numbers.startIndexMap(),
                collapsed,
                batch,
                numbers.startIndicesBatchingDims(),
                numbers.indexVectorDim(),
                new String[] {
                    "start_index_map", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims"
                });
        Violation.check(
                operand.rank() == offsets.length() + collapsed.length() + batch.length(),
                "the operand's rank %s must be the number of offset_dims, collapsed_slice_dims and operand_batching_dims",
                operand.rank());
        checkSorted(offsets, "offset_dims");
        Violation.check(
                sizes.length() == operand.rank(),
                "slice_sizes must have as many entries as the operand's rank %s, got %s",
                operand.rank(),
                sizes);
        for (int i = 0; i < sizes.length(); i++) {
            long size = sizes.get(i);
            if (size == DYNAMIC) {
                continue;
            }
            long limit = operand.isDynamic(i) ? operand.bound(i) : operand.dim(i);
            Violation.check(
                    size >= 0 && (limit == DYNAMIC || size <= limit),
                    "slice size %s is not in range [0, %s] of dimension %s",
                    size,
                    Types.show(limit),
                    i);
        }
        for (ImmutableLongArray leftOut : List.of(collapsed, batch)) {
            for (int i = 0; i < leftOut.length(); i++) {
                long size = sizes.get(Math.toIntExact(leftOut.get(i)));
                Violation.check(
                        size == DYNAMIC || size <= 1,
                        "dimension %s is left out, so its slice size must be at most 1, got %s",
                        leftOut.get(i),
                        size);
            }
        }
        List<Long> batchShape = batchShape(indices, numbers.indexVectorDim());
        int rank = batchShape.size() + offsets.length();
        ShapeRules.checkUnique(offsets, rank, "offset_dims");
        List<Integer> kept = new ArrayList<>();
        for (int i = 0; i < operand.rank(); i++) {
            if (!collapsed.contains(i) && !batch.contains(i)) {
                kept.add(i);
            }
        }
        long[] shape = new long[rank];
        long[] bounds = new long[rank];
        int fromBatch = 0;
        int fromOffset = 0;
        for (int i = 0; i < rank; i++) {
            bounds[i] = DYNAMIC;
            if (offsets.contains(i)) {
                shape[i] = sizes.get(kept.get(fromOffset++));
            } else {
                int source = fromBatch >= numbers.indexVectorDim() ? fromBatch + 1 : fromBatch;
                bounds[i] = indices.bound(source);
                shape[i] = batchShape.get(fromBatch++);
            }
        }
        return List.of(Types.tensor(operand.element(), shape, bounds, null));
    }

    static List<Type> scatter(Draft draft) {
        int count = (draft.operands().size() - 1) / 2;
        Violation.check(count > 0, "needs at least one input");
        TensorType input = draft.tensor(0);
        TensorType indices = draft.tensor(count);
        TensorType update = draft.tensor(count + 1);
        List<Type> inputs = Rules.types(draft).subList(0, count);
        List<Type> updates = Rules.types(draft).subList(count + 1, 2 * count + 1);
        for (int i = 1; i < count; i++) {
            Violation.check(
                    Types.compatibleShapes(input, inputs.get(i)),
                    "inputs must have one shape, got %s and %s",
                    input,
                    inputs.get(i));
            Violation.check(
                    Types.compatibleShapes(update, updates.get(i)),
                    "updates must have one shape, got %s and %s",
                    update,
                    updates.get(i));
        }
        ScatterDimensionNumbers numbers = draft.attribute("scatter_dimension_numbers", ScatterDimensionNumbers.class);
        ImmutableLongArray windows = numbers.updateWindowDims();
        ImmutableLongArray inserted = numbers.insertedWindowDims();
        ImmutableLongArray batch = numbers.inputBatchingDims();
        checkIndexed(
                input,
                indices,
                numbers.scatterDimsToOperandDims(),
                inserted,
                batch,
                numbers.scatterIndicesBatchingDims(),
                numbers.indexVectorDim(),
                new String[] {
                    "scatter_dims_to_operand_dims",
                    "inserted_window_dims",
                    "input_batching_dims",
                    "scatter_indices_batching_dims"
                });
        List<Long> batchShape = batchShape(indices, numbers.indexVectorDim());
        Violation.check(
                update.rank() == batchShape.size() + windows.length(),
                "updates must have the rank %s of scatter dimensions and update_window_dims, got %s",
                batchShape.size() + windows.length(),
                update);
        checkSorted(windows, "update_window_dims");
        ShapeRules.checkUnique(windows, update.rank(), "update_window_dims");
        Violation.check(
                input.rank() == windows.length() + inserted.length() + batch.length(),
                "the inputs' rank %s must be the number of update_window_dims, inserted_window_dims and input_batching_dims",
                input.rank());
        int window = 0;
        for (int i = 0; i < input.rank(); i++) {
            if (inserted.contains(i) || batch.contains(i)) {
                continue;
            }
            long size = update.dim(Math.toIntExact(windows.get(window++)));
            Violation.check(
                    size == DYNAMIC || input.isDynamic(i) || size <= input.dim(i),
                    "the update's window size %s is greater than the input's size %s in dimension %s",
                    size,
                    Types.show(input.dim(i)),
                    i);
        }
        int from = 0;
        for (int i = 0; i < update.rank(); i++) {
            if (!windows.contains(i)) {
                long expected = batchShape.get(from++);
                Violation.check(
                        Types.compatibleSizes(update.dim(i), expected),
                        "dimension %s of the updates must have the size %s of the indices, got %s",
                        i,
                        Types.show(expected),
                        update);
            }
        }
        List<Type> inits = new ArrayList<>();
        for (Type type : inputs) {
            inits.add(TensorType.of(((TensorType) type).element()));
        }
        RegionRules.checkReducer(draft.regions().getFirst(), updates, inits, new long[0]);
        List<Type> results = new ArrayList<>();
        List<Type> returned = RegionRules.returned(draft.regions().getFirst());
        for (int i = 0; i < count; i++) {
            TensorType type = (TensorType) inputs.get(i);
            Violation.check(
                    RegionRules.promotable(type, returned.get(i)),
                    "the input %s cannot be promoted to the computation's result %s",
                    type,
                    returned.get(i));
            results.add(new TensorType(((TensorType) returned.get(i)).element(), type.shape(), type.encoding()));
        }
        return results;
    }
}

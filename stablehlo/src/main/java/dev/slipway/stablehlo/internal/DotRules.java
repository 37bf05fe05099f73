// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.DotAlgorithm;
import dev.slipway.stablehlo.DotDimensionNumbers;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.Precision;
import dev.slipway.stablehlo.QuantizedType;
import dev.slipway.stablehlo.RaggedDotDimensionNumbers;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Rules of matrix products. */
final class DotRules {
    private static final Set<FloatType> BYTES = Set.of(
            FloatType.F8E3M4,
            FloatType.F8E4M3,
            FloatType.F8E4M3FN,
            FloatType.F8E5M2,
            FloatType.F8E4M3FNUZ,
            FloatType.F8E4M3B11FNUZ,
            FloatType.F8E5M2FNUZ);

    /** Types of lhs and rhs, of sums, and number of products, of the algorithms that some hardware has. */
    private static final Set<List<Object>> ALGORITHMS = Set.of(
            List.of(FloatType.F16, FloatType.F16, 1L),
            List.of(FloatType.F16, FloatType.F32, 1L),
            List.of(FloatType.BF16, FloatType.BF16, 1L),
            List.of(FloatType.BF16, FloatType.F32, 1L),
            List.of(FloatType.BF16, FloatType.F32, 3L),
            List.of(FloatType.BF16, FloatType.F32, 6L),
            List.of(FloatType.BF16, FloatType.F32, 9L),
            List.of(FloatType.TF32, FloatType.F32, 1L),
            List.of(FloatType.TF32, FloatType.F32, 3L),
            List.of(FloatType.F32, FloatType.F32, 1L),
            List.of(FloatType.F64, FloatType.F64, 1L));

    private DotRules() {}

    static void checkPrecision(Draft draft) {
        if (draft.attribute("precision_config") instanceof Attribute.Array array) {
            int size = array.elements().size();
            Violation.check(size <= 2, "precision_config must have an entry for each operand, got %s", size);
        }
    }

    /** The shape of the result; the element type is up to the operation. */
    static TensorType dotShape(Draft draft, DotDimensionNumbers numbers) {
        TensorType lhs = draft.tensor(0);
        TensorType rhs = draft.tensor(1);
        ImmutableLongArray lhsBatch = numbers.lhsBatchingDimensions();
        ImmutableLongArray rhsBatch = numbers.rhsBatchingDimensions();
        ImmutableLongArray lhsContract = numbers.lhsContractingDimensions();
        ImmutableLongArray rhsContract = numbers.rhsContractingDimensions();
        Violation.check(
                lhsBatch.length() == rhsBatch.length(),
                "lhs and rhs must have as many batching dimensions, got %s and %s",
                lhsBatch,
                rhsBatch);
        Violation.check(
                lhsContract.length() == rhsContract.length(),
                "lhs and rhs must have as many contracting dimensions, got %s and %s",
                lhsContract,
                rhsContract);
        ShapeRules.checkUnique(concat(lhsBatch, lhsContract), lhs.rank(), "lhs batching and contracting dimensions");
        ShapeRules.checkUnique(concat(rhsBatch, rhsContract), rhs.rank(), "rhs batching and contracting dimensions");
        checkSizes("batching", lhs, rhs, lhsBatch, rhsBatch);
        checkSizes("contracting", lhs, rhs, lhsContract, rhsContract);
        List<long[]> dimensions = new ArrayList<>();
        for (int i = 0; i < lhsBatch.length(); i++) {
            int d = Math.toIntExact(lhsBatch.get(i));
            int e = Math.toIntExact(rhsBatch.get(i));
            dimensions.add(
                    lhs.isDynamic(d) && !rhs.isDynamic(e)
                            ? new long[] {rhs.dim(e), TensorType.DYNAMIC}
                            : new long[] {lhs.dim(d), lhs.bound(d)});
        }
        addFree(dimensions, lhs, lhsBatch, lhsContract);
        addFree(dimensions, rhs, rhsBatch, rhsContract);
        return tensor(lhs, dimensions);
    }

    private static TensorType tensor(TensorType element, List<long[]> dimensions) {
        return Types.tensor(
                element.element(),
                dimensions.stream().mapToLong(d -> d[0]).toArray(),
                dimensions.stream().mapToLong(d -> d[1]).toArray(),
                null);
    }

    private static ImmutableLongArray concat(ImmutableLongArray left, ImmutableLongArray right) {
        return ImmutableLongArray.builder(left.length() + right.length())
                .addAll(left)
                .addAll(right)
                .build();
    }

    private static void checkSizes(
            String what, TensorType lhs, TensorType rhs, ImmutableLongArray left, ImmutableLongArray right) {
        for (int i = 0; i < left.length(); i++) {
            long a = lhs.dim(Math.toIntExact(left.get(i)));
            long b = rhs.dim(Math.toIntExact(right.get(i)));
            Violation.check(
                    Types.compatibleSizes(a, b),
                    "%s dimension sizes must match for lhs and rhs, got %s (dimension %s of %s) and %s (dimension %s of %s)",
                    what,
                    a,
                    left.get(i),
                    lhs,
                    b,
                    right.get(i),
                    rhs);
        }
    }

    private static void addFree(
            List<long[]> to, TensorType type, ImmutableLongArray batch, ImmutableLongArray contract) {
        for (int d = 0; d < type.rank(); d++) {
            if (!batch.contains(d) && !contract.contains(d)) {
                to.add(new long[] {type.dim(d), type.bound(d)});
            }
        }
    }

    static @Nullable List<Type> dotGeneral(Draft draft) {
        checkPrecision(draft);
        DotDimensionNumbers numbers = draft.attribute("dot_dimension_numbers", DotDimensionNumbers.class);
        TensorType shape = dotShape(draft, numbers);
        TensorType result = draft.resultTensor();
        Violation.check(
                Types.compatibleShapes(shape, result),
                "inferred shape %s is incompatible with the result type %s",
                Types.show(shape.shape()),
                result);
        if (draft.attribute("algorithm") instanceof DotAlgorithm algorithm) {
            Violation.check(
                    !(draft.attribute("precision_config") instanceof Attribute.Array array)
                            || array.elements().stream().allMatch(Precision.DEFAULT::equals),
                    "precision_config must be DEFAULT where there is an algorithm");
            checkAlgorithm(algorithm);
        }
        quantizedDot(draft, result, numbers.rhsContractingDimensions());
        return null;
    }

    private static void checkAlgorithm(DotAlgorithm algorithm) {
        Violation.check(
                algorithm.lhsComponentCount() > 0
                        && algorithm.rhsComponentCount() > 0
                        && algorithm.numPrimitiveOperations() > 0,
                "the counts of an algorithm must be positive, got %s",
                algorithm);
        boolean bytes = algorithm.lhsPrecisionType() instanceof FloatType lhs
                && algorithm.rhsPrecisionType() instanceof FloatType rhs
                && BYTES.contains(lhs)
                && BYTES.contains(rhs)
                && algorithm.accumulationType() == FloatType.F32
                && algorithm.numPrimitiveOperations() == 1;
        boolean known = algorithm.lhsComponentCount() == 1
                && algorithm.rhsComponentCount() == 1
                && (bytes
                        || (!algorithm.allowImpreciseAccumulation()
                                && algorithm.lhsPrecisionType().equals(algorithm.rhsPrecisionType())
                                && ALGORITHMS.contains(List.of(
                                        algorithm.lhsPrecisionType(),
                                        algorithm.accumulationType(),
                                        algorithm.numPrimitiveOperations()))));
        Violation.check(known, "no hardware is known for the algorithm %s", algorithm);
    }

    private static void quantizedDot(Draft draft, TensorType result, ImmutableLongArray rhsContracting) {
        Type lhs = draft.tensor(0).element();
        Type rhs = draft.tensor(1).element();
        if (!(lhs instanceof QuantizedType)
                && !(rhs instanceof QuantizedType)
                && !(result.element() instanceof QuantizedType)) {
            return;
        }
        if (rhs instanceof QuantizedType quantized) {
            for (int i = 0; i < quantized.zeroPoints().length(); i++) {
                Violation.check(quantized.zeroPoints().get(i) == 0, "zero points of rhs must be 0, got %s", quantized);
            }
            Violation.check(
                    !quantized.isPerAxis()
                            || !rhsContracting.contains(quantized.axes().getFirst()),
                    "the quantized dimension of rhs must not be contracted");
        }
        quantizedProduct(lhs, rhs, result.element());
    }

    /** What holds for quantized products and convolutions. */
    static void quantizedProduct(Type lhs, Type rhs, Type result) {
        Violation.check(
                rhs instanceof QuantizedType && lhs instanceof QuantizedType == result instanceof QuantizedType,
                "rhs must be quantized, and lhs and result both or neither, got %s, %s and %s",
                lhs,
                rhs,
                result);
        QuantizedType right = (QuantizedType) rhs;
        if (lhs instanceof QuantizedType left && result instanceof QuantizedType both) {
            Violation.check(
                    left.storage().equals(right.storage()),
                    "lhs and rhs must have one storage type, got %s and %s",
                    lhs,
                    rhs);
            Violation.check(
                    left.expressed() == right.expressed() && left.expressed() == both.expressed(),
                    "lhs, rhs and result must have one expressed type, got %s, %s and %s",
                    lhs,
                    rhs,
                    result);
            Violation.check(
                    !right.isPerTensor() || both.isPerTensor(),
                    "the result must be quantized per tensor as rhs is, got %s",
                    result);
        } else {
            Violation.check(
                    lhs.equals(right.expressed()) && lhs.equals(result),
                    "lhs and result must be of the type that rhs expresses, got %s, %s and %s",
                    lhs,
                    rhs,
                    result);
        }
    }

    static @Nullable List<Type> dot(Draft draft) {
        checkPrecision(draft);
        TensorType lhs = draft.tensor(0);
        TensorType rhs = draft.tensor(1);
        Violation.check(
                lhs.rank() >= 1 && lhs.rank() <= 2 && rhs.rank() >= 1 && rhs.rank() <= 2,
                "takes vectors and matrices, got %s and %s",
                lhs,
                rhs);
        Violation.check(
                Types.compatibleSizes(lhs.dim(lhs.rank() - 1), rhs.dim(0)),
                "the last dimension of lhs and the first of rhs must have one size, got %s and %s",
                lhs,
                rhs);
        List<long[]> dimensions = new ArrayList<>();
        if (lhs.rank() == 2) {
            dimensions.add(new long[] {lhs.dim(0), lhs.bound(0)});
        }
        if (rhs.rank() == 2) {
            dimensions.add(new long[] {rhs.dim(1), rhs.bound(1)});
        }
        TensorType shape = tensor(lhs, dimensions);
        Violation.check(
                Types.compatibleShapes(shape, draft.resultTensor()),
                "inferred shape %s is incompatible with the result type %s",
                Types.show(shape.shape()),
                draft.resultTensor());
        return null;
    }

    static @Nullable List<Type> raggedDot(Draft draft) {
        checkPrecision(draft);
        RaggedDotDimensionNumbers numbers =
                draft.attribute("ragged_dot_dimension_numbers", RaggedDotDimensionNumbers.class);
        TensorType product = dotShape(
                draft,
                new DotDimensionNumbers(
                        numbers.lhsBatchingDimensions(),
                        numbers.rhsBatchingDimensions(),
                        numbers.lhsContractingDimensions(),
                        numbers.rhsContractingDimensions()));
        TensorType lhs = draft.tensor(0);
        TensorType rhs = draft.tensor(1);
        TensorType groups = draft.tensor(2);
        Violation.check(
                numbers.lhsRaggedDimensions().length() == 1,
                "needs one ragged dimension of lhs, got %s",
                numbers.lhsRaggedDimensions());
        long ragged = numbers.lhsRaggedDimensions().get(0);
        ShapeRules.checkDimension(ragged, lhs.rank(), "the ragged dimension");
        boolean batch = numbers.lhsBatchingDimensions().contains(ragged);
        boolean contracted = numbers.lhsContractingDimensions().contains(ragged);
        checkGroupSizes(lhs, groups, numbers, ragged, batch, contracted);
        ImmutableLongArray groupDimensions = numbers.rhsGroupDimensions();
        ShapeRules.checkUnique(
                concat(groupDimensions, concat(numbers.rhsBatchingDimensions(), numbers.rhsContractingDimensions())),
                rhs.rank(),
                "rhs group, batching and contracting dimensions");
        long count = groups.dim(groups.rank() - 1);
        if (batch || contracted) {
            Violation.check(
                    groupDimensions.isEmpty(),
                    "rhs has no group dimension where the ragged dimension is batching or contracted, got %s",
                    groupDimensions);
        } else {
            Violation.check(
                    groupDimensions.length() == 1,
                    "rhs needs one group dimension where the ragged dimension is neither batching nor contracted");
            long size = rhs.dim(Math.toIntExact(groupDimensions.get(0)));
            Violation.check(
                    Types.compatibleSizes(count, size),
                    "the group dimension of rhs must have the size %s, got %s",
                    count,
                    Types.show(size));
        }
        List<long[]> dimensions = new ArrayList<>();
        if (contracted) {
            dimensions.add(new long[] {count, TensorType.DYNAMIC});
        }
        int lhsFree = lhs.rank() - numbers.lhsContractingDimensions().length();
        List<Integer> rhsFree = new ArrayList<>();
        for (int d = 0; d < rhs.rank(); d++) {
            if (!numbers.rhsBatchingDimensions().contains(d)
                    && !numbers.rhsContractingDimensions().contains(d)) {
                rhsFree.add(d);
            }
        }
        for (int d = 0; d < product.rank(); d++) {
            if (d < lhsFree || !groupDimensions.contains(rhsFree.get(d - lhsFree))) {
                dimensions.add(new long[] {product.dim(d), product.bound(d)});
            }
        }
        TensorType shape = tensor(lhs, dimensions);
        Violation.check(
                Types.compatibleShapes(shape, draft.resultTensor()),
                "inferred shape %s is incompatible with the result type %s",
                Types.show(shape.shape()),
                draft.resultTensor());
        return null;
    }

    private static void checkGroupSizes(
            TensorType lhs,
            TensorType groups,
            RaggedDotDimensionNumbers numbers,
            long ragged,
            boolean batch,
            boolean contracted) {
        List<Long> prefix = new ArrayList<>();
        for (int i = 0; i < numbers.lhsBatchingDimensions().length(); i++) {
            long d = numbers.lhsBatchingDimensions().get(i);
            if (batch && d == ragged) {
                break;
            }
            prefix.add(lhs.dim(Math.toIntExact(d)));
        }
        if (contracted) {
            for (int i = 0; numbers.lhsContractingDimensions().get(i) != ragged; i++) {
                prefix.add(lhs.dim(
                        Math.toIntExact(numbers.lhsContractingDimensions().get(i))));
            }
        } else if (!batch) {
            for (int d = 0; d < ragged; d++) {
                if (!numbers.lhsBatchingDimensions().contains(d)
                        && !numbers.lhsContractingDimensions().contains(d)) {
                    prefix.add(lhs.dim(d));
                }
            }
        }
        Violation.check(groups.rank() >= 1, "group_sizes must have one dimension at least, got %s", groups);
        if (groups.rank() == 1) {
            return;
        }
        Violation.check(
                groups.rank() == prefix.size() + 1,
                "group_sizes must have rank 1 or %s, got %s",
                prefix.size() + 1,
                groups);
        for (int i = 0; i < prefix.size(); i++) {
            Violation.check(
                    groups.dim(i) == prefix.get(i), "group_sizes must start with the sizes %s, got %s", prefix, groups);
        }
    }
}

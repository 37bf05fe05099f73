// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.DotDimensionNumbers;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Rules of matrix products. */
final class DotRules {
    private DotRules() {}

    static void checkPrecision(Draft draft) {
        if (draft.attribute("precision_config") instanceof Attribute.Array array) {
            int size = array.elements().size();
            Violation.check(
                    size == 0 || size == 2, "precision_config must have an entry for each operand, got " + size);
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
                "lhs and rhs must have as many batching dimensions, got " + lhsBatch + " and " + rhsBatch);
        Violation.check(
                lhsContract.length() == rhsContract.length(),
                "lhs and rhs must have as many contracting dimensions, got " + lhsContract + " and " + rhsContract);
        ShapeRules.checkUnique(concat(lhsBatch, lhsContract), lhs.rank(), "lhs batching and contracting dimensions");
        ShapeRules.checkUnique(concat(rhsBatch, rhsContract), rhs.rank(), "rhs batching and contracting dimensions");
        checkSizes("batching", lhs, rhs, lhsBatch, rhsBatch);
        checkSizes("contracting", lhs, rhs, lhsContract, rhsContract);
        List<long[]> dimensions = new ArrayList<>();
        for (int i = 0; i < lhsBatch.length(); i++) {
            int d = Math.toIntExact(lhsBatch.get(i));
            dimensions.add(new long[] {lhs.dim(d), lhs.bound(d)});
        }
        addFree(dimensions, lhs, lhsBatch, lhsContract);
        addFree(dimensions, rhs, rhsBatch, rhsContract);
        return Types.tensor(
                lhs.element(),
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
                    what + " dimension sizes must match for lhs and rhs, got " + a + " (dimension " + left.get(i)
                            + " of " + lhs + ") and " + b + " (dimension " + right.get(i) + " of " + rhs + ")");
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
        TensorType shape = dotShape(draft, draft.attribute("dot_dimension_numbers", DotDimensionNumbers.class));
        TensorType result = draft.resultTensor();
        Violation.check(
                Types.compatibleShapes(shape, result),
                "inferred shape " + Types.show(shape.shape()) + " is incompatible with the result type " + result);
        return null;
    }
}

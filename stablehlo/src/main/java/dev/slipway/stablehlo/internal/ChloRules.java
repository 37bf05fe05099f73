// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.ComplexType;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Rules of CHLO operations that broadcast, and of scan. */
final class ChloRules {
    private static final long DYNAMIC = TensorType.DYNAMIC;

    private ChloRules() {}

    static List<Type> broadcastBinary(Draft draft) {
        Type lhs = draft.type(0);
        Type rhs = draft.type(1);
        Violation.check(
                Types.compatibleElements(lhs, rhs),
                "operands must have compatible element types, got %s and %s",
                lhs,
                rhs);
        ElementType element = (ElementType) Types.element(lhs);
        if (draft.definition().id() == OpTable.CHLO_BROADCAST_COMPARE) {
            element = ElementType.I1;
        } else if (draft.definition().id() == OpTable.CHLO_BROADCAST_COMPLEX) {
            element = new ComplexType(element);
        }
        if (!(lhs instanceof TensorType left) || !(rhs instanceof TensorType right)) {
            return List.of(new Type.UnrankedTensor(element));
        }
        ImmutableLongArray dimensions = draft.optionalInts("broadcast_dimensions");
        if (dimensions != null && left.rank() != right.rank()) {
            int smaller = Math.min(left.rank(), right.rank());
            int larger = Math.max(left.rank(), right.rank());
            boolean fits = dimensions.length() == smaller
                    && Arrays.stream(dimensions.toArray()).allMatch(dimension -> dimension >= 0 && dimension < larger);
            if (!fits && draft.results() != null) {
                // Upstream finds this only when it expands the operation, so programs may hold it.
                return List.of(new Type.UnrankedTensor(element));
            }
            Violation.check(
                    fits,
                    "broadcast_dimensions must have an entry from 0 to %s for each of the smaller operand's %s dimensions, got %s",
                    larger - 1,
                    smaller,
                    dimensions);
        }
        return List.of(TensorType.of(element, broadcast(left, right, dimensions)));
    }

    private static long[] broadcast(TensorType left, TensorType right, @Nullable ImmutableLongArray dimensions) {
        if (left.rank() == right.rank()) {
            long[] shape = new long[left.rank()];
            for (int d = 0; d < shape.length; d++) {
                shape[d] = size(left.dim(d), right.dim(d));
            }
            return shape;
        }
        TensorType large = left.rank() > right.rank() ? left : right;
        TensorType small = left.rank() > right.rank() ? right : left;
        long[] shape = large.shape().toArray();
        int offset = large.rank() - small.rank();
        for (int d = 0; d < small.rank(); d++) {
            int at = dimensions == null ? d + offset : Math.toIntExact(dimensions.get(d));
            shape[at] = size(shape[at], small.dim(d));
        }
        return shape;
    }

    /** The size that two sizes are broadcast to; what is certain only at run time stays dynamic. */
    private static long size(long left, long right) {
        if (left == right) {
            return left;
        }
        if (left == 1) {
            return right;
        }
        if (right == 1) {
            return left;
        }
        return left == DYNAMIC ? right : left;
    }

    static List<Type> broadcastSelect(Draft draft) {
        Violation.check(
                Types.compatibleElements(draft.type(1), draft.type(2)),
                "on_true and on_false must have compatible element types, got %s and %s",
                draft.type(1),
                draft.type(2));
        ElementType element = (ElementType) Types.element(draft.type(1));
        if (!(draft.type(0) instanceof TensorType pred)
                || !(draft.type(1) instanceof TensorType onTrue)
                || !(draft.type(2) instanceof TensorType onFalse)) {
            return List.of(new Type.UnrankedTensor(element));
        }
        TensorType both = TensorType.of(element, broadcast(onTrue, onFalse, null));
        return List.of(TensorType.of(element, broadcast(both, pred, null)));
    }

    static List<Type> constantLike(Draft draft) {
        Type valueType = switch (draft.attribute("value")) {
            case Attribute.Int integer -> integer.type();
            case Attribute.Real real -> real.type();
            case null, default -> Types.element(draft.type(0));
        };
        if (draft.results() != null) {
            Violation.check(
                    valueType.equals(Types.element(draft.results().getFirst())),
                    "the value's type %s must be the result's element type, got %s",
                    valueType,
                    draft.results());
        }
        return List.of(
                draft.type(0) instanceof TensorType tensor
                        ? TensorType.of((ElementType) valueType, tensor.shape())
                        : new Type.UnrankedTensor((ElementType) valueType));
    }

    static List<Type> scan(Draft draft) {
        ImmutableLongArray segments = draft.attribute("operandSegmentSizes") instanceof Attribute.IntArray array
                ? array.values()
                : ImmutableLongArray.of(draft.operands().size(), 0);
        int inputs = Math.toIntExact(segments.get(0));
        int carries = draft.operands().size() - inputs;
        int dimension = Math.toIntExact(draft.integer("dimension"));
        List<Type> returned = RegionRules.returned(draft.regions().getFirst());
        Violation.check(
                returned.size() >= carries,
                "the body must return %s carries at least, but returns %s",
                carries,
                returned.size());
        Violation.check(inputs > 0 || returned.size() > carries, "needs at least one input or output");
        List<Type> arguments = RegionRules.arguments(draft.regions().getFirst());
        Violation.check(
                arguments.size() == draft.operands().size(),
                "the body must take %s arguments, but takes %s",
                draft.operands().size(),
                arguments.size());
        long size = draft.has("scan_dim_size") ? draft.integer("scan_dim_size") : DYNAMIC;
        for (int i = 0; i < draft.operands().size(); i++) {
            TensorType operand = draft.tensor(i);
            TensorType argument = operand;
            if (i < inputs) {
                Violation.check(dimension < operand.rank(), "dimension %s is no dimension of %s", dimension, operand);
                Violation.check(
                        Types.compatibleSizes(size, operand.dim(dimension)),
                        "%s must have the size %s along dimension %s, got %s",
                        draft.name(i),
                        Types.show(size),
                        dimension,
                        operand);
                size = size == DYNAMIC ? operand.dim(dimension) : size;
                argument = TensorType.of(operand.element(), withoutDimension(operand, dimension));
            }
            Violation.check(
                    Types.compatible(argument, arguments.get(i)),
                    "argument %s of the body must be %s, got %s",
                    i,
                    argument,
                    arguments.get(i));
        }
        List<Type> results = new ArrayList<>();
        for (int i = 0; i < returned.size(); i++) {
            if (!(returned.get(i) instanceof TensorType result)) {
                throw new Violation("the body must return ranked tensors, got " + returned.get(i));
            }
            results.add(
                    i < returned.size() - carries
                            ? TensorType.of(result.element(), withDimension(result, dimension, size))
                            : TensorType.of(result.element(), result.shape()));
        }
        return results;
    }

    private static long[] withoutDimension(TensorType type, int dimension) {
        long[] shape = new long[type.rank() - 1];
        for (int d = 0; d < shape.length; d++) {
            shape[d] = type.dim(d < dimension ? d : d + 1);
        }
        return shape;
    }

    private static long[] withDimension(TensorType type, int dimension, long size) {
        Violation.check(
                dimension <= type.rank(), "dimension %s is too great for an output of type %s", dimension, type);
        long[] shape = Arrays.copyOf(type.shape().toArray(), type.rank() + 1);
        System.arraycopy(shape, dimension, shape, dimension + 1, type.rank() - dimension);
        shape[dimension] = size;
        return shape;
    }
}

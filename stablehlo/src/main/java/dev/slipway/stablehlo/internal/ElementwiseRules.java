// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ComplexType;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.QuantizedType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.util.List;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Rules of operations that work element by element. */
final class ElementwiseRules {
    private ElementwiseRules() {}

    static @Nullable List<Type> constant(Draft draft) {
        Attribute value = draft.attribute("value");
        TensorType type = switch (value) {
            case DenseElements dense -> dense.type();
            case Attribute.Resource resource -> resource.type();
            case null, default -> null;
        };
        if (type == null) {
            return null;
        }
        if (draft.isResultRanked() && draft.resultTensor().element() instanceof QuantizedType quantized) {
            // A quantized constant is written with the values that are stored.
            Violation.check(
                    type.shape().equals(draft.resultTensor().shape())
                            && type.element().equals(quantized.storage()),
                    "the value's type %s does not fit the result type %s",
                    type,
                    draft.resultTensor());
            return null;
        }
        return List.of(type);
    }

    static List<Type> realPart(Draft draft) {
        return List.of(mapElement(
                draft.type(0), element -> element instanceof ComplexType complex ? complex.element() : element));
    }

    static List<Type> predicate(Draft draft) {
        return List.of(mapElement(draft.type(0), _ -> ElementType.I1));
    }

    private static Type mapElement(Type type, UnaryOperator<ElementType> map) {
        return switch (type) {
            case TensorType tensor -> tensor.withElement(map.apply(tensor.element()));
            case Type.UnrankedTensor tensor -> new Type.UnrankedTensor(map.apply(tensor.element()));
            default -> throw new Violation("operand 0 must be a tensor, got " + type);
        };
    }

    static List<Type> add(Draft draft) {
        Type inferred = Types.mostSpecific(Rules.types(draft));
        Type left = Types.element(draft.type(0));
        Type right = Types.element(draft.type(1));
        boolean leftQuantized = left instanceof QuantizedType;
        Violation.check(
                leftQuantized || right instanceof QuantizedType || left.equals(right),
                "requires one element type for both operands, got %s and %s",
                draft.type(0),
                draft.type(1));
        if (leftQuantized || right instanceof QuantizedType) {
            Type result = draft.isResultRanked() ? draft.resultTensor().element() : left;
            Violation.check(
                    left instanceof QuantizedType a
                            && right instanceof QuantizedType b
                            && result instanceof QuantizedType c
                            && a.storage().equals(b.storage())
                            && a.storage().equals(c.storage())
                            && a.expressed() == b.expressed()
                            && a.expressed() == c.expressed()
                            && perAxisAgree(a, b, c),
                    "requires quantized operands and result of one storage and expressed type and, per axis, of one dimension, got %s, %s and %s",
                    draft.type(0),
                    draft.type(1),
                    result);
            return List.of(
                    draft.isResultRanked()
                            ? ((TensorType) inferred)
                                    .withElement(draft.resultTensor().element())
                            : inferred);
        }
        return List.of(inferred);
    }

    /** A result per axis goes with an operand per axis along the same dimension; operands per axis need such a result. */
    private static boolean perAxisAgree(QuantizedType left, QuantizedType right, QuantizedType result) {
        for (QuantizedType operand : List.of(left, right)) {
            if (operand.isPerAxis() && (!result.isPerAxis() || !operand.axes().equals(result.axes()))) {
                return false;
            }
        }
        return !result.isPerAxis() || left.isPerAxis() || right.isPerAxis();
    }

    static List<Type> complex(Draft draft) {
        TensorType lhs = draft.tensor(0);
        return List.of(lhs.withElement(new ComplexType(lhs.element())));
    }

    static List<Type> compare(Draft draft) {
        ComparisonDirection direction = draft.attribute("comparison_direction", ComparisonDirection.class);
        TensorType lhs = (TensorType) Types.mostSpecific(List.of(draft.tensor(0), draft.tensor(1)));
        // The compare_type is not held against the operands: upstream accepts any, and says so in its own tests.
        if (draft.tensor(0).element() instanceof ComplexType) {
            Violation.check(
                    direction == ComparisonDirection.EQ || direction == ComparisonDirection.NE,
                    "complex numbers can be compared for EQ and NE only, got %s",
                    direction.name());
        }
        return List.of(lhs.withElement(ElementType.I1));
    }

    static List<Type> select(Draft draft) {
        TensorType pred = draft.tensor(0);
        Violation.check(
                Types.compatible(draft.type(1), draft.type(2)),
                "requires compatible types for on_true and on_false, got %s and %s",
                draft.type(1),
                draft.type(2));
        Violation.check(
                pred.rank() == 0 || Types.compatibleShapes(pred, draft.type(1)),
                "pred must be a scalar or have the shape of the other operands, got %s and %s",
                pred,
                draft.type(1));
        return List.of(Types.mostSpecific(List.of(draft.type(1), draft.type(2))));
    }

    static List<Type> clamp(Draft draft) {
        for (int i : new int[] {0, 2}) {
            Violation.check(
                    draft.tensor(i).rank() == 0 || Types.compatibleShapes(draft.tensor(i), draft.tensor(1)),
                    "%s must be a scalar or have the shape of the operand, got %s and %s",
                    draft.name(i),
                    draft.type(i),
                    draft.type(1));
        }
        return List.of(draft.type(1));
    }

    static @Nullable List<Type> bitcastConvert(Draft draft) {
        TensorType from = draft.tensor(0);
        TensorType to = draft.resultTensor();
        boolean fromReal = !(from.element() instanceof ComplexType);
        Violation.check(
                fromReal == !(to.element() instanceof ComplexType),
                "cannot convert between real and complex types, got %s and %s",
                from,
                to);
        int fromWidth = Types.width(from.element());
        int toWidth = Types.width(to.element());
        TensorType small = fromWidth < toWidth ? from : to;
        TensorType big = fromWidth < toWidth ? to : from;
        int smallWidth = Math.min(fromWidth, toWidth);
        int bigWidth = Math.max(fromWidth, toWidth);
        int expected = big.rank() + (smallWidth == bigWidth ? 0 : 1);
        Violation.check(
                small.rank() == expected,
                "the rank of the smaller element type must be %s, got %s and %s",
                expected,
                from,
                to);
        for (int i = 0; i < big.rank(); i++) {
            Violation.check(
                    Types.compatibleSizes(small.dim(i), big.dim(i)),
                    "operand and result must agree in all but the last dimension, got %s and %s",
                    from,
                    to);
        }
        if (smallWidth != bigWidth) {
            long last = small.dim(small.rank() - 1);
            Violation.check(
                    last == Types.DYNAMIC || last * smallWidth == bigWidth,
                    "the last dimension of the smaller element type must have size %s, got %s and %s",
                    bigWidth / smallWidth,
                    from,
                    to);
        }
        return null;
    }
}

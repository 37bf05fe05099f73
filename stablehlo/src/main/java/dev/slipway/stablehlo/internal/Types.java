// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.ComplexType;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.IntegerType;
import dev.slipway.stablehlo.QuantizedType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.TypeExtensions;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** When types agree although they differ: dynamic dimensions, bounds, quantization. */
final class Types {
    static final long DYNAMIC = TensorType.DYNAMIC;

    private Types() {}

    /** The element type of a tensor, or the type itself. */
    static Type element(Type type) {
        return switch (type) {
            case TensorType tensor -> tensor.element();
            case Type.UnrankedTensor tensor -> tensor.element();
            case Type.Buffer buffer -> buffer.tensor().element();
            default -> type;
        };
    }

    /** Whether the element types agree: equal, or quantized alike but for scales and zero points. */
    static boolean compatibleElements(Type left, Type right) {
        Type a = element(left);
        Type b = element(right);
        if (a instanceof QuantizedType x && b instanceof QuantizedType y) {
            return x.storage().equals(y.storage())
                    && x.storageMin() == y.storageMin()
                    && x.storageMax() == y.storageMax()
                    && x.expressed() == y.expressed()
                    && x.isPerAxis() == y.isPerAxis();
        }
        return a.equals(b);
    }

    /** Whether the shapes agree: of one rank, equal where both sizes are known, within bounds. */
    static boolean compatibleShapes(Type left, Type right) {
        TensorType a = shaped(left);
        TensorType b = shaped(right);
        if (a == null || b == null) {
            return true;
        }
        if (a.rank() != b.rank()) {
            return false;
        }
        for (int i = 0; i < a.rank(); i++) {
            if (a.dim(i) != DYNAMIC && b.dim(i) != DYNAMIC && a.dim(i) != b.dim(i)) {
                return false;
            }
            if (!within(a.dim(i), b.bound(i)) || !within(b.dim(i), a.bound(i))) {
                return false;
            }
        }
        return true;
    }

    /** What is wrong with the bounds of a type; empty where nothing is, or there are none. */
    static String boundsProblem(TensorType type) {
        if (!(type.encoding() instanceof TypeExtensions extensions)) {
            return "";
        }
        if (extensions.bounds().length() != type.rank()) {
            return "the number of bounds must be that of the dimensions, got " + type;
        }
        for (int d = 0; d < type.rank(); d++) {
            if (!type.isDynamic(d) && extensions.bounds().get(d) != DYNAMIC) {
                return "a static dimension cannot have a bound, got " + type;
            }
        }
        return "";
    }

    private static @Nullable TensorType shaped(Type type) {
        return type instanceof TensorType tensor ? tensor : type instanceof Type.Buffer buffer ? buffer.tensor() : null;
    }

    private static boolean isShaped(Type type) {
        return type instanceof TensorType || type instanceof Type.UnrankedTensor || type instanceof Type.Buffer;
    }

    private static boolean within(long size, long bound) {
        return bound == DYNAMIC || size == DYNAMIC || size <= bound;
    }

    /** Whether a type could be the other at run time. */
    static boolean compatible(Type left, Type right) {
        if (left.equals(right)) {
            return true;
        }
        if (isShaped(left) && isShaped(right)) {
            return compatibleShapes(left, right) && compatibleElements(left, right);
        }
        if (left instanceof Type.Tuple a && right instanceof Type.Tuple b) {
            return compatible(a.types(), b.types());
        }
        return compatibleElements(left, right);
    }

    static boolean compatible(List<? extends Type> left, List<? extends Type> right) {
        if (left.size() != right.size()) {
            return false;
        }
        for (int i = 0; i < left.size(); i++) {
            if (!compatible(left.get(i), right.get(i))) {
                return false;
            }
        }
        return true;
    }

    static boolean compatibleSizes(long left, long right) {
        return left == DYNAMIC || right == DYNAMIC || left == right;
    }

    /** The type of a tensor with these sizes, and the bounds as its encoding where there are any. */
    static TensorType tensor(ElementType element, long[] shape, long[] bounds, @Nullable Attribute encoding) {
        boolean bounded = false;
        for (long bound : bounds) {
            bounded |= bound != DYNAMIC;
        }
        return new TensorType(
                element,
                ImmutableLongArray.copyOf(shape),
                bounded ? TypeExtensions.of(bounds) : encoding instanceof TypeExtensions ? null : encoding);
    }

    /** What is known of a value that has all of these types. */
    static Type mostSpecific(List<? extends Type> types) {
        return combine(types, true);
    }

    /** What is known of a value that has one of these types. */
    static Type leastSpecific(List<? extends Type> types) {
        return combine(types, false);
    }

    private static Type combine(List<? extends Type> types, boolean most) {
        Type first = types.getFirst();
        if (types.size() == 1 || (first instanceof TensorType tensor && tensor.encoding() == null && allEqual(types))) {
            return first;
        }
        if (first instanceof Type.Tuple tuple) {
            List<Type> elements = new ArrayList<>();
            for (int i = 0; i < tuple.types().size(); i++) {
                List<Type> column = new ArrayList<>();
                for (Type type : types) {
                    if (!(type instanceof Type.Tuple other)
                            || other.types().size() != tuple.types().size()) {
                        throw new Violation("types " + first + " and " + type + " do not agree");
                    }
                    column.add(other.types().get(i));
                }
                elements.add(combine(column, most));
            }
            return new Type.Tuple(elements);
        }
        List<TensorType> ranked = new ArrayList<>();
        for (Type type : types) {
            if (type instanceof TensorType tensor) {
                ranked.add(tensor);
            } else if (!most && isShaped(first)) {
                return type;
            }
        }
        if (ranked.isEmpty()) {
            return first;
        }
        TensorType result = ranked.getFirst();
        int rank = result.rank();
        long[] shape = result.shape().toArray();
        long[] bounds = new long[rank];
        for (int d = 0; d < rank; d++) {
            bounds[d] = result.bound(d);
        }
        for (TensorType type : ranked.subList(1, ranked.size())) {
            Violation.check(type.rank() == rank, "ranks of %s and %s differ", result, type);
            for (int d = 0; d < rank; d++) {
                combineDimension(shape, bounds, d, type.dim(d), type.bound(d), most);
            }
        }
        return tensor(result.element(), shape, bounds, result.encoding());
    }

    private static boolean allEqual(List<? extends Type> types) {
        for (Type type : types) {
            if (!type.equals(types.getFirst())) {
                return false;
            }
        }
        return true;
    }

    private static void combineDimension(long[] shape, long[] bounds, int d, long size, long bound, boolean most) {
        long leftSize = shape[d];
        long leftBound = bounds[d];
        if (leftSize != DYNAMIC && size != DYNAMIC && leftSize != size) {
            throw new Violation("sizes " + leftSize + " and " + size + " of dimension " + d + " differ");
        }
        if (most) {
            shape[d] = leftSize != DYNAMIC ? leftSize : size;
            if (shape[d] != DYNAMIC) {
                long limit = leftBound != DYNAMIC ? leftBound : bound;
                Violation.check(
                        within(shape[d], limit),
                        "size %s of dimension %s is greater than the bound %s",
                        shape[d],
                        d,
                        limit);
                bounds[d] = DYNAMIC;
            } else {
                bounds[d] = leftBound == DYNAMIC ? bound : bound == DYNAMIC ? leftBound : Math.min(leftBound, bound);
            }
            return;
        }
        if (leftSize != DYNAMIC && size != DYNAMIC) {
            bounds[d] = DYNAMIC;
            return;
        }
        long leftLimit = leftSize != DYNAMIC ? leftSize : leftBound;
        long rightLimit = size != DYNAMIC ? size : bound;
        shape[d] = DYNAMIC;
        bounds[d] = leftLimit == DYNAMIC || rightLimit == DYNAMIC ? DYNAMIC : Math.max(leftLimit, rightLimit);
    }

    /** Width in bits of an element; 0 where it has none. */
    static int width(ElementType element) {
        return switch (element) {
            case IntegerType integer -> integer.width();
            case FloatType floating -> floating.width();
            case ComplexType complex -> 2 * width(complex.element());
            case QuantizedType quantized -> quantized.storage().width();
            default -> 0;
        };
    }

    /** The type that a quantized element stands for, or the element itself. */
    static ElementType expressed(ElementType element) {
        return element instanceof QuantizedType quantized ? quantized.expressed() : element;
    }

    static boolean isBool(ElementType element) {
        return element.equals(ElementType.I1);
    }

    static String show(long size) {
        return size == DYNAMIC ? "?" : Long.toString(size);
    }

    static String show(ImmutableLongArray sizes) {
        StringBuilder out = new StringBuilder("[");
        for (int i = 0; i < sizes.length(); i++) {
            out.append(i == 0 ? "" : ", ").append(show(sizes.get(i)));
        }
        return out.append(']').toString();
    }
}

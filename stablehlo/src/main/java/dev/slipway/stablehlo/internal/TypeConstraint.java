// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.ComplexType;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.IntegerType;
import dev.slipway.stablehlo.QuantizedType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.util.HashMap;
import java.util.Map;

/** Which types an operand or a result may have, parsed from the table's words. */
final class TypeConstraint {
    private static final int BOOL = 1;
    private static final int SIGNLESS = 1 << 1;
    private static final int UNSIGNED = 1 << 2;
    private static final int FLOAT = 1 << 3;
    private static final int F32_F64 = 1 << 4;
    private static final int COMPLEX = 1 << 5;
    private static final int QUANTIZED = 1 << 6;
    private static final int PER_AXIS = 1 << 7;
    private static final int INDEX = 1 << 8;
    private static final int ANY_INTEGER = 1 << 9;
    private static final int I32 = 1 << 10;
    private static final int UI32 = 1 << 11;
    private static final int ANYTHING = 1 << 12;

    private static final Map<String, Integer> ELEMENTS = Map.ofEntries(
            Map.entry("bool", BOOL),
            Map.entry("sint", SIGNLESS),
            Map.entry("int", SIGNLESS | UNSIGNED),
            Map.entry("float", FLOAT),
            Map.entry("f32f64", F32_F64),
            Map.entry("complex", COMPLEX),
            Map.entry("quant", QUANTIZED),
            Map.entry("axis", PER_AXIS),
            Map.entry("index", INDEX),
            Map.entry("anyint", ANY_INTEGER),
            Map.entry("i32", I32),
            Map.entry("ui32", UI32),
            Map.entry("anything", ANYTHING));

    private static final Map<String, TypeConstraint> ALL = new HashMap<>();

    static {
        OpTable.types().forEach((name, words) -> ALL.put(name, new TypeConstraint(words)));
    }

    private final String words;
    private int elements;
    private int rank = -1;
    private boolean isStatic;
    private boolean isBounded;
    private boolean unranked;
    private boolean token;
    private boolean tuple;
    private boolean memref;
    private boolean future;
    private boolean other;

    private TypeConstraint(String words) {
        this.words = words;
        for (String word : words.split(" ", -1)) {
            Integer element = ELEMENTS.get(word);
            if (element != null) {
                elements |= element;
                continue;
            }
            switch (word) {
                case "static" -> isStatic = true;
                case "bounded" -> isBounded = true;
                case "unranked" -> unranked = true;
                case "token" -> token = true;
                case "tuple" -> tuple = true;
                case "memref" -> memref = true;
                case "future" -> future = true;
                case "other" -> other = true;
                default -> {
                    if (!word.startsWith("rank=")) {
                        throw new IllegalStateException("the op table has an unknown word in a type: " + word);
                    }
                    rank = Integer.parseInt(word.substring(5));
                }
            }
        }
    }

    static TypeConstraint of(String name) {
        TypeConstraint constraint = ALL.get(name);
        if (constraint == null) {
            throw new IllegalStateException("no type constraint is called " + name);
        }
        return constraint;
    }

    /** In words, for messages. */
    String words() {
        return words;
    }

    boolean accepts(Type type) {
        return switch (type) {
            case TensorType tensor -> acceptsTensor(tensor);
            case Type.UnrankedTensor tensor ->
                (unranked || other) && (kinds(tensor.element()) & elements) != 0 && perAxisFits(tensor.element(), null);
            case Type.Token _ -> token;
            case Type.Tuple nested -> tuple && (other || nested.types().stream().allMatch(this::acceptsInTuple));
            case Type.Buffer _ -> memref;
            case Type.Future _ -> future;
            default -> other;
        };
    }

    private boolean acceptsInTuple(Type type) {
        return switch (type) {
            case TensorType tensor ->
                (kinds(tensor.element()) & (BOOL | SIGNLESS | UNSIGNED | FLOAT | COMPLEX | QUANTIZED | PER_AXIS)) != 0;
            case Type.Tuple nested -> nested.types().stream().allMatch(this::acceptsInTuple);
            case Type.Token _, Type.Buffer _ -> true;
            default -> false;
        };
    }

    private boolean acceptsTensor(TensorType tensor) {
        if ((kinds(tensor.element()) & elements) == 0 || (rank >= 0 && tensor.rank() != rank)) {
            return false;
        }
        if (!perAxisFits(tensor.element(), tensor)) {
            return false;
        }
        if (isStatic && !tensor.isStatic()) {
            return false;
        }
        return !isBounded || tensor.isStatic() || hasSingleBoundedDimension(tensor);
    }

    private static boolean perAxisFits(ElementType element, @org.jspecify.annotations.Nullable TensorType tensor) {
        if (!(element instanceof QuantizedType quantized) || !quantized.isPerAxis() || tensor == null) {
            return true;
        }
        int axis = quantized.axes().getFirst();
        return axis < tensor.rank()
                && (tensor.isDynamic(axis)
                        || tensor.dim(axis) == quantized.scales().length());
    }

    static boolean hasSingleBoundedDimension(TensorType tensor) {
        int dynamic = 0;
        for (int i = 0; i < tensor.rank(); i++) {
            if (tensor.isDynamic(i)) {
                dynamic++;
                if (tensor.bound(i) == TensorType.DYNAMIC) {
                    return false;
                }
            }
        }
        return dynamic == 1;
    }

    private static int kinds(ElementType element) {
        return ANYTHING
                | switch (element) {
                    case IntegerType integer -> integerKinds(integer);
                    case FloatType floating ->
                        floating == FloatType.TF32
                                ? 0
                                : FLOAT | (floating == FloatType.F32 || floating == FloatType.F64 ? F32_F64 : 0);
                    case ComplexType complex ->
                        complex.element() == FloatType.F32 || complex.element() == FloatType.F64 ? COMPLEX : 0;
                    case QuantizedType quantized ->
                        !isValid(quantized)
                                ? 0
                                : quantized.isPerTensor() ? QUANTIZED : quantized.isPerAxis() ? PER_AXIS : 0;
                    case Type.Index _ -> INDEX;
                    case Type.Opaque _ -> 0;
                };
    }

    private static int integerKinds(IntegerType integer) {
        int width = integer.width();
        int kinds = ANY_INTEGER;
        boolean usual = width == 2 || width == 4 || width == 8 || width == 16 || width == 32 || width == 64;
        switch (integer.signedness()) {
            case SIGNLESS -> {
                kinds |= usual ? SIGNLESS : width == 1 ? BOOL : 0;
                kinds |= width == 32 ? I32 : 0;
            }
            case UNSIGNED -> kinds |= usual ? UNSIGNED | (width == 32 ? UI32 : 0) : 0;
            case SIGNED -> {}
        }
        return kinds;
    }

    /** The dialect's rules for quantized types: widths, floating-point scales, zero points within the storage type. */
    private static boolean isValid(QuantizedType quantized) {
        int width = quantized.storage().width();
        if (quantized.storage().signedness() == IntegerType.Signedness.SIGNED) {
            return false;
        }
        if (width != 2 && width != 4 && width != 8 && width != 16 && width != 32) {
            return false;
        }
        for (int i = 0; i < quantized.scales().length(); i++) {
            double scale = quantized.scales().get(i);
            if (!(scale > 0) || Double.isInfinite(scale)) {
                return false;
            }
            double narrowed = Floats.toDouble(Floats.fromDouble(scale, quantized.expressed()), quantized.expressed());
            if (narrowed == 0 || Double.isInfinite(narrowed)) {
                return false;
            }
        }
        for (int i = 0; i < quantized.zeroPoints().length(); i++) {
            long zero = quantized.zeroPoints().get(i);
            if (zero < quantized.storageMin() || zero > quantized.storageMax()) {
                return false;
            }
        }
        return true;
    }
}

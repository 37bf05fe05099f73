// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableDoubleArray;
import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.ComplexType;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.IntegerType;
import dev.slipway.stablehlo.QuantizedType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Types from text. */
final class TypeParser {
    private static final Map<String, FloatType> FLOATS = new HashMap<>();

    static {
        for (FloatType type : FloatType.values()) {
            FLOATS.put(type.toString(), type);
        }
    }

    private final AttributeParser attributes;
    private final Scanner in;
    private final Map<String, Type> cache = new HashMap<>();

    TypeParser(AttributeParser attributes) {
        this.attributes = attributes;
        this.in = attributes.in;
    }

    Type type() {
        in.skip();
        // Most types are ranked tensors that were seen before: look the text up.
        if (in.startsWith("tensor<")) {
            int end = in.at + 7;
            byte[] text = in.text;
            while (end < text.length && text[end] != '>' && text[end] != '<' && text[end] != '!' && text[end] != '#') {
                end++;
            }
            if (end < text.length && text[end] == '>') {
                String key = new String(text, in.at, end + 1 - in.at, StandardCharsets.ISO_8859_1);
                Type known = cache.get(key);
                if (known != null) {
                    in.at = end + 1;
                    return known;
                }
                Type parsed = parseType();
                cache.put(key, parsed);
                return parsed;
            }
        }
        return parseType();
    }

    private Type parseType() {
        in.enter();
        Type type = parseTypeHere();
        in.leave();
        return type;
    }

    private Type parseTypeHere() {
        int start = in.at;
        char c = in.peek();
        if (c == '(') {
            List<Type> inputs = typesInParentheses();
            in.expect("->");
            return new Type.Function(inputs, resultTypes());
        }
        if (c == '!') {
            return dialectType();
        }
        String word = in.word();
        return switch (word) {
            case "tensor" -> tensor();
            case "tuple" -> {
                in.expect('<');
                List<Type> types = new ArrayList<>();
                if (!in.accept('>')) {
                    do {
                        types.add(type());
                    } while (in.accept(','));
                    in.expect('>');
                }
                yield new Type.Tuple(types);
            }
            case "complex" -> {
                in.expect('<');
                ElementType element = elementType();
                in.expect('>');
                yield new ComplexType(element);
            }
            case "index" -> Type.Index.INSTANCE;
            case "none" -> Type.None.INSTANCE;
            case "memref" -> buffer();
            case "vector", "strided" -> {
                in.skip();
                in.skipBalanced();
                yield new Type.Opaque(in.slice(start).strip());
            }
            case "f80", "f128" -> new Type.Opaque(word);
            default -> {
                FloatType floating = FLOATS.get(word);
                if (floating != null) {
                    yield floating;
                }
                IntegerType integer = integerType(word, start);
                if (integer != null) {
                    yield integer;
                }
                throw in.errorAt("expected a type, got " + (word.isEmpty() ? in.found() : "'" + word + "'"), start);
            }
        };
    }

    private @Nullable IntegerType integerType(String word, int start) {
        int digits = word.startsWith("si") || word.startsWith("ui") ? 2 : word.startsWith("i") ? 1 : -1;
        if (digits < 0 || word.length() == digits || word.length() > digits + 8) {
            return null;
        }
        for (int i = digits; i < word.length(); i++) {
            if (!Character.isDigit(word.charAt(i))) {
                return null;
            }
        }
        int width = Integer.parseInt(word.substring(digits));
        if (width < 1 || width > IntegerType.MAX_WIDTH) {
            throw in.errorAt("an integer type has 1 to " + IntegerType.MAX_WIDTH + " bits", start);
        }
        return new IntegerType(
                width,
                switch (word.charAt(0)) {
                    case 's' -> IntegerType.Signedness.SIGNED;
                    case 'u' -> IntegerType.Signedness.UNSIGNED;
                    default -> IntegerType.Signedness.SIGNLESS;
                });
    }

    ElementType elementType() {
        int start = in.at;
        if (type() instanceof ElementType element) {
            return element;
        }
        throw in.errorAt("expected an element type", start);
    }

    List<Type> typesInParentheses() {
        in.expect('(');
        List<Type> types = new ArrayList<>();
        if (in.accept(')')) {
            return types;
        }
        do {
            types.add(type());
        } while (in.accept(','));
        in.expect(')');
        return types;
    }

    List<Type> resultTypes() {
        if (in.peek() == '(') {
            return typesInParentheses();
        }
        return List.of(type());
    }

    Type.Function functionType() {
        List<Type> inputs = typesInParentheses();
        in.expect("->");
        return new Type.Function(inputs, resultTypes());
    }

    private Type tensor() {
        int start = in.at;
        in.expect('<');
        if (in.accept('*')) {
            in.expect('x');
            ElementType element = elementType();
            in.expect('>');
            return new Type.UnrankedTensor(element);
        }
        ImmutableLongArray shape = dimensions();
        ElementType element = elementType();
        Attribute encoding = in.accept(',') ? attributes.attribute() : null;
        in.expect('>');
        TensorType type = new TensorType(element, shape, encoding);
        String problem = Types.boundsProblem(type);
        if (!problem.isEmpty()) {
            throw in.errorAt(problem, start);
        }
        return type;
    }

    /** {@code 2x?x3x}; may be empty. */
    private ImmutableLongArray dimensions() {
        ImmutableLongArray.Builder shape = ImmutableLongArray.builder();
        while (true) {
            char c = in.peek();
            if (c == '?') {
                in.at++;
                shape.add(TensorType.DYNAMIC);
            } else if (c >= '0' && c <= '9') {
                int start = in.at;
                long size = 0;
                while (Scanner.isDigit((byte) in.here())) {
                    int digit = in.here() - '0';
                    if (size > (Long.MAX_VALUE - digit) / 10) {
                        throw in.errorAt("the dimension does not fit 63 bits", start);
                    }
                    size = size * 10 + digit;
                    in.at++;
                }
                shape.add(size);
            } else {
                return shape.build();
            }
            if (in.here() != 'x') {
                throw in.error("expected 'x' after a dimension, got " + in.found());
            }
            in.at++;
        }
    }

    private Type buffer() {
        in.expect('<');
        int start = in.at;
        if (in.accept('*')) {
            in.at = start - 1;
            in.skipBalanced();
            return new Type.Opaque("memref" + in.slice(start - 1));
        }
        ImmutableLongArray shape = dimensions();
        ElementType element = elementType();
        String layout = null;
        if (in.accept(',')) {
            in.skip();
            int from = in.at;
            while (in.peek() != '>') {
                if (in.atEnd()) {
                    throw in.error("the bracket is not closed");
                }
                char c = in.here();
                if (c == '<' || c == '(' || c == '[' || c == '{' || c == '"') {
                    in.skipBalanced();
                } else {
                    in.at++;
                }
            }
            layout = in.slice(from);
        }
        in.expect('>');
        return new Type.Buffer(TensorType.of(element, shape), layout);
    }

    private Type dialectType() {
        int start = in.at;
        in.at++;
        String name = in.suffix();
        return switch (name) {
            case "stablehlo.token" -> Type.Token.INSTANCE;
            case "stablehlo.future" -> {
                in.expect('<');
                List<Type> types = new ArrayList<>();
                if (in.peek() != '>') {
                    do {
                        types.add(type());
                    } while (in.accept(','));
                }
                in.expect('>');
                for (Type each : types) {
                    if (!(each instanceof TensorType)) {
                        throw in.errorAt("a future holds ranked tensors, not " + each, start);
                    }
                }
                yield new Type.Future(types);
            }
            case "quant.uniform" -> quantized();
            default -> {
                if (name.startsWith("stablehlo.") || name.startsWith("chlo.") || name.startsWith("sdy.")) {
                    throw in.errorAt("no type is called !" + name, start);
                }
                if (name.indexOf('.') < 0 && in.here() != '<') {
                    yield (Type) attributes.alias("!" + name, this::type);
                }
                if (in.here() == '<') {
                    in.skipBalanced();
                }
                yield new Type.Opaque(in.slice(start));
            }
        };
    }

    private Type quantized() {
        int start = in.at;
        in.expect('<');
        String storageName = in.expectWord("a storage type");
        boolean unsigned = storageName.startsWith("u");
        IntegerType parsed = integerType(
                unsigned && !storageName.startsWith("ui") ? "i" + storageName.substring(1) : storageName, start);
        if (parsed == null || parsed.width() > 32) {
            throw in.errorAt("expected an integer storage type of at most 32 bits", start);
        }
        IntegerType storage = unsigned ? IntegerType.unsigned(parsed.width()) : parsed;
        long min = QuantizedType.defaultMin(storage);
        long max = QuantizedType.defaultMax(storage);
        if (in.accept('<')) {
            long least = in.integer();
            in.expect(':');
            long greatest = in.integer();
            in.expect('>');
            if (least < min || greatest > max || least >= greatest) {
                throw in.errorAt("the storage range " + least + ":" + greatest + " does not fit " + storage, start);
            }
            min = least;
            max = greatest;
        }
        in.expect(':');
        if (!(type() instanceof FloatType expressed)) {
            throw in.errorAt("expected a floating-point expressed type", start);
        }
        List<Integer> axes = new ArrayList<>();
        List<Long> blocks = new ArrayList<>();
        boolean perBlock = false;
        if (in.accept(':')) {
            if (in.accept('{')) {
                perBlock = true;
                do {
                    axes.add(axis(start));
                    in.expect(':');
                    blocks.add(in.integer());
                } while (in.accept(','));
                in.expect('}');
            } else {
                axes.add(axis(start));
            }
        }
        in.expect(',');
        ImmutableDoubleArray.Builder scales = ImmutableDoubleArray.builder();
        ImmutableLongArray.Builder zeros = ImmutableLongArray.builder();
        List<Long> scaleShape = new ArrayList<>();
        if (axes.isEmpty()) {
            scale(scales, zeros);
        } else {
            scaleList(scales, zeros, scaleShape, 0);
        }
        in.expect('>');
        ImmutableDoubleArray scaleArray = scales.build();
        ImmutableLongArray zeroArray = zeros.build();
        checkQuantized(start, expressed, min, max, scaleArray, zeroArray);
        return new QuantizedType(
                storage,
                expressed,
                min,
                max,
                ImmutableList.copyOf(axes),
                ImmutableLongArray.copyOf(blocks),
                perBlock ? ImmutableLongArray.copyOf(scaleShape) : ImmutableLongArray.of(),
                scaleArray,
                zeroArray);
    }

    private void checkQuantized(
            int start, FloatType expressed, long min, long max, ImmutableDoubleArray scales, ImmutableLongArray zeros) {
        for (int i = 0; i < scales.length(); i++) {
            double narrowed = Floats.toDouble(Floats.fromDouble(scales.get(i), expressed), expressed);
            if (!(scales.get(i) >= Floats.toDouble(1, expressed)) || Double.isInfinite(narrowed)) {
                throw in.errorAt("the scale " + scales.get(i) + " is out of range for " + expressed, start);
            }
            if (zeros.get(i) < min || zeros.get(i) > max) {
                throw in.errorAt("the zero point " + zeros.get(i) + " is not in " + min + ":" + max, start);
            }
        }
    }

    private int axis(int start) {
        long axis = in.integer();
        if (axis < 0 || axis > 1 << 20) {
            throw in.errorAt("a quantized dimension cannot be " + axis, start);
        }
        return (int) axis;
    }

    private void scaleList(
            ImmutableDoubleArray.Builder scales, ImmutableLongArray.Builder zeros, List<Long> shape, int depth) {
        in.enter();
        in.expect('{');
        long count = 0;
        do {
            if (in.peek() == '{') {
                scaleList(scales, zeros, shape, depth + 1);
            } else {
                scale(scales, zeros);
            }
            count++;
        } while (in.accept(','));
        in.expect('}');
        while (shape.size() <= depth) {
            shape.add(0L);
        }
        shape.set(depth, count);
        in.leave();
    }

    private void scale(ImmutableDoubleArray.Builder scales, ImmutableLongArray.Builder zeros) {
        scales.add(attributes.real());
        zeros.add(in.accept(':') ? in.integer() : 0);
    }
}

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
import dev.slipway.stablehlo.Location;
import dev.slipway.stablehlo.QuantizedType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Types, attributes and locations from text. */
final class AttributeParser {
    private static final Map<String, FloatType> FLOATS = new HashMap<>();

    static {
        for (FloatType type : FloatType.values()) {
            FLOATS.put(type.toString(), type);
        }
    }

    final Scanner in;
    private final Map<String, Integer> aliases = new HashMap<>();
    private final Map<String, Resolved> resolved = new HashMap<>();
    private final Set<String> resolving = new HashSet<>();
    private final Map<String, Type> typeCache = new HashMap<>();
    private final StructParser structs;

    /** What an alias stands for. */
    private record Resolved(Object value, Nesting.Extent extent) {}

    AttributeParser(Scanner in) {
        this.in = in;
        this.structs = new StructParser(this);
        findAliases();
    }

    StructParser structs() {
        return structs;
    }

    /** Aliases are defined at the start of a line, and may be used before. */
    private void findAliases() {
        byte[] text = in.text;
        int at = 0;
        while (at < text.length) {
            if (text[at] == '#' || text[at] == '!') {
                int end = at + 1;
                while (end < text.length && text[end] != ' ' && text[end] != '=' && text[end] != '\n') {
                    end++;
                }
                int equals = end;
                while (equals < text.length && text[equals] == ' ') {
                    equals++;
                }
                if (equals < text.length && text[equals] == '=') {
                    aliases.put(new String(text, at, end - at, StandardCharsets.UTF_8), equals + 1);
                }
            }
            while (at < text.length && text[at] != '\n') {
                at++;
            }
            at++;
        }
    }

    /** Passes the definition of an alias. */
    void aliasDefinition() {
        int start = in.at;
        boolean isType = in.here() == '!';
        in.at++;
        String name = (isType ? "!" : "#") + in.suffix();
        in.expect('=');
        if (!aliases.containsKey(name)) {
            throw in.errorAt("an alias must be defined at the start of a line", start);
        }
        if (isType) {
            type();
        } else {
            attribute();
        }
    }

    private Object alias(String name, Supplier<Object> parse) {
        Resolved known = resolved.get(name);
        if (known != null) {
            in.reuse(known.extent);
            return known.value;
        }
        Integer definition = aliases.get(name);
        if (definition == null) {
            throw in.error("the alias " + name + " is not defined");
        }
        if (!resolving.add(name)) {
            throw in.error("the alias " + name + " is defined by itself");
        }
        int here = in.at;
        in.at = definition;
        Nesting.Extent outer = in.beginShared();
        Object value = parse.get();
        resolved.put(name, new Resolved(value, in.endShared(outer)));
        in.at = here;
        resolving.remove(name);
        return value;
    }

    // Types.

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
                Type known = typeCache.get(key);
                if (known != null) {
                    in.at = end + 1;
                    return known;
                }
                Type parsed = parseType();
                typeCache.put(key, parsed);
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
        Attribute encoding = in.accept(',') ? attribute() : null;
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
                    yield (Type) alias("!" + name, this::type);
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
        scales.add(real());
        zeros.add(in.accept(':') ? in.integer() : 0);
    }

    // Numbers.

    /** A number as it stands in the text. */
    record Numeral(String text, boolean isFloat, boolean isHex) {
        double toDouble() {
            return Double.parseDouble(text);
        }
    }

    /** A number, with its sign. */
    Numeral number() {
        in.skip();
        int start = in.at;
        if (in.here() == '-' || in.here() == '+') {
            in.at++;
        }
        if (!Scanner.isDigit((byte) in.here())) {
            throw in.errorAt("expected a number, got " + in.found(), start);
        }
        boolean hex = false;
        boolean floating = false;
        if (in.here() == '0' && in.at + 1 < in.text.length && in.text[in.at + 1] == 'x') {
            hex = true;
            in.at += 2;
            while (Character.digit(in.here(), 16) >= 0) {
                in.at++;
            }
        } else {
            digits();
            if (in.here() == '.') {
                floating = true;
                in.at++;
                digits();
                if (in.here() == 'e' || in.here() == 'E') {
                    int exponent = in.at++;
                    if (in.here() == '-' || in.here() == '+') {
                        in.at++;
                    }
                    if (Scanner.isDigit((byte) in.here())) {
                        digits();
                    } else {
                        in.at = exponent;
                    }
                }
            }
        }
        return new Numeral(in.slice(start), floating, hex);
    }

    /** A number of double precision, as digits or as bits. */
    double real() {
        int start = in.at;
        return Double.longBitsToDouble(floatBits(number(), FloatType.F64, start));
    }

    private void digits() {
        while (Scanner.isDigit((byte) in.here())) {
            in.at++;
        }
    }

    // Attributes.

    Attribute attribute() {
        in.enter();
        Attribute attribute = parseAttribute();
        in.leave();
        return attribute;
    }

    private Attribute parseAttribute() {
        char c = in.peek();
        return switch (c) {
            case '"' -> {
                String text = in.string();
                // A string may have a type, which nothing here asks for.
                yield Attribute.of(text);
            }
            case '[' -> Attribute.array(list());
            case '{' -> dictionary();
            case '@' -> symbol();
            case '#' -> dialectAttribute();
            case '-', '+', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9' -> numberAttribute();
            case '(', '!' -> new Attribute.TypeRef(type());
            default -> wordAttribute();
        };
    }

    private Attribute wordAttribute() {
        int start = in.at;
        String word = in.word();
        return switch (word) {
            case "true" -> Attribute.of(true);
            case "false" -> Attribute.of(false);
            case "unit" -> Attribute.Unit.INSTANCE;
            case "dense" -> new DenseParser(this).parse();
            case "dense_resource" -> {
                in.expect('<');
                String key = in.peek() == '"' ? in.string() : in.expectWord("the name of a resource");
                in.expect('>');
                in.expect(':');
                if (!(type() instanceof TensorType tensor)) {
                    throw in.errorAt("a resource has the type of a tensor", start);
                }
                yield new Attribute.Resource(key, tensor);
            }
            case "array" -> denseArray();
            case "loc" -> {
                in.at = start;
                yield location();
            }
            case "sparse", "affine_map", "affine_set", "distinct", "dense_string", "opaque" -> {
                in.skip();
                in.skipBalanced();
                if (in.here() == '<') {
                    in.skipBalanced();
                }
                if (!word.startsWith("affine") && in.accept(':')) {
                    type();
                }
                yield new Attribute.Opaque(in.slice(start).strip());
            }
            default -> {
                in.at = start;
                yield new Attribute.TypeRef(type());
            }
        };
    }

    List<Attribute> list() {
        in.expect('[');
        List<Attribute> elements = new ArrayList<>();
        if (in.accept(']')) {
            return elements;
        }
        do {
            elements.add(attribute());
        } while (in.accept(','));
        in.expect(']');
        return elements;
    }

    Attribute.Dictionary dictionary() {
        Map<String, Attribute> entries = new TreeMap<>();
        dictionaryInto(entries);
        return Attribute.Dictionary.of(entries);
    }

    void dictionaryInto(Map<String, Attribute> entries) {
        in.expect('{');
        if (in.accept('}')) {
            return;
        }
        do {
            in.skip();
            int start = in.at;
            String name = in.peek() == '"' ? in.string() : in.expectWord("the name of an attribute");
            Attribute value = in.accept('=') ? attribute() : Attribute.Unit.INSTANCE;
            if (entries.put(name, value) != null) {
                throw in.errorAt("the attribute '" + name + "' is given twice", start);
            }
        } while (in.accept(','));
        in.expect('}');
    }

    String symbolName() {
        in.expect('@');
        return in.here() == '"' ? in.string() : in.suffix();
    }

    private Attribute symbol() {
        String root = symbolName();
        List<String> nested = new ArrayList<>();
        while (in.startsWith("::")) {
            in.at += 2;
            nested.add(symbolName());
        }
        return new Attribute.SymbolRef(root, nested);
    }

    private Attribute numberAttribute() {
        int start = in.at;
        Numeral number = number();
        Type type = in.accept(':') ? type() : number.isFloat() ? FloatType.F64 : ElementType.I64;
        return switch (type) {
            case FloatType floating -> new Attribute.Real(floatBits(number, floating, start), floating);
            case IntegerType integer
            when integer.width() <= 64 && !number.isFloat() ->
                new Attribute.Int(integerValue(number, integer, start), integer);
            case Type.Index index
            when !number.isFloat() -> new Attribute.Int(integerValue(number, index, start), index);
            case IntegerType integer
            when !number.isFloat() -> new Attribute.Opaque(in.slice(start).strip());
            default -> throw in.errorAt("a number cannot have the type " + type, start);
        };
    }

    /** The bits of a floating-point number; hexadecimal digits are the bits themselves. */
    long floatBits(Numeral number, FloatType type, int start) {
        if (number.isHex()) {
            String digits = number.text().substring(number.text().indexOf('x') + 1);
            if (number.text().startsWith("-")) {
                throw in.errorAt("the bits of a number have no sign", start);
            }
            try {
                long bits = Long.parseUnsignedLong(digits, 16);
                if (type.width() < 64 && bits >>> type.width() != 0) {
                    throw in.errorAt("the bits do not fit " + type, start);
                }
                return bits;
            } catch (NumberFormatException _) {
                throw in.errorAt("the bits do not fit " + type, start);
            }
        }
        if (type == FloatType.F32) {
            return Float.floatToRawIntBits(Float.parseFloat(number.text())) & 0xFFFFFFFFL;
        }
        return Floats.fromDouble(number.toDouble(), type);
    }

    /** An integer, which must fit its type. */
    long integerValue(Numeral number, ElementType type, int start) {
        String text = number.text();
        boolean negative = text.startsWith("-");
        String digits = text.substring(negative || text.startsWith("+") ? 1 : 0);
        long magnitude;
        try {
            magnitude =
                    number.isHex() ? Long.parseUnsignedLong(digits.substring(2), 16) : Long.parseUnsignedLong(digits);
        } catch (NumberFormatException _) {
            throw in.errorAt("the integer does not fit " + type, start);
        }
        int width = type instanceof IntegerType integer ? integer.width() : 64;
        boolean unsigned =
                type instanceof IntegerType integer && integer.signedness() == IntegerType.Signedness.UNSIGNED;
        boolean tooLarge = width < 64 && magnitude >>> width != 0;
        boolean negativeTooLarge =
                negative && magnitude != 0 && (unsigned || magnitude - 1 < 0 || (magnitude - 1) >>> (width - 1) != 0);
        if (negative ? negativeTooLarge : tooLarge) {
            throw in.errorAt("the integer " + text + " does not fit " + type, start);
        }
        long value = negative ? -magnitude : magnitude;
        if (width < 64 && !unsigned && !type.equals(ElementType.I1)) {
            value = value << (64 - width) >> (64 - width);
        }
        return type.equals(ElementType.I1) ? value & 1 : value;
    }

    private Attribute denseArray() {
        int start = in.at;
        in.expect('<');
        Type element = type();
        ImmutableLongArray.Builder integers = ImmutableLongArray.builder();
        ImmutableDoubleArray.Builder reals = ImmutableDoubleArray.builder();
        if (in.accept(':') && in.peek() != '>') {
            do {
                in.skip();
                int at = in.at;
                if (in.acceptWord("true")) {
                    integers.add(1);
                } else if (in.acceptWord("false")) {
                    integers.add(0);
                } else if (element instanceof FloatType floating) {
                    reals.add(Floats.toDouble(floatBits(number(), floating, at), floating));
                } else if (element instanceof IntegerType integer) {
                    integers.add(integerValue(number(), integer, at));
                } else {
                    throw in.errorAt("an array cannot have elements of type " + element, start);
                }
            } while (in.accept(','));
        }
        in.expect('>');
        return switch (element) {
            case IntegerType integer -> new Attribute.IntArray(integer, integers.build());
            case FloatType floating -> new Attribute.RealArray(floating, reals.build());
            default -> throw in.errorAt("an array cannot have elements of type " + element, start);
        };
    }

    private Attribute dialectAttribute() {
        int start = in.at;
        in.at++;
        String name = in.suffix();
        if (name.indexOf('.') < 0 && in.here() != '<') {
            return (Attribute) alias("#" + name, this::attribute);
        }
        Attribute known = structs.parse(name, start);
        if (known != null) {
            return known;
        }
        if (in.here() == '<') {
            in.skipBalanced();
        }
        return new Attribute.Opaque(in.slice(start));
    }

    // Locations.

    /** {@code loc(...)}. */
    Location location() {
        in.expectWord("loc", true);
        in.expect('(');
        Location location = locationBody();
        in.expect(')');
        return location;
    }

    private Location locationBody() {
        in.enter();
        Location location = parseLocation();
        in.leave();
        return location;
    }

    private Location parseLocation() {
        char c = in.peek();
        if (c == '#') {
            int start = in.at++;
            String name = "#" + in.suffix();
            if (alias(name, this::attribute) instanceof Location location) {
                return location;
            }
            throw in.errorAt("the alias " + name + " is not a location", start);
        }
        if (c == '"') {
            String text = in.string();
            if (in.accept(':')) {
                int line = (int) in.integer();
                in.expect(':');
                int column = (int) in.integer();
                if (in.acceptWord("to")) {
                    int endLine = line;
                    if (in.peek() != ':') {
                        endLine = (int) in.integer();
                    }
                    in.expect(':');
                    return new Location.File(text, line, column, endLine, (int) in.integer());
                }
                return Location.File.of(text, line, column);
            }
            if (in.accept('(')) {
                Location child = locationBody();
                in.expect(')');
                return new Location.Name(text, child);
            }
            return new Location.Name(text, Location.UNKNOWN);
        }
        if (in.acceptWord("unknown")) {
            return Location.UNKNOWN;
        }
        if (in.acceptWord("callsite")) {
            in.expect('(');
            Location callee = locationBody();
            in.expectWord("at", true);
            Location caller = locationBody();
            in.expect(')');
            return new Location.CallSite(callee, caller);
        }
        if (in.acceptWord("fused")) {
            Attribute metadata = null;
            if (in.accept('<')) {
                metadata = attribute();
                in.expect('>');
            }
            in.expect('[');
            List<Location> locations = new ArrayList<>();
            if (!in.accept(']')) {
                do {
                    locations.add(locationBody());
                } while (in.accept(','));
                in.expect(']');
            }
            return new Location.Fused(locations, metadata);
        }
        throw in.error("expected a location, got " + in.found());
    }
}

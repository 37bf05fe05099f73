// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableDoubleArray;
import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.IntegerType;
import dev.slipway.stablehlo.Location;
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

/** Attributes and locations from text. */
final class AttributeParser {
    final Scanner in;
    private final Map<String, Integer> aliases = new HashMap<>();
    private final Map<String, Resolved> resolved = new HashMap<>();
    private final Set<String> resolving = new HashSet<>();
    private final TypeParser types;
    private final StructParser structs;

    /** What an alias stands for. */
    private record Resolved(Object value, Nesting.Extent extent) {}

    AttributeParser(Scanner in) {
        this.in = in;
        this.types = new TypeParser(this);
        this.structs = new StructParser(this);
        findAliases();
    }

    TypeParser types() {
        return types;
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
            types.type();
        } else {
            attribute();
        }
    }

    /** What an alias stands for: parsed where it is defined, once. */
    Object alias(String name, Supplier<Object> parse) {
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
            case '(', '!' -> new Attribute.TypeRef(types.type());
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
                if (!(types.type() instanceof TensorType tensor)) {
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
                    types.type();
                }
                yield new Attribute.Opaque(in.slice(start).strip());
            }
            default -> {
                in.at = start;
                yield new Attribute.TypeRef(types.type());
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
        Type type = in.accept(':') ? types.type() : number.isFloat() ? FloatType.F64 : ElementType.I64;
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
        Type element = types.type();
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

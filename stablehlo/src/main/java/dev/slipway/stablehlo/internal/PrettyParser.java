// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.Block;
import dev.slipway.stablehlo.BlockArgument;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.DotDimensionNumbers;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.IntegerType;
import dev.slipway.stablehlo.Location;
import dev.slipway.stablehlo.OpDefinition;
import dev.slipway.stablehlo.OpDefinition.Trait;
import dev.slipway.stablehlo.Operation;
import dev.slipway.stablehlo.Precision;
import dev.slipway.stablehlo.Region;
import dev.slipway.stablehlo.Shardy;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Pretty forms: those in the table's notation, and those that are written here. */
final class PrettyParser {
    private final Parser parser;
    private final Scanner in;
    private final AttributeParser attributes;

    PrettyParser(Parser parser) {
        this.parser = parser;
        this.in = parser.in;
        this.attributes = parser.attributes;
    }

    void parse(Parser.State state) {
        Format format = Format.of(state.definition);
        if (format == null) {
            throw in.errorAt(
                    state.definition.name() + " has no pretty form; it is written \"" + state.definition.name()
                            + "\"(...) : ...",
                    state.start);
        }
        if (!format.isCustom()) {
            pieces(state, format.pieces());
            return;
        }
        switch (state.definition.id()) {
            case OpTable.STABLEHLO_CONSTANT, OpTable.SDY_CONSTANT -> constant(state);
            case OpTable.STABLEHLO_REDUCE -> reduce(state);
            case OpTable.STABLEHLO_WHILE -> whileLoop(state);
            case OpTable.BUILTIN_MODULE -> module(state);
            case OpTable.FUNC_FUNC -> function(state);
            case OpTable.CHLO_SCAN -> scan(state);
            case OpTable.SDY_NAMED_COMPUTATION -> namedComputation(state);
            case OpTable.BUILTIN_UNREALIZED_CONVERSION_CAST -> cast(state);
            default -> throw new IllegalStateException("no form is written for " + state.definition);
        }
    }

    private void pieces(Parser.State state, List<Format.Piece> pieces) {
        for (Format.Piece piece : pieces) {
            piece(state, piece);
        }
    }

    private void piece(Parser.State state, Format.Piece piece) {
        switch (piece) {
            case Format.Literal literal ->
                in.expectWord(literal.text(), Character.isLetter(literal.text().charAt(0)));
            case Format.OperandPiece operand -> {
                if (operand.variadic()) {
                    operandList(state);
                } else {
                    state.operands.add(parser.operand());
                }
            }
            case Format.AllOperands _ -> operandList(state);
            case Format.AttributePiece attribute ->
                state.attributes.put(
                        attribute.attribute().name(),
                        ofKind(attribute.attribute().kind()));
            case Format.OperandType type -> operandType(state, type);
            case Format.ResultType type -> {
                if (type.variadic()) {
                    state.results = typeList();
                } else {
                    List<Type> results = state.results == null ? new ArrayList<>() : new ArrayList<>(state.results);
                    results.add(attributes.types().type());
                    state.results = results;
                }
            }
            case Format.AttributeDictionary _ -> {
                if (in.peek() == '{') {
                    attributes.dictionaryInto(state.attributes);
                }
            }
            case Format.Group group -> {
                if (starts(group.pieces())) {
                    pieces(state, group.pieces());
                }
            }
            case Format.Directive directive -> directive(state, directive);
        }
    }

    /** Whether a group can start here: its first piece decides, and after a comma the word that follows. */
    private boolean starts(List<Format.Piece> pieces) {
        int at = in.at;
        boolean matches = switch (pieces.getFirst()) {
            case Format.Literal literal
            when pieces.get(1) instanceof Format.Literal word ->
                in.accept(literal.text()) && in.acceptWord(word.text());
            case Format.Literal literal -> in.accept(literal.text());
            case Format.OperandPiece _ -> in.peek() == '%';
            case Format.Directive directive -> in.acceptWord(directive.argument());
            default -> true;
        };
        in.at = at;
        return matches;
    }

    private void operandList(Parser.State state) {
        if (in.peek() != '%') {
            return;
        }
        do {
            state.operands.add(parser.operand());
        } while (in.accept(','));
    }

    private List<Type> typeList() {
        List<Type> types = new ArrayList<>();
        do {
            types.add(attributes.types().type());
        } while (in.accept(','));
        return types;
    }

    private void operandType(Parser.State state, Format.OperandType piece) {
        in.skip();
        int at = in.at;
        List<Type> types =
                piece.variadic() ? typeList() : List.of(attributes.types().type());
        int from = piece.index();
        int to = Math.min(state.operands.size(), piece.variadic() ? state.operands.size() : from + 1);
        parser.checkTypes(state.operands.subList(Math.min(from, to), to), types, at);
    }

    private void functionType(Parser.State state) {
        in.skip();
        int at = in.at;
        Type.Function type = attributes.types().functionType();
        parser.checkTypes(state.operands, type.inputs(), at);
        state.results = type.results();
    }

    private Attribute ofKind(String kind) {
        return switch (kind) {
            case "I64", "I64>=0", "I64>0" -> typed(ElementType.I64);
            case "I32", "I32>=0", "I32>0", "CustomCallApiVersion" -> typed(ElementType.I32);
            case "UI64" -> typed(ElementType.UI64);
            case "UI32" -> typed(ElementType.UI32);
            case "F64" -> new Attribute.Real(Double.doubleToRawLongBits(attributes.real()), FloatType.F64);
            case "Bool" -> Attribute.of(bool());
            case "String" -> Attribute.of(in.string());
            case "SymbolName" -> Attribute.of(attributes.symbolName());
            case "I64Array" ->
                in.peek() == '['
                        ? new Attribute.IntArray(
                                (IntegerType) ElementType.I64,
                                attributes.structs().dims())
                        : attributes.attribute();
            default -> attributes.structs().ofKind(kind);
        };
    }

    private boolean bool() {
        if (in.acceptWord("true")) {
            return true;
        }
        in.expectWord("false", true);
        return false;
    }

    private Attribute typed(ElementType type) {
        in.skip();
        int start = in.at;
        AttributeParser.Numeral number = attributes.number();
        if (number.isFloat()) {
            throw in.errorAt("expected an integer, got " + number.text(), start);
        }
        return new Attribute.Int(attributes.integerValue(number, type, start), type);
    }

    private void directive(Parser.State state, Format.Directive directive) {
        switch (directive.name()) {
            case "FunctionalType" -> functionType(state);
            case "SameType" -> sameType(state, false);
            case "ComplexType" -> sameType(state, true);
            case "SelectType" -> {
                if (in.peek() == '(') {
                    functionType(state);
                } else {
                    int at = in.at;
                    List<Type> types = typeList();
                    if (types.size() != 2) {
                        throw in.errorAt("expected two types or the type of a function", at);
                    }
                    parser.checkTypes(state.operands, List.of(types.get(0), types.get(1), types.get(1)), at);
                    state.results = List.of(types.get(1));
                }
            }
            case "TupleType" -> {
                in.skip();
                int at = in.at;
                Type type = attributes.types().type();
                if (!(type instanceof Type.Tuple tuple)) {
                    throw in.errorAt("expected a tuple type, got " + type, at);
                }
                parser.checkTypes(state.operands, tuple.types(), at);
                state.results = List.of(type);
            }
            case "VariadicOperandWithAttribute" -> {
                while (in.peek() == '%') {
                    state.operands.add(parser.operand());
                    in.expect(',');
                }
            }
            case "OptionalPairwise" -> {
                if (in.accept('(')) {
                    in.expect(')');
                    state.results = List.of();
                } else {
                    operandList(state);
                    in.expect(':');
                    int at = in.at;
                    List<Type> types = typeList();
                    parser.checkTypes(state.operands, types, at);
                    state.results = types;
                }
            }
            case "Key" -> {
                in.expectWord(directive.argument(), true);
                in.expect('=');
                state.attributes.put(directive.argument(), ofKind(kindOf(state.definition, directive.argument())));
            }
            case "DotDimensionNumbers" -> dotDimensions(state);
            case "PrecisionConfig" -> precision(state);
            case "PrecisionConfigAndAlgorithm" -> {
                precision(state);
                if (acceptCommaWord("algorithm")) {
                    in.expect('=');
                    state.attributes.put("algorithm", attributes.structs().dotAlgorithm());
                }
            }
            case "SliceRanges" -> sliceRanges(state);
            case "ExponentMantissa" -> exponentMantissa(state);
            case "CustomCallTarget" -> state.attributes.put("call_target_name", Attribute.of(attributes.symbolName()));
            case "ConvolutionDimensions" ->
                state.attributes.put("dimension_numbers", attributes.structs().convolution());
            case "WindowAttributes" -> window(state);
            case "CompositeRegions" -> {
                if (in.accept('(')) {
                    do {
                        state.regions.add(parser.region(state.definition, List.of()));
                    } while (in.accept(','));
                    in.expect(')');
                }
            }
            case "ManualComputation" -> {
                in.expectWord("in_shardings", true);
                in.expect('=');
                state.attributes.put("in_shardings", attributes.structs().perValue());
                in.expectWord("out_shardings", true);
                in.expect('=');
                state.attributes.put("out_shardings", attributes.structs().perValue());
                in.expectWord("manual_axes", true);
                in.expect('=');
                state.attributes.put("manual_axes", attributes.structs().manualAxes());
                blockWithArguments(state);
            }
            default -> throw new IllegalStateException("the op table has an unknown piece: @" + directive.name());
        }
    }

    private static String kindOf(OpDefinition definition, String name) {
        return definition.attributes().stream()
                .filter(attribute -> attribute.name().equals(name))
                .findFirst()
                .orElseThrow()
                .kind();
    }

    private void sameType(Parser.State state, boolean complex) {
        in.skip();
        int at = in.at;
        if (in.peek() == '(') {
            functionType(state);
            if (state.results == null || state.results.size() != 1) {
                throw in.errorAt("expected a single result type", at);
            }
            return;
        }
        Type type = attributes.types().type();
        Type operand = complex ? CustomPrinter.realType(type) : type;
        if (complex && operand.equals(type)) {
            throw in.errorAt("expected a tensor of complex elements, got " + type, at);
        }
        for (int i = 0; i < state.operands.size(); i++) {
            if (!state.operands.get(i).type().equals(operand)) {
                throw in.errorAt(
                        "operand " + i + " has the type "
                                + state.operands.get(i).type() + ", not " + operand,
                        at);
            }
        }
        state.results = List.of(type);
    }

    /** Whether a comma and this word come next; then both are passed. */
    private boolean acceptCommaWord(String word) {
        in.skip();
        int at = in.at;
        if (in.accept(',') && in.acceptWord(word)) {
            return true;
        }
        in.at = at;
        return false;
    }

    private void dotDimensions(Parser.State state) {
        ImmutableLongArray lhsBatch = ImmutableLongArray.of();
        ImmutableLongArray rhsBatch = ImmutableLongArray.of();
        if (in.acceptWord("batching_dims")) {
            in.expect('=');
            lhsBatch = attributes.structs().dims();
            in.expectWord("x", true);
            rhsBatch = attributes.structs().dims();
            in.expect(',');
        }
        in.expectWord("contracting_dims", true);
        in.expect('=');
        ImmutableLongArray lhs = attributes.structs().dims();
        in.expectWord("x", true);
        ImmutableLongArray rhs = attributes.structs().dims();
        state.attributes.put("dot_dimension_numbers", new DotDimensionNumbers(lhsBatch, rhsBatch, lhs, rhs));
    }

    private void precision(Parser.State state) {
        if (!acceptCommaWord("precision")) {
            return;
        }
        in.expect('=');
        in.expect('[');
        List<Attribute> precisions = new ArrayList<>();
        if (!in.accept(']')) {
            do {
                precisions.add(attributes.structs().word(Precision.values()));
            } while (in.accept(','));
            in.expect(']');
        }
        if (!precisions.isEmpty()) {
            state.attributes.put("precision_config", Attribute.array(precisions));
        }
    }

    private void sliceRanges(Parser.State state) {
        ImmutableLongArray.Builder starts = ImmutableLongArray.builder();
        ImmutableLongArray.Builder limits = ImmutableLongArray.builder();
        ImmutableLongArray.Builder strides = ImmutableLongArray.builder();
        in.expect('[');
        if (!in.accept(']')) {
            do {
                starts.add(in.integer());
                in.expect(':');
                limits.add(in.integer());
                strides.add(in.accept(':') ? in.integer() : 1);
            } while (in.accept(','));
            in.expect(']');
        }
        IntegerType type = (IntegerType) ElementType.I64;
        state.attributes.put("start_indices", new Attribute.IntArray(type, starts.build()));
        state.attributes.put("limit_indices", new Attribute.IntArray(type, limits.build()));
        state.attributes.put("strides", new Attribute.IntArray(type, strides.build()));
    }

    private void exponentMantissa(Parser.State state) {
        in.skip();
        int at = in.at;
        String word = in.word();
        int m = word.indexOf('m');
        if (!word.startsWith("e") || m < 2 || m == word.length() - 1) {
            throw in.errorAt("expected a format such as e5m2, got '" + word + "'", at);
        }
        try {
            state.attributes.put("exponent_bits", Attribute.i32(Integer.parseInt(word.substring(1, m))));
            state.attributes.put("mantissa_bits", Attribute.i32(Integer.parseInt(word.substring(m + 1))));
        } catch (NumberFormatException _) {
            throw in.errorAt("expected a format such as e5m2, got '" + word + "'", at);
        }
    }

    private void window(Parser.State state) {
        if (in.peek() == '}') {
            return;
        }
        do {
            in.skip();
            int at = in.at;
            String field = in.expectWord("stride, pad, lhs_dilate, rhs_dilate or reverse");
            in.expect('=');
            String name = switch (field) {
                case "stride" -> "window_strides";
                case "pad" -> "padding";
                case "lhs_dilate" -> "lhs_dilation";
                case "rhs_dilate" -> "rhs_dilation";
                case "reverse" -> "window_reversal";
                default ->
                    throw in.errorAt(
                            "expected stride, pad, lhs_dilate, rhs_dilate or reverse, got '" + field + "'", at);
            };
            Attribute value = switch (field) {
                case "pad" -> padding();
                case "reverse" -> booleans();
                default ->
                    new Attribute.IntArray(
                            (IntegerType) ElementType.I64, attributes.structs().dims());
            };
            if (state.attributes.put(name, value) != null) {
                throw in.errorAt("'" + field + "' is given twice", at);
            }
        } while (in.accept(','));
    }

    private Attribute booleans() {
        in.expect('[');
        ImmutableLongArray.Builder values = ImmutableLongArray.builder();
        if (!in.accept(']')) {
            do {
                if (in.acceptWord("true")) {
                    values.add(1);
                } else if (in.acceptWord("false")) {
                    values.add(0);
                } else {
                    values.add(in.integer() == 0 ? 0 : 1);
                }
            } while (in.accept(','));
            in.expect(']');
        }
        return new Attribute.IntArray((IntegerType) ElementType.I1, values.build());
    }

    private Attribute padding() {
        List<Long> values = new ArrayList<>();
        in.expect('[');
        if (!in.accept(']')) {
            do {
                ImmutableLongArray pair = attributes.structs().dims();
                if (pair.length() != 2) {
                    throw in.error("padding has two numbers for each dimension");
                }
                values.add(pair.get(0));
                values.add(pair.get(1));
            } while (in.accept(','));
            in.expect(']');
        }
        return DenseElements.ofLongs(
                TensorType.of(ElementType.I64, values.size() / 2, 2),
                values.stream().mapToLong(Long::longValue).toArray());
    }

    private void constant(Parser.State state) {
        if (in.accept('(')) {
            in.expect(')');
            if (in.accept('<')) {
                attributes.dictionaryInto(state.attributes);
                in.expect('>');
            }
            if (in.peek() == '{') {
                attributes.dictionaryInto(state.attributes);
            }
            in.expect(':');
            state.results = attributes.types().functionType().results();
            return;
        }
        if (in.peek() == '{') {
            attributes.dictionaryInto(state.attributes);
        }
        in.skip();
        int at = in.at;
        Attribute value = attributes.attribute();
        state.attributes.put("value", value);
        state.results = switch (value) {
            case DenseElements dense -> List.of(dense.type());
            case Attribute.Resource resource -> List.of(resource.type());
            default -> throw in.errorAt("expected the elements of a constant, got " + value, at);
        };
    }

    private void reduce(Parser.State state) {
        List<Value> inits = new ArrayList<>();
        do {
            in.expect('(');
            state.operands.add(parser.operand());
            in.expectWord("init", true);
            in.expect(':');
            inits.add(parser.operand());
            in.expect(')');
        } while (in.accept(','));
        state.operands.addAll(inits);
        String inner = in.acceptWord("applies") ? in.expectWord("the name of an operation") : "";
        in.expectWord("across", true);
        in.expectWord("dimensions", true);
        in.expect('=');
        state.attributes.put(
                "dimensions",
                new Attribute.IntArray(
                        (IntegerType) ElementType.I64, attributes.structs().dims()));
        if (in.peek() == '{') {
            attributes.dictionaryInto(state.attributes);
        }
        in.expect(':');
        functionType(state);
        if (!inner.isEmpty()) {
            state.regions.add(reducer(state, inner));
            return;
        }
        in.expectWord("reducer", true);
        List<Parser.Argument> accumulators = new ArrayList<>();
        List<Parser.Argument> elements = new ArrayList<>();
        while (in.accept('(')) {
            accumulators.add(parser.argument());
            in.expect(',');
            elements.add(parser.argument());
            in.expect(')');
        }
        accumulators.addAll(elements);
        state.regions.add(parser.region(state.definition, accumulators));
    }

    private Region reducer(Parser.State state, String name) {
        OpDefinition inner = OpDefinition.of(name);
        if (!inner.dialect().equals("stablehlo") || !inner.has(Trait.COMMUTATIVE)) {
            throw in.errorAt(
                    "a reduce applies a commutative StableHLO operation of two operands, not " + name, state.start);
        }
        if (!(state.operands.getFirst().type() instanceof TensorType input)) {
            throw in.errorAt("a reduce takes ranked tensors", state.start);
        }
        Type scalar = TensorType.of(input.element());
        List<BlockArgument> arguments =
                List.of(new BlockArgument(0, scalar, Location.UNKNOWN), new BlockArgument(1, scalar, Location.UNKNOWN));
        Operation combine = new Operation(
                inner, arguments, Attribute.Dictionary.EMPTY, List.of(), List.of(scalar), Location.UNKNOWN);
        Operation end = new Operation(
                Registry.get(OpTable.STABLEHLO_RETURN),
                combine.results(),
                Attribute.Dictionary.EMPTY,
                List.of(),
                List.of(),
                Location.UNKNOWN);
        return Region.of(new Block(arguments, List.of(combine, end)));
    }

    private void whileLoop(Parser.State state) {
        in.expect('(');
        List<String> names = new ArrayList<>();
        List<Integer> places = new ArrayList<>();
        if (!in.accept(')')) {
            do {
                in.skip();
                places.add(in.at);
                in.expect('%');
                names.add(in.suffix());
                in.expect('=');
                state.operands.add(parser.operand());
            } while (in.accept(','));
            in.expect(')');
        }
        List<Type> types = List.of();
        if (!names.isEmpty()) {
            in.expect(':');
            in.skip();
            int at = in.at;
            types = typeList();
            parser.checkTypes(state.operands, types, at);
        }
        state.results = types;
        if (in.acceptWord("attributes")) {
            attributes.dictionaryInto(state.attributes);
        }
        List<Parser.Argument> arguments = new ArrayList<>();
        for (int i = 0; i < names.size(); i++) {
            arguments.add(new Parser.Argument(names.get(i), types.get(i), Location.UNKNOWN, places.get(i)));
        }
        in.expectWord("cond", true);
        state.regions.add(parser.region(state.definition, arguments));
        in.expectWord("do", true);
        state.regions.add(parser.region(state.definition, arguments));
    }

    private void module(Parser.State state) {
        visibility(state);
        if (in.peek() == '@') {
            state.attributes.put("sym_name", Attribute.of(attributes.symbolName()));
        }
        if (in.acceptWord("attributes")) {
            attributes.dictionaryInto(state.attributes);
        }
        Region body = parser.region(state.definition, List.of());
        state.regions.add(body.isEmpty() ? Region.of(new Block(List.of(), List.of())) : body);
        state.results = List.of();
    }

    private void visibility(Parser.State state) {
        for (String word : List.of("public", "private", "nested")) {
            if (in.acceptWord(word)) {
                state.attributes.put("sym_visibility", Attribute.of(word));
                return;
            }
        }
    }

    private void function(Parser.State state) {
        visibility(state);
        state.attributes.put("sym_name", Attribute.of(attributes.symbolName()));
        List<Parser.Argument> arguments = new ArrayList<>();
        List<Type> inputs = new ArrayList<>();
        List<Attribute> argumentAttributes = new ArrayList<>();
        in.expect('(');
        if (!in.accept(')')) {
            do {
                if (in.peek() == '%') {
                    int at = in.at;
                    in.at++;
                    String name = in.suffix();
                    in.expect(':');
                    Type type = attributes.types().type();
                    argumentAttributes.add(optionalDictionary());
                    arguments.add(new Parser.Argument(name, type, parser.optionalLocation(), at));
                    inputs.add(type);
                } else {
                    inputs.add(attributes.types().type());
                    argumentAttributes.add(optionalDictionary());
                }
            } while (in.accept(','));
            in.expect(')');
        }
        List<Type> results = new ArrayList<>();
        List<Attribute> resultAttributes = new ArrayList<>();
        if (in.accept("->")) {
            if (in.accept('(')) {
                if (!in.accept(')')) {
                    do {
                        results.add(attributes.types().type());
                        resultAttributes.add(optionalDictionary());
                    } while (in.accept(','));
                    in.expect(')');
                }
            } else {
                results.add(attributes.types().type());
            }
        }
        state.attributes.put("function_type", new Attribute.TypeRef(new Type.Function(inputs, results)));
        putUnlessEmpty(state.attributes, "arg_attrs", argumentAttributes);
        putUnlessEmpty(state.attributes, "res_attrs", resultAttributes);
        if (in.acceptWord("attributes")) {
            Map<String, Attribute> extra = new TreeMap<>();
            int at = in.at;
            attributes.dictionaryInto(extra);
            for (Map.Entry<String, Attribute> entry : extra.entrySet()) {
                if (state.attributes.putIfAbsent(entry.getKey(), entry.getValue()) != null) {
                    throw in.errorAt("the attribute '" + entry.getKey() + "' is given twice", at);
                }
            }
        }
        if (in.peek() == '{') {
            if (arguments.size() != inputs.size()) {
                throw in.error("a function with a body names its arguments");
            }
            Region body = parser.region(state.definition, arguments);
            state.regions.add(body);
        } else {
            state.regions.add(Region.EMPTY);
        }
        state.results = List.of();
    }

    private Attribute.Dictionary optionalDictionary() {
        return in.peek() == '{' ? attributes.dictionary() : Attribute.Dictionary.EMPTY;
    }

    private static void putUnlessEmpty(Map<String, Attribute> attributes, String name, List<Attribute> dictionaries) {
        if (dictionaries.stream().anyMatch(each -> !each.equals(Attribute.Dictionary.EMPTY))) {
            attributes.put(name, Attribute.array(dictionaries));
        }
    }

    private void scan(Parser.State state) {
        in.expect('(');
        operandList(state);
        in.expect(')');
        int inputs = state.operands.size();
        in.expectWord("inits", true);
        in.expect('(');
        operandList(state);
        in.expect(')');
        int carries = state.operands.size() - inputs;
        in.expectWord("dimension", true);
        in.expect('=');
        state.attributes.put("dimension", typed(ElementType.I64));
        if (in.acceptWord("attributes")) {
            attributes.dictionaryInto(state.attributes);
        }
        state.regions.add(parser.region(state.definition, List.of()));
        in.expect(':');
        int at = in.at;
        functionType(state);
        int results = state.results == null ? 0 : state.results.size();
        if (results < carries) {
            throw in.errorAt("there are fewer results than carries", at);
        }
        state.attributes.put("operandSegmentSizes", sizes(inputs, carries));
        state.attributes.put("resultSegmentSizes", sizes(results - carries, carries));
    }

    private static Attribute sizes(long first, long second) {
        return new Attribute.IntArray((IntegerType) ElementType.I32, ImmutableLongArray.of(first, second));
    }

    private void namedComputation(Parser.State state) {
        in.expect('<');
        state.attributes.put("name", Attribute.of(in.string()));
        in.expect('>');
        in.expect('(');
        operandList(state);
        in.expect(')');
        for (String name : List.of("in_shardings", "out_shardings")) {
            if (in.acceptWord(name)) {
                in.expect('=');
                Shardy.PerValue values = attributes.structs().perValue();
                state.attributes.put(name, values);
            }
        }
        blockWithArguments(state);
        if (in.peek() == '{') {
            attributes.dictionaryInto(state.attributes);
        }
        in.expect(':');
        functionType(state);
    }

    private void blockWithArguments(Parser.State state) {
        List<Parser.Argument> arguments = new ArrayList<>();
        in.expect('(');
        if (!in.accept(')')) {
            do {
                arguments.add(parser.argument());
            } while (in.accept(','));
            in.expect(')');
        }
        state.regions.add(parser.region(state.definition, arguments));
    }

    private void cast(Parser.State state) {
        in.skip();
        operandList(state);
        if (in.accept(':')) {
            int at = in.at;
            parser.checkTypes(state.operands, typeList(), at);
        }
        in.expectWord("to", true);
        state.results = typeList();
        if (in.peek() == '{') {
            attributes.dictionaryInto(state.attributes);
        }
    }
}

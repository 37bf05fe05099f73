// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.Block;
import dev.slipway.stablehlo.BlockArgument;
import dev.slipway.stablehlo.Location;
import dev.slipway.stablehlo.OpDefinition;
import dev.slipway.stablehlo.OpDefinition.Trait;
import dev.slipway.stablehlo.OpResult;
import dev.slipway.stablehlo.Operation;
import dev.slipway.stablehlo.Region;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Operations from text, in pretty or generic form. */
public final class Parser {
    final Scanner in;
    final AttributeParser attributes;
    private final @Nullable String fileName;
    private final PrettyParser pretty;
    private Map<String, Object> values = new HashMap<>();
    private List<String> defined = new ArrayList<>();
    private final Map<String, OpDefinition> definitions = new HashMap<>();
    private String defaultDialect = "builtin";

    private Parser(byte[] text, @Nullable String fileName) {
        this.in = new Scanner(text);
        this.attributes = new AttributeParser(in);
        this.fileName = fileName;
        this.pretty = new PrettyParser(this);
    }

    /**
     * The operations of a text.
     *
     * @param text in UTF-8
     * @param fileName for locations; null to have only those that the text gives
     */
    public static List<Operation> parse(byte[] text, @Nullable String fileName) {
        Parser parser = new Parser(text, fileName);
        List<Operation> operations = new ArrayList<>();
        Scanner in = parser.in;
        while (!in.atEnd()) {
            char c = in.peek();
            if (c == '#' || c == '!') {
                parser.attributes.aliasDefinition();
            } else if (in.accept("{-#")) {
                parser.skipResources();
            } else {
                operations.add(parser.operation());
            }
        }
        return operations;
    }

    /** An attribute that stands by itself. */
    static Attribute attribute(byte[] text) {
        AttributeParser parser = new AttributeParser(new Scanner(text));
        Attribute attribute = parser.attribute();
        expectEnd(parser.in);
        return attribute;
    }

    /** A type that stands by itself. */
    static Type type(byte[] text) {
        AttributeParser parser = new AttributeParser(new Scanner(text));
        Type type = parser.types().type();
        expectEnd(parser.in);
        return type;
    }

    private static void expectEnd(Scanner in) {
        if (!in.atEnd()) {
            throw in.error("expected the end of the text, got " + in.found());
        }
    }

    /** Resources hold the elements of constants that stand elsewhere; they are passed over. */
    private void skipResources() {
        int start = in.at;
        while (in.at < in.text.length && !in.startsWith("#-}")) {
            if (in.here() == '"') {
                in.stringBytes();
            } else {
                in.at++;
            }
        }
        if (in.at >= in.text.length) {
            throw in.errorAt("the resources do not end with #-}", start);
        }
        in.at += 3;
    }

    /** What is known of an operation while it is read. */
    static final class State {
        final OpDefinition definition;
        final int start;
        final List<Value> operands = new ArrayList<>(4);
        final Map<String, Attribute> attributes = new TreeMap<>();
        final List<Region> regions = new ArrayList<>(1);

        @Nullable
        List<Type> results;

        State(OpDefinition definition, int start) {
            this.definition = definition;
            this.start = start;
        }
    }

    Operation operation() {
        in.skip();
        int start = in.at;
        List<String> names = List.of();
        List<Integer> counts = List.of();
        if (in.here() == '%') {
            names = new ArrayList<>(1);
            counts = new ArrayList<>(1);
            do {
                in.expect('%');
                names.add(in.suffix());
                int count = 1;
                if (in.accept(':')) {
                    long given = in.integer();
                    if (given < 1 || given > 1 << 20) {
                        throw in.error("an operation cannot have " + given + " results");
                    }
                    count = (int) given;
                }
                counts.add(count);
            } while (in.accept(','));
            in.expect('=');
        }
        in.skip();
        int nameAt = in.at;
        State state;
        if (in.here() == '"') {
            state = new State(definition(in.string()), nameAt);
            generic(state);
        } else {
            state = new State(definition(prettyName(nameAt)), nameAt);
            pretty.parse(state);
        }
        Location location = location(state.start);
        Operation operation = finish(state, location);
        long total = counts.stream().mapToLong(Integer::longValue).sum();
        if (!names.isEmpty() && total != operation.results().size()) {
            throw in.errorAt(
                    operation.name() + " has " + operation.results().size() + " results, but " + total + " are named",
                    start);
        }
        if (names.size() == 1) {
            define(names.getFirst(), operation.results().size() == 1 ? operation.result() : operation, start);
        } else {
            int at = 0;
            for (int i = 0; i < names.size(); i++) {
                List<OpResult> group = operation.results().subList(at, at + counts.get(i));
                define(names.get(i), group.size() == 1 ? group.getFirst() : new Group(group), start);
                at += counts.get(i);
            }
        }
        return operation;
    }

    private OpDefinition definition(String name) {
        return definitions.computeIfAbsent(name, OpDefinition::of);
    }

    private String prettyName(int start) {
        String word = in.word();
        if (word.isEmpty()) {
            throw in.error("expected an operation, got " + in.found());
        }
        // "stablehlo.cross-replica-sum" has no pretty form, so that names are words here.
        String name = word.indexOf('.') < 0 ? defaultDialect + "." + word : word;
        OpDefinition definition = definition(name);
        if (!definition.isKnown() && word.indexOf('.') < 0) {
            definition = definition(word.equals("module") ? "builtin.module" : "func." + word);
            name = definition.name();
        }
        if (!definition.isKnown()) {
            throw in.errorAt(
                    "the operation " + word + " is not in the op table, so only its generic form can be read", start);
        }
        return name;
    }

    private Location location(int start) {
        if (in.peek() == 'l' && in.startsWith("loc(")) {
            return attributes.location();
        }
        if (fileName == null) {
            return Location.UNKNOWN;
        }
        int line = in.lineOf(start);
        return Location.File.of(fileName, line, in.columnOf(start));
    }

    private Operation finish(State state, Location location) {
        Attribute.Dictionary dictionary = Attribute.Dictionary.of(state.attributes);
        List<? extends Type> results = state.results;
        if (results == null) {
            try {
                results = Rules.apply(
                        new Draft(state.definition, state.operands, dictionary, state.regions, null, Draft.NO_SYMBOLS));
            } catch (Violation violation) {
                throw in.errorAt(state.definition.name() + ": " + violation.getMessage(), state.start);
            } catch (IndexOutOfBoundsException | ClassCastException _) {
                throw in.errorAt(state.definition.name() + ": the operands do not fit the operation", state.start);
            }
            if (results == null) {
                throw in.errorAt(state.definition.name() + ": the type of the result is missing", state.start);
            }
        }
        return new Operation(state.definition, state.operands, dictionary, state.regions, results, location);
    }

    private void generic(State state) {
        in.expect('(');
        if (!in.accept(')')) {
            do {
                state.operands.add(operand());
            } while (in.accept(','));
            in.expect(')');
        }
        if (in.peek() == '[') {
            throw in.error("operations with successor blocks are not understood");
        }
        if (in.accept('<')) {
            attributes.dictionaryInto(state.attributes);
            in.expect('>');
        }
        if (in.peek() == '(') {
            in.expect('(');
            do {
                state.regions.add(region(state.definition, List.of()));
            } while (in.accept(','));
            in.expect(')');
        }
        if (in.peek() == '{') {
            attributes.dictionaryInto(state.attributes);
        }
        in.expect(':');
        in.skip();
        int at = in.at;
        Type.Function type = attributes.types().functionType();
        checkTypes(state.operands, type.inputs(), at);
        state.results = type.results();
    }

    /** Refuses types that are not those of the operands. */
    void checkTypes(List<? extends Value> operands, List<Type> types, int at) {
        if (operands.size() != types.size()) {
            throw in.errorAt("there are " + operands.size() + " operands, but " + types.size() + " types", at);
        }
        for (int i = 0; i < types.size(); i++) {
            if (!operands.get(i).type().equals(types.get(i))) {
                throw in.errorAt(
                        "operand " + i + " has the type " + operands.get(i).type() + ", not " + types.get(i), at);
            }
        }
    }

    /** {@code %name} or {@code %name#1}. */
    Value operand() {
        in.skip();
        int start = in.at;
        in.expect('%');
        String name = in.suffix();
        int index = -1;
        if (in.here() == '#') {
            in.at++;
            index = (int) Math.min(in.integer(), Integer.MAX_VALUE);
        }
        Object value = values.get(name);
        List<? extends Value> group = switch (value) {
            case null -> throw in.errorAt("the value %" + name + " is not defined here", start);
            case Operation operation -> operation.results();
            case Group(List<OpResult> results) -> results;
            case Value single -> List.of(single);
            default -> throw new IllegalStateException();
        };
        if (index < 0 ? group.size() != 1 : index >= group.size()) {
            if (index < 0 && !group.isEmpty()) {
                return group.getFirst();
            }
            throw in.errorAt("the value %" + name + " has no part " + index + ", it has " + group.size(), start);
        }
        return group.get(Math.max(index, 0));
    }

    /** Some of the results of an operation, under one name. */
    private record Group(List<OpResult> results) {}

    void define(String name, Object value, int at) {
        if (values.putIfAbsent(name, value) != null) {
            throw in.errorAt("the value %" + name + " is defined already", at);
        }
        defined.add(name);
    }

    /** An argument of a block, as a region's parent declares it. */
    record Argument(String name, Type type, Location location, int at) {}

    Argument argument() {
        in.skip();
        int at = in.at;
        in.expect('%');
        String name = in.suffix();
        in.expect(':');
        Type type = attributes.types().type();
        return new Argument(name, type, optionalLocation(), at);
    }

    Location optionalLocation() {
        return in.peek() == 'l' && in.startsWith("loc(") ? attributes.location() : Location.UNKNOWN;
    }

    /**
     * A region in braces.
     *
     * @param entry the arguments of its first block, where its parent declares them
     */
    Region region(OpDefinition parent, List<Argument> entry) {
        in.enter();
        in.expect('{');
        Map<String, Object> outerValues = values;
        List<String> outerDefined = defined;
        String outerDialect = defaultDialect;
        defaultDialect =
                parent.name().equals("func.func") ? "func" : parent.name().equals("builtin.module") ? "builtin" : "";
        if (parent.has(Trait.ISOLATED)) {
            values = new HashMap<>();
        }
        defined = new ArrayList<>();
        List<Block> blocks = new ArrayList<>(1);
        List<BlockArgument> arguments = declare(entry);
        boolean first = true;
        while (!in.accept('}')) {
            if (in.peek() == '^') {
                in.at++;
                in.suffix();
                List<Argument> declared = new ArrayList<>();
                if (in.accept('(') && !in.accept(')')) {
                    do {
                        declared.add(argument());
                    } while (in.accept(','));
                    in.expect(')');
                }
                in.expect(':');
                if (!first || entry.isEmpty()) {
                    arguments = declare(declared);
                } else if (!declared.isEmpty()) {
                    throw in.error("the block's arguments are declared twice");
                }
            }
            List<Operation> operations = new ArrayList<>();
            while (in.peek() != '}' && in.peek() != '^') {
                if (in.atEnd()) {
                    throw in.error("expected '}', got the end of the text");
                }
                operations.add(operation());
            }
            blocks.add(new Block(arguments, operations));
            first = false;
            arguments = List.of();
        }
        if (blocks.isEmpty() && !entry.isEmpty()) {
            blocks.add(new Block(arguments, List.of()));
        }
        for (String name : defined) {
            values.remove(name);
        }
        values = outerValues;
        defined = outerDefined;
        defaultDialect = outerDialect;
        in.leave();
        return new Region(blocks);
    }

    private List<BlockArgument> declare(List<Argument> declared) {
        List<BlockArgument> arguments = new ArrayList<>(declared.size());
        for (Argument argument : declared) {
            BlockArgument value = new BlockArgument(arguments.size(), argument.type(), argument.location());
            define(argument.name(), value, argument.at());
            arguments.add(value);
        }
        return arguments;
    }
}

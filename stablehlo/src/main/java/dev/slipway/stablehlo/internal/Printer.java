// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.Block;
import dev.slipway.stablehlo.BlockArgument;
import dev.slipway.stablehlo.EnumAttribute;
import dev.slipway.stablehlo.OpDefinition;
import dev.slipway.stablehlo.OpDefinition.ValueDefinition;
import dev.slipway.stablehlo.Operation;
import dev.slipway.stablehlo.PrintOptions;
import dev.slipway.stablehlo.Region;
import dev.slipway.stablehlo.StructAttribute;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.Value;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/** Operations to text. */
public final class Printer {
    private final StringBuilder out;
    private final PrintOptions options;
    private final AttributePrinter attributes;
    private final Names names;
    private final CustomPrinter custom;
    private int indent;
    private String defaultDialect = "";

    private Printer(StringBuilder out, PrintOptions options) {
        this.out = out;
        this.options = options;
        this.attributes = new AttributePrinter(out, options.elideElementsAbove());
        this.names = new Names(options.generic());
        this.custom = new CustomPrinter(this);
    }

    /** Appends the text of a top-level operation. */
    public static void print(Operation operation, PrintOptions options, StringBuilder out) {
        Printer printer = new Printer(out, options);
        printer.defaultDialect = "builtin";
        printer.operation(operation);
        out.append('\n');
    }

    static String fragment(Operation operation) {
        StringBuilder out = new StringBuilder();
        new Printer(out, PrintOptions.genericForm()).operation(operation);
        return out.toString();
    }

    StringBuilder out() {
        return out;
    }

    AttributePrinter attributes() {
        return attributes;
    }

    void newline() {
        out.append('\n').repeat(' ', indent);
    }

    void operation(Operation operation) {
        int results = operation.results().size();
        if (names.hasNamedResults(operation)) {
            operands(operation.results());
            out.append(" = ");
        } else if (results > 0) {
            out.append(names.of(operation));
            if (results > 1) {
                out.append(':').append(results);
            }
            out.append(" = ");
        }
        Format format = options.generic() ? null : Format.of(operation.definition());
        if (format == null || !custom.isPrintable(operation)) {
            generic(operation);
        } else {
            name(operation);
            if (format.isCustom()) {
                custom.print(operation);
            } else {
                pieces(operation, format, format.pieces());
            }
        }
        if (options.locations()) {
            out.append(" loc(");
            attributes.location(operation.location());
            out.append(')');
        }
    }

    private void name(Operation operation) {
        String name = operation.name();
        int dot = defaultDialect.length();
        if (name.length() > dot
                && name.charAt(dot) == '.'
                && name.startsWith(defaultDialect)
                && name.indexOf('.', dot + 1) < 0) {
            out.append(name, dot + 1, name.length());
        } else {
            out.append(name);
        }
    }

    private void generic(Operation operation) {
        attributes.string(operation.name());
        out.append('(');
        operands(operation.operands());
        out.append(')');
        OpDefinition definition = operation.definition();
        Attribute.Dictionary dictionary = operation.attributes();
        entries(dictionary, definition::hasAttribute, " <{", "}>");
        if (!operation.regions().isEmpty()) {
            out.append(" (");
            for (int i = 0; i < operation.regions().size(); i++) {
                out.append(i == 0 ? "" : ", ");
                region(operation, operation.regions().get(i), true);
            }
            out.append(')');
        }
        entries(dictionary, name -> !definition.hasAttribute(name), " {", "}");
        out.append(" : ");
        functionType(operation);
    }

    private void entries(Attribute.Dictionary dictionary, Predicate<String> wanted, String open, String close) {
        boolean first = true;
        for (int i = 0; i < dictionary.size(); i++) {
            if (wanted.test(dictionary.name(i))) {
                out.append(first ? open : ", ");
                first = false;
                attributes.entry(dictionary.name(i), dictionary.value(i));
            }
        }
        if (!first) {
            out.append(close);
        }
    }

    /** What is left of the attributes, after a space, or nothing. */
    void attributeDictionary(Operation operation, Set<String> without, String prefix) {
        entries(operation.attributes(), name -> !without.contains(name), prefix + " {", "}");
    }

    void operand(Value value) {
        names.append(out, value);
    }

    void operands(List<? extends Value> values) {
        for (int i = 0; i < values.size(); i++) {
            if (i > 0) {
                out.append(", ");
            }
            names.append(out, values.get(i));
        }
    }

    void functionType(Operation operation) {
        out.append('(');
        types(operation.operands());
        out.append(") -> ");
        if (operation.results().size() == 1 && !(operation.result().type() instanceof Type.Function)) {
            attributes.type(operation.result().type());
        } else {
            out.append('(');
            types(operation.results());
            out.append(')');
        }
    }

    void types(List<? extends Value> values) {
        for (int i = 0; i < values.size(); i++) {
            if (i > 0) {
                out.append(", ");
            }
            attributes.type(values.get(i).type());
        }
    }

    Names.Scope enter(Operation parent, Region region) {
        return names.enter(parent, region);
    }

    void leave(Names.Scope scope) {
        names.leave(scope);
    }

    void region(Operation parent, Region region, boolean entryArguments) {
        Names.Scope scope = names.enter(parent, region);
        body(parent, region, entryArguments);
        names.leave(scope);
    }

    /** A region whose values have their names already. */
    void body(Operation parent, Region region, boolean entryArguments) {
        String outerDialect = defaultDialect;
        defaultDialect = switch (parent.definition().id()) {
            case OpTable.FUNC_FUNC -> "func";
            case OpTable.BUILTIN_MODULE -> "builtin";
            default -> "";
        };
        out.append('{');
        indent += 2;
        for (int b = 0; b < region.blocks().size(); b++) {
            Block block = region.blocks().get(b);
            // Without its label, an empty block would be no block.
            if (b > 0
                    || (entryArguments
                            && (!block.arguments().isEmpty()
                                    || block.operations().isEmpty()))) {
                out.append('\n').repeat(' ', indent - 2).append("^bb").append(b);
                if (!block.arguments().isEmpty()) {
                    out.append('(');
                    for (int i = 0; i < block.arguments().size(); i++) {
                        out.append(i == 0 ? "" : ", ");
                        argument(block.arguments().get(i));
                    }
                    out.append(')');
                }
                out.append(':');
            }
            for (Operation operation : block.operations()) {
                newline();
                operation(operation);
            }
        }
        indent -= 2;
        newline();
        out.append('}');
        defaultDialect = outerDialect;
    }

    /** Name and type, and location where wanted. */
    void argument(BlockArgument argument) {
        names.append(out, argument);
        out.append(": ");
        attributes.type(argument.type());
        argumentLocation(argument);
    }

    void argumentLocation(BlockArgument argument) {
        if (options.locations()) {
            out.append(" loc(");
            attributes.location(argument.location());
            out.append(')');
        }
    }

    private void pieces(Operation operation, Format format, List<Format.Piece> pieces) {
        for (Format.Piece piece : pieces) {
            switch (piece) {
                case Format.Literal literal -> space(literal.space()).append(literal.text());
                case Format.OperandPiece operand -> {
                    List<Value> values = group(operation, operand.index());
                    if (!values.isEmpty()) {
                        space(operand.space());
                        operands(values);
                    }
                }
                case Format.AllOperands all -> {
                    if (!operation.operands().isEmpty()) {
                        space(all.space());
                        operands(operation.operands());
                    }
                }
                case Format.AttributePiece attribute -> {
                    Attribute value = operation.attribute(attribute.attribute().name());
                    if (value != null) {
                        space(attribute.space());
                        attribute(attribute.attribute().kind(), value);
                    }
                }
                case Format.OperandType type -> {
                    space(type.space());
                    types(group(operation, type.index()));
                }
                case Format.ResultType type -> {
                    space(type.space());
                    if (type.variadic()) {
                        types(operation.results());
                    } else {
                        attributes.type(operation.result(type.index()).type());
                    }
                }
                case Format.AttributeDictionary _ -> {
                    if (!operation.attributes().isEmpty()) {
                        entries(
                                Defaults.drop(operation.definition(), operation.attributes()),
                                name -> !format.consumes(name),
                                " {",
                                "}");
                    }
                }
                case Format.Directive directive -> directive(operation, directive);
                case Format.Group group -> {
                    if (isPresent(operation, group.anchor())) {
                        pieces(operation, format, group.pieces());
                    }
                }
            }
        }
    }

    private StringBuilder space(boolean space) {
        if (space) {
            out.append(' ');
        }
        return out;
    }

    private static boolean isPresent(Operation operation, String anchor) {
        for (ValueDefinition operand : operation.definition().operands()) {
            if (operand.name().equals(anchor)) {
                return !operation.operands().isEmpty();
            }
        }
        return Defaults.drop(operation.definition(), operation.attributes()).get(anchor) != null;
    }

    private static List<Value> group(Operation operation, int index) {
        List<ValueDefinition> definitions = operation.definition().operands();
        boolean[] variadic = new boolean[definitions.size()];
        for (int i = 0; i < variadic.length; i++) {
            variadic[i] = definitions.get(i).variadic();
        }
        return Attrs.group(
                operation.operands(), index, variadic.length, variadic, Attrs.segments(operation, "operand"));
    }

    /** An attribute in the place that the format has for it, without what the kind says already. */
    private void attribute(String kind, Attribute value) {
        switch (value) {
            case Attribute.Int integer
            when !kind.equals("Elements") && !kind.equals("Typed") ->
                attributes.integer(integer.value(), integer.type());
            case Attribute.Real real when kind.equals("F64") -> Floats.print(out, real.bits(), real.type());
            case Attribute.IntArray array -> {
                out.append('[');
                for (int i = 0; i < array.values().length(); i++) {
                    out.append(i == 0 ? "" : ", ");
                    attributes.integer(array.values().get(i), array.type());
                }
                out.append(']');
            }
            case Attribute.Text text when kind.equals("SymbolName") -> attributes.symbol(text.value());
            case Attribute.Text text -> attributes.string(text.value());
            case EnumAttribute word -> out.append(word.name());
            case StructAttribute struct -> attributes.structs().stripped(struct);
            default -> attributes.attribute(value);
        }
    }

    private void directive(Operation operation, Format.Directive directive) {
        switch (directive.name()) {
            case "FunctionalType" -> {
                space(directive.space());
                functionType(operation);
            }
            case "SameType" -> {
                space(directive.space());
                Type result = operation.result().type();
                if (operation.operands().stream().allMatch(value -> value.type().equals(result))) {
                    attributes.type(result);
                } else {
                    functionType(operation);
                }
            }
            case "ComplexType" -> {
                space(directive.space());
                Type result = operation.result().type();
                Type part = CustomPrinter.realType(result);
                if (operation.operands().stream().allMatch(value -> value.type().equals(part))) {
                    attributes.type(result);
                } else {
                    functionType(operation);
                }
            }
            case "SelectType" -> {
                space(directive.space());
                Type result = operation.result().type();
                if (operation.operand(1).type().equals(result)
                        && operation.operand(2).type().equals(result)) {
                    attributes.type(operation.operand(0).type());
                    out.append(", ");
                    attributes.type(result);
                } else {
                    functionType(operation);
                }
            }
            case "TupleType" -> {
                space(directive.space());
                attributes.type(operation.result().type());
            }
            case "VariadicOperandWithAttribute" -> {
                List<Value> values = operation.is("stablehlo.concatenate")
                        ? operation.operands()
                        : operation.operands().subList(1, operation.operands().size());
                if (!values.isEmpty()) {
                    space(directive.space());
                    operands(values);
                }
                out.append(',');
            }
            case "OptionalPairwise" -> {
                if (operation.operands().isEmpty()) {
                    out.append("()");
                } else {
                    out.append(' ');
                    operands(operation.operands());
                    out.append(" : ");
                    types(operation.operands());
                }
            }
            case "Key" -> {
                out.append(' ').append(directive.argument()).append('=');
                Attribute value = operation.attribute(directive.argument());
                if (value != null) {
                    attribute("", value);
                }
            }
            default -> custom.directive(operation, directive);
        }
    }
}

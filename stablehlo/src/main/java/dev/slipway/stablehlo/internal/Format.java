// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.OpDefinition;
import dev.slipway.stablehlo.OpDefinition.AttributeDefinition;
import dev.slipway.stablehlo.OpDefinition.ValueDefinition;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The pretty form of an operation, compiled from the table's notation; printer and parser both run it.
 *
 * <p>The notation: words and punctuation stand for themselves; {@code $x} is an operand or an attribute, {@code type($x)}
 * its type, {@code operands} all operands, {@code attrs} what is left of the attributes, {@code @X} a piece that is
 * written in Java, and <code>?x{ ... }</code> a group that is there when x is.
 */
final class Format {
    private static final OpMap<Format> ALL = Registry.map(Format::new);

    /** A piece of the pretty form; {@code space} says whether the printer puts a space before it. */
    sealed interface Piece {}

    record Literal(String text, boolean space) implements Piece {}

    record OperandPiece(int index, boolean variadic, boolean space) implements Piece {}

    record AttributePiece(AttributeDefinition attribute, boolean space) implements Piece {}

    record AllOperands(boolean space) implements Piece {}

    record OperandType(int index, boolean variadic, boolean space) implements Piece {}

    record ResultType(int index, boolean variadic, boolean space) implements Piece {}

    record AttributeDictionary() implements Piece {}

    record Directive(String name, String argument, boolean space) implements Piece {}

    record Group(String anchor, List<Piece> pieces) implements Piece {}

    private final List<Piece> pieces;
    private final Set<String> consumed = new HashSet<>();
    private final String custom;

    private Format(OpDefinition definition) {
        String text = definition.format();
        consumed.add("operandSegmentSizes");
        consumed.add("resultSegmentSizes");
        custom = text.equals("@Custom")
                        || text.equals("@Module")
                        || text.equals("@Function")
                        || text.equals("@Cast")
                        || text.equals("@NamedComputation")
                ? definition.name()
                : "";
        pieces = custom.isEmpty() ? new Compiler(definition, text.split(" ", -1)).compile() : List.of();
    }

    /** The format of an operation; null where there is none. */
    static @Nullable Format of(OpDefinition definition) {
        return definition.isKnown() && !definition.format().isEmpty() ? ALL.get(definition.id()) : null;
    }

    List<Piece> pieces() {
        return pieces;
    }

    /** Whether the whole form is written in Java. */
    boolean isCustom() {
        return !custom.isEmpty();
    }

    /** Whether an attribute is part of the form and not of what {@code attrs} prints. */
    boolean consumes(String attribute) {
        return consumed.contains(attribute);
    }

    private final class Compiler {
        private final OpDefinition definition;
        private final String[] words;
        private int at;
        private boolean emitSpace = true;
        private boolean lastWasPunctuation;

        Compiler(OpDefinition definition, String[] words) {
            this.definition = definition;
            this.words = words;
        }

        List<Piece> compile() {
            List<Piece> compiled = new ArrayList<>();
            while (at < words.length) {
                String word = words[at++];
                if (word.equals("}") && isGroupEnd) {
                    return compiled;
                }
                if (word.startsWith("?")) {
                    String anchor = word.substring(1, word.length() - 1);
                    boolean outer = isGroupEnd;
                    isGroupEnd = true;
                    compiled.add(new Group(anchor, compile()));
                    isGroupEnd = outer;
                } else {
                    compiled.add(piece(word));
                }
            }
            return compiled;
        }

        private boolean isGroupEnd;

        private Piece piece(String word) {
            if (word.equals("attrs")) {
                emitSpace = true;
                lastWasPunctuation = false;
                return new AttributeDictionary();
            }
            if (word.startsWith("@")) {
                int open = word.indexOf('(');
                String name = open < 0 ? word.substring(1) : word.substring(1, open);
                String argument = open < 0 ? "" : word.substring(open + 1, word.length() - 1);
                consume(name, argument);
                return new Directive(name, argument, variableSpace());
            }
            if (word.equals("operands")) {
                return new AllOperands(variableSpace());
            }
            if (word.equals("type(results)")) {
                return new ResultType(0, definition.results().getFirst().variadic(), variableSpace());
            }
            if (word.startsWith("type($")) {
                return typeOf(word.substring(6, word.length() - 1));
            }
            if (word.startsWith("$")) {
                return variable(word.substring(1));
            }
            boolean space = literalSpace(word);
            return new Literal(word, space);
        }

        private void consume(String directive, String argument) {
            List<String> names = switch (directive) {
                case "Key" -> List.of(argument);
                case "DotDimensionNumbers" -> List.of("dot_dimension_numbers");
                case "PrecisionConfig" -> List.of("precision_config");
                case "PrecisionConfigAndAlgorithm" -> List.of("precision_config", "algorithm");
                case "SliceRanges" -> List.of("start_indices", "limit_indices", "strides");
                case "ExponentMantissa" -> List.of("exponent_bits", "mantissa_bits");
                case "CustomCallTarget" -> List.of("call_target_name");
                case "ConvolutionDimensions" -> List.of("dimension_numbers");
                case "WindowAttributes" ->
                    List.of("window_strides", "padding", "lhs_dilation", "rhs_dilation", "window_reversal");
                case "ManualComputation" -> List.of("in_shardings", "out_shardings", "manual_axes");
                default -> List.of();
            };
            consumed.addAll(names);
        }

        private Piece typeOf(String name) {
            int operand = indexOf(definition.operands(), name);
            if (operand >= 0) {
                return new OperandType(
                        operand, definition.operands().get(operand).variadic(), variableSpace());
            }
            int result = indexOf(definition.results(), name);
            if (result < 0) {
                throw new IllegalStateException(definition + ": the format has type($" + name + ")");
            }
            return new ResultType(result, definition.results().get(result).variadic(), variableSpace());
        }

        private Piece variable(String name) {
            int operand = indexOf(definition.operands(), name);
            if (operand >= 0) {
                return new OperandPiece(
                        operand, definition.operands().get(operand).variadic(), variableSpace());
            }
            for (AttributeDefinition attribute : definition.attributes()) {
                if (attribute.name().equals(name)) {
                    consumed.add(name);
                    return new AttributePiece(attribute, variableSpace());
                }
            }
            throw new IllegalStateException(definition + ": the format has $" + name);
        }

        private static int indexOf(List<ValueDefinition> values, String name) {
            for (int i = 0; i < values.size(); i++) {
                if (values.get(i).name().equals(name)) {
                    return i;
                }
            }
            return -1;
        }

        private boolean variableSpace() {
            boolean space = emitSpace || !lastWasPunctuation;
            emitSpace = true;
            lastWasPunctuation = false;
            return space;
        }

        /** The spacing rules of MLIR's generated printers. */
        private boolean literalSpace(String text) {
            char first = text.charAt(0);
            boolean space;
            if (text.length() != 1 && !text.equals("->")) {
                space = true;
            } else if (lastWasPunctuation) {
                space = ">)}],".indexOf(first) < 0;
            } else {
                space = "<>(){}[],".indexOf(first) < 0;
            }
            space &= emitSpace;
            emitSpace = text.length() != 1 || "<({[".indexOf(first) < 0;
            lastWasPunctuation = !Character.isLetter(first) && first != '_';
            return space;
        }
    }
}

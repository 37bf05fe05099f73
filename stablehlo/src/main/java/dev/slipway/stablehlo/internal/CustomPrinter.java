// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.Block;
import dev.slipway.stablehlo.BlockArgument;
import dev.slipway.stablehlo.ComplexType;
import dev.slipway.stablehlo.ConvDimensionNumbers;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.DotAlgorithm;
import dev.slipway.stablehlo.DotDimensionNumbers;
import dev.slipway.stablehlo.EnumAttribute;
import dev.slipway.stablehlo.OpDefinition.AttributeDefinition;
import dev.slipway.stablehlo.OpDefinition.Trait;
import dev.slipway.stablehlo.Operation;
import dev.slipway.stablehlo.Region;
import dev.slipway.stablehlo.Shardy;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.Value;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The pretty forms that the table's notation cannot say. */
final class CustomPrinter {
    private static final Set<String> FUNCTION_ATTRIBUTES =
            Set.of("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs");

    private final Printer printer;
    private final StringBuilder out;
    private final AttributePrinter attributes;

    CustomPrinter(Printer printer) {
        this.printer = printer;
        this.out = printer.out();
        this.attributes = printer.attributes();
    }

    /** The type with complex elements replaced by their parts. */
    static Type realType(Type type) {
        return type instanceof TensorType tensor && tensor.element() instanceof ComplexType complex
                ? tensor.withElement(complex.element())
                : type;
    }

    /** Whether the operation is well formed enough for its pretty form, so that nothing is lost. */
    boolean isPrintable(Operation operation) {
        for (AttributeDefinition attribute : operation.definition().attributes()) {
            Attribute value = operation.attribute(attribute.name());
            if (value == null
                    ? !attribute.optional()
                            && attribute.defaultValue().isEmpty()
                            && !attribute.kind().equals("Unit")
                    : AttributeKinds.problem(attribute.kind(), value) != null) {
                return false;
            }
        }
        int operands = operation.operands().size();
        int required = 0;
        boolean variadic = false;
        for (var definition : operation.definition().operands()) {
            required += definition.variadic() ? 0 : 1;
            variadic |= definition.variadic();
        }
        if (variadic ? operands < required : operands != required) {
            return false;
        }
        int fixedResults = 0;
        for (var definition : operation.definition().results()) {
            fixedResults += definition.variadic() ? 0 : 1;
        }
        if (operation.results().size() < fixedResults
                || (operation.definition().results().size() == fixedResults
                        && operation.results().size() != fixedResults)) {
            return false;
        }
        return switch (operation.definition().id()) {
            case OpTable.STABLEHLO_CONSTANT -> operation.result().type().equals(valueType(operation));
            case OpTable.CHLO_CONSTANT, OpTable.SDY_CONSTANT ->
                operation.attribute("value") instanceof DenseElements dense
                        && dense.type().equals(operation.result().type());
            case OpTable.STABLEHLO_REDUCE ->
                operands > 0
                        && operands % 2 == 0
                        && hasBlock(operation, 0)
                        && operation.region(0).block().arguments().size() == operands;
            case OpTable.STABLEHLO_WHILE ->
                operation.regions().size() == 2 && isLoopRegion(operation, 0) && isLoopRegion(operation, 1);
            case OpTable.BUILTIN_MODULE ->
                hasBlock(operation, 0)
                        && operation.region(0).block().arguments().isEmpty()
                        && ModuleChecker.hasVisibility(operation);
            case OpTable.BUILTIN_UNREALIZED_CONVERSION_CAST ->
                !operation.results().isEmpty();
            case OpTable.FUNC_FUNC -> isFunction(operation);
            case OpTable.CHLO_SCAN -> ScanForm.isPrintable(operation);
            case OpTable.STABLEHLO_SLICE -> {
                int rank = Attrs.readInts(operation, "start_indices").length();
                yield Attrs.readInts(operation, "limit_indices").length() == rank
                        && Attrs.readInts(operation, "strides").length() == rank;
            }
            case OpTable.STABLEHLO_CONVOLUTION ->
                (!(operation.attribute("padding") instanceof DenseElements dense)
                                || (dense.type().rank() == 2 && dense.type().dim(1) == 2))
                        && operation.attribute("dimension_numbers") instanceof ConvDimensionNumbers dims
                        && StructPrinter.isLayout(dims);
            case OpTable.SDY_MANUAL_COMPUTATION, OpTable.SDY_NAMED_COMPUTATION -> hasBlock(operation, 0);
            case OpTable.STABLEHLO_OPTIMIZATION_BARRIER ->
                operation.results().stream()
                        .map(Value::type)
                        .toList()
                        .equals(operation.operands().stream().map(Value::type).toList());
            default -> true;
        };
    }

    private static @Nullable Type valueType(Operation operation) {
        return switch (operation.attribute("value")) {
            case DenseElements dense -> dense.type();
            case Attribute.Resource resource -> resource.type();
            case null, default -> null;
        };
    }

    private static boolean hasBlock(Operation operation, int region) {
        return operation.regions().size() > region
                && operation.region(region).blocks().size() == 1;
    }

    private static boolean isLoopRegion(Operation operation, int region) {
        if (!hasBlock(operation, region)) {
            return false;
        }
        List<BlockArgument> arguments = operation.region(region).block().arguments();
        if (arguments.size() != operation.operands().size()
                || operation.results().size() != operation.operands().size()) {
            return false;
        }
        for (int i = 0; i < arguments.size(); i++) {
            if (!arguments.get(i).type().equals(operation.operand(i).type())
                    || !operation.result(i).type().equals(operation.operand(i).type())) {
                return false;
            }
        }
        return true;
    }

    private static boolean isFunction(Operation operation) {
        if (operation.regions().size() != 1
                || !ModuleChecker.hasVisibility(operation)
                || !(Attrs.readType(operation, "function_type") instanceof Type.Function type)) {
            return false;
        }
        Region region = operation.region(0);
        return region.isEmpty()
                || region.block().arguments().stream().map(Value::type).toList().equals(type.inputs());
    }

    void print(Operation operation) {
        switch (operation.definition().id()) {
            case OpTable.STABLEHLO_CONSTANT, OpTable.SDY_CONSTANT -> {
                printer.attributeDictionary(operation, Set.of("value"), "");
                out.append(' ');
                Attribute value = operation.attribute("value");
                if (value != null) {
                    attributes.attribute(value);
                }
            }
            case OpTable.STABLEHLO_REDUCE -> reduce(operation);
            case OpTable.STABLEHLO_WHILE -> whileLoop(operation);
            case OpTable.BUILTIN_MODULE -> module(operation);
            case OpTable.FUNC_FUNC -> function(operation);
            case OpTable.CHLO_SCAN -> ScanForm.print(operation, printer);
            case OpTable.SDY_NAMED_COMPUTATION -> namedComputation(operation);
            case OpTable.BUILTIN_UNREALIZED_CONVERSION_CAST -> {
                if (!operation.operands().isEmpty()) {
                    out.append(' ');
                    printer.operands(operation.operands());
                    out.append(" : ");
                    printer.types(operation.operands());
                }
                out.append(" to ");
                printer.types(operation.results());
                printer.attributeDictionary(operation, Set.of(), "");
            }
            default -> throw new IllegalStateException("no form is written for " + operation.name());
        }
    }

    private void module(Operation operation) {
        if (operation.attribute("sym_visibility") instanceof Attribute.Text visibility) {
            out.append(' ').append(visibility.value());
        }
        if (operation.attribute("sym_name") instanceof Attribute.Text name) {
            out.append(' ');
            attributes.symbol(name.value());
        }
        printer.attributeDictionary(operation, Set.of("sym_name", "sym_visibility"), " attributes");
        out.append(' ');
        printer.region(operation, operation.region(0), false);
    }

    private void function(Operation operation) {
        if (operation.attribute("sym_visibility") instanceof Attribute.Text visibility) {
            out.append(' ').append(visibility.value());
        }
        out.append(' ');
        attributes.symbol(Attrs.readString(operation, "sym_name"));
        out.append('(');
        Type.Function type = (Type.Function) Attrs.readType(operation, "function_type");
        Region region = operation.region(0);
        Names.Scope scope = printer.enter(operation, region);
        for (int i = 0; i < type.inputs().size(); i++) {
            out.append(i == 0 ? "" : ", ");
            if (!region.isEmpty()) {
                BlockArgument argument = region.block().arguments().get(i);
                printer.operand(argument);
                out.append(": ");
            }
            attributes.type(type.inputs().get(i));
            valueAttributes(operation, "arg_attrs", i);
            if (!region.isEmpty()) {
                printer.argumentLocation(region.block().arguments().get(i));
            }
        }
        out.append(')');
        if (!type.results().isEmpty()) {
            out.append(" -> ");
            boolean parentheses = type.results().size() > 1
                    || type.results().getFirst() instanceof Type.Function
                    || hasAttributes(operation, "res_attrs", 0);
            out.append(parentheses ? "(" : "");
            for (int i = 0; i < type.results().size(); i++) {
                out.append(i == 0 ? "" : ", ");
                attributes.type(type.results().get(i));
                valueAttributes(operation, "res_attrs", i);
            }
            out.append(parentheses ? ")" : "");
        }
        printer.attributeDictionary(operation, FUNCTION_ATTRIBUTES, " attributes");
        if (!region.isEmpty()) {
            out.append(' ');
            printer.body(operation, region, false);
        }
        printer.leave(scope);
    }

    private static boolean hasAttributes(Operation operation, String list, int index) {
        return valueDictionary(operation, list, index) != null;
    }

    private static Attribute.@Nullable Dictionary valueDictionary(Operation operation, String list, int index) {
        return operation.attribute(list) instanceof Attribute.Array array
                        && index < array.elements().size()
                        && array.elements().get(index) instanceof Attribute.Dictionary dictionary
                        && !dictionary.isEmpty()
                ? dictionary
                : null;
    }

    private void valueAttributes(Operation operation, String list, int index) {
        Attribute.Dictionary dictionary = valueDictionary(operation, list, index);
        if (dictionary != null) {
            out.append(' ');
            attributes.attribute(dictionary);
        }
    }

    private void reduce(Operation operation) {
        int count = operation.operands().size() / 2;
        for (int i = 0; i < count; i++) {
            // Upstream puts no space after the name of the operation here.
            out.append(i == 0 ? "(" : ", (");
            printer.operand(operation.operand(i));
            out.append(" init: ");
            printer.operand(operation.operand(count + i));
            out.append(')');
        }
        Operation inner = compactReducer(operation);
        if (inner != null) {
            out.append(" applies ").append(inner.name());
        }
        out.append(" across dimensions = ");
        attributes.dims(Attrs.readInts(operation, "dimensions"));
        printer.attributeDictionary(operation, Set.of("dimensions"), "");
        out.append(" : ");
        printer.functionType(operation);
        if (inner != null) {
            return;
        }
        printer.newline();
        out.append(" reducer");
        Region region = operation.region(0);
        Names.Scope scope = printer.enter(operation, region);
        List<BlockArgument> arguments = region.block().arguments();
        for (int i = 0; i < count; i++) {
            out.append('(');
            printer.argument(arguments.get(i));
            out.append(", ");
            printer.argument(arguments.get(count + i));
            out.append(") ");
        }
        out.append(' ');
        printer.body(operation, region, false);
        printer.leave(scope);
    }

    /** The one commutative operation that a reducer consists of, if it has the compact form. */
    private static @Nullable Operation compactReducer(Operation operation) {
        Block block = operation.region(0).block();
        if (block.operations().size() != 2) {
            return null;
        }
        Operation inner = block.operations().getFirst();
        Operation end = block.operations().getLast();
        if (!inner.definition().dialect().equals("stablehlo")
                || !inner.definition().has(Trait.COMMUTATIVE)
                || !inner.attributes().isEmpty()
                || inner.operands().size() != 2
                || inner.results().size() != 1
                || !end.is("stablehlo.return")) {
            return null;
        }
        Type type = inner.operand(0).type();
        if (!(operation.operand(0).type() instanceof TensorType input)
                || !type.equals(TensorType.of(input.element()))
                || !type.equals(inner.operand(1).type())
                || !type.equals(inner.result().type())
                || !block.arguments().equals(inner.operands())
                || !end.operands().equals(inner.results())) {
            return null;
        }
        return inner;
    }

    private void whileLoop(Operation operation) {
        Region condition = operation.region(0);
        Region body = operation.region(1);
        Names.Scope scope = printer.enter(operation, body);
        out.append('(');
        for (int i = 0; i < operation.operands().size(); i++) {
            out.append(i == 0 ? "" : ", ");
            printer.operand(body.block().arguments().get(i));
            out.append(" = ");
            printer.operand(operation.operand(i));
        }
        printer.leave(scope);
        out.append(')');
        if (!operation.operands().isEmpty()) {
            out.append(" : ");
            printer.types(operation.operands());
        }
        printer.attributeDictionary(operation, Set.of(), " attributes");
        printer.newline();
        out.append("cond ");
        printer.region(operation, condition, false);
        out.append(" do ");
        printer.region(operation, body, false);
    }

    private void namedComputation(Operation operation) {
        out.append('<');
        attributes.string(Attrs.readString(operation, "name"));
        out.append(">(");
        printer.operands(operation.operands());
        out.append(')');
        for (String name : List.of("in_shardings", "out_shardings")) {
            if (operation.attribute(name) instanceof Shardy.PerValue values) {
                out.append(' ').append(name).append('=');
                attributes.structs().perValue(values);
            }
        }
        out.append(' ');
        blockWithArguments(operation);
        Set<String> consumed = new HashSet<>(Set.of("name", "in_shardings", "out_shardings"));
        printer.attributeDictionary(operation, consumed, "");
        out.append(" : ");
        printer.functionType(operation);
    }

    private void blockWithArguments(Operation operation) {
        Region region = operation.region(0);
        Names.Scope scope = printer.enter(operation, region);
        out.append('(');
        List<BlockArgument> arguments = region.block().arguments();
        for (int i = 0; i < arguments.size(); i++) {
            out.append(i == 0 ? "" : ", ");
            printer.argument(arguments.get(i));
        }
        out.append(") ");
        printer.body(operation, region, false);
        printer.leave(scope);
    }

    void directive(Operation operation, Format.Directive directive) {
        switch (directive.name()) {
            case "DotDimensionNumbers" -> dotDimensions(operation);
            case "PrecisionConfig" -> precision(operation);
            case "PrecisionConfigAndAlgorithm" -> {
                precision(operation);
                if (operation.attribute("algorithm") instanceof DotAlgorithm algorithm) {
                    out.append(", algorithm = ");
                    attributes.structs().stripped(algorithm);
                }
            }
            case "SliceRanges" -> sliceRanges(operation);
            case "ExponentMantissa" ->
                out.append(" e")
                        .append(Attrs.readInt(operation, "exponent_bits"))
                        .append('m')
                        .append(Attrs.readInt(operation, "mantissa_bits"));
            case "CustomCallTarget" -> {
                out.append(' ');
                attributes.symbol(Attrs.readString(operation, "call_target_name"));
            }
            case "ConvolutionDimensions" -> {
                out.append(' ');
                attributes
                        .structs()
                        .convolution(Attrs.read(operation, "dimension_numbers", ConvDimensionNumbers.class));
            }
            case "WindowAttributes" -> window(operation);
            case "CompositeRegions" -> compositeRegions(operation);
            case "ManualComputation" -> {
                out.append(" in_shardings=");
                attributes.structs().perValue(Attrs.read(operation, "in_shardings", Shardy.PerValue.class));
                out.append(" out_shardings=");
                attributes.structs().perValue(Attrs.read(operation, "out_shardings", Shardy.PerValue.class));
                out.append(" manual_axes=");
                attributes.structs().manualAxes(Attrs.read(operation, "manual_axes", Shardy.ManualAxes.class));
                out.append(' ');
                blockWithArguments(operation);
            }
            default -> throw new IllegalStateException("the op table has an unknown piece: @" + directive.name());
        }
    }

    private void dotDimensions(Operation operation) {
        DotDimensionNumbers numbers = Attrs.read(operation, "dot_dimension_numbers", DotDimensionNumbers.class);
        out.append(' ');
        if (!numbers.lhsBatchingDimensions().isEmpty()
                || !numbers.rhsBatchingDimensions().isEmpty()) {
            out.append("batching_dims = ");
            attributes.dims(numbers.lhsBatchingDimensions());
            out.append(" x ");
            attributes.dims(numbers.rhsBatchingDimensions());
            out.append(", ");
        }
        out.append("contracting_dims = ");
        attributes.dims(numbers.lhsContractingDimensions());
        out.append(" x ");
        attributes.dims(numbers.rhsContractingDimensions());
    }

    private void precision(Operation operation) {
        if (operation.attribute("precision_config") instanceof Attribute.Array array
                && !array.elements().isEmpty()) {
            out.append(", precision = [");
            for (int i = 0; i < array.elements().size(); i++) {
                out.append(i == 0 ? "" : ", ")
                        .append(((EnumAttribute) array.elements().get(i)).name());
            }
            out.append(']');
        }
    }

    private void sliceRanges(Operation operation) {
        ImmutableLongArray starts = Attrs.readInts(operation, "start_indices");
        ImmutableLongArray limits = Attrs.readInts(operation, "limit_indices");
        ImmutableLongArray strides = Attrs.readInts(operation, "strides");
        out.append(" [");
        for (int i = 0; i < starts.length(); i++) {
            out.append(i == 0 ? "" : ", ").append(starts.get(i)).append(':').append(limits.get(i));
            if (strides.get(i) != 1) {
                out.append(':').append(strides.get(i));
            }
        }
        out.append(']');
    }

    private void window(Operation operation) {
        boolean first = true;
        if (operation.attribute("window_strides") != null) {
            out.append("stride = ");
            attributes.dims(Attrs.readInts(operation, "window_strides"));
            first = false;
        }
        if (operation.attribute("padding") instanceof DenseElements padding) {
            out.append(first ? "pad = [" : ", pad = [");
            for (int i = 0; i < padding.type().dim(0); i++) {
                out.append(i == 0 ? "[" : ", [")
                        .append(padding.longAt(2L * i))
                        .append(", ")
                        .append(padding.longAt(2L * i + 1))
                        .append(']');
            }
            out.append(']');
            first = false;
        }
        for (String[] field : new String[][] {{"lhs_dilation", "lhs_dilate"}, {"rhs_dilation", "rhs_dilate"}}) {
            if (operation.attribute(field[0]) != null) {
                out.append(first ? "" : ", ").append(field[1]).append(" = ");
                attributes.dims(Attrs.readInts(operation, field[0]));
                first = false;
            }
        }
        if (operation.attribute("window_reversal") != null) {
            out.append(first ? "" : ", ").append("reverse = [");
            ImmutableLongArray reversal = Attrs.readInts(operation, "window_reversal");
            for (int i = 0; i < reversal.length(); i++) {
                out.append(i == 0 ? "" : ", ").append(reversal.get(i) != 0);
            }
            out.append(']');
        }
    }

    private void compositeRegions(Operation operation) {
        if (operation.regions().isEmpty()) {
            return;
        }
        out.append(" (");
        for (int i = 0; i < operation.regions().size(); i++) {
            out.append(i == 0 ? "" : ", ");
            printer.region(operation, operation.regions().get(i), true);
        }
        out.append(')');
    }
}

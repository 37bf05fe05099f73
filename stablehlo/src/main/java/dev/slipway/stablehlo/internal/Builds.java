// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.Block;
import dev.slipway.stablehlo.BlockArgument;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.Diagnostic;
import dev.slipway.stablehlo.DotDimensionNumbers;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.Function;
import dev.slipway.stablehlo.IntegerType;
import dev.slipway.stablehlo.IrException;
import dev.slipway.stablehlo.Location;
import dev.slipway.stablehlo.OpDefinition;
import dev.slipway.stablehlo.Operation;
import dev.slipway.stablehlo.Region;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.Value;
import dev.slipway.stablehlo.VerificationException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What the builders need of the checker. */
public final class Builds {
    private Builds() {}

    /** Checks, infers and makes an operation. */
    public static Operation checked(
            OpDefinition definition,
            List<? extends Value> operands,
            Attribute.Dictionary attributes,
            List<Region> regions,
            @Nullable List<? extends Type> resultTypes,
            Location location) {
        Draft draft = new Draft(definition, operands, attributes, regions, resultTypes, Draft.NO_SYMBOLS);
        try {
            return new Operation(definition, operands, attributes, regions, Checker.check(draft), location);
        } catch (Violation violation) {
            throw failure(definition.name(), location, violation);
        }
    }

    private static VerificationException failure(String name, Location location, Violation violation) {
        String message = violation.getMessage();
        return new VerificationException(List.of(new Diagnostic(name, location, message == null ? "" : message)));
    }

    /** The type of a product with a result of an element type. */
    public static TensorType dotType(Value lhs, Value rhs, DotDimensionNumbers numbers, ElementType element) {
        OpDefinition definition = Registry.get(OpTable.STABLEHLO_DOT_GENERAL);
        Draft draft =
                new Draft(definition, List.of(lhs, rhs), Attribute.Dictionary.EMPTY, List.of(), null, Draft.NO_SYMBOLS);
        try {
            return DotRules.dotShape(draft, numbers).withElement(element);
        } catch (Violation violation) {
            throw failure(definition.name(), Location.UNKNOWN, violation);
        }
    }

    /** The type of the same bits as another element type. */
    public static TensorType bitcastType(TensorType from, ElementType to) {
        int fromWidth = Types.width(from.element());
        int toWidth = Types.width(to);
        long[] shape = from.shape().toArray();
        if (fromWidth == toWidth) {
            return TensorType.of(to, shape);
        }
        if (fromWidth > toWidth) {
            long[] longer = Arrays.copyOf(shape, shape.length + 1);
            longer[shape.length] = fromWidth / toWidth;
            return TensorType.of(to, longer);
        }
        if (shape.length == 0 || shape[shape.length - 1] != toWidth / fromWidth) {
            throw new VerificationException(List.of(new Diagnostic(
                    "stablehlo.bitcast_convert",
                    Location.UNKNOWN,
                    "the last dimension of operand 0 must have size " + toWidth / fromWidth + " to become " + to
                            + ", got " + from)));
        }
        return TensorType.of(to, Arrays.copyOf(shape, shape.length - 1));
    }

    /** Refuses operands that a function does not take. */
    public static void checkCall(Function.Ref function, List<? extends Value> operands) {
        List<Type> types = operands.stream().map(Value::type).toList();
        if (!types.equals(function.type().inputs())) {
            throw new VerificationException(List.of(new Diagnostic(
                    "func.call",
                    Location.UNKNOWN,
                    "@" + function.name() + " takes " + function.type().inputs() + ", got " + types)));
        }
    }

    /** Padding as an attribute of shape [n, 2]. */
    public static DenseElements padding(long[][] padding) {
        long[] flat = new long[2 * padding.length];
        for (int i = 0; i < padding.length; i++) {
            flat[2 * i] = padding[i][0];
            flat[2 * i + 1] = padding[i][1];
        }
        return DenseElements.ofLongs(TensorType.of(ElementType.I64, padding.length, 2), flat);
    }

    /** The neutral element of maximum. */
    public static DenseElements least(ElementType element) {
        TensorType type = TensorType.of(element);
        return switch (element) {
            case IntegerType integer ->
                DenseElements.splat(type, integer.isUnsigned() ? 0 : -1L << (integer.width() - 1));
            case FloatType floating when hasInfinity(floating) -> DenseElements.splat(type, Double.NEGATIVE_INFINITY);
            case FloatType floating -> DenseElements.splat(type, -greatestFinite(floating));
            default -> throw new IrException("elements of type " + element + " have no least value");
        };
    }

    /** The neutral element of minimum. */
    public static DenseElements greatest(ElementType element) {
        TensorType type = TensorType.of(element);
        return switch (element) {
            case IntegerType integer ->
                DenseElements.splat(
                        type,
                        integer.isUnsigned()
                                ? integer.width() == 64 ? -1L : (1L << integer.width()) - 1
                                : ~(-1L << (integer.width() - 1)));
            case FloatType floating when hasInfinity(floating) -> DenseElements.splat(type, Double.POSITIVE_INFINITY);
            case FloatType floating -> DenseElements.splat(type, greatestFinite(floating));
            default -> throw new IrException("elements of type " + element + " have no greatest value");
        };
    }

    private static boolean hasInfinity(FloatType type) {
        return type.special() == FloatType.Special.IEEE;
    }

    private static double greatestFinite(FloatType type) {
        long bits = (1L << (type.exponentBits() + type.mantissaBits())) - 1;
        while (!Double.isFinite(Floats.toDouble(bits, type))) {
            bits--;
        }
        return Floats.toDouble(bits, type);
    }

    /** A copy of an operation with its operands, and those of the operations within, replaced. */
    public static Operation copy(Operation operation, Map<Value, Value> values) {
        List<Value> operands = new ArrayList<>(operation.operands().size());
        for (Value operand : operation.operands()) {
            operands.add(values.getOrDefault(operand, operand));
        }
        List<Region> regions = new ArrayList<>(operation.regions().size());
        for (Region region : operation.regions()) {
            regions.add(copy(region, values));
        }
        Operation copy = new Operation(
                operation.definition(),
                operands,
                operation.attributes(),
                regions,
                operation.results().stream().map(Value::type).toList(),
                operation.location());
        for (int i = 0; i < copy.results().size(); i++) {
            values.put(operation.result(i), copy.result(i));
        }
        return copy;
    }

    private static Region copy(Region region, Map<Value, Value> values) {
        List<Block> blocks = new ArrayList<>(region.blocks().size());
        for (Block block : region.blocks()) {
            List<BlockArgument> arguments = new ArrayList<>();
            for (BlockArgument argument : block.arguments()) {
                BlockArgument copy = new BlockArgument(argument.index(), argument.type(), argument.location());
                values.put(argument, copy);
                arguments.add(copy);
            }
            List<Operation> operations = new ArrayList<>(block.operations().size());
            for (Operation operation : block.operations()) {
                operations.add(copy(operation, values));
            }
            blocks.add(new Block(arguments, operations));
        }
        return new Region(blocks);
    }

    static ImmutableLongArray ones(int count) {
        long[] ones = new long[count];
        Arrays.fill(ones, 1);
        return ImmutableLongArray.copyOf(ones);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.OpDefinition;
import dev.slipway.stablehlo.OpResult;
import dev.slipway.stablehlo.Operation;
import dev.slipway.stablehlo.Region;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.Value;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An operation that is being checked, before or after it is made.
 *
 * @param results the result types, or null where they are to be inferred
 */
record Draft(
        OpDefinition definition,
        List<? extends Value> operands,
        Attribute.Dictionary attributes,
        List<Region> regions,
        @Nullable List<? extends Type> results,
        Function<String, @Nullable Operation> symbols) {

    static Draft of(Operation operation, Function<String, @Nullable Operation> symbols) {
        return new Draft(
                operation.definition(),
                operation.operands(),
                operation.attributes(),
                operation.regions(),
                Rules.types(operation.results()),
                symbols);
    }

    /** The symbols of no module: an operation that is being built does not know its module yet. */
    static final Function<String, @Nullable Operation> NO_SYMBOLS = _ -> null;

    /** Whether the symbols of the module are known. */
    boolean hasSymbols() {
        return !symbols.equals(NO_SYMBOLS);
    }

    Type type(int operand) {
        return operands.get(operand).type();
    }

    TensorType tensor(int operand) {
        if (type(operand) instanceof TensorType tensor) {
            return tensor;
        }
        throw new Violation(name(operand) + " must be a ranked tensor, got " + type(operand));
    }

    /** "operand 0 (lhs)", for messages. */
    String name(int operand) {
        return "operand " + operand
                + (operand < definition.operands().size()
                                && definition.operands().stream()
                                        .limit(operand + 1L)
                                        .noneMatch(v -> v.variadic())
                        ? " (" + definition.operands().get(operand).name() + ")"
                        : "");
    }

    @Nullable
    Attribute attribute(String name) {
        return attributes.get(name);
    }

    boolean has(String name) {
        return attributes.get(name) != null;
    }

    /** An integer attribute. */
    long integer(String name) {
        if (attributes.get(name) instanceof Attribute.Int value) {
            return value.value();
        }
        throw new Violation("requires the attribute '" + name + "', an integer");
    }

    boolean flag(String name, boolean absent) {
        return attributes.get(name) instanceof Attribute.Int value ? value.isTrue() : absent;
    }

    /** An array of integers. */
    ImmutableLongArray ints(String name) {
        if (attributes.get(name) instanceof Attribute.IntArray array) {
            return array.values();
        }
        throw new Violation("requires the attribute '" + name + "', an array of integers");
    }

    @Nullable
    ImmutableLongArray optionalInts(String name) {
        return attributes.get(name) == null ? null : ints(name);
    }

    <A extends Attribute> A attribute(String name, Class<A> kind) {
        Attribute value = attributes.get(name);
        if (kind.isInstance(value)) {
            return kind.cast(value);
        }
        throw new Violation("requires the attribute '" + name + "'");
    }

    /** The values of an operand, if a constant computes them. */
    @Nullable
    DenseElements constant(int operand) {
        return constant(operands.get(operand));
    }

    static @Nullable DenseElements constant(Value value) {
        if (value instanceof OpResult result
                && (result.owner().definition().id() == OpTable.STABLEHLO_CONSTANT
                        || result.owner().definition().id() == OpTable.CHLO_CONSTANT
                        || result.owner().is("arith.constant"))
                && result.owner().attribute("value") instanceof DenseElements elements) {
            return elements;
        }
        return null;
    }

    TensorType resultTensor() {
        if (results != null && !results.isEmpty() && results.getFirst() instanceof TensorType tensor) {
            return tensor;
        }
        throw new Violation("the type of the result must be given, a ranked tensor");
    }

    boolean isResultRanked() {
        return results != null && !results.isEmpty() && results.getFirst() instanceof TensorType;
    }
}

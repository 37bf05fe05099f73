// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Block;
import dev.slipway.stablehlo.BlockArgument;
import dev.slipway.stablehlo.ComplexType;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.IntegerType;
import dev.slipway.stablehlo.QuantizedType;
import dev.slipway.stablehlo.Region;
import dev.slipway.stablehlo.RngAlgorithm;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Rules of operations with regions, and of a few others that give several results. */
final class RegionRules {
    private RegionRules() {}

    static List<Type> returned(Region region) {
        return region.block().terminator().operands().stream().map(Value::type).toList();
    }

    static List<Type> arguments(Region region) {
        return region.block().arguments().stream().map(BlockArgument::type).toList();
    }

    static List<Type> branches(Draft draft) {
        TensorType selector = draft.tensor(0);
        Violation.check(selector.rank() == 0, draft.name(0) + " must be a scalar, got " + selector);
        Violation.check(!draft.regions().isEmpty(), "needs at least one branch");
        List<List<Type>> results = new ArrayList<>();
        for (int i = 0; i < draft.regions().size(); i++) {
            Region region = draft.regions().get(i);
            Violation.check(region.block().arguments().isEmpty(), "branch " + i + " must have no arguments");
            List<Type> types = returned(region);
            Violation.check(
                    results.isEmpty() || types.size() == results.getFirst().size(),
                    "branches 0 and " + i + " return different numbers of values");
            if (!results.isEmpty()) {
                Violation.check(
                        Types.compatible(results.getFirst(), types),
                        "branches 0 and " + i + " return incompatible types, " + results.getFirst() + " and " + types);
            }
            results.add(types);
        }
        List<Type> inferred = new ArrayList<>();
        for (int column = 0; column < results.getFirst().size(); column++) {
            int at = column;
            inferred.add(Types.leastSpecific(
                    results.stream().map(types -> types.get(at)).toList()));
        }
        return inferred;
    }

    static List<Type> whileLoop(Draft draft) {
        List<Type> operands = Rules.types(draft);
        for (int i = 0; i < 2; i++) {
            List<Type> arguments = arguments(draft.regions().get(i));
            Violation.check(
                    Types.compatible(operands, arguments),
                    (i == 0 ? "cond" : "body") + " has arguments of types " + arguments
                            + ", which are not compatible with the operands' " + operands);
        }
        List<Type> condition = returned(draft.regions().get(0));
        Violation.check(
                condition.size() == 1
                        && condition.getFirst() instanceof TensorType tensor
                        && Types.isBool(tensor.element())
                        && tensor.rank() == 0,
                "cond must return one boolean scalar, got " + condition);
        List<Type> body = returned(draft.regions().get(1));
        Violation.check(
                Types.compatible(operands, body),
                "body returns types " + body + ", which are not compatible with the operands' " + operands);
        return operands;
    }

    static List<Type> sort(Draft draft) {
        Violation.check(!draft.operands().isEmpty(), "needs at least one input");
        TensorType first = draft.tensor(0);
        long dimension = draft.has("dimension") ? draft.integer("dimension") : -1;
        int rank = first.rank();
        for (int i = 1; i < draft.operands().size(); i++) {
            Violation.check(
                    Types.compatibleShapes(first, draft.type(i)),
                    "inputs must have one shape, got " + first + " and " + draft.type(i));
        }
        Violation.check(
                (rank == 0 && (dimension == 0 || dimension == -1)) || (dimension >= -rank && dimension < rank),
                "dimension must be in range [-" + rank + ", " + rank + "), got " + dimension);
        List<Type> arguments = arguments(draft.regions().getFirst());
        Violation.check(
                arguments.size() == 2 * draft.operands().size(),
                "the comparator must take two scalars for each input, got " + arguments.size() + " arguments");
        for (int i = 0; i < arguments.size(); i++) {
            Type expected = TensorType.of(draft.tensor(i / 2).element());
            Violation.check(
                    arguments.get(i).equals(expected),
                    "argument " + i + " of the comparator must be " + expected + ", got " + arguments.get(i));
        }
        List<Type> result = returned(draft.regions().getFirst());
        Violation.check(
                result.size() == 1 && result.getFirst().equals(TensorType.of(ElementType.I1)),
                "the comparator must return one boolean scalar, got " + result);
        return Rules.types(draft);
    }

    static List<Type> reduce(Draft draft) {
        int count = draft.operands().size() / 2;
        Violation.check(count > 0, "needs at least one input");
        ImmutableLongArray dimensions = draft.ints("dimensions");
        TensorType first = draft.tensor(0);
        for (int i = 1; i < count; i++) {
            Violation.check(
                    Types.compatibleShapes(first, draft.type(i)),
                    "inputs must have compatible shapes, got " + first + " and " + draft.type(i));
        }
        ShapeRules.checkUnique(dimensions, first.rank(), "dimensions");
        List<Long> sizes = new ArrayList<>();
        List<Long> limits = new ArrayList<>();
        for (int d = 0; d < first.rank(); d++) {
            if (!dimensions.contains(d)) {
                sizes.add(first.dim(d));
                limits.add(first.bound(d));
            }
        }
        long[] shape = sizes.stream().mapToLong(Long::longValue).toArray();
        long[] bounds = limits.stream().mapToLong(Long::longValue).toArray();
        checkReducer(
                draft.regions().getFirst(),
                Rules.types(draft).subList(0, count),
                Rules.types(draft).subList(count, 2 * count),
                shape);
        List<Type> results = new ArrayList<>();
        for (Type accumulator : returned(draft.regions().getFirst())) {
            results.add(Types.tensor(((TensorType) accumulator).element(), shape, bounds, null));
        }
        return results;
    }

    /**
     * Checks a computation that folds values: it takes an accumulator and an element for each input, and gives the
     * accumulators.
     */
    static void checkReducer(Region region, List<Type> inputs, List<Type> inits, long[] allowed) {
        Block block = region.block();
        int count = inputs.size();
        List<Type> arguments = arguments(region);
        List<Type> results = returned(region);
        Violation.check(
                arguments.size() == 2 * count,
                "the reducer must take " + 2 * count + " arguments, but takes " + arguments.size());
        Violation.check(
                results.size() == count, "the reducer must return " + count + " values, but returns " + results.size());
        for (int i = 0; i < count; i++) {
            Type result = results.get(i);
            Violation.check(
                    result instanceof TensorType,
                    "the reducer must return ranked tensors, got " + result + " as value " + i);
            Violation.check(
                    sameButPrecision(result, arguments.get(i)),
                    "argument " + i + " of the reducer must have the type of its result, " + result + ", got "
                            + arguments.get(i));
            Type element = arguments.get(count + i);
            Violation.check(
                    sameButPrecision(result, element),
                    "argument " + (count + i) + " of the reducer must have the type of its result, " + result + ", got "
                            + element);
            Violation.check(
                    Types.compatibleShapes(inits.get(i), result),
                    "result " + i + " of the reducer must have the shape of the initial value, got " + result + " and "
                            + inits.get(i));
            Violation.check(
                    promotable(inits.get(i), result),
                    "the initial value " + inits.get(i) + " cannot be promoted to the reducer's result " + result);
            Violation.check(
                    promotable(inputs.get(i), element),
                    "the input " + inputs.get(i) + " cannot be promoted to the reducer's argument " + element);
            checkArgumentShape((TensorType) element, allowed, count + i);
        }
        Violation.check(block.operations().size() >= 1, "the reducer must return values");
    }

    private static void checkArgumentShape(TensorType argument, long[] allowed, int index) {
        int at = 0;
        for (int i = 0; i < allowed.length && at < argument.rank(); i++) {
            if (Types.compatibleSizes(allowed[i], argument.dim(at))) {
                at++;
            }
        }
        Violation.check(
                at == argument.rank(),
                "argument " + index + " of the reducer does not fit the shape that is left, got " + argument);
    }

    static boolean sameButPrecision(Type left, Type right) {
        if (!Types.compatibleShapes(left, right) || !(left instanceof TensorType) || !(right instanceof TensorType)) {
            return false;
        }
        Type a = Types.element(left);
        Type b = Types.element(right);
        return (a instanceof FloatType && b instanceof FloatType) || a.equals(b);
    }

    /** Whether a type may be widened to another; floats are not compared by width. */
    static boolean promotable(Type from, Type to) {
        if (!(from instanceof TensorType a) || !(to instanceof TensorType b)) {
            return false;
        }
        return switch (a.element()) {
            case FloatType _ -> b.element() instanceof FloatType;
            case IntegerType x -> b.element() instanceof IntegerType y && x.width() <= y.width();
            case ComplexType x -> b.element() instanceof ComplexType y && Types.width(x) <= Types.width(y);
            case QuantizedType x ->
                b.element() instanceof QuantizedType y
                        && x.expressed() == y.expressed()
                        && Types.width(x) <= Types.width(y);
            default -> false;
        };
    }

    static @Nullable List<Type> rngBitGenerator(Draft draft) {
        TensorType state = draft.tensor(0);
        if (draft.results() != null) {
            Violation.check(
                    draft.results().size() == 2
                            && Types.compatible(draft.results().getFirst(), state),
                    "the new state must have the type of the initial one, got " + draft.results() + " for " + state);
        }
        draft.attribute("rng_algorithm", RngAlgorithm.class);
        return null;
    }

    static List<Type> topK(Draft draft) {
        long k = draft.integer("k");
        Violation.check(k >= 0, "k must not be negative, got " + k);
        if (!(draft.type(0) instanceof TensorType operand)) {
            return List.of(draft.type(0), new Type.UnrankedTensor(ElementType.I32));
        }
        Violation.check(operand.rank() >= 1, "operand must have one dimension at least, got " + operand);
        int last = operand.rank() - 1;
        long size = operand.dim(last);
        Violation.check(
                size == TensorType.DYNAMIC || size >= k,
                "the last dimension must have size " + k + " at least, got " + operand);
        long[] shape = operand.shape().toArray();
        shape[last] = k;
        return List.of(TensorType.of(operand.element(), shape), TensorType.of(ElementType.I32, shape));
    }
}

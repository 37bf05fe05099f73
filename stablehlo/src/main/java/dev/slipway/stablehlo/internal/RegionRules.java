// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Block;
import dev.slipway.stablehlo.ComplexType;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.IntegerType;
import dev.slipway.stablehlo.QuantizedType;
import dev.slipway.stablehlo.Region;
import dev.slipway.stablehlo.RngAlgorithm;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Rules of operations with regions, and of a few others that give several results. */
final class RegionRules {
    private RegionRules() {}

    static List<Type> returned(Region region) {
        return Rules.types(region.block().terminator().operands());
    }

    static List<Type> arguments(Region region) {
        return Rules.types(region.block().arguments());
    }

    static List<Type> branches(Draft draft) {
        TensorType selector = draft.tensor(0);
        Violation.check(selector.rank() == 0, "%s must be a scalar, got %s", draft.name(0), selector);
        Violation.check(!draft.regions().isEmpty(), "needs at least one branch");
        List<List<Type>> results = new ArrayList<>();
        for (int i = 0; i < draft.regions().size(); i++) {
            Region region = draft.regions().get(i);
            Violation.check(region.block().arguments().isEmpty(), "branch %s must have no arguments", i);
            List<Type> types = returned(region);
            Violation.check(
                    results.isEmpty() || types.size() == results.getFirst().size(),
                    "branches 0 and %s return different numbers of values",
                    i);
            if (!results.isEmpty()) {
                Violation.check(
                        Types.compatible(results.getFirst(), types),
                        "branches 0 and %s return incompatible types, %s and %s",
                        i,
                        results.getFirst(),
                        types);
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
                    "%s has arguments of types %s, which are not compatible with the operands' %s",
                    i == 0 ? "cond" : "body",
                    arguments,
                    operands);
        }
        List<Type> condition = returned(draft.regions().get(0));
        Violation.check(
                condition.size() == 1
                        && condition.getFirst() instanceof TensorType tensor
                        && Types.isBool(tensor.element())
                        && tensor.rank() == 0,
                "cond must return one boolean scalar, got %s",
                condition);
        List<Type> body = returned(draft.regions().get(1));
        Violation.check(
                Types.compatible(operands, body),
                "body returns types %s, which are not compatible with the operands' %s",
                body,
                operands);
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
                    "inputs must have one shape, got %s and %s",
                    first,
                    draft.type(i));
        }
        Violation.check(
                (rank == 0 && (dimension == 0 || dimension == -1)) || (dimension >= -rank && dimension < rank),
                "dimension must be in range [-%s, %s), got %s",
                rank,
                rank,
                dimension);
        List<Type> arguments = arguments(draft.regions().getFirst());
        Violation.check(
                arguments.size() == 2 * draft.operands().size(),
                "the comparator must take two scalars for each input, got %s arguments",
                arguments.size());
        for (int i = 0; i < arguments.size(); i++) {
            Type expected = TensorType.of(draft.tensor(i / 2).element());
            Violation.check(
                    arguments.get(i).equals(expected),
                    "argument %s of the comparator must be %s, got %s",
                    i,
                    expected,
                    arguments.get(i));
        }
        List<Type> result = returned(draft.regions().getFirst());
        Violation.check(
                result.size() == 1 && result.getFirst().equals(TensorType.of(ElementType.I1)),
                "the comparator must return one boolean scalar, got %s",
                result);
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
                    "inputs must have compatible shapes, got %s and %s",
                    first,
                    draft.type(i));
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
                "the reducer must take %s arguments, but takes %s",
                2 * count,
                arguments.size());
        Violation.check(
                results.size() == count, "the reducer must return %s values, but returns %s", count, results.size());
        for (int i = 0; i < count; i++) {
            Type result = results.get(i);
            Violation.check(
                    result instanceof TensorType,
                    "the reducer must return ranked tensors, got %s as value %s",
                    result,
                    i);
            Violation.check(
                    sameButPrecision(result, arguments.get(i)),
                    "argument %s of the reducer must have the type of its result, %s, got %s",
                    i,
                    result,
                    arguments.get(i));
            Type element = arguments.get(count + i);
            Violation.check(
                    sameButPrecision(result, element),
                    "argument %s of the reducer must have the type of its result, %s, got %s",
                    count + i,
                    result,
                    element);
            Violation.check(
                    Types.compatibleShapes(inits.get(i), result),
                    "result %s of the reducer must have the shape of the initial value, got %s and %s",
                    i,
                    result,
                    inits.get(i));
            Violation.check(
                    promotable(inits.get(i), result),
                    "the initial value %s cannot be promoted to the reducer's result %s",
                    inits.get(i),
                    result);
            Violation.check(
                    promotable(inputs.get(i), element),
                    "the input %s cannot be promoted to the reducer's argument %s",
                    inputs.get(i),
                    element);
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
                "argument %s of the reducer does not fit the shape that is left, got %s",
                index,
                argument);
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
                    "the new state must have the type of the initial one, got %s for %s",
                    draft.results(),
                    state);
        }
        draft.attribute("rng_algorithm", RngAlgorithm.class);
        return null;
    }

    static List<Type> topK(Draft draft) {
        long k = draft.integer("k");
        Violation.check(k >= 0, "k must not be negative, got %s", k);
        if (!(draft.type(0) instanceof TensorType operand)) {
            return List.of(draft.type(0), new Type.UnrankedTensor(ElementType.I32));
        }
        Violation.check(operand.rank() >= 1, "operand must have one dimension at least, got %s", operand);
        int last = operand.rank() - 1;
        long size = operand.dim(last);
        Violation.check(
                size == TensorType.DYNAMIC || size >= k,
                "the last dimension must have size %s at least, got %s",
                k,
                operand);
        long[] shape = operand.shape().toArray();
        shape[last] = k;
        return List.of(TensorType.of(operand.element(), shape), TensorType.of(ElementType.I32, shape));
    }
}

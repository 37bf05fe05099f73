// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.OpDefinition;
import dev.slipway.stablehlo.OpDefinition.AttributeDefinition;
import dev.slipway.stablehlo.OpDefinition.Trait;
import dev.slipway.stablehlo.OpDefinition.ValueDefinition;
import dev.slipway.stablehlo.Region;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Checks one operation against its row of the table and its rule, and infers its result types. */
final class Checker {
    private static final OpMap<Plan> PLANS = Registry.map(Plan::new);

    private Checker() {}

    /** What is worked out once for each row of the table. */
    private static final class Plan {
        final TypeConstraint[] operands;
        final TypeConstraint[] results;
        final int variadicOperands;
        final int variadicResults;

        Plan(OpDefinition definition) {
            operands = definition.operands().stream()
                    .map(value -> TypeConstraint.of(value.constraint()))
                    .toArray(TypeConstraint[]::new);
            results = definition.results().stream()
                    .map(value -> TypeConstraint.of(value.constraint()))
                    .toArray(TypeConstraint[]::new);
            variadicOperands = (int) definition.operands().stream()
                    .filter(ValueDefinition::variadic)
                    .count();
            variadicResults = (int) definition.results().stream()
                    .filter(ValueDefinition::variadic)
                    .count();
        }
    }

    /**
     * Checks an operation and gives its result types: those given, or those inferred.
     *
     * @throws Violation if a rule is broken
     */
    static List<? extends Type> check(Draft draft) {
        OpDefinition definition = draft.definition();
        if (!definition.isKnown()) {
            Violation.check(!definition.name().startsWith("."), "has no dialect before the dot of its name");
            if (draft.results() == null) {
                throw new Violation("is not in the op table, so the types of its results must be given");
            }
            return draft.results();
        }
        Plan plan = PLANS.get(definition.id());
        checkValues(
                "operand",
                Rules.types(draft),
                definition.operands(),
                plan.operands,
                plan.variadicOperands,
                segments(draft, "operandSegmentSizes"));
        checkAttributes(draft);
        checkRegions(draft);
        List<? extends Type> given = draft.results();
        if (given != null) {
            checkValues(
                    "result",
                    given,
                    definition.results(),
                    plan.results,
                    plan.variadicResults,
                    segments(draft, "resultSegmentSizes"));
        }
        checkTraits(draft);
        List<? extends Type> inferred = Rules.apply(draft);
        if (given == null) {
            if (inferred == null) {
                throw new Violation("the types of its results must be given");
            }
            checkValues("result", inferred, definition.results(), plan.results, plan.variadicResults, null);
            return inferred;
        }
        if (inferred != null && !Types.compatible(inferred, given)) {
            throw new Violation("inferred type(s) " + inferred + " are incompatible with the result type(s) " + given);
        }
        return given;
    }

    private static @Nullable ImmutableLongArray segments(Draft draft, String name) {
        return draft.attribute(name) instanceof Attribute.IntArray array ? array.values() : null;
    }

    private static void checkValues(
            String what,
            List<? extends Type> types,
            List<ValueDefinition> definitions,
            TypeConstraint[] constraints,
            int variadics,
            @Nullable ImmutableLongArray segments) {
        int count = types.size();
        int fixed = definitions.size() - variadics;
        if (variadics == 0 ? count != fixed : count < fixed) {
            throw new Violation("has " + count + " " + what + "s, but " + fixed + (variadics == 0 ? "" : " or more")
                    + " are required");
        }
        if (segments != null && variadics > 1) {
            long sum = Arrays.stream(segments.toArray()).sum();
            Violation.check(
                    segments.length() == definitions.size() && sum == count,
                    "the sizes of the groups of %ss, %s, do not sum up to %s",
                    what,
                    segments,
                    count);
        } else if (variadics > 1) {
            Violation.check(
                    (count - fixed) % variadics == 0,
                    "has %s %ss, which cannot be %s groups of one size",
                    count,
                    what,
                    variadics);
        }
        int each = variadics == 0 ? 0 : (count - fixed) / variadics;
        int at = 0;
        for (int i = 0; i < constraints.length; i++) {
            int size = segments != null && variadics > 1
                    ? Math.toIntExact(segments.get(i))
                    : definitions.get(i).variadic() ? each : 1;
            for (int j = 0; j < size; j++, at++) {
                if (!constraints[i].accepts(types.get(at))) {
                    throw new Violation(
                            what + " " + at + " (" + definitions.get(i).name() + ") must be one of ("
                                    + constraints[i].words() + "), got " + types.get(at));
                }
            }
        }
    }

    private static void checkAttributes(Draft draft) {
        for (AttributeDefinition attribute : draft.definition().attributes()) {
            Attribute value = draft.attribute(attribute.name());
            if (value == null) {
                if (!attribute.optional()
                        && attribute.defaultValue().isEmpty()
                        && !attribute.kind().equals("Unit")) {
                    throw new Violation("requires the attribute '" + attribute.name() + "' (" + attribute.kind() + ")");
                }
            } else {
                String problem = AttributeKinds.problem(attribute.kind(), value);
                if (problem != null) {
                    throw new Violation("the attribute '" + attribute.name() + "' " + problem + ", got " + value);
                }
            }
        }
    }

    private static void checkRegions(Draft draft) {
        List<String> definitions = draft.definition().regions();
        int count = draft.regions().size();
        boolean many = !definitions.isEmpty() && definitions.getLast().endsWith("*");
        if (many ? count < definitions.size() - 1 : count != definitions.size()) {
            throw new Violation("has " + count + " regions, but " + definitions.size() + " are required");
        }
        if (draft.definition().has(Trait.NO_TERMINATOR)
                || draft.definition().id() == OpTable.FUNC_FUNC
                || draft.definition().id() == OpTable.STABLEHLO_COMPOSITE) {
            return;
        }
        for (int i = 0; i < count; i++) {
            Region region = draft.regions().get(i);
            if (region.blocks().size() != 1) {
                throw new Violation("region " + i + " must have one block, got "
                        + region.blocks().size());
            }
            if (region.block().operations().isEmpty()
                    || (!region.block().terminator().definition().has(Trait.TERMINATOR)
                            && region.block().terminator().definition().isKnown())) {
                throw new Violation("region " + i + " must end with a terminator");
            }
            String terminator = draft.definition().dialect().equals("sdy") ? "sdy.return" : "stablehlo.return";
            if (draft.definition().has(Trait.SINGLE_BLOCK)
                    && !region.block().terminator().is(terminator)) {
                throw new Violation("region " + i + " must end with " + terminator + ", got "
                        + region.block().terminator().name());
            }
        }
    }

    private static void checkTraits(Draft draft) {
        OpDefinition definition = draft.definition();
        if (definition.has(Trait.SAME_SHAPE)) {
            sameShape(draft);
        }
        if (definition.has(Trait.COMPATIBLE_TYPES)) {
            allCompatible(draft, true, true, "types");
        }
        if (definition.has(Trait.COMPATIBLE_ELEMENTS)) {
            allCompatible(draft, false, true, "element types");
        }
        if (definition.has(Trait.COMPATIBLE_OPERAND_ELEMENTS)) {
            allCompatible(draft, false, false, "element types");
        }
        if (definition.has(Trait.SAME_ELEMENTS)) {
            sameElements(draft, true);
        }
        if (definition.has(Trait.SAME_OPERAND_ELEMENTS)) {
            sameElements(draft, false);
        }
        if (definition.has(Trait.SAME_TYPES) && draft.results() != null) {
            for (Type result : draft.results()) {
                Violation.check(
                        result.equals(draft.type(0)),
                        "operands and results must have one type, got %s and %s",
                        draft.type(0),
                        result);
            }
        }
        List<? extends Type> results = draft.results();
        if (results != null && definition.has(Trait.PAIRWISE_ELEMENTS)) {
            pairwise(draft, results, false);
        }
        if (results != null && definition.has(Trait.PAIRWISE_TYPES)) {
            pairwise(draft, results, true);
        }
        for (String match : definition.matches()) {
            checkMatch(draft, match);
        }
    }

    private static List<Type> allTypes(Draft draft, boolean withResults) {
        List<Type> types = new ArrayList<>();
        draft.operands().forEach(value -> types.add(value.type()));
        if (withResults && draft.results() != null) {
            types.addAll(draft.results());
        }
        return types;
    }

    private static void sameShape(Draft draft) {
        List<Type> types = allTypes(draft, true);
        for (int i = 1; i < types.size(); i++) {
            boolean same = !(types.getFirst() instanceof TensorType a)
                    || !(types.get(i) instanceof TensorType b)
                    || compatibleIgnoringBounds(a, b);
            Violation.check(
                    same, "operands and results must have one shape, got %s and %s", types.getFirst(), types.get(i));
        }
    }

    private static boolean compatibleIgnoringBounds(TensorType a, TensorType b) {
        if (a.rank() != b.rank()) {
            return false;
        }
        for (int d = 0; d < a.rank(); d++) {
            if (!Types.compatibleSizes(a.dim(d), b.dim(d))) {
                return false;
            }
        }
        return true;
    }

    private static void allCompatible(Draft draft, boolean shapes, boolean withResults, String what) {
        List<Type> types = allTypes(draft, withResults);
        for (int i = 1; i < types.size(); i++) {
            boolean fits = shapes
                    ? Types.compatible(types.getFirst(), types.get(i))
                    : Types.compatibleElements(types.getFirst(), types.get(i));
            Violation.check(
                    fits,
                    "requires compatible %s for operands%s, got %s and %s",
                    what,
                    (withResults ? " and results" : ""),
                    types.getFirst(),
                    types.get(i));
        }
    }

    private static void sameElements(Draft draft, boolean withResults) {
        List<Type> types = allTypes(draft, withResults);
        for (int i = 1; i < types.size(); i++) {
            Violation.check(
                    Types.element(types.getFirst()).equals(Types.element(types.get(i))),
                    "requires one element type for operands%s, got %s and %s",
                    (withResults ? " and results" : ""),
                    types.getFirst(),
                    types.get(i));
        }
    }

    private static void pairwise(Draft draft, List<? extends Type> results, boolean whole) {
        Violation.check(
                results.size() == draft.operands().size(),
                "requires as many results as operands, got %s and %s",
                results.size(),
                draft.operands().size());
        for (int i = 0; i < results.size(); i++) {
            boolean same = whole
                    ? results.get(i).equals(draft.type(i))
                    : Types.element(results.get(i)).equals(Types.element(draft.type(i)));
            Violation.check(
                    same,
                    "operand and result %s must have one %s, got %s and %s",
                    i,
                    (whole ? "type" : "element type"),
                    draft.type(i),
                    results.get(i));
        }
    }

    private static void checkMatch(Draft draft, String match) {
        int open = match.indexOf('(');
        String kind = match.substring(0, open);
        String[] names = match.substring(open + 1, match.length() - 1).split(" ", -1);
        if (kind.equals("sizes-match")) {
            for (String name : names) {
                Violation.check(
                        draft.ints(name).length() == draft.ints(names[0]).length(),
                        "the attributes %s must have one length",
                        String.join(", ", names));
            }
            return;
        }
        List<Type> types = new ArrayList<>();
        for (String name : names) {
            Type type = named(draft, name);
            if (type != null) {
                types.add(type);
            }
        }
        for (Type type : types) {
            boolean same = switch (kind) {
                case "elements-match" -> Types.element(type).equals(Types.element(types.getFirst()));
                case "types-match" -> type.equals(types.getFirst());
                default ->
                    !(type instanceof TensorType a)
                            || !(types.getFirst() instanceof TensorType b)
                            || a.rank() == b.rank();
            };
            Violation.check(
                    same, "%s must agree (%s), got %s and %s", String.join(", ", names), kind, types.getFirst(), type);
        }
    }

    /** The type of an operand or result by name; variadic operands stand last or before no other here. */
    private static @Nullable Type named(Draft draft, String name) {
        List<ValueDefinition> operands = draft.definition().operands();
        for (int i = 0; i < operands.size(); i++) {
            if (operands.get(i).name().equals(name)) {
                return draft.type(i);
            }
        }
        return draft.results() == null || draft.results().isEmpty()
                ? null
                : draft.results().getFirst();
    }
}

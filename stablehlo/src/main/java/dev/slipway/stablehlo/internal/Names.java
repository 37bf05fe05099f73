// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.Block;
import dev.slipway.stablehlo.BlockArgument;
import dev.slipway.stablehlo.IntegerType;
import dev.slipway.stablehlo.OpDefinition.ValueDefinition;
import dev.slipway.stablehlo.OpResult;
import dev.slipway.stablehlo.Operation;
import dev.slipway.stablehlo.Region;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Names of values, given as MLIR gives them: {@code %0}, {@code %c} and {@code %cst} for constants, {@code %arg0},
 * {@code %iterArg}; a region's values are numbered before those of the regions within.
 */
final class Names {
    private final Map<Object, String> names = new HashMap<>();
    private final Set<String> used = new HashSet<>();
    private final boolean generic;
    private int nextValue;
    private int nextArgument;
    private int nextConflict;

    Names(boolean generic) {
        this.generic = generic;
    }

    /** What is restored when a region ends. */
    record Scope(int nextValue, int nextArgument, int nextConflict, List<String> taken) {}

    /** Names everything that a region defines, without the regions within. */
    Scope enter(Operation parent, Region region) {
        Scope scope = new Scope(nextValue, nextArgument, nextConflict, new ArrayList<>());
        for (int b = 0; b < region.blocks().size(); b++) {
            Block block = region.blocks().get(b);
            for (BlockArgument argument : block.arguments()) {
                String hint = argumentHint(parent, argument);
                if (hint.isEmpty() && b > 0) {
                    names.put(argument, "%" + nextValue++);
                } else {
                    names.put(argument, "%" + unique(hint.isEmpty() ? "arg" + nextArgument++ : hint, scope));
                }
            }
            for (Operation operation : block.operations()) {
                if (hasNamedResults(operation)) {
                    for (OpResult result : operation.results()) {
                        String name = operation
                                .definition()
                                .results()
                                .get(result.index())
                                .name();
                        names.put(result, "%" + unique(name, scope));
                    }
                } else if (!operation.results().isEmpty()) {
                    String hint = resultHint(operation);
                    names.put(operation, "%" + (hint.isEmpty() ? Integer.toString(nextValue++) : unique(hint, scope)));
                }
            }
        }
        return scope;
    }

    void leave(Scope scope) {
        nextValue = scope.nextValue;
        nextArgument = scope.nextArgument;
        nextConflict = scope.nextConflict;
        scope.taken.forEach(used::remove);
    }

    private String argumentHint(Operation parent, BlockArgument argument) {
        if (generic) {
            return "";
        }
        return switch (parent.definition().id()) {
            case OpTable.STABLEHLO_WHILE -> "iterArg";
            case OpTable.CHLO_SCAN ->
                argument.index()
                                < Attrs.group(
                                                parent.operands(),
                                                0,
                                                2,
                                                new boolean[] {true, true},
                                                Attrs.segments(parent, "operand"))
                                        .size()
                        ? "input"
                        : "carry";
            default -> "";
        };
    }

    private String resultHint(Operation operation) {
        if (generic || operation.definition().id() != OpTable.STABLEHLO_CONSTANT) {
            return "";
        }
        return operation.result().type() instanceof TensorType tensor && tensor.element() instanceof IntegerType
                ? "c"
                : "cst";
    }

    /** Whether each result has a name of its own: several results, none of them variadic. */
    boolean hasNamedResults(Operation operation) {
        return !generic
                && operation.results().size() > 1
                && operation.results().size()
                        == operation.definition().results().size()
                && operation.definition().results().stream().noneMatch(ValueDefinition::variadic);
    }

    private String unique(String name, Scope scope) {
        String candidate = name;
        while (!used.add(candidate)) {
            candidate = name + "_" + nextConflict++;
        }
        scope.taken.add(candidate);
        return candidate;
    }

    /** The name that all results of an operation share. */
    String of(Operation operation) {
        return names.getOrDefault(operation, "%?");
    }

    void append(StringBuilder out, Value value) {
        switch (value) {
            case BlockArgument argument -> {
                String name = names.get(argument);
                out.append(name == null ? foreign(argument) : name);
            }
            case OpResult result -> {
                String own = names.get(result);
                if (own != null) {
                    out.append(own);
                    return;
                }
                String name = names.get(result.owner());
                out.append(name == null ? foreign(result.owner()) : name);
                if (result.owner().results().size() > 1) {
                    out.append('#').append(result.index());
                }
            }
        }
    }

    /** A value that is defined outside of what is printed. */
    private String foreign(Object owner) {
        String name = "%outer" + names.size();
        names.put(owner, name);
        return name;
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.Block;
import dev.slipway.stablehlo.BlockArgument;
import dev.slipway.stablehlo.Diagnostic;
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
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Checks a whole module: every operation, the visibility of values, symbols. */
public final class ModuleChecker {
    private static final Set<String> VISIBILITIES = Set.of("public", "private", "nested");

    private final List<Diagnostic> diagnostics = new ArrayList<>();
    /** The region that defines each value; values of regions that have ended are not visible any more. */
    private Map<Object, Scope> scopes = new HashMap<>();

    private static final class Scope {
        boolean open = true;
    }

    private ModuleChecker() {}

    /** Everything that is wrong. */
    public static List<Diagnostic> diagnose(Operation module) {
        ModuleChecker checker = new ModuleChecker();
        checker.operation(module, _ -> null);
        return checker.diagnostics;
    }

    private void report(Operation operation, @Nullable String message) {
        diagnostics.add(new Diagnostic(operation.name(), operation.location(), message == null ? "" : message));
    }

    private void operation(Operation operation, Function<String, @Nullable Operation> symbols) {
        for (int i = 0; i < operation.operands().size(); i++) {
            Scope scope = scopes.get(key(operation.operand(i)));
            if (scope == null || !scope.open) {
                report(operation, "operand " + i + " is not visible here, or defined later");
            }
        }
        Function<String, @Nullable Operation> inner = symbols;
        if (operation.definition().has(Trait.SYMBOL_TABLE)
                && operation.regions().size() == 1) {
            inner = symbolTable(operation)::get;
        }
        for (Region region : operation.regions()) {
            if (operation.definition().has(Trait.ISOLATED)) {
                Map<Object, Scope> outer = scopes;
                scopes = new HashMap<>();
                region(region, inner);
                scopes = outer;
            } else {
                region(region, inner);
            }
        }
        if (operation.definition().id() == OpTable.FUNC_FUNC
                && operation.attribute("function_type") instanceof Attribute.TypeRef(Type.Function type)) {
            signature(operation, type);
        }
        if (operation.name().startsWith("vhlo.")) {
            report(operation, "VHLO is how portable artifacts spell StableHLO; programs have no operation of it");
        }
        // A module is a symbol where it has a name.
        boolean symbol = operation.definition().has(Trait.SYMBOL)
                || operation.definition().id() == OpTable.BUILTIN_MODULE;
        if (symbol && !hasVisibility(operation)) {
            report(
                    operation,
                    "sym_visibility must be public, private or nested, got " + operation.attribute("sym_visibility"));
        }
        try {
            Checker.check(Draft.of(operation, symbols));
        } catch (Violation violation) {
            report(operation, violation.getMessage());
        }
    }

    /** What a function takes and returns must be what its type says. */
    private void signature(Operation function, Type.Function type) {
        for (Region region : function.regions()) {
            for (int i = 0; i < region.blocks().size(); i++) {
                Block block = region.blocks().get(i);
                List<Type> arguments =
                        block.arguments().stream().map(Value::type).toList();
                if (i == 0 && !arguments.equals(type.inputs())) {
                    report(function, "the body takes " + arguments + ", but the function's type says " + type.inputs());
                }
                if (!block.operations().isEmpty() && block.terminator().is("func.return")) {
                    List<Type> returned = block.terminator().operands().stream()
                            .map(Value::type)
                            .toList();
                    if (!returned.equals(type.results())) {
                        report(
                                block.terminator(),
                                "returns " + returned + ", but the function's type says " + type.results());
                    }
                }
            }
        }
    }

    /** Whether a symbol is visible in one of the three ways, or does not say how. */
    static boolean hasVisibility(Operation operation) {
        Attribute visibility = operation.attribute("sym_visibility");
        return visibility == null || (visibility instanceof Attribute.Text(String word) && VISIBILITIES.contains(word));
    }

    private Map<String, Operation> symbolTable(Operation operation) {
        Map<String, Operation> table = new HashMap<>();
        for (Block block : operation.region(0).blocks()) {
            for (Operation member : block.operations()) {
                if (member.definition().has(Trait.SYMBOL)
                        && member.attribute("sym_name") instanceof Attribute.Text name
                        && table.put(name.value(), member) != null) {
                    report(member, "the name @" + name.value() + " is taken already");
                }
            }
        }
        return table;
    }

    private void region(Region region, Function<String, @Nullable Operation> symbols) {
        Scope scope = new Scope();
        for (Block block : region.blocks()) {
            for (BlockArgument argument : block.arguments()) {
                scopes.put(argument, scope);
            }
        }
        for (Block block : region.blocks()) {
            for (int i = 0; i < block.operations().size(); i++) {
                Operation operation = block.operations().get(i);
                operation(operation, symbols);
                if (operation.definition().has(Trait.TERMINATOR)
                        && i < block.operations().size() - 1) {
                    report(operation, "ends a block, but operations follow");
                }
                if (!operation.results().isEmpty()) {
                    scopes.put(operation, scope);
                }
            }
        }
        scope.open = false;
    }

    private static Object key(Value value) {
        return value instanceof OpResult result ? result.owner() : value;
    }
}

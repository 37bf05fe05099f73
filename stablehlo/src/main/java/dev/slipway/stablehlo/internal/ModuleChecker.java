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
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Checks a whole module: every operation, the visibility of values, symbols. */
public final class ModuleChecker {
    private final List<Diagnostic> diagnostics = new ArrayList<>();
    private Map<Object, Boolean> visible = new HashMap<>();

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
            if (!visible.containsKey(key(operation.operand(i)))) {
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
                Map<Object, Boolean> outer = visible;
                visible = new HashMap<>();
                region(region, inner);
                visible = outer;
            } else {
                region(region, inner);
            }
        }
        try {
            Checker.check(Draft.of(operation, symbols));
        } catch (Violation violation) {
            report(operation, violation.getMessage());
        }
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
        List<Object> defined = new ArrayList<>();
        for (Block block : region.blocks()) {
            for (BlockArgument argument : block.arguments()) {
                visible.put(argument, true);
                defined.add(argument);
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
                    visible.put(operation, true);
                    defined.add(operation);
                }
            }
        }
        defined.forEach(visible::remove);
    }

    private static Object key(Value value) {
        return value instanceof OpResult result ? result.owner() : value;
    }
}

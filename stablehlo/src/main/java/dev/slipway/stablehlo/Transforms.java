// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.OpDefinition.Trait;
import dev.slipway.stablehlo.internal.Canonical;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Transforms of modules. A module is never changed: each gives a new one, which shares no operation with the old.
 *
 * {@snippet :
 * Module small = Transforms.removeDeadCode(Transforms.eliminateCommonSubexpressions(Transforms.inlineCalls(module)));
 * Module fast = Transforms.rewrite(module, (b, operation) -> Op.of(operation) instanceof DivideOp divide
 *         ? Optional.of(List.of(b.multiply(divide.lhs(), b.power(divide.rhs(), b.fill(-1, divide.rhs())))))
 *         : Optional.empty());
 * }
 */
public final class Transforms {
    private Transforms() {}

    /** Says what to put in the place of operations. */
    @FunctionalInterface
    public interface Rewriter {
        /**
         * Looks at one operation, after those before it and those within it were rewritten.
         *
         * @param builder builds what is to stand in its place
         * @param operation the operation, with its operands replaced already
         * @return values for its results, of the same types; empty to keep it
         */
        Optional<? extends List<? extends Value>> rewrite(OpBuilder builder, Operation operation);
    }

    /** A copy that shares no operation with the module. */
    public static Module copy(Module module) {
        return new BlockCopier(module) {}.run();
    }

    /**
     * Replaces operations by others.
     *
     * @throws IrException if a replacement has other types than the results it stands for
     */
    public static Module rewrite(Module module, Rewriter rewriter) {
        return new BlockCopier(module) {
            @Override
            void operation(Operation operation, OpBuilder into) {
                Operation copy = copy(operation, into);
                Optional<? extends List<? extends Value>> replacement = rewriter.rewrite(into, copy);
                if (replacement.isEmpty()) {
                    into.append(copy);
                    return;
                }
                List<? extends Value> values = replacement.get();
                List<Type> wanted = types(operation.results());
                List<Type> got = types(values);
                if (!wanted.equals(got)) {
                    throw new IrException(operation.name() + ": a replacement for its results must be of the types "
                            + wanted + ", got " + got);
                }
                stand(operation.results(), values);
            }
        }.run();
    }

    private static List<Type> types(List<? extends Value> values) {
        return values.stream().map(Value::type).toList();
    }

    /**
     * Puts the bodies of functions in the place of calls to them, and removes private functions that nothing refers to any
     * longer. Functions that call themselves, and those whose arguments or results are sharded, stay.
     */
    public static Module inlineCalls(Module module) {
        Map<String, Function> inlinable = inlinable(module);
        Module inlined = new BlockCopier(module) {
            @Override
            void operation(Operation operation, OpBuilder into) {
                Function callee =
                        operation.is("func.call") && operation.attribute("callee") instanceof Attribute.SymbolRef name
                                ? inlinable.get(name.root())
                                : null;
                if (callee == null) {
                    super.operation(operation, into);
                    return;
                }
                Block body = callee.body();
                stand(body.arguments(), values(operation.operands()));
                for (Operation inner : body.operations()) {
                    if (inner.definition().has(Trait.TERMINATOR)) {
                        stand(operation.results(), values(inner.operands()));
                    } else {
                        operation(inner, into);
                    }
                }
            }
        }.run();
        return removeUnusedFunctions(inlined);
    }

    private static Map<String, Function> inlinable(Module module) {
        Map<String, Function> functions = new LinkedHashMap<>();
        for (Function function : module.functions()) {
            if (!function.isDeclaration()
                    && function.operation().region(0).blocks().size() == 1
                    && !isSharded(function)) {
                functions.put(function.name(), function);
            }
        }
        Map<String, Set<String>> calls = new HashMap<>();
        functions.forEach((name, function) -> {
            Set<String> called = new HashSet<>();
            Structure.walk(function.operation(), operation -> symbols(operation, called));
            calls.put(name, called);
        });
        functions.keySet().removeIf(name -> reaches(name, calls));
        return functions;
    }

    private static boolean isSharded(Function function) {
        for (int i = 0; i < function.type().inputs().size(); i++) {
            if (function.argumentAttributes(i).get(TensorSharding.ATTRIBUTE) != null) {
                return true;
            }
        }
        for (int i = 0; i < function.type().results().size(); i++) {
            if (function.resultAttributes(i).get(TensorSharding.ATTRIBUTE) != null) {
                return true;
            }
        }
        return false;
    }

    /** Whether a function calls itself, if by way of others. */
    private static boolean reaches(String name, Map<String, Set<String>> calls) {
        Set<String> seen = new HashSet<>();
        Deque<String> left = new ArrayDeque<>(calls.getOrDefault(name, Set.of()));
        while (!left.isEmpty()) {
            String next = left.pop();
            if (next.equals(name)) {
                return true;
            }
            if (seen.add(next)) {
                left.addAll(calls.getOrDefault(next, Set.of()));
            }
        }
        return false;
    }

    /** Removes the private functions that nothing refers to, by way of public ones. */
    public static Module removeUnusedFunctions(Module module) {
        Map<String, Operation> symbols = new HashMap<>();
        Deque<Operation> left = new ArrayDeque<>();
        Set<Operation> kept = new HashSet<>();
        for (Operation operation : module.operations()) {
            String name = Module.symbol(operation);
            if (name != null) {
                symbols.put(name, operation);
            }
            if (!operation.is("func.func") || new Function(operation).isPublic()) {
                kept.add(operation);
                left.add(operation);
            }
        }
        while (!left.isEmpty()) {
            Set<String> referred = new HashSet<>();
            Structure.walk(left.pop(), operation -> symbols(operation, referred));
            for (String name : referred) {
                Operation target = symbols.get(name);
                if (target != null && kept.add(target)) {
                    left.add(target);
                }
            }
        }
        return new BlockCopier(module) {
            private int depth;

            @Override
            void enter(boolean isolated) {
                depth++;
            }

            @Override
            void leave() {
                depth--;
            }

            @Override
            void operation(Operation operation, OpBuilder into) {
                if (depth > 0 || kept.contains(operation)) {
                    super.operation(operation, into);
                }
            }
        }.run();
    }

    private static void symbols(Operation operation, Set<String> into) {
        operation.attributes().forEach((_, value) -> symbols(value, into));
    }

    private static void symbols(Attribute attribute, Set<String> into) {
        switch (attribute) {
            case Attribute.SymbolRef symbol -> into.add(symbol.root());
            case Attribute.Array array -> array.elements().forEach(element -> symbols(element, into));
            case Attribute.Dictionary dictionary -> dictionary.forEach((_, value) -> symbols(value, into));
            default -> {
                // Holds no other attributes.
            }
        }
    }

    /** Removes the operations whose results nothing uses and that have no other effect. */
    public static Module removeDeadCode(Module module) {
        Set<Value> used = new HashSet<>();
        Set<Operation> dead = new HashSet<>();
        mark(module.operations(), used, dead);
        return new BlockCopier(module) {
            @Override
            void operation(Operation operation, OpBuilder into) {
                if (!dead.contains(operation)) {
                    super.operation(operation, into);
                }
            }
        }.run();
    }

    private static void mark(List<Operation> operations, Set<Value> used, Set<Operation> dead) {
        for (Operation operation : operations.reversed()) {
            boolean needed =
                    !isRemovable(operation) || operation.results().stream().anyMatch(used::contains);
            if (!needed) {
                dead.add(operation);
                continue;
            }
            used.addAll(operation.operands());
            for (Region region : operation.regions()) {
                for (Block block : region.blocks().reversed()) {
                    mark(block.operations(), used, dead);
                }
            }
        }
    }

    /** Whether an operation has no effect but its results. */
    private static boolean isRemovable(Operation operation) {
        OpDefinition definition = operation.definition();
        if (definition.has(Trait.TERMINATOR) || definition.has(Trait.SYMBOL)) {
            return false;
        }
        if (definition.has(Trait.PURE)) {
            return true;
        }
        return definition.has(Trait.RECURSIVE_EFFECTS)
                && operation.regions().stream()
                        .flatMap(region -> region.blocks().stream())
                        .flatMap(block -> block.operations().stream())
                        .allMatch(inner -> inner.definition().has(Trait.TERMINATOR) || isRemovable(inner));
    }

    /**
     * Computes once what is computed several times: operations without effects and regions that have the same operands and
     * attributes. The first that is visible stands for the others.
     */
    public static Module eliminateCommonSubexpressions(Module module) {
        return new BlockCopier(module) {
            private final Deque<Known> known = new ArrayDeque<>(List.of(new Known(null)));

            @Override
            void enter(boolean isolated) {
                known.push(new Known(isolated ? null : known.peek()));
            }

            @Override
            void leave() {
                known.pop();
            }

            @Override
            void operation(Operation operation, OpBuilder into) {
                if (!operation.definition().has(Trait.PURE)
                        || !operation.regions().isEmpty()
                        || operation.results().isEmpty()) {
                    super.operation(operation, into);
                    return;
                }
                Key key = new Key(
                        operation.definition(),
                        values(operation.operands()),
                        Canonical.attributes(operation),
                        types(operation.results()));
                Known scope = known.element();
                Operation same = scope.find(key);
                if (same != null) {
                    stand(operation.results(), same.results());
                    return;
                }
                Operation copy = copy(operation, into);
                into.append(copy);
                scope.operations.put(key, copy);
            }
        }.run();
    }

    private record Key(
            OpDefinition definition, List<Value> operands, Attribute.Dictionary attributes, List<Type> results) {}

    /** What a block has computed; the blocks around it have computed more. */
    private static final class Known {
        private final @Nullable Known around;
        private final Map<Key, Operation> operations = new HashMap<>();

        private Known(@Nullable Known around) {
            this.around = around;
        }

        private @Nullable Operation find(Key key) {
            for (Known scope = this; scope != null; scope = scope.around) {
                Operation operation = scope.operations.get(key);
                if (operation != null) {
                    return operation;
                }
            }
            return null;
        }
    }

    /** All of them: calls are inlined, what is equal is computed once, what is unused is removed. */
    public static Module simplify(Module module) {
        return removeDeadCode(eliminateCommonSubexpressions(inlineCalls(module)));
    }

    /** The operations of a module that a test accepts, in order. */
    public static List<Operation> find(Module module, Predicate<Operation> test) {
        List<Operation> found = new ArrayList<>();
        Structure.walk(module, operation -> {
            if (test.test(operation)) {
                found.add(operation);
            }
        });
        return found;
    }
}

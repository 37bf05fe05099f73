// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench.conformance;

import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.Block;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.Function;
import dev.slipway.stablehlo.IrException;
import dev.slipway.stablehlo.Location;
import dev.slipway.stablehlo.Module;
import dev.slipway.stablehlo.OpDefinition;
import dev.slipway.stablehlo.OpResult;
import dev.slipway.stablehlo.Operation;
import dev.slipway.stablehlo.Region;
import dev.slipway.stablehlo.Structure;
import dev.slipway.stablehlo.Transforms;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A function of StableHLO's tests that holds its own expectations, as a program that returns what they are about.
 *
 * @param function its name
 * @param program computes, in {@code main}, the values that are checked, or what the grid is fed with
 * @param grid what runs on several devices, if anything does
 * @param checks the expectations
 */
record CheckedProgram(
        String function, Module program, @Nullable Grid grid, List<Check> checks) {
    CheckedProgram {
        checks = List.copyOf(checks);
    }

    /**
     * One function on each device of a grid.
     *
     * @param program the function as {@code main}
     * @param replicas rows of the grid
     * @param partitions columns of the grid
     * @param inputs which of the first program's results the devices get, device by device
     */
    record Grid(Module program, int replicas, int partitions, List<Integer> inputs) {
        Grid {
            inputs = List.copyOf(inputs);
        }
    }

    /** Where a checked value comes from. */
    sealed interface Source {
        /** A result of the first program. */
        record Result(int index) implements Source {}

        /** A result of one device of the grid. */
        record OfDevice(int device, int index) implements Source {}

        /** It is written in the test. */
        record Constant(DenseElements elements) implements Source {}
    }

    /**
     * One expectation.
     *
     * @param kind the operation's name without its dialect, e.g. {@code expect_eq}
     * @param actual what is checked
     * @param expected what it is checked against
     * @param type the type of both
     * @param tolerance for {@code expect_almost_eq}
     * @param leastUlps for {@code expect_close}
     * @param mostUlps for {@code expect_close}
     */
    record Check(
            String kind, Source actual, Source expected, Type type, double tolerance, long leastUlps, long mostUlps) {}

    /** Every function of a module that has expectations and takes no arguments; {@code main} alone where it has some. */
    static List<CheckedProgram> of(Module module) {
        List<Function> checked = module.functions().stream()
                .filter(function -> !function.isDeclaration() && hasChecks(function.operation()))
                .toList();
        List<Function> mains = checked.stream()
                .filter(function -> function.name().equals("main"))
                .toList();
        List<CheckedProgram> programs = new ArrayList<>();
        for (Function function : mains.isEmpty() ? checked : mains) {
            programs.add(new Splitter(module, function).split());
        }
        return programs;
    }

    private static boolean hasChecks(Operation operation) {
        boolean[] found = {false};
        Structure.walk(operation, inner -> found[0] |= checkName(inner) != null);
        return found[0];
    }

    /** The kind of expectation that an operation is; null where it is none. */
    private static @Nullable String checkName(Operation operation) {
        String name = operation.is("stablehlo.custom_call")
                ? operation
                        .attribute("call_target_name", Attribute.Text.class)
                        .map(Attribute.Text::value)
                        .orElse("")
                : operation.name();
        if (name.equals("check.eq")) {
            return "expect_eq";
        }
        return name.startsWith("check.expect_") ? name.substring("check.".length()) : null;
    }

    /** Takes a function apart. */
    private static final class Splitter {
        private final Module module;
        private final Function function;
        private final Map<Value, Integer> results = new LinkedHashMap<>();
        private final List<Check> checks = new ArrayList<>();
        private @Nullable Operation parallel;
        private @Nullable Grid grid;

        Splitter(Module module, Function function) {
            this.module = module;
            this.function = function;
        }

        CheckedProgram split() {
            List<Operation> kept = new ArrayList<>();
            for (Operation operation : function.body().operations()) {
                String kind = checkName(operation);
                if (kind != null) {
                    checks.add(check(kind, operation));
                } else if (operation.is("interpreter.run_parallel")) {
                    parallel(operation);
                } else if (!operation.is("func.return")) {
                    kept.add(operation);
                }
            }
            return new CheckedProgram(function.name(), program(kept), grid, checks);
        }

        private Check check(String kind, Operation operation) {
            Source actual = source(operation.operand(0));
            Source expected = operation.operands().size() > 1
                    ? source(operation.operand(1))
                    : operation
                            .attribute("value", DenseElements.class)
                            .<Source>map(Source.Constant::new)
                            .orElseThrow(() -> new IrException(kind + " looks at files, which nothing writes here"));
            // Upstream's defaults; a custom call is allowed 3 units in the last place.
            return new Check(
                    kind.replace("_const", ""),
                    actual,
                    expected,
                    operation.operand(0).type(),
                    operation
                            .attribute("tolerance", Attribute.Real.class)
                            .map(real -> Double.longBitsToDouble(real.bits()))
                            .orElse(1e-4),
                    integer(operation, "min_ulp_difference", 0),
                    integer(operation, "max_ulp_difference", operation.is("stablehlo.custom_call") ? 3 : 1));
        }

        private static long integer(Operation operation, String name, long absent) {
            return operation
                    .attribute(name, Attribute.Int.class)
                    .map(Attribute.Int::value)
                    .orElse(absent);
        }

        private Source source(Value value) {
            if (value instanceof OpResult result && result.owner() == parallel && grid != null) {
                int each = parallel.results().size() / (grid.replicas * grid.partitions);
                return new Source.OfDevice(result.index() / each, result.index() % each);
            }
            return new Source.Result(result(value));
        }

        private int result(Value value) {
            results.putIfAbsent(value, results.size());
            return results.getOrDefault(value, 0);
        }

        private void parallel(Operation operation) {
            List<Attribute> rows = operation
                    .attribute("programs", Attribute.Array.class)
                    .map(Attribute.Array::elements)
                    .orElse(List.of());
            List<Attribute> cells = rows.stream()
                    .flatMap(row -> ((Attribute.Array) row).elements().stream())
                    .toList();
            if (parallel != null || cells.stream().distinct().count() != 1 || operation.attribute("infeed") != null) {
                throw new IrException("devices run programs of their own, or are fed from outside");
            }
            String name = ((Attribute.SymbolRef) cells.getFirst()).root();
            parallel = operation;
            List<Integer> inputs =
                    operation.operands().stream().map(this::result).toList();
            grid = new Grid(entry(module.function(name), name), rows.size(), cells.size() / rows.size(), inputs);
        }

        private Module program(List<Operation> kept) {
            List<Operation> body = new ArrayList<>(kept);
            body.add(new Operation(
                    OpDefinition.of("func.return"),
                    List.copyOf(results.keySet()),
                    Attribute.Dictionary.EMPTY,
                    List.of(),
                    List.of(),
                    Location.UNKNOWN));
            List<Type> types = results.keySet().stream().map(Value::type).toList();
            Attribute.Dictionary attributes = Attribute.Dictionary.of(
                    "sym_name",
                    Attribute.of("main"),
                    "function_type",
                    new Attribute.TypeRef(new Type.Function(List.of(), types)));
            Operation main = new Operation(
                    function.operation().definition(),
                    List.of(),
                    attributes,
                    List.of(Region.of(new Block(List.of(), body))),
                    List.of(),
                    function.operation().location());
            return entry(new Function(main), function.name());
        }

        /** The module with this function as {@code main}, in the place of that name, and without what it does not need. */
        private Module entry(Function main, String name) {
            List<Operation> operations = new ArrayList<>();
            for (Operation operation : module.operations()) {
                boolean isFunction = operation.is("func.func");
                String symbol = isFunction ? new Function(operation).name() : "";
                if (!isFunction) {
                    operations.add(operation);
                } else if (!symbol.equals(name) && !symbol.equals("main")) {
                    operations.add(operation.withAttributes(
                            operation.attributes().with("sym_visibility", Attribute.of("private"))));
                }
            }
            operations.add(main.operation()
                    .withAttributes(main.operation()
                            .attributes()
                            .with("sym_name", Attribute.of("main"))
                            .without("sym_visibility")));
            return Transforms.rewrite(
                    Transforms.removeUnusedFunctions(Module.of(module.attributes(), operations)),
                    (_, operation) -> switch (operation.name()) {
                        case "interpreter.probe" -> Optional.of(operation.operands());
                        case "interpreter.print" -> Optional.of(List.of());
                        default -> Optional.empty();
                    });
        }
    }
}

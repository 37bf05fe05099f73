// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.Canonical;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * What a module consists of, apart from where it came from: locations, and attributes that are given with the value they
 * have by default, make no difference here.
 */
public final class Structure {
    /** More edits than this between two blocks are not told apart. */
    private static final int MAX_EDITS = 2000;

    private final List<Difference> differences = new ArrayList<>();
    private final Map<Value, Value> matched = new HashMap<>();

    private Structure() {}

    /**
     * One difference between two modules.
     *
     * @param path where it is: a function, and the operations and regions within
     * @param left what the first module has there, or "-"
     * @param right what the second has there, or "-"
     */
    public record Difference(String path, String left, String right) {
        @Override
        public String toString() {
            return path + ":\n  - " + left + "\n  + " + right;
        }
    }

    /** Visits every operation of a module, and those within it, in order; the module itself not. */
    public static void walk(Module module, Consumer<Operation> visitor) {
        module.operations().forEach(operation -> walk(operation, visitor));
    }

    /** Visits an operation and then those within it, in order. */
    public static void walk(Operation operation, Consumer<Operation> visitor) {
        visitor.accept(operation);
        for (Region region : operation.regions()) {
            for (Block block : region.blocks()) {
                block.operations().forEach(inner -> walk(inner, visitor));
            }
        }
    }

    /**
     * A hash of a module: the same for two modules that differ in locations, in the names of values and in attributes that
     * restate their default, and in nothing else. The same in every run and on every machine.
     *
     * @return a SHA-256, in hexadecimal
     */
    public static String hash(Module module) {
        return Canonical.hash(module);
    }

    /** Whether two modules are equal but for locations and restated defaults. */
    public static boolean equal(Module left, Module right) {
        return hash(left).equals(hash(right));
    }

    /** How two modules differ; empty if they are {@link #equal}. */
    public static List<Difference> diff(Module left, Module right) {
        Structure structure = new Structure();
        structure.attributes("module", left.operation(), right.operation());
        Map<String, Operation> others = new LinkedHashMap<>();
        List<Operation> unnamed = new ArrayList<>();
        right.operations().forEach(operation -> keep(operation, others, unnamed));
        List<Operation> mine = new ArrayList<>();
        Map<String, Operation> named = new LinkedHashMap<>();
        left.operations().forEach(operation -> keep(operation, named, mine));
        named.forEach((symbol, operation) -> {
            Operation other = others.remove(symbol);
            if (other == null) {
                structure.add(symbol, signature(operation), "-");
            } else {
                structure.operation(symbol, operation, other);
            }
        });
        others.forEach((symbol, operation) -> structure.add(symbol, "-", signature(operation)));
        structure.block("module", mine, unnamed);
        if (structure.differences.isEmpty() && !equal(left, right)) {
            structure.add("module", "functions in another order", "functions in another order");
        }
        return List.copyOf(structure.differences);
    }

    private static void keep(Operation operation, Map<String, Operation> named, List<Operation> unnamed) {
        String symbol = Module.symbol(operation);
        if (symbol == null || named.putIfAbsent("@" + symbol, operation) != null) {
            unnamed.add(operation);
        }
    }

    private void add(String path, String left, String right) {
        differences.add(new Difference(path, left, right));
    }

    private void attributes(String path, Operation left, Operation right) {
        Map<String, Attribute> mine = Canonical.attributes(left).toMap();
        Map<String, Attribute> others =
                new HashMap<>(Canonical.attributes(right).toMap());
        mine.forEach((name, value) -> {
            Attribute other = others.remove(name);
            if (!value.equals(other)) {
                add(path, name + " = " + value, other == null ? "-" : name + " = " + other);
            }
        });
        others.forEach((name, value) -> add(path, "-", name + " = " + value));
    }

    private void operation(String path, Operation left, Operation right) {
        if (!left.name().equals(right.name())) {
            add(path, signature(left), signature(right));
            return;
        }
        attributes(path, left, right);
        if (left.operands().size() != right.operands().size()) {
            add(path, left.operands().size() + " operands", right.operands().size() + " operands");
        } else {
            for (int i = 0; i < left.operands().size(); i++) {
                Value mine = left.operand(i);
                Value other = right.operand(i);
                Value expected = matched.get(mine);
                if (expected != null && !expected.equals(other)) {
                    add(path, "operand " + i + " is " + source(mine), "operand " + i + " is " + source(other));
                }
            }
        }
        if (!types(left.results()).equals(types(right.results()))) {
            add(path, "results " + types(left.results()), "results " + types(right.results()));
        }
        match(left.results(), right.results());
        if (left.regions().size() != right.regions().size()) {
            add(path, left.regions().size() + " regions", right.regions().size() + " regions");
            return;
        }
        for (int i = 0; i < left.regions().size(); i++) {
            List<Block> mine = left.region(i).blocks();
            List<Block> others = right.region(i).blocks();
            String inner = left.regions().size() == 1 ? path : path + " region " + i;
            if (mine.size() != others.size()) {
                add(inner, mine.size() + " blocks", others.size() + " blocks");
                continue;
            }
            for (int j = 0; j < mine.size(); j++) {
                List<BlockArgument> mineArguments = mine.get(j).arguments();
                List<BlockArgument> otherArguments = others.get(j).arguments();
                if (!types(mineArguments).equals(types(otherArguments))) {
                    add(inner, "arguments " + types(mineArguments), "arguments " + types(otherArguments));
                }
                match(mineArguments, otherArguments);
                block(inner, mine.get(j).operations(), others.get(j).operations());
            }
        }
    }

    private void match(List<? extends Value> left, List<? extends Value> right) {
        for (int i = 0; i < Math.min(left.size(), right.size()); i++) {
            matched.put(left.get(i), right.get(i));
        }
    }

    private static List<Type> types(List<? extends Value> values) {
        return values.stream().map(Value::type).toList();
    }

    /** What an operation is without regard to where its operands come from. */
    private record Key(String name, Attribute.Dictionary attributes, List<Type> operands, List<Type> results) {
        static Key of(Operation operation) {
            return new Key(
                    operation.name(),
                    Canonical.attributes(operation),
                    types(operation.operands()),
                    types(operation.results()));
        }
    }

    private void block(String path, List<Operation> left, List<Operation> right) {
        List<Key> mine = left.stream().map(Key::of).toList();
        List<Key> others = right.stream().map(Key::of).toList();
        int i = 0;
        int j = 0;
        for (int[] pair : align(mine, others)) {
            apart(path, left.subList(i, pair[0]), right.subList(j, pair[1]), i);
            i = pair[0];
            j = pair[1];
            if (i < left.size() && j < right.size()) {
                operation(path + " / " + i + " " + left.get(i).name(), left.get(i), right.get(j));
                i++;
                j++;
            }
        }
    }

    /** Operations that have no equal on the other side: those of one name in order are taken for changed ones. */
    private void apart(String path, List<Operation> left, List<Operation> right, int from) {
        int j = 0;
        for (int i = 0; i < left.size(); i++) {
            int found = j;
            while (found < right.size()
                    && !right.get(found).name().equals(left.get(i).name())) {
                found++;
            }
            String place = path + " / " + (from + i) + " " + left.get(i).name();
            if (found == right.size()) {
                add(place, signature(left.get(i)), "-");
                continue;
            }
            for (; j < found; j++) {
                add(path + " / " + (from + i), "-", signature(right.get(j)));
            }
            operation(place, left.get(i), right.get(j++));
        }
        for (; j < right.size(); j++) {
            add(path + " / " + (from + left.size()), "-", signature(right.get(j)));
        }
    }

    /** Pairs of places with equal keys, both rising, as many as there can be; the last pair is the two ends. */
    private static List<int[]> align(List<Key> left, List<Key> right) {
        List<int[]> pairs = new ArrayList<>();
        int start = 0;
        while (start < left.size() && start < right.size() && left.get(start).equals(right.get(start))) {
            pairs.add(new int[] {start, start});
            start++;
        }
        int tail = 0;
        while (tail < left.size() - start
                && tail < right.size() - start
                && left.get(left.size() - 1 - tail).equals(right.get(right.size() - 1 - tail))) {
            tail++;
        }
        for (int[] pair :
                shortestEdit(left.subList(start, left.size() - tail), right.subList(start, right.size() - tail))) {
            pairs.add(new int[] {pair[0] + start, pair[1] + start});
        }
        for (int i = tail; i > 0; i--) {
            pairs.add(new int[] {left.size() - i, right.size() - i});
        }
        pairs.add(new int[] {left.size(), right.size()});
        return pairs;
    }

    /** The matches of a shortest edit script, by Myers' algorithm; none where it is long. */
    private static List<int[]> shortestEdit(List<Key> left, List<Key> right) {
        int n = left.size();
        int m = right.size();
        int limit = Math.min(n + m, MAX_EDITS);
        int[] furthest = new int[2 * limit + 3];
        List<int[]> trace = new ArrayList<>();
        for (int d = 0; d <= limit; d++) {
            trace.add(furthest.clone());
            for (int k = -d; k <= d; k += 2) {
                int at = k + limit + 1;
                boolean down = k == -d || (k != d && furthest[at - 1] < furthest[at + 1]);
                int x = down ? furthest[at + 1] : furthest[at - 1] + 1;
                int y = x - k;
                while (x < n && y < m && Objects.equals(left.get(x), right.get(y))) {
                    x++;
                    y++;
                }
                furthest[at] = x;
                if (x >= n && y >= m) {
                    return backtrack(trace, d, n, m, limit);
                }
            }
        }
        return List.of();
    }

    private static List<int[]> backtrack(List<int[]> trace, int edits, int n, int m, int limit) {
        List<int[]> pairs = new ArrayList<>();
        int x = n;
        int y = m;
        for (int d = edits; d > 0; d--) {
            int[] furthest = trace.get(d);
            int k = x - y;
            int at = k + limit + 1;
            boolean down = k == -d || (k != d && furthest[at - 1] < furthest[at + 1]);
            int fromX = down ? furthest[at + 1] : furthest[at - 1];
            int fromY = fromX - (down ? k + 1 : k - 1);
            while (x > fromX && y > fromY) {
                pairs.add(new int[] {--x, --y});
            }
            x = fromX;
            y = fromY;
        }
        while (x > 0 && y > 0) {
            pairs.add(new int[] {--x, --y});
        }
        Collections.reverse(pairs);
        return pairs;
    }

    /** An operation in few words. */
    private static String signature(Operation operation) {
        return operation.name() + types(operation.operands()) + " -> " + types(operation.results());
    }

    private static String source(Value value) {
        return switch (value) {
            case BlockArgument argument -> "argument " + argument.index() + " of its block";
            case OpResult result ->
                "result " + result.index() + " of a " + result.owner().name();
        };
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.OpDefinition;
import dev.slipway.stablehlo.OpDefinition.AttributeDefinition;
import dev.slipway.stablehlo.OpDefinition.Trait;
import dev.slipway.stablehlo.OpDefinition.ValueDefinition;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/** The op table as objects. */
public final class Registry {
    private static final OpMap<OpDefinition> ALL;
    private static final Map<String, Integer> IDS;

    static {
        Map<String, Integer> ids = new HashMap<>();
        List<IntFunction<OpDefinition>> rows = new ArrayList<>();
        OpTable.forEach((name, columns) -> {
            ids.put(name, rows.size());
            rows.add(id -> parse(id, name, columns));
        });
        IDS = Map.copyOf(ids);
        ALL = new OpMap<>(rows.size(), id -> rows.get(id).apply(id));
    }

    private Registry() {}

    /** All definitions, by id. */
    public static List<OpDefinition> all() {
        return IntStream.range(0, ALL.size()).mapToObj(ALL::get).toList();
    }

    /** A value for each definition, made when it is first asked for. */
    static <T> OpMap<T> map(Function<OpDefinition, T> make) {
        return new OpMap<>(ALL.size(), id -> make.apply(ALL.get(id)));
    }

    /** The definition of an id of {@link OpTable}. */
    public static OpDefinition get(int id) {
        return ALL.get(id);
    }

    /** The definition of a name, made up where the table does not have it. */
    public static OpDefinition find(String name) {
        Integer known = IDS.get(name);
        return known != null
                ? ALL.get(known)
                : new OpDefinition(
                        -1,
                        name,
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of(),
                        EnumSet.noneOf(Trait.class),
                        List.of(),
                        "");
    }

    private static OpDefinition parse(int id, String name, String[] columns) {
        EnumSet<Trait> traits = EnumSet.noneOf(Trait.class);
        List<String> matches = new ArrayList<>();
        for (String trait : split(columns[4])) {
            if (trait.endsWith(")")) {
                matches.add(trait);
            } else {
                traits.add(Trait.valueOf(trait.replace('-', '_').toUpperCase(Locale.ROOT)));
            }
        }
        return new OpDefinition(
                id,
                name,
                values(columns[0]),
                split(columns[1]).stream().map(Registry::attribute).toList(),
                split(columns[2]),
                values(columns[3]),
                traits,
                matches,
                columns[5]);
    }

    private static List<String> split(String text) {
        return text.isEmpty() ? List.of() : List.of(text.split(", ", -1));
    }

    private static List<ValueDefinition> values(String text) {
        return split(text).stream()
                .map(value -> {
                    int at = value.indexOf(": ");
                    boolean variadic = value.endsWith("*");
                    return new ValueDefinition(
                            value.substring(0, at),
                            value.substring(at + 2, value.length() - (variadic ? 1 : 0)),
                            variadic);
                })
                .toList();
    }

    private static AttributeDefinition attribute(String text) {
        int at = text.indexOf(": ");
        String kind = text.substring(at + 2);
        int equals = kind.indexOf(" = ");
        String defaultValue = equals < 0 ? "" : kind.substring(equals + 3);
        kind = equals < 0 ? kind : kind.substring(0, equals);
        boolean optional = kind.endsWith("?");
        return new AttributeDefinition(
                text.substring(0, at), optional ? kind.substring(0, kind.length() - 1) : kind, optional, defaultValue);
    }
}

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

/** The op table as objects. */
public final class Registry {
    private static final List<OpDefinition> ALL;
    private static final Map<String, OpDefinition> BY_NAME;

    static {
        List<OpDefinition> all = new ArrayList<>();
        OpTable.forEach((name, columns) -> all.add(parse(all.size(), name, columns)));
        ALL = List.copyOf(all);
        Map<String, OpDefinition> byName = new HashMap<>();
        all.forEach(definition -> byName.put(definition.name(), definition));
        BY_NAME = Map.copyOf(byName);
    }

    private Registry() {}

    /** All definitions, by id. */
    public static List<OpDefinition> all() {
        return ALL;
    }

    /** The definition of an id of {@link OpTable}. */
    public static OpDefinition get(int id) {
        return ALL.get(id);
    }

    /** The definition of a name, made up where the table does not have it. */
    public static OpDefinition find(String name) {
        OpDefinition known = BY_NAME.get(name);
        return known != null
                ? known
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

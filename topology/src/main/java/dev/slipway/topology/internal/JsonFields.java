// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology.internal;

import dev.slipway.topology.InvalidTopologyException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Reads the fields of one JSON object, as maps, lists and boxes, and says in one line what is wrong with a field that is. */
public record JsonFields(Map<?, ?> object, String what) {
    /** The fields of a value; throws if it is not an object. */
    public static JsonFields of(@Nullable Object value, String what) {
        if (value instanceof Map<?, ?> object) {
            return new JsonFields(object, what);
        }
        throw new InvalidTopologyException(what + " should be a JSON object");
    }

    public boolean has(String name) {
        return object.get(name) != null;
    }

    public Object get(String name) {
        Object value = object.get(name);
        if (value == null) {
            throw new InvalidTopologyException(what + " has no field \"" + name + "\"");
        }
        return value;
    }

    public JsonFields object(String name) {
        return of(get(name), what + "." + name);
    }

    public String text(String name) {
        return value(name, String.class, "a string");
    }

    public int integer(String name) {
        return value(name, Integer.class, "a whole number");
    }

    public int integer(String name, int absent) {
        return has(name) ? integer(name) : absent;
    }

    public long longInteger(String name, long absent) {
        if (!has(name)) {
            return absent;
        }
        return get(name) instanceof Long number ? number : integer(name);
    }

    public double number(String name, double absent) {
        if (!has(name)) {
            return absent;
        }
        return value(name, Number.class, "a number").doubleValue();
    }

    public List<String> texts(String name) {
        return has(name) ? list(name, -1, String.class, "a list of strings") : List.of();
    }

    public List<Integer> integers(String name, int count) {
        return list(name, count, Integer.class, "whole numbers");
    }

    public List<Boolean> booleans(String name, int count) {
        return list(name, count, Boolean.class, "true or false");
    }

    /**
     * Refuses other fields: a misspelt one would go unnoticed.
     *
     * @throws InvalidTopologyException if there is a field that is not among these
     */
    public void allowOnly(Set<String> names) {
        for (Object name : object.keySet()) {
            if (!names.contains(name)) {
                throw new InvalidTopologyException(
                        what + " has an unknown field \"" + name + "\": known are " + new TreeSet<>(names));
            }
        }
    }

    private <T> T value(String name, Class<T> type, String expected) {
        Object value = get(name);
        if (!type.isInstance(value)) {
            throw wrong(name, value, expected);
        }
        return type.cast(value);
    }

    private <T> List<T> list(String name, int count, Class<T> type, String expected) {
        if (!(get(name) instanceof List<?> values) || (count >= 0 && values.size() != count)) {
            throw wrong(name, get(name), count < 0 ? "a list" : "a list of " + count);
        }
        List<T> out = new ArrayList<>();
        for (Object value : values) {
            if (!type.isInstance(value)) {
                throw wrong(name, value, expected);
            }
            out.add(type.cast(value));
        }
        return out;
    }

    private InvalidTopologyException wrong(String name, @Nullable Object value, String expected) {
        return new InvalidTopologyException(
                what + "." + name + " is " + TopologyJson.text(value) + ": " + expected + " was expected");
    }
}

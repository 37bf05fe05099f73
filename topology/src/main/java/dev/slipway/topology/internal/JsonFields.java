// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology.internal;

import dev.slipway.topology.InvalidTopologyException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Reads the fields of one JSON object, and says in one line what is wrong with a field that is. */
public record JsonFields(JsonNode node, String what) {
    /** @throws InvalidTopologyException if the node is not an object */
    public JsonFields {
        if (!node.isObject()) {
            throw new InvalidTopologyException(what + " should be a JSON object");
        }
    }

    public boolean has(String name) {
        return node.hasNonNull(name);
    }

    public JsonNode get(String name) {
        JsonNode value = node.get(name);
        if (value == null || value.isNull()) {
            throw new InvalidTopologyException(what + " has no field \"" + name + "\"");
        }
        return value;
    }

    public JsonFields object(String name) {
        return new JsonFields(get(name), what + "." + name);
    }

    public String text(String name) {
        JsonNode value = get(name);
        if (!value.isString()) {
            throw wrong(name, value, "a string");
        }
        return value.stringValue();
    }

    public int integer(String name) {
        JsonNode value = get(name);
        if (!value.isIntegralNumber() || !value.canConvertToInt()) {
            throw wrong(name, value, "a whole number");
        }
        return value.intValue();
    }

    public int integer(String name, int absent) {
        return has(name) ? integer(name) : absent;
    }

    public long longInteger(String name, long absent) {
        if (!has(name)) {
            return absent;
        }
        JsonNode value = get(name);
        if (!value.isIntegralNumber() || !value.canConvertToLong()) {
            throw wrong(name, value, "a whole number");
        }
        return value.longValue();
    }

    public double number(String name, double absent) {
        if (!has(name)) {
            return absent;
        }
        JsonNode value = get(name);
        if (!value.isNumber()) {
            throw wrong(name, value, "a number");
        }
        return value.doubleValue();
    }

    public List<String> texts(String name) {
        List<String> out = new ArrayList<>();
        if (has(name)) {
            for (JsonNode value : array(name, -1)) {
                if (!value.isString()) {
                    throw wrong(name, value, "a list of strings");
                }
                out.add(value.stringValue());
            }
        }
        return out;
    }

    public List<Integer> integers(String name, int count) {
        List<Integer> out = new ArrayList<>();
        for (JsonNode value : array(name, count)) {
            if (!value.isIntegralNumber() || !value.canConvertToInt()) {
                throw wrong(name, value, "whole numbers");
            }
            out.add(value.intValue());
        }
        return out;
    }

    public List<Boolean> booleans(String name, int count) {
        List<Boolean> out = new ArrayList<>();
        for (JsonNode value : array(name, count)) {
            if (!value.isBoolean()) {
                throw wrong(name, value, "true or false");
            }
            out.add(value.booleanValue());
        }
        return out;
    }

    /**
     * Refuses other fields: a misspelt one would go unnoticed.
     *
     * @throws InvalidTopologyException if there is a field that is not among these
     */
    public void allowOnly(Set<String> names) {
        for (String name : node.propertyNames()) {
            if (!names.contains(name)) {
                throw new InvalidTopologyException(
                        what + " has an unknown field \"" + name + "\": known are " + new TreeSet<>(names));
            }
        }
    }

    private Iterable<JsonNode> array(String name, int count) {
        JsonNode value = get(name);
        if (!value.isArray() || (count >= 0 && value.size() != count)) {
            throw wrong(name, value, count < 0 ? "a list" : "a list of " + count);
        }
        return value.values();
    }

    private InvalidTopologyException wrong(String name, @Nullable Object value, String expected) {
        return new InvalidTopologyException(what + "." + name + " is " + value + ": " + expected + " was expected");
    }
}

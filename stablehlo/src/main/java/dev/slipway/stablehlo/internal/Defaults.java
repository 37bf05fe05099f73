// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.OpDefinition;
import dev.slipway.stablehlo.OpDefinition.AttributeDefinition;
import dev.slipway.stablehlo.ResultAccuracy;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Attributes that are what they are when absent: they are left out, so that equal operations are equal. */
final class Defaults {
    private static final Map<String, Attribute> BY_TEXT = new ConcurrentHashMap<>();

    private Defaults() {}

    static Attribute.Dictionary drop(OpDefinition definition, Attribute.Dictionary attributes) {
        if (attributes.isEmpty()) {
            return attributes;
        }
        Attribute.Dictionary kept = attributes;
        for (AttributeDefinition attribute : definition.attributes()) {
            if (attribute.defaultValue().isEmpty()) {
                continue;
            }
            Attribute value = attributes.get(attribute.name());
            if (value != null && value.equals(of(attribute))) {
                kept = kept.without(attribute.name());
            }
        }
        return kept;
    }

    /** The value of an attribute that is absent; null where it has no default. */
    static @Nullable Attribute of(AttributeDefinition attribute) {
        if (attribute.defaultValue().isEmpty()) {
            return null;
        }
        return BY_TEXT.computeIfAbsent(attribute.kind() + attribute.defaultValue(), _ -> parse(attribute));
    }

    private static Attribute parse(AttributeDefinition attribute) {
        String text = attribute.defaultValue();
        return switch (attribute.kind()) {
            case "Bool" -> Attribute.of(text.equals("true"));
            case "I64" -> Attribute.i64(Long.parseLong(text));
            case "I32", "CustomCallApiVersion" -> Attribute.i32(Integer.parseInt(text));
            case "String" -> Attribute.of("");
            case "Dictionary" -> Attribute.Dictionary.EMPTY;
            case "ResultAccuracy" -> ResultAccuracy.DEFAULT;
            default -> Attribute.array();
        };
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.ChannelHandle;
import dev.slipway.stablehlo.ComparisonType;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.OpDefinition;
import dev.slipway.stablehlo.OpDefinition.AttributeDefinition;
import dev.slipway.stablehlo.Precision;
import dev.slipway.stablehlo.ResultAccuracy;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Attributes that are what they are when absent: they are left out, so that equal operations are equal. */
final class Defaults {
    private static final Map<String, Attribute> BY_TEXT = new ConcurrentHashMap<>();

    private Defaults() {}

    /** The attributes without those that have their default value as the table has it, as the pretty form leaves them out. */
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

    /** The attributes without those that say what holds without them, in any of the ways to say it. */
    static Attribute.Dictionary dropAll(OpDefinition definition, Attribute.Dictionary attributes) {
        // An empty list of layouts counts where the other one is not empty.
        boolean layouts =
                hasElements(attributes.get("operand_layouts")) || hasElements(attributes.get("result_layouts"));
        Attribute.Dictionary kept = attributes;
        for (AttributeDefinition attribute : definition.attributes()) {
            Attribute value = attributes.get(attribute.name());
            if (value != null && !(layouts && attribute.kind().equals("Layouts")) && isDefault(attribute, value)) {
                kept = kept.without(attribute.name());
            }
        }
        return kept;
    }

    static boolean hasElements(@Nullable Object value) {
        return value instanceof Attribute.Array array && !array.elements().isEmpty();
    }

    /** The value of an attribute that is absent; null where it has no default. */
    static @Nullable Attribute of(AttributeDefinition attribute) {
        if (attribute.defaultValue().isEmpty()) {
            return null;
        }
        return BY_TEXT.computeIfAbsent(attribute.kind() + attribute.defaultValue(), _ -> parse(attribute));
    }

    /** Whether an attribute says what holds without it, in any of the ways to say it. */
    static boolean isDefault(AttributeDefinition attribute, Attribute value) {
        if (value.equals(of(attribute))) {
            return true;
        }
        if (!attribute.optional()) {
            return false;
        }
        return switch (attribute.name()) {
            case "precision_config" ->
                value instanceof Attribute.Array array
                        && array.elements().stream().allMatch(Precision.DEFAULT::equals);
            case "compare_type" -> value == ComparisonType.NOTYPE;
            case "window_strides", "lhs_dilation", "rhs_dilation", "base_dilations", "window_dilations" ->
                value instanceof Attribute.IntArray array
                        && Arrays.stream(array.values().toArray()).allMatch(entry -> entry == 1);
            case "window_reversal" ->
                value instanceof Attribute.IntArray array
                        && Arrays.stream(array.values().toArray()).allMatch(entry -> entry == 0);
            case "padding" ->
                value instanceof DenseElements elements
                        && Arrays.stream(elements.toLongs()).allMatch(entry -> entry == 0);
            case "known_expanding_dimensions", "known_nonexpanding_dimensions" ->
                value instanceof Attribute.IntArray array && array.values().isEmpty();
            case "channel_handle" ->
                value instanceof ChannelHandle handle && handle.handle() == 0 && handle.type() == 0;
            case "source_target_pairs" -> value instanceof DenseElements elements && elements.size() == 0;
            case "layout", "operand_layouts", "result_layouts", "result_tilings", "arg_attrs", "res_attrs" ->
                value instanceof Attribute.Array array && array.elements().isEmpty();
            case "backend_config" ->
                (value instanceof Attribute.Text text && text.value().isEmpty())
                        || (value instanceof Attribute.Dictionary dictionary && dictionary.isEmpty());
            case "sym_visibility" ->
                value instanceof Attribute.Text text && text.value().isEmpty();
            default -> false;
        };
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

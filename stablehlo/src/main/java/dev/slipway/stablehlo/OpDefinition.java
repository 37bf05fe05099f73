// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.Registry;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * What the op table says of an operation: a row of it, or just a name for operations that it does not know.
 *
 * <p>Operations that are not in the table are carried along in generic form: they are parsed, printed and written, and
 * only what holds for every operation is verified.
 */
public final class OpDefinition {

    /** What holds for an operation beyond its operands, attributes, regions and results. */
    public enum Trait {
        /** The order of the two operands does not matter. */
        COMMUTATIVE,
        /** Has no effect but its results. */
        PURE,
        /** Has the effects of the operations in its regions. */
        RECURSIVE_EFFECTS,
        /** Operands and results have one shape. */
        SAME_SHAPE,
        /** Operands and result have compatible types. */
        COMPATIBLE_TYPES,
        /** Operands and results have compatible element types. */
        COMPATIBLE_ELEMENTS,
        /** Operands have compatible element types. */
        COMPATIBLE_OPERAND_ELEMENTS,
        /** Operands and results have one element type. */
        SAME_ELEMENTS,
        /** Operands have one element type. */
        SAME_OPERAND_ELEMENTS,
        /** Operands and results have one type. */
        SAME_TYPES,
        /** Each result has the element type of the operand at its place. */
        PAIRWISE_ELEMENTS,
        /** Each result has the type of the operand at its place. */
        PAIRWISE_TYPES,
        /** The groups of operands have one size. */
        SAME_VARIADIC_SIZE,
        /** An attribute says how many operands each group has. */
        OPERAND_SEGMENTS,
        /** An attribute says how many results each group has. */
        RESULT_SEGMENTS,
        /** Each region has one block. */
        SINGLE_BLOCK,
        /** Ends a block. */
        TERMINATOR,
        /** The blocks of its region need no terminator. */
        NO_TERMINATOR,
        /** Its regions see no values from outside. */
        ISOLATED,
        /** Has a name that others refer to. */
        SYMBOL,
        /** Holds symbols. */
        SYMBOL_TABLE,
        /** The result types must be given. */
        TYPED
    }

    /**
     * An operand or a result.
     *
     * @param name its name
     * @param constraint the name of the type constraint
     * @param variadic whether it stands for any number of values
     */
    public record ValueDefinition(String name, String constraint, boolean variadic) {}

    /**
     * An attribute.
     *
     * @param name its name
     * @param kind what it must be, e.g. {@code I64>=0}
     * @param optional whether it may be absent
     * @param defaultValue what it is when absent; empty where there is no default
     */
    public record AttributeDefinition(String name, String kind, boolean optional, String defaultValue) {}

    private final int id;
    private final String name;
    private final List<ValueDefinition> operands;
    private final List<AttributeDefinition> attributes;
    private final List<String> regions;
    private final List<ValueDefinition> results;
    private final Set<Trait> traits;
    private final List<String> matches;
    private final String format;

    /** A row of the table; for the registry. */
    public OpDefinition(
            int id,
            String name,
            List<ValueDefinition> operands,
            List<AttributeDefinition> attributes,
            List<String> regions,
            List<ValueDefinition> results,
            Set<Trait> traits,
            List<String> matches,
            String format) {
        this.id = id;
        this.name = name;
        this.operands = List.copyOf(operands);
        this.attributes = List.copyOf(attributes);
        this.regions = List.copyOf(regions);
        this.results = List.copyOf(results);
        this.traits = traits.isEmpty() ? EnumSet.noneOf(Trait.class) : EnumSet.copyOf(traits);
        this.matches = List.copyOf(matches);
        this.format = format;
    }

    /** The definition of a full name such as {@code stablehlo.add}; {@link #isKnown()} says whether it is in the table. */
    public static OpDefinition of(String name) {
        return Registry.find(name);
    }

    /** All operations of the table. */
    public static List<OpDefinition> all() {
        return Registry.all();
    }

    /** Its place in the table; -1 for operations that are not in it. */
    public int id() {
        return id;
    }

    /** Whether it is in the table. */
    public boolean isKnown() {
        return id >= 0;
    }

    /** The full name. */
    public String name() {
        return name;
    }

    /** What stands before the first dot of the name. */
    public String dialect() {
        int dot = name.indexOf('.');
        return dot < 0 ? "" : name.substring(0, dot);
    }

    /** The operands. */
    public List<ValueDefinition> operands() {
        return operands;
    }

    /** The attributes. */
    public List<AttributeDefinition> attributes() {
        return attributes;
    }

    /** Whether the table has an attribute of that name for it. */
    public boolean hasAttribute(String attribute) {
        for (AttributeDefinition definition : attributes) {
            if (definition.name().equals(attribute)) {
                return true;
            }
        }
        return (attribute.equals("operandSegmentSizes") && has(Trait.OPERAND_SEGMENTS))
                || (attribute.equals("resultSegmentSizes") && has(Trait.RESULT_SEGMENTS));
    }

    /** The regions; a star after a name means any number. */
    public List<String> regions() {
        return regions;
    }

    /** The results. */
    public List<ValueDefinition> results() {
        return results;
    }

    /** Whether a trait holds. */
    public boolean has(Trait trait) {
        return traits.contains(trait);
    }

    /** Groups of operands, results and attributes that must agree, e.g. {@code elements-match(operand result)}. */
    public List<String> matches() {
        return matches;
    }

    /** The pretty form, in the op table's notation; empty where there is only the generic form. */
    public String format() {
        return format;
    }

    @Override
    public String toString() {
        return name;
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.AttributePrinter;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An operation: operands, attributes and regions in, results out. It is immutable, and its results know it; what uses
 * them does not stand here but is found by a walk.
 *
 * <p>Operations of the op table also have a class of their own in {@code dev.slipway.stablehlo.op} with their operands,
 * attributes, regions and results by name.
 */
public final class Operation {
    private final OpDefinition definition;
    private final List<Value> operands;
    private final Attribute.Dictionary attributes;
    private final List<Region> regions;
    private final List<OpResult> results;
    private final Location location;

    @Nullable
    Scope scope;

    /**
     * An operation whose results have these types. Nothing is checked: {@link OpBuilder} and {@link Verifier} do that.
     */
    public Operation(
            OpDefinition definition,
            List<? extends Value> operands,
            Attribute.Dictionary attributes,
            List<Region> regions,
            List<? extends Type> resultTypes,
            Location location) {
        this.definition = definition;
        this.operands = List.copyOf(operands);
        this.attributes = attributes;
        this.regions = List.copyOf(regions);
        this.location = location;
        int count = resultTypes.size();
        if (count == 0) {
            this.results = List.of();
        } else if (count == 1) {
            this.results = List.of(new OpResult(this, 0, resultTypes.getFirst()));
        } else {
            OpResult[] made = new OpResult[count];
            for (int i = 0; i < count; i++) {
                made[i] = new OpResult(this, i, resultTypes.get(i));
            }
            this.results = List.of(made);
        }
    }

    /** What the op table says of this operation. */
    public OpDefinition definition() {
        return definition;
    }

    /** The full name, e.g. {@code stablehlo.add}. */
    public String name() {
        return definition.name();
    }

    /** Whether this is the operation of that full name. */
    public boolean is(String name) {
        return definition.name().equals(name);
    }

    /** The operands. */
    public List<Value> operands() {
        return operands;
    }

    /** The operand at an index. */
    public Value operand(int index) {
        return operands.get(index);
    }

    /** All attributes, those of the op table and others. */
    public Attribute.Dictionary attributes() {
        return attributes;
    }

    /** The attribute of a name; null where there is none. */
    public @Nullable Attribute attribute(String name) {
        return attributes.get(name);
    }

    /** The attribute of a name, where it is of that class. */
    public <A extends Attribute> Optional<A> attribute(String name, Class<A> kind) {
        Attribute value = attributes.get(name);
        return kind.isInstance(value) ? Optional.of(kind.cast(value)) : Optional.empty();
    }

    /** The regions. */
    public List<Region> regions() {
        return regions;
    }

    /** The region at an index. */
    public Region region(int index) {
        return regions.get(index);
    }

    /** The results. */
    public List<OpResult> results() {
        return results;
    }

    /** The first result. */
    public OpResult result() {
        return results.getFirst();
    }

    /** The result at an index. */
    public OpResult result(int index) {
        return results.get(index);
    }

    /** Where the operation comes from. */
    public Location location() {
        return location;
    }

    /** This operation with other attributes, and results of its own. */
    public Operation withAttributes(Attribute.Dictionary other) {
        return new Operation(
                definition,
                operands,
                other,
                regions,
                results.stream().map(Value::type).toList(),
                location);
    }

    /** The operation by itself, in generic form; operands that it does not define are numbered as they come. */
    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import org.jspecify.annotations.Nullable;

/** An argument of a block: of a function, of a loop's body, of a comparator. */
public final class BlockArgument extends Value {
    private final int index;
    private final Location location;

    @Nullable
    Scope scope;

    /** An argument for a block yet to be made. */
    public BlockArgument(int index, Type type, Location location) {
        super(type);
        this.index = index;
        this.location = location;
    }

    /** Which of the block's arguments it is. */
    public int index() {
        return index;
    }

    /** Where it comes from. */
    public Location location() {
        return location;
    }
}

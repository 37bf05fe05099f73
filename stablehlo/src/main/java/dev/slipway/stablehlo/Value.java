// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.Ir;

/** Something that operations compute with: the {@link OpResult result} of one, or a {@link BlockArgument}. */
public abstract sealed class Value permits OpResult, BlockArgument {
    private final Type type;

    Value(Type type) {
        this.type = type;
    }

    /** Its type. */
    public final Type type() {
        return type;
    }

    /**
     * Its type, where it is a tensor of a known rank.
     *
     * @throws IrException if it is not
     */
    public final TensorType tensorType() {
        return Ir.tensor(type);
    }
}

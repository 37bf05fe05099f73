// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

/** A result of an operation. Two results are equal only if they are the same one. */
public final class OpResult extends Value {
    private final Operation owner;
    private final int index;

    OpResult(Operation owner, int index, Type type) {
        super(type);
        this.owner = owner;
        this.index = index;
    }

    /** The operation that computes it. */
    public Operation owner() {
        return owner;
    }

    /** Which of the operation's results it is. */
    public int index() {
        return index;
    }
}

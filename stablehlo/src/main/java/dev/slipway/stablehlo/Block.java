// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import java.util.List;

/** Arguments, and operations in order. */
public final class Block {
    private final List<BlockArgument> arguments;
    private final List<Operation> operations;

    /** A block of these operations, the last of which is the terminator where the region needs one. */
    public Block(List<BlockArgument> arguments, List<Operation> operations) {
        this.arguments = List.copyOf(arguments);
        this.operations = List.copyOf(operations);
    }

    /** The arguments. */
    public List<BlockArgument> arguments() {
        return arguments;
    }

    /** The operations, in order. */
    public List<Operation> operations() {
        return operations;
    }

    /**
     * The last operation.
     *
     * @throws IrException if there is none
     */
    public Operation terminator() {
        if (operations.isEmpty()) {
            throw new IrException("the block is empty; expected an operation that ends it");
        }
        return operations.getLast();
    }
}

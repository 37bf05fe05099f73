// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import java.util.List;

/** The blocks that belong to an operation: a function's body, a loop's condition. */
public final class Region {
    /** The region without a block: the body of a declaration. */
    public static final Region EMPTY = new Region(List.of());

    private final List<Block> blocks;

    /** A region of these blocks. */
    public Region(List<Block> blocks) {
        this.blocks = List.copyOf(blocks);
    }

    /** A region of one block. */
    public static Region of(Block block) {
        return new Region(List.of(block));
    }

    /** The blocks. */
    public List<Block> blocks() {
        return blocks;
    }

    /** Whether there is no block. */
    public boolean isEmpty() {
        return blocks.isEmpty();
    }

    /**
     * The first block, which in StableHLO is the only one.
     *
     * @throws IrException if there is none
     */
    public Block block() {
        if (blocks.isEmpty()) {
            throw new IrException("the region is empty; expected a block");
        }
        return blocks.getFirst();
    }
}

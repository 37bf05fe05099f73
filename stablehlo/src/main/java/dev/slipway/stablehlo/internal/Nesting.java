// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

/**
 * Holds what a text or bytecode nests to limits, so that neither reading nor anything after it (printing, comparing,
 * hashing) runs out of stack or time: how deep things are, and how many parts they unfold to where shared ones, of a few
 * bytes each, are made of shared ones in turn.
 */
final class Nesting {
    /** How deep regions, types and attributes may be nested. */
    static final int MAX_DEPTH = 128;

    // The most that was seen is 2.1 parts for each byte, in bytecode of JAX 0.10.2 with whole stack traces as
    // locations.
    private static final long MIN_PARTS = 1 << 20;
    private static final long PARTS_PER_BYTE = 64;

    private final long maxParts;
    private int depth;
    private int deepest;
    private long parts;

    Nesting(int bytes) {
        this.maxParts = MIN_PARTS + PARTS_PER_BYTE * bytes;
    }

    /** How high something is, and of how many parts. */
    record Extent(int height, long parts) {}

    /** Goes one level down; what is wrong with that, or an empty string. */
    String enter() {
        depth++;
        deepest = Math.max(deepest, depth);
        parts++;
        return problem(depth);
    }

    void leave() {
        depth--;
    }

    /** Begins to measure something that may be used again. */
    Extent begin() {
        Extent outer = new Extent(deepest, parts);
        deepest = depth;
        return outer;
    }

    /** Its extent; takes what {@link #begin} gave. */
    Extent end(Extent outer) {
        Extent measured = new Extent(deepest - depth, parts - outer.parts);
        deepest = Math.max(deepest, outer.height);
        return measured;
    }

    /** Uses something again; what is wrong with that, or an empty string. */
    String reuse(Extent extent) {
        deepest = Math.max(deepest, depth + extent.height);
        parts += extent.parts;
        return problem(depth + extent.height);
    }

    private String problem(int level) {
        if (level > MAX_DEPTH) {
            return "nested deeper than " + MAX_DEPTH + " levels";
        }
        return parts > maxParts
                ? "shared attributes and types unfold to more than " + maxParts
                        + " parts, which is the limit for an input of this size"
                : "";
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

/** What put the devices of a mesh, or of each of its slices, in their order. */
public enum LayoutRule {
    /** The device list as it comes. */
    ROW_MAJOR("as listed"),
    /** JAX's table for slices of up to 32 devices. */
    SMALL_SLICE_TABLE("table for small slices"),
    /** AXLearn's rings for 64x4 and 32x8 on a 16x16 slice. */
    RINGS("rings"),
    /** Each logical axis took whole physical axes of the torus. */
    WHOLE_AXES("whole torus axes"),
    /** Some logical axis took a part of a physical axis. */
    SPLIT_AXES("split torus axes"),
    /** JAX's transposition that keeps each host's devices together. */
    CONTIGUOUS_SUBMESHES("contiguous submeshes");

    private final String description;

    LayoutRule(String description) {
        this.description = description;
    }

    /** A few words for people. */
    public String description() {
        return description;
    }
}

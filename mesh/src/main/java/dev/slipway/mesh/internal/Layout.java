// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh.internal;

import dev.slipway.mesh.LayoutRule;
import java.util.List;

/** Devices in mesh order. A class rather than a record, so that its array is handed on without copies. */
public final class Layout {
    private final int[] order;
    private final LayoutRule rule;
    private final List<List<Integer>> assignment;

    private Layout(int[] order, LayoutRule rule, List<List<Integer>> assignment) {
        this.order = order;
        this.rule = rule;
        this.assignment = assignment;
    }

    static Layout of(int[] order, LayoutRule rule) {
        return new Layout(order, rule, List.of());
    }

    static Layout of(int[] order, LayoutRule rule, List<List<Integer>> assignment) {
        return new Layout(order, rule, assignment);
    }

    /** Places in the machine's device list, last axis fastest; not to be written to. */
    public int[] order() {
        return order;
    }

    /** What put the devices so (in each slice, where there are several). */
    public LayoutRule rule() {
        return rule;
    }

    /** For the torus rules, which part of each physical axis (row) each logical axis (column) took; else empty. */
    public List<List<Integer>> assignment() {
        return assignment;
    }
}

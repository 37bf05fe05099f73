// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh.internal;

import com.google.common.primitives.ImmutableIntArray;
import dev.slipway.mesh.LayoutRule;
import java.util.List;

/**
 * Devices in mesh order.
 *
 * @param order positions in the machine's device list, last axis fastest
 * @param rule what put them so (in each slice, where there are several)
 * @param assignment for the torus rules, which part of each physical axis (row) each logical axis (column) took; else empty
 */
public record Layout(ImmutableIntArray order, LayoutRule rule, List<List<Integer>> assignment) {
    static Layout of(int[] order, LayoutRule rule) {
        return of(order, rule, List.of());
    }

    static Layout of(int[] order, LayoutRule rule, List<List<Integer>> assignment) {
        return new Layout(ImmutableIntArray.copyOf(order), rule, assignment);
    }
}

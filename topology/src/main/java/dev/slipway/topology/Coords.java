// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology;

import java.util.List;

/** Where a chip sits in its slice: each slice starts at (0, 0, 0). */
public record Coords(int x, int y, int z) {
    public List<Integer> toList() {
        return List.of(x, y, z);
    }

    @Override
    public String toString() {
        return "(" + x + "," + y + "," + z + ")";
    }
}

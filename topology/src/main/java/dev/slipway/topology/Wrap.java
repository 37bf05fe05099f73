// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology;

import java.util.List;

/**
 * Along which dimensions of a slice the last chip is linked to the first, so that a line becomes a ring.
 *
 * @param x whether x wraps around
 * @param y whether y wraps around
 * @param z whether z wraps around
 */
public record Wrap(boolean x, boolean y, boolean z) {
    public static final Wrap NONE = new Wrap(false, false, false);
    public static final Wrap ALL = new Wrap(true, true, true);

    public List<Boolean> toList() {
        return List.of(x, y, z);
    }
}

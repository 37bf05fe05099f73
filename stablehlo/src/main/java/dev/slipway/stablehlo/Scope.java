// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import org.jspecify.annotations.Nullable;

/** Where a value may be used: the block that defines it and the blocks within, while they are being built. */
final class Scope {
    final @Nullable Scope parent;
    boolean open = true;

    Scope(@Nullable Scope parent) {
        this.parent = parent;
    }

    boolean sees(Scope other) {
        for (Scope scope = this; scope != null; scope = scope.parent) {
            if (scope == other) {
                return other.open;
            }
        }
        return false;
    }
}

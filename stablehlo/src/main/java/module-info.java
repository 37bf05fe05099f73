// SPDX-License-Identifier: Apache-2.0

import org.jspecify.annotations.NullMarked;

/** StableHLO from Java: build, print, parse and verify without MLIR. */
@NullMarked
module dev.slipway.stablehlo {
    requires static transitive org.jspecify;
    requires transitive com.google.common;

    exports dev.slipway.stablehlo;
    exports dev.slipway.stablehlo.op;
}

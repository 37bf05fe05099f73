// SPDX-License-Identifier: Apache-2.0

import org.jspecify.annotations.NullMarked;

/** Decoder models as StableHLO programs. */
@NullMarked
module dev.slipway.lowering {
    requires static transitive org.jspecify;
    requires transitive dev.slipway.mesh;
    requires transitive dev.slipway.stablehlo;
    requires transitive com.google.common;

    exports dev.slipway.lowering;
}

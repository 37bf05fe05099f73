// SPDX-License-Identifier: Apache-2.0

import org.jspecify.annotations.NullMarked;

/** Ahead-of-time compilation of inference programs. */
@NullMarked
module dev.slipway.aot {
    requires static transitive org.jspecify;
    requires transitive dev.slipway.lowering;
    requires transitive dev.slipway.runtime;
    requires transitive com.google.common;
    requires tools.jackson.databind;

    exports dev.slipway.aot;
}

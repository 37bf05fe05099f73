// SPDX-License-Identifier: Apache-2.0

import org.jspecify.annotations.NullMarked;

/** Model files: configuration, parameters and tokenizers. */
@NullMarked
module dev.slipway.checkpoint {
    requires static transitive org.jspecify;
    requires transitive dev.slipway.lowering;
    requires transitive com.google.common;
    requires tools.jackson.databind;

    exports dev.slipway.checkpoint;
}

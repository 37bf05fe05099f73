// SPDX-License-Identifier: Apache-2.0

import org.jspecify.annotations.NullMarked;

/** How logical axes lie on the devices of a topology. */
@NullMarked
module dev.slipway.mesh {
    requires static transitive org.jspecify;
    requires transitive dev.slipway.topology;
    requires com.google.common;
    requires tools.jackson.databind;

    exports dev.slipway.mesh;
}

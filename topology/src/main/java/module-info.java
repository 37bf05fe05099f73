// SPDX-License-Identifier: Apache-2.0

import org.jspecify.annotations.NullMarked;

/** What machines exist: slices, chips, devices and their coordinates. */
@NullMarked
module dev.slipway.topology {
    requires static transitive org.jspecify;
    requires com.google.common;
    requires tools.jackson.databind;

    exports dev.slipway.topology;
}

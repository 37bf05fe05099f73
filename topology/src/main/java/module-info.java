// SPDX-License-Identifier: Apache-2.0

import org.jspecify.annotations.NullMarked;

/** What machines exist: slices, chips, devices and their coordinates. */
@NullMarked
@SuppressWarnings("module") // those that stand on this one are built after it
module dev.slipway.topology {
    requires static transitive org.jspecify;
    requires com.google.common;
    requires tools.jackson.databind;

    exports dev.slipway.topology;
    exports dev.slipway.topology.json to
            dev.slipway.bench,
            dev.slipway.checkpoint,
            dev.slipway.cli;
}

// SPDX-License-Identifier: Apache-2.0

import org.jspecify.annotations.NullMarked;

/** PJRT from Java: plugins, clients, buffers and executables. */
@NullMarked
module dev.slipway.runtime {
    requires static transitive org.jspecify;
    requires transitive dev.slipway.topology;
    requires com.google.common;
    requires com.google.protobuf;
    requires tools.jackson.databind;

    exports dev.slipway.runtime;
}

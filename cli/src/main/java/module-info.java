// SPDX-License-Identifier: Apache-2.0

import org.jspecify.annotations.NullMarked;

/** The slipway command. */
@NullMarked
module dev.slipway.cli {
    requires static transitive org.jspecify;
    requires dev.slipway.aot;
    requires dev.slipway.checkpoint;
    requires dev.slipway.mesh;
    requires dev.slipway.stablehlo;
    requires com.fasterxml.jackson.annotation;
    requires com.google.common;
    requires info.picocli;
    requires tools.jackson.databind;

    exports dev.slipway.cli;

    opens dev.slipway.cli to
            info.picocli,
            tools.jackson.databind;
}

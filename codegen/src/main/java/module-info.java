// SPDX-License-Identifier: Apache-2.0

import org.jspecify.annotations.NullMarked;

/** Build-time generators: from tables to Java sources. */
@NullMarked
module dev.slipway.codegen {
    requires static transitive org.jspecify;
    requires com.palantir.javapoet;
    requires java.compiler;
    requires tools.jackson.databind;
}

// SPDX-License-Identifier: Apache-2.0

import org.jspecify.annotations.NullMarked;

/** JMH benchmarks: compile latency first. */
@NullMarked
module dev.slipway.bench {
    requires static transitive org.jspecify;
    requires dev.slipway.aot;
    requires dev.slipway.checkpoint;
    requires dev.slipway.cli;
    requires java.management;
    requires jdk.management;
    requires dev.slipway.runtime;
    requires dev.slipway.stablehlo;
    requires dev.slipway.topology;
    requires jmh.core;
    requires tools.jackson.databind;
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

/** The plugins that tests run on, from the user's store: fetched once. */
final class TestPlugins {

    /** Adds a vector to itself. */
    static final String DOUBLE = """
            module @double {
              func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
                %y = stablehlo.add %x, %x : tensor<4xf32>
                return %y : tensor<4xf32>
              }
            }
            """;

    private TestPlugins() {}

    static Plugin cpu() {
        return Plugins.ofUser().load("cpu", PackageStore.Progress.NONE);
    }

    static Plugin load(PluginName name) {
        return Plugins.ofUser().load(name.text(), PackageStore.Progress.NONE);
    }

    static Plugin tpu() {
        return Plugins.ofUser().load("tpu", PackageStore.Progress.NONE);
    }
}

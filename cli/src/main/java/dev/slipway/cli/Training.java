// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.runtime.PluginLog;
import dev.slipway.runtime.Plugins;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What the start-up cache learns from (JEP 514, see the script {@code slipway}): the classes that a compilation needs, used once. The
 * plugin's side is among them only where the plugin is in the store already, since nothing is fetched for this.
 */
final class Training {
    private Training() {}

    /** Does the work and prints nothing. */
    public static void main(String[] arguments) throws IOException {
        PrintWriter nowhere = new PrintWriter(new StringWriter());
        Path module = Files.createTempFile("slipway", ".mlir");
        try {
            Main.run(
                    nowhere,
                    nowhere,
                    "compile",
                    "--model",
                    "llama-3-8b",
                    "--target",
                    "v5e-16",
                    "--lower-only",
                    "--module",
                    module.toString());
            Main.run(nowhere, nowhere, "targets", "v5e-16", "--json");
            if (Plugins.ofUser().find("tpu").isPresent()) {
                Main.run(
                        nowhere,
                        nowhere,
                        "compile",
                        "--model",
                        "tiny-llama",
                        "--target",
                        "v5e-16",
                        "--json",
                        "--sample",
                        "--axes",
                        "data,model",
                        "--shape",
                        "1,-1");
            } else {
                PluginLog.capture().close();
            }
        } finally {
            Files.delete(module);
        }
    }
}

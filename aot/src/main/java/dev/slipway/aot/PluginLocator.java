// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.runtime.PackageStore;
import dev.slipway.runtime.Plugin;
import dev.slipway.runtime.PluginName;
import dev.slipway.runtime.Plugins;
import dev.slipway.topology.Platform;
import java.nio.file.Path;
import java.util.Map;

/** Says which plugin compiles for a platform. */
@FunctionalInterface
public interface PluginLocator {
    /**
     * The plugin for a platform.
     *
     * @throws dev.slipway.runtime.PjrtException if it is not there and cannot be had; the message says how to get it
     */
    Location locate(Platform platform);

    /**
     * A plugin that need not be loaded yet.
     *
     * @param library its shared library
     * @param environment what the C environment must have before it is loaded
     */
    record Location(Path library, Map<String, String> environment) {
        public Location {
            environment = Map.copyOf(environment);
        }

        /** Loads the plugin into this process, once. */
        public Plugin load() {
            return Plugin.load(library, environment);
        }
    }

    /** The name under which {@link Plugins} knows the plugin of a platform. */
    static PluginName name(Platform platform) {
        return switch (platform) {
            case TPU -> PluginName.TPU;
            case GPU -> PluginName.CUDA;
            case CPU -> PluginName.CPU;
        };
    }

    /** The plugins of the user's store and environment, installed by pip where they are missing. */
    static PluginLocator ofUser() {
        Plugins plugins = Plugins.ofUser();
        return platform -> locate(plugins, platform, PackageStore.Progress.NONE);
    }

    /** Finds a platform's plugin, installing it where it is missing. */
    static Location locate(Plugins plugins, Platform platform, PackageStore.Progress progress) {
        PluginName name = name(platform);
        Plugins.Found found = plugins.require(name.text(), progress);
        return new Location(found.library(), name.environment(plugins.store(), System.getenv()));
    }
}

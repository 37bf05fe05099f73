// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.aot.PluginLocator;
import dev.slipway.runtime.PackageStore;
import dev.slipway.runtime.PipPackage;
import dev.slipway.runtime.PluginLog;
import dev.slipway.runtime.Plugins;
import dev.slipway.topology.Platform;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Plugins and packages as a command needs them: fetched with progress on stderr, their chatter kept away from it. */
final class PluginsOnDemand implements PluginLocator, AutoCloseable {
    private final Output output;
    private final Plugins plugins = Plugins.ofUser();
    private @Nullable PluginLog log;
    private CompletableFuture<?> ahead = CompletableFuture.completedFuture(null);

    PluginsOnDemand(Output output) {
        this.output = output;
    }

    /**
     * Begins to load a platform's plugin, if it is in the store, while this thread lowers the program for it. What fails there is
     * not lost: {@link #locate} and {@link Location#load} meet it again.
     */
    void loadAhead(Platform platform) {
        ahead = CompletableFuture.runAsync(() -> {
            if (plugins.find(PluginLocator.name(platform).text()).isPresent()) {
                locate(platform).load();
            }
        });
    }

    @Override
    public synchronized Location locate(Platform platform) {
        String name = PluginLocator.name(platform).text();
        if (plugins.find(name).isEmpty()) {
            try (Progress progress = Progress.begin(output, "fetching the " + name + " plugin")) {
                plugins.require(name, progress::phase);
            }
        }
        if (log == null && !output.verbose()) {
            log = PluginLog.capture();
            begin(platform, "starting");
        }
        return PluginLocator.locate(plugins, platform, PackageStore.Progress.NONE);
    }

    /** Notes what the plugin of a platform is about to do. */
    synchronized void begin(Platform platform, String what) {
        if (log != null) {
            note(log, PluginLocator.name(platform).text(), what);
        }
    }

    /**
     * Notes what a plugin is about to do among what it prints, which is all that remains where it ends the process; the launcher
     * reads it there.
     */
    static void note(PluginLog log, String plugin, String what) {
        log.note("slipway: the " + plugin + " plugin was " + what);
    }

    /** The first file of a package, fetched if it is not in the store. */
    Path file(PipPackage wheel, String what) {
        return plugins.store().findFile(wheel).orElseGet(() -> {
            try (Progress progress = Progress.begin(output, "fetching " + what)) {
                return plugins.store().file(wheel, progress::phase);
            }
        });
    }

    @Override
    public void close() {
        ahead.handle((loaded, failure) -> failure).join(); // a process that ends while a library is loading may crash
        if (log != null) {
            log.close();
        }
    }
}

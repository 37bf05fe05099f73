// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.AbiVersions;

/**
 * Whether what was compiled in one place runs in another, by the versions that {@link Executable#abiVersion} and {@link Client#abiVersion}
 * give, without either at hand (the ABI version extension, {@link Plugin#abiCompatibility}).
 */
public final class AbiCompatibility {

    private final Plugin plugin;

    AbiCompatibility(Plugin plugin) {
        this.plugin = plugin;
    }

    /** The plugin's number for the platform that an executable is for. */
    public long platformOfExecutable(byte[] executableVersion) {
        return AbiVersions.platformOfExecutable(plugin.api(), executableVersion);
    }

    /** The plugin's number for the platform that a runtime is of. */
    public long platformOfRuntime(byte[] runtimeVersion) {
        return AbiVersions.platformOfRuntime(plugin.api(), runtimeVersion);
    }

    /** Throws the plugin's reason unless an executable runs on a runtime. */
    public void checkExecutable(byte[] runtimeVersion, byte[] executableVersion) {
        AbiVersions.checkExecutable(plugin.api(), runtimeVersion, executableVersion);
    }

    /** Throws the plugin's reason unless a runtime runs what was compiled for another. */
    public void checkRuntime(byte[] runtimeVersion, byte[] otherVersion) {
        AbiVersions.checkRuntime(plugin.api(), runtimeVersion, otherVersion);
    }
}

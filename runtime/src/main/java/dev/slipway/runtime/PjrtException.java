// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

/**
 * Whatever goes wrong in this module.
 *
 * <ul>
 *   <li>{@link StatusException}: the plugin answered with an error status.
 *   <li>{@link UsageException}: a call that was refused in Java, before the plugin saw it.
 *   <li>{@link PluginException}: no plugin, or a library that is none.
 *   <li>{@link PackageException}: a package that could not be had.
 * </ul>
 */
public abstract sealed class PjrtException extends RuntimeException
        permits StatusException, UsageException, PluginException, PackageException {

    private static final long serialVersionUID = 1L;

    PjrtException(String message) {
        super(message);
    }

    PjrtException(String message, Throwable cause) {
        super(message, cause);
    }
}

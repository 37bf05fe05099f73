// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

/**
 * What executables are for: one runs only where name and version are equal.
 *
 * @param name {@code cpu}, {@code tpu}, {@code cuda}
 * @param version as the plugin words it
 */
public record Platform(String name, String version) {}

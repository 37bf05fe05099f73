// SPDX-License-Identifier: Apache-2.0

/**
 * Jars of others, made fit for the start-up cache.
 *
 * <p>The cache (JEP 514) leaves out classes in a format older than Java 6's, which have no stack maps: they are loaded and verified anew, the old way, at each
 * start. {@link dev.slipway.codegen.jar.JarLifter} gives them stack maps; picocli, which is compiled for Java 5, then starts 0.05 s sooner.
 */
package dev.slipway.codegen.jar;

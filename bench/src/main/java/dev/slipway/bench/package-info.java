// SPDX-License-Identifier: Apache-2.0

/**
 * JMH benchmarks: compile latency first.
 *
 * <p>{@code ./slipway bench} builds and runs all of them; arguments go to JMH, so {@code ./slipway bench MeshBenchmark -p
 * machine=v5p-17920} runs one, and {@code ./slipway bench -l} lists them. {@code bench/mesh-vs-jax} puts JAX's mesh_utils beside
 * MeshBenchmark and prints the ratio.
 */
package dev.slipway.bench;

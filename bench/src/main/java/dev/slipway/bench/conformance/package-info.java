// SPDX-License-Identifier: Apache-2.0

/**
 * Holds the stablehlo module to files that others wrote: a checkout of StableHLO, of which nothing is kept here.
 *
 * <p>{@code bench/stablehlo-conformance CHECKOUT} runs it; docs/conformance.md has the figures.
 */
package dev.slipway.bench.conformance;

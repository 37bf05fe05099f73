// SPDX-License-Identifier: Apache-2.0

/** StableHLO from Java: build, print, parse and verify without MLIR. */
package dev.slipway.stablehlo;

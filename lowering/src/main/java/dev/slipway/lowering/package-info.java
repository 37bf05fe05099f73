// SPDX-License-Identifier: Apache-2.0

/** Decoder models as StableHLO programs. */
package dev.slipway.lowering;

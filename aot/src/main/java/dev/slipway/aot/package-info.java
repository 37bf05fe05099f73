// SPDX-License-Identifier: Apache-2.0

/** Ahead-of-time compilation of inference programs. */
package dev.slipway.aot;

// SPDX-License-Identifier: Apache-2.0

/** From the StableHLO op table to builders, op classes and the table that printer, parser and verifier read. */
package dev.slipway.codegen.ops;

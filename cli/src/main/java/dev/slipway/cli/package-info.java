// SPDX-License-Identifier: Apache-2.0

/** The slipway command. */
package dev.slipway.cli;

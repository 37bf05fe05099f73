// SPDX-License-Identifier: Apache-2.0

/** What all modules that read JSON share; not for use outside Slipway. */
package dev.slipway.topology.json;

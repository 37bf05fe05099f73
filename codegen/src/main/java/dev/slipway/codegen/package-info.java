// SPDX-License-Identifier: Apache-2.0

/** Build-time generators: from the op table, the ABI table and the chips to Java sources. */
package dev.slipway.codegen;

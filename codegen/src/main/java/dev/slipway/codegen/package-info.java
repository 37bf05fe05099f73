// SPDX-License-Identifier: Apache-2.0

/** Build-time generators: from the op table and the ABI table to Java sources. */
package dev.slipway.codegen;

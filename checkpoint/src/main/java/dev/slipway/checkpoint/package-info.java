// SPDX-License-Identifier: Apache-2.0

/** Model files: configuration, parameters and tokenizers. */
package dev.slipway.checkpoint;

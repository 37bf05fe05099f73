// SPDX-License-Identifier: Apache-2.0

/** PJRT from Java: plugins, clients, buffers and executables. */
package dev.slipway.runtime;

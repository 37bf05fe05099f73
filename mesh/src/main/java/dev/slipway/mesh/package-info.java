// SPDX-License-Identifier: Apache-2.0

/** How logical axes lie on the devices of a topology. */
package dev.slipway.mesh;

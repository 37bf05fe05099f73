// SPDX-License-Identifier: Apache-2.0

/** What machines exist: slices, chips, devices and their coordinates. */
package dev.slipway.topology;

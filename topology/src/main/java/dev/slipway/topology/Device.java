// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology;

import java.util.OptionalInt;

/**
 * One device as the plugin of its platform would list it.
 *
 * @param id the global id that a device assignment names
 * @param processIndex the host, counted over all slices
 * @param coords the chip's place in its slice
 * @param coreOnChip which of the chip's devices this is, from 0
 * @param sliceIndex the slice; empty where the plugin does not report one (TPU machines of a single slice, CPUs)
 * @param kind the plugin's name for the chip, such as {@code TPU v5 lite}
 */
public record Device(int id, int processIndex, Coords coords, int coreOnChip, OptionalInt sliceIndex, String kind) {}

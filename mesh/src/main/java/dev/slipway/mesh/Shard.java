// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

import java.util.List;

/**
 * The part of a tensor that one device holds.
 *
 * @param deviceId the device's id
 * @param starts the first index of each dimension
 * @param sizes how many indices of each dimension
 */
public record Shard(int deviceId, List<Long> starts, List<Long> sizes) {
    public Shard {
        starts = List.copyOf(starts);
        sizes = List.copyOf(sizes);
    }
}

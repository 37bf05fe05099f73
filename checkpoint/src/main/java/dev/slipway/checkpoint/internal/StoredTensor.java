// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.primitives.ImmutableLongArray;
import java.lang.foreign.MemorySegment;

/**
 * A tensor as it lies in a mapped file.
 *
 * @param shape sizes, the last one running fastest
 * @param data exactly its bytes
 */
record StoredTensor(String name, Encoding encoding, ImmutableLongArray shape, MemorySegment data) {

    /** How many numbers there are; known not to overflow, for the file holds them. */
    long count() {
        return shape.stream().reduce(1, (a, b) -> a * b);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.TensorType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A whole array on this side: an input of a program, or a result.
 *
 * @param type shape and element type
 * @param data its elements in row-major order, native memory or on the heap
 */
public record HostArray(TensorType type, MemorySegment data) {
    /** 32-bit whole numbers, signed. */
    public static HostArray of(int[] values, long... shape) {
        return new HostArray(TensorType.of(ElementType.I32, shape), MemorySegment.ofArray(values));
    }

    /** 32-bit numbers. */
    public static HostArray of(float[] values, long... shape) {
        return new HostArray(TensorType.of(ElementType.F32, shape), MemorySegment.ofArray(values));
    }

    /** The elements of an array of 32-bit whole numbers, signed or not. */
    public int[] ints() {
        return data.toArray(ValueLayout.JAVA_INT);
    }

    /** The elements of an array of 32-bit numbers. */
    public float[] floats() {
        return data.toArray(ValueLayout.JAVA_FLOAT);
    }

    /** The elements as bytes; those of an array of booleans are 0 and 1. */
    public byte[] bytes() {
        return data.toArray(ValueLayout.JAVA_BYTE);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Calls that only look at a field of a C object and return a truth value. They are too short for the counting of uses: a caller takes one
 * of a few blocks of memory, for its arguments and as a sign that it is looking, and a close waits until the block is put back,
 * some nanoseconds. Where two threads want the same block, one goes the usual way.
 */
final class Glances {

    /** A power of two. */
    private static final int BLOCKS = 64;

    private static final int BLOCK_BYTES = 64;

    /** Neighbouring signs would share a cache line. */
    private static final int STRIDE = 16;

    private static final VarHandle SIGN = MethodHandles.arrayElementVarHandle(int[].class);

    /** All memory: with a constant segment the JIT leaves plain loads and stores. */
    private static final MemorySegment MEMORY = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private final int[] signs = new int[BLOCKS * STRIDE];
    private final long base =
            Arena.global().allocate((long) BLOCKS * BLOCK_BYTES, 64).address();

    /** Whether the block was free; it is then the caller's until {@link #done}. */
    boolean tryTake(int block) {
        return SIGN.compareAndSet(signs, block * STRIDE, 0, 1);
    }

    /** Puts a block back. */
    void done(int block) {
        SIGN.setRelease(signs, block * STRIDE, 0);
    }

    /** Waits until nobody who took the block before is looking. */
    void await(int block) {
        while ((int) SIGN.getVolatile(signs, block * STRIDE) != 0) {
            Thread.onSpinWait();
        }
    }

    /** The block of an object. */
    static int blockOf(int number) {
        return number & BLOCKS - 1;
    }

    /** The address of a block. */
    long address(int block) {
        return base + (long) block * BLOCK_BYTES;
    }

    /** Fills in {@code {struct_size, extension_start, object}}, at which all such arguments begin; the second stays zero. */
    static void fill(long arguments, long structSize, long object) {
        MEMORY.set(ValueLayout.JAVA_LONG, arguments, structSize);
        MEMORY.set(ValueLayout.JAVA_LONG, arguments + 16, object);
    }

    /** The answer that stands behind the object. */
    static boolean answer(long arguments) {
        return MEMORY.get(ValueLayout.JAVA_BYTE, arguments + 24) != 0;
    }
}

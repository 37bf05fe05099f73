// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Memory for the arguments of one call: a block per thread that is used like a stack, so that the steady path neither allocates
 * nor frees. What does not fit goes to an arena of its own.
 *
 * {@snippet :
 * try (Scratch scratch = Scratch.open()) {
 *     MemorySegment args = PJRT_Event_Await_Args.in(scratch);
 * }
 * }
 */
public final class Scratch implements SegmentAllocator, AutoCloseable {

    private static final long BLOCK = 16 << 10;
    private static final int DEPTH = 8;
    // One chain of frames per thread, reused for the thread's life; the block is freed with the thread.
    private static final ThreadLocal<Stack> STACK = ThreadLocal.withInitial(Stack::new);

    /** Virtual threads are too many for a block each: they share those that were needed at once. */
    private static final ConcurrentLinkedDeque<Stack> POOL = new ConcurrentLinkedDeque<>();

    private final Stack stack;
    private long base;
    private long top;
    private @Nullable Arena overflow;

    private Scratch(Stack stack) {
        this.stack = stack;
    }

    /** Opens a frame on this thread; frames nest (a callback may open one inside a call). */
    public static Scratch open() {
        Stack stack = Thread.currentThread().isVirtual() ? pooled() : STACK.get();
        int depth = stack.depth++;
        Scratch frame = depth < DEPTH ? stack.frames[depth] : new Scratch(stack);
        frame.base = stack.top;
        frame.top = stack.top;
        return frame;
    }

    private static Stack pooled() {
        Stack free = POOL.pollFirst();
        return free != null ? free : new Stack();
    }

    @Override
    @SuppressWarnings("MustBeClosed") // closed with the frame
    public MemorySegment allocate(long byteSize, long byteAlignment) {
        long start = (top + byteAlignment - 1) & -byteAlignment;
        if (stack.depth > DEPTH || start + byteSize > BLOCK) {
            if (overflow == null) {
                overflow = Arena.ofConfined();
            }
            return overflow.allocate(byteSize, byteAlignment);
        }
        top = start + byteSize;
        stack.top = top;
        return stack.block.asSlice(start, byteSize);
    }

    /** The address of an array of these. */
    public long longs(LongStream values) {
        return allocateFrom(ValueLayout.JAVA_LONG, values.toArray()).address();
    }

    /** The address of an array of these. */
    public long ints(IntStream values) {
        return allocateFrom(ValueLayout.JAVA_INT, values.toArray()).address();
    }

    /** The address of an array of pointers to copies of these; {@link #sizes} is what goes with it. */
    public long pointers(List<byte[]> texts) {
        return longs(texts.stream().mapToLong(text -> Native.bytes(this, text).address()));
    }

    /** The address of an array of the sizes of these. */
    public long sizes(List<byte[]> texts) {
        return longs(texts.stream().mapToLong(text -> text.length));
    }

    @Override
    public void close() {
        stack.depth--;
        stack.top = base;
        if (overflow != null) {
            overflow.close();
            overflow = null;
        }
        if (Thread.currentThread().isVirtual()) {
            POOL.addFirst(stack);
        }
    }

    private static final class Stack {
        // Freed when the thread and so this object is gone.
        private final MemorySegment block = Arena.ofAuto().allocate(BLOCK, 64);
        private final Scratch[] frames = new Scratch[DEPTH];
        private int depth;
        private long top;

        Stack() {
            for (int i = 0; i < DEPTH; i++) {
                frames[i] = new Scratch(this);
            }
        }
    }
}

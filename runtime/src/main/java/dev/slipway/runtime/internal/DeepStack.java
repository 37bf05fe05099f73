// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import com.google.common.base.Throwables;
import com.google.common.collect.ObjectArrays;
import com.google.common.util.concurrent.Uninterruptibles;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Stacks for compilers. XLA descends by recursion from each operation to those that it uses, so that a chain of 20,000
 * overflows the 1 MiB of Java's threads, which ends the process without a word.
 */
public final class DeepStack {
    /**
     * Stack for each byte of a program. XLA's CPU compiler (0.115) takes less than 200 bytes for an operation of a chain,
     * which is 30 bytes of text and more, and 7 of bytecode.
     */
    private static final long PER_BYTE = 64;

    /** What the calling thread is trusted to have left. */
    private static final long CALLERS = 256 << 10;

    /** Reserved and not touched, it costs nothing; for chains of a million. */
    private static final long MOST = 256 << 20;

    private DeepStack() {}

    /**
     * Does work on a program: on this thread if the program is small, otherwise on one whose stack suits it, which this one
     * waits for.
     *
     * @param size bytes of the program
     */
    public static <T> T call(long size, Supplier<T> work) {
        long stack = Math.min(MOST, size * PER_BYTE);
        if (stack <= CALLERS) {
            return work.get();
        }
        Outcome<T> outcome = new Outcome<>();
        Thread thread = new Thread(null, () -> outcome.take(work), "slipway-compile", Math.max(stack, 1 << 20));
        thread.setDaemon(true); // as much at work for the JVM as the thread that waits
        thread.start();
        Uninterruptibles.joinUninterruptibly(thread);
        return outcome.get();
    }

    /** What the other thread leaves behind; read after it has ended. */
    private static final class Outcome<T> {
        private @Nullable T result;
        private @Nullable Throwable failure;

        void take(Supplier<T> work) {
            try {
                result = work.get();
            } catch (RuntimeException | Error e) {
                failure = e;
            }
        }

        T get() {
            if (failure != null) {
                // Its trace goes on with this thread's, which asked.
                failure.setStackTrace(ObjectArrays.concat(
                        failure.getStackTrace(), Thread.currentThread().getStackTrace(), StackTraceElement.class));
                Throwables.throwIfUnchecked(failure);
            }
            return Objects.requireNonNull(result);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.LeakTracker;

/**
 * Finds handles that were dropped without {@code close()}. Off by default, since remembering where each handle was made costs
 * more than making it.
 *
 * {@snippet :
 * try (var watch = Leaks.watch(leak -> System.err.println(leak.what() + " leaked; " + leak.site()))) {
 *     runTheProgram();
 * }
 * }
 */
public final class Leaks {

    private Leaks() {}

    /**
     * A handle that the garbage collector found open. Its C object stays allocated: something may still use it.
     *
     * @param what the kind of handle
     * @param site the stack of where it was made
     */
    public record Leak(String what, Throwable site) {}

    /** Is told of leaks, on the cleaner's thread. */
    @FunctionalInterface
    public interface Listener {
        /** A handle was leaked. */
        void leaked(Leak leak);
    }

    /** Ends the watch; handles made during it are still reported. */
    public interface Watch extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * Watches the handles made from now on, in this process.
     *
     * @throws IllegalStateException if a watch is on already
     */
    public static Watch watch(Listener listener) {
        if (!LeakTracker.LISTENER.compareAndSet(null, listener)) {
            throw new IllegalStateException("leaks are being watched already: close that watch first");
        }
        return () -> LeakTracker.LISTENER.compareAndSet(listener, null);
    }
}

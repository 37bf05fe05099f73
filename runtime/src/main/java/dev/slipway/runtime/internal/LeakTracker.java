// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.Leaks;
import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Watches handles for {@link Leaks}. */
public final class LeakTracker {

    /** One listener for the process, because garbage is collected for the process. */
    public static final AtomicReference<Leaks.@Nullable Listener> LISTENER = new AtomicReference<>();

    private static final class Holder {
        static final Cleaner CLEANER = Cleaner.create();
    }

    private LeakTracker() {}

    static @Nullable Ticket track(Object owner, String what) {
        Leaks.Listener listener = LISTENER.get();
        if (listener == null) {
            return null;
        }
        Ticket ticket = new Ticket(what, new Throwable("allocated here"), listener);
        ticket.cleanable = Holder.CLEANER.register(owner, ticket);
        return ticket;
    }

    /** One watched handle. */
    static final class Ticket implements Runnable {
        private final String what;
        private final Throwable site;
        private final Leaks.Listener listener;
        private final AtomicBoolean done = new AtomicBoolean();
        private Cleaner.@Nullable Cleanable cleanable;

        Ticket(String what, Throwable site, Leaks.Listener listener) {
            this.what = what;
            this.site = site;
            this.listener = listener;
        }

        void closed() {
            done.set(true);
            if (cleanable != null) {
                cleanable.clean();
            }
        }

        @Override
        public void run() {
            if (!done.getAndSet(true)) {
                listener.leaked(new Leaks.Leak(what, site));
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.UsageException;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * One thing that C owns and Java closes. Uses are counted, so that a close on one thread waits for the calls of others: whoever
 * is last destroys. A child counts as a use of its parent; a client is destroyed after its last buffer.
 */
public final class Handle {

    private static final int CLOSED = 1 << 31;
    private static final VarHandle STATE = state();

    private final String what;
    private final Api api;
    private final long address;
    private final Destroyer destroyer;
    private final @Nullable Handle parent;
    private final LeakTracker.@Nullable Ticket ticket;
    private final Glances glances;
    private final int block;
    private final long arguments;

    // The sign bit says closed; the rest counts uses.
    @SuppressWarnings("unused") // by the VarHandle
    private volatile int state;

    /** What is done with the C object during one use. */
    @FunctionalInterface
    public interface Use<T extends @Nullable Object> {
        T apply(Api api, Scratch scratch, long address);
    }

    /** What frees the C object. */
    @FunctionalInterface
    public interface Destroyer {
        void destroy(Api api, Scratch scratch, long address);
    }

    /**
     * @param what how messages call it, as {@code "buffer"}
     * @param parent what must outlive it
     * @param owner the Java object whose loss means a leak
     * @throws UsageException.Closed if the parent was closed while the C object was made, which is then freed
     */
    public Handle(String what, Api api, long address, @Nullable Handle parent, Object owner, Destroyer destroyer) {
        if (parent != null) {
            acquire(parent, api, address, destroyer);
        }
        this.what = what;
        this.api = api;
        this.address = address;
        this.parent = parent;
        this.destroyer = destroyer;
        this.ticket = LeakTracker.track(owner, what);
        this.glances = api.glances();
        this.block = Glances.blockOf(api.nextHandle());
        this.arguments = glances.address(block);
    }

    private static void acquire(Handle parent, Api api, long child, Destroyer destroyer) {
        try {
            parent.acquire();
        } catch (UsageException.Closed e) {
            try (Scratch scratch = Scratch.open()) {
                destroyer.destroy(api, scratch, child);
            }
            throw e;
        }
    }

    private static VarHandle state() {
        try {
            return MethodHandles.lookup().findVarHandle(Handle.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(e.getMessage(), e);
        }
    }

    /**
     * Begins a use; {@link #release} ends it.
     *
     * @return the C object's address
     * @throws UsageException.Closed if closed
     */
    public long acquire() {
        int before;
        do {
            before = state;
            if (before < 0) {
                throw closed();
            }
        } while (!STATE.compareAndSet(this, before, before + 1));
        return address;
    }

    /** Ends a use, and destroys what was closed meanwhile. */
    public void release() {
        int before = (int) STATE.getAndAdd(this, -1);
        if (before == CLOSED + 1) {
            destroy();
        }
    }

    /** One use. */
    public <T extends @Nullable Object> T use(Use<T> use) {
        long acquired = acquire();
        try (Scratch scratch = Scratch.open()) {
            return use.apply(api, scratch, acquired);
        } finally {
            release();
        }
    }

    /**
     * Asks whether something is so of the C object: a function with arguments {@code {struct_size, extension_start, object, bool}} that only
     * looks at a field.
     */
    public boolean glance(PjrtFunction function, long structSize) {
        if (!glances.tryTake(block)) {
            return use((_, scratch, acquired) -> {
                MemorySegment args = scratch.allocate(structSize, 8);
                args.fill((byte) 0);
                args.set(ValueLayout.JAVA_LONG, 0, structSize);
                args.set(ValueLayout.JAVA_LONG, 16, acquired);
                api.call(function, args);
                return Glances.answer(args.address());
            });
        }
        try {
            // A close sets the sign bit first and then waits for the block, so it is not missed here.
            if (state < 0) {
                throw closed();
            }
            Glances.fill(arguments, structSize, address);
            api.glance(function, arguments);
            return Glances.answer(arguments);
        } finally {
            glances.done(block);
        }
    }

    private UsageException.Closed closed() {
        return new UsageException.Closed("this " + what + " is closed");
    }

    /** The address without a use: only for comparing. */
    public long identity() {
        return address;
    }

    /** Whether {@link #close} was called. */
    public boolean isClosed() {
        return state < 0;
    }

    /**
     * Closes: no new uses, and the C object is freed with the last.
     *
     * @throws UsageException.Closed if closed already
     */
    public void close() {
        int before = (int) STATE.getAndBitwiseOr(this, CLOSED);
        if (before < 0) {
            throw new UsageException.Closed("this " + what + " is closed already");
        }
        if (ticket != null) {
            ticket.closed();
        }
        if (before == 0) {
            destroy();
        }
    }

    private void destroy() {
        glances.await(block);
        try (Scratch scratch = Scratch.open()) {
            destroyer.destroy(api, scratch, address);
        } finally {
            if (parent != null) {
                parent.release();
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import com.google.common.base.Suppliers;
import dev.slipway.runtime.internal.abi.PJRT_Event_Await_Args;
import dev.slipway.runtime.internal.abi.PJRT_Event_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_Event_IsReady_Args;
import dev.slipway.runtime.internal.abi.PJRT_Event_OnReady_Args;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The events of one plugin: waiting for one, or being told. Every event is owned here once passed in, and destroyed. */
public final class Events {

    private final Api api;
    private final ConcurrentHashMap<Long, Pending> pending = new ConcurrentHashMap<>();
    private final AtomicLong next = new AtomicLong(1);
    private final ConcurrentHashMap<Long, Deletion> deletions = new ConcurrentHashMap<>();
    private final Supplier<MemorySegment> callback = Suppliers.memoize(() -> stub("ready"));
    private final Supplier<MemorySegment> deletionCallback = Suppliers.memoize(() -> stub("deleted"));

    private record Pending(
            long event,
            CompletableFuture<@Nullable Void> future,
            @Nullable Object kept) {}

    Events(Api api) {
        this.api = api;
    }

    private MemorySegment stub(String method) {
        return Native.upcall(
                MethodHandles.lookup(),
                this,
                method,
                FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
    }

    /** Blocks until the event is ready; throws its error. */
    public void await(long event) {
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_Event_Await_Args.in(scratch);
            PJRT_Event_Await_Args.event(args, event);
            api.call(PjrtFunction.PJRT_Event_Await, args);
        } finally {
            destroy(event);
        }
    }

    /** Whether the event is ready; it stays owned by the caller. */
    public boolean isReady(long event) {
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_Event_IsReady_Args.in(scratch);
            PJRT_Event_IsReady_Args.event(args, event);
            api.call(PjrtFunction.PJRT_Event_IsReady, args);
            return PJRT_Event_IsReady_Args.is_ready(args);
        }
    }

    /**
     * A future that the event completes, on a virtual thread: what hangs on the future may then call the plugin, which a thread of
     * the plugin's own must not.
     *
     * @param kept is kept reachable until then
     */
    public CompletableFuture<@Nullable Void> future(long event, @Nullable Object kept) {
        CompletableFuture<@Nullable Void> future = new CompletableFuture<>();
        long number = next.getAndIncrement();
        pending.put(number, new Pending(event, future, kept));
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_Event_OnReady_Args.in(scratch);
            PJRT_Event_OnReady_Args.event(args, event);
            PJRT_Event_OnReady_Args.callback(args, callback.get().address());
            PJRT_Event_OnReady_Args.user_arg(args, number);
            api.call(PjrtFunction.PJRT_Event_OnReady, args);
        } catch (RuntimeException e) {
            pending.remove(number);
            destroy(event);
            throw e;
        }
        return future;
    }

    /** Keeps an object reachable until the event is ready, whatever it says. */
    public void keep(long event, Object kept) {
        CompletableFuture<@Nullable Void> _ = future(event, kept);
    }

    /** A call that takes a C callback and a number for it. */
    @FunctionalInterface
    public interface WithCallback {
        void call(long callback, long number);
    }

    private record Deletion(Object kept, Runnable done) {}

    /** Keeps an object reachable until C calls back to say that it is done with it; then runs {@code done}, elsewhere. */
    public void keepUntilDeleted(Object kept, Runnable done, WithCallback call) {
        long number = next.getAndIncrement();
        deletions.put(number, new Deletion(kept, done));
        try {
            call.call(deletionCallback.get().address(), number);
        } catch (RuntimeException e) {
            deletions.remove(number);
            throw e;
        }
    }

    @SuppressWarnings("unused") // called from C
    private void deleted(long pointer, long number) {
        Deletion deletion = deletions.remove(number);
        if (deletion != null) {
            Thread.startVirtualThread(deletion.done());
        }
    }

    @SuppressWarnings("unused") // called from C
    private void ready(long error, long number) {
        Pending done = pending.remove(number);
        if (done == null) {
            return;
        }
        RuntimeException failure = error == 0 ? null : api.take(error);
        Thread.startVirtualThread(() -> {
            destroy(done.event());
            if (failure == null) {
                done.future().complete(null);
            } else {
                done.future().completeExceptionally(failure);
            }
        });
    }

    /** Destroys an event; waits for nothing. */
    public void destroy(long event) {
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_Event_Destroy_Args.in(scratch);
            PJRT_Event_Destroy_Args.event(args, event);
            api.call(PjrtFunction.PJRT_Event_Destroy, args);
        }
    }
}

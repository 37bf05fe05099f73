// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

/**
 * The functions that the cross-host transfers extension of one plugin calls back. Each call completes a future, on a thread that may
 * call the plugin.
 */
public final class CrossHostUpcall {

    private final Api api;
    private final AtomicLong next = new AtomicLong(1);
    private final ConcurrentHashMap<Long, CompletableFuture<List<byte[]>>> expected = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Long, Sending> sending = new ConcurrentHashMap<>();
    private final MemorySegment notifier;
    private final MemorySegment done;
    private final MemorySegment destructor;

    /** What is being sent, kept reachable until it was. */
    private record Sending(CompletableFuture<Boolean> future, Object kept) {}

    CrossHostUpcall(Api api) {
        this.api = api;
        this.notifier = Native.upcall(
                MethodHandles.lookup(),
                this,
                "notified",
                FunctionDescriptor.ofVoid(
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG));
        this.done = Native.upcall(
                MethodHandles.lookup(),
                this,
                "done",
                FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_BOOLEAN, ValueLayout.JAVA_LONG));
        this.destructor = Native.upcall(
                MethodHandles.lookup(),
                this,
                "destroy",
                FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
    }

    /** A C function and the number that it is to be called back with. */
    public record Callback(long function, long number) {}

    /** Is told the descriptors of arrays that are expected, or why there are none. */
    public Callback expect(CompletableFuture<List<byte[]>> descriptors) {
        long number = next.getAndIncrement();
        expected.put(number, descriptors);
        return new Callback(notifier.address(), number);
    }

    /**
     * Is told that an array was sent.
     *
     * @param kept is kept reachable until then
     */
    public Callback send(CompletableFuture<Boolean> sent, Object kept) {
        long number = next.getAndIncrement();
        sending.put(number, new Sending(sent, kept));
        return new Callback(done.address(), number);
    }

    /** Forgets a callback that will not come. */
    public void forget(Callback callback) {
        expected.remove(callback.number());
        sending.remove(callback.number());
    }

    /** A descriptor in memory of C's and its size, as pointers to both, with what frees them. */
    public record Descriptor(long data, long size, long destructor) {}

    /** A copy that the plugin frees. */
    public Descriptor descriptor(byte[] bytes) {
        return new Descriptor(pointerTo(Native.malloc(bytes)), pointerTo(bytes.length), destructor.address());
    }

    private static long pointerTo(long value) {
        long cell = Native.malloc(new byte[Long.BYTES]);
        Native.at(cell, Long.BYTES).set(ValueLayout.JAVA_LONG, 0, value);
        return cell;
    }

    @SuppressWarnings("unused") // called from C
    private void destroy(long data, long size) {
        Native.free(Native.FREE.address(), Native.longs(data, 1)[0]);
        Native.free(Native.FREE.address(), data);
        Native.free(Native.FREE.address(), size);
    }

    @SuppressWarnings("unused") // called from C
    private void notified(long error, long texts, long sizes, long count, long number, long cancel, long cancelArg) {
        CompletableFuture<List<byte[]>> told = expected.remove(number);
        if (told == null) {
            return;
        }
        if (error != 0) {
            // The plugin destroys the errors of these callbacks itself.
            RuntimeException failure = api.read(error);
            Thread.startVirtualThread(() -> told.completeExceptionally(failure));
            return;
        }
        long[] pointers = Native.longs(texts, count);
        long[] lengths = Native.longs(sizes, count);
        List<byte[]> descriptors = IntStream.range(0, pointers.length)
                .mapToObj(i -> Native.bytes(pointers[i], lengths[i]))
                .toList();
        Thread.startVirtualThread(() -> told.complete(descriptors));
    }

    @SuppressWarnings("unused") // called from C
    private void done(long error, boolean enqueued, long number) {
        Sending sent = sending.remove(number);
        if (sent == null) {
            return;
        }
        RuntimeException failure = error == 0 ? null : api.read(error);
        Thread.startVirtualThread(() -> {
            if (failure == null) {
                sent.future().complete(enqueued);
            } else {
                sent.future().completeExceptionally(failure);
            }
        });
    }
}

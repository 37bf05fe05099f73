// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import com.google.common.base.Throwables;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.charset.StandardCharsets;

/**
 * Calls of C by one constant handle, which the JIT folds: the function's address is its first argument.
 *
 * <p>Linking a handle takes the time of a hundred thousand calls, and a compilation needs few calls, so there is one handle for
 * all functions of up to three integers or pointers. On the machines that there are plugins for (x86-64, AArch64) these go in
 * registers of 64 bits: one for an {@code int} may hold anything in its upper half, one that the function does not look at may
 * hold anything at all, and so may the result's register after a function without a result.
 */
public final class Native {

    private static final Linker LINKER = Linker.nativeLinker();
    private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();

    private static final MethodHandle CALL = LINKER.downcallHandle(FunctionDescriptor.of(
            ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));

    /** For functions of one argument that look at a field and return: the thread does not leave Java's state for them. */
    private static final class Glance {
        static final MethodHandle HANDLE = LINKER.downcallHandle(
                FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG), Linker.Option.critical(false));
    }

    /** {@code void free(void*)}. */
    public static final MemorySegment FREE = libc("free");

    private static final MemorySegment MALLOC = libc("malloc");
    private static final MemorySegment GETPID = libc("getpid");

    private Native() {}

    /** The id of this process; Java's {@code ProcessHandle} takes some 10 ms where it is first met. */
    public static int pid() {
        return (int) call(GETPID, 0);
    }

    /** Calls {@code PJRT_Error* function(args)} and returns the error's address, 0 for none. */
    public static long call(MemorySegment function, long args) {
        return call(function, args, 0, 0);
    }

    /**
     * Calls a function of three arguments or fewer, the rest being ignored.
     *
     * @return what it returns; of an {@code int} only the lower half means something
     */
    public static long call(MemorySegment function, long first, long second, long third) {
        try {
            return (long) CALL.invokeExact(function, first, second, third);
        } catch (Throwable e) {
            throw unchecked(e);
        }
    }

    /** As {@link #call(MemorySegment, long)}, for functions that neither wait nor call back. */
    static long glance(MemorySegment function, long args) {
        try {
            return (long) Glance.HANDLE.invokeExact(function, args);
        } catch (Throwable e) {
            throw unchecked(e);
        }
    }

    /** Calls {@code void function(args)}. */
    public static void callVoid(MemorySegment function, long args) {
        long _ = call(function, args);
    }

    /** Calls the function that C handed over to free something. */
    public static void free(long deleter, long object) {
        if (deleter != 0) {
            callVoid(MemorySegment.ofAddress(deleter), object);
        }
    }

    /** Calls the function that C handed over to free something, with its argument. */
    public static void free(long deleter, long object, long argument) {
        if (deleter != 0) {
            long _ = call(MemorySegment.ofAddress(deleter), object, argument, 0);
        }
    }

    /** An error of the plugin's, by what it gives callbacks to make one: a pointer to a pointer to a function. */
    public static long error(long maker, int code, String message) {
        byte[] text = message.getBytes(StandardCharsets.UTF_8);
        try (Arena arena = Arena.ofConfined()) {
            return call(
                    MemorySegment.ofAddress(longs(maker, 1)[0]),
                    code,
                    bytes(arena, text).address(),
                    text.length);
        }
    }

    /** A copy of bytes that C frees, with {@link #FREE}. */
    public static long malloc(byte[] bytes) {
        long block = call(MALLOC, Math.max(1, bytes.length));
        MemorySegment.copy(bytes, 0, at(block, bytes.length), ValueLayout.JAVA_BYTE, 0, bytes.length);
        return block;
    }

    /** A function of the C library. */
    public static MemorySegment libc(String name) {
        return LINKER.defaultLookup()
                .find(name)
                .orElseThrow(() -> new IllegalStateException("the C library has no function '" + name + "'"));
    }

    /** A C function pointer to a static method. */
    public static MemorySegment upcall(
            MethodHandles.Lookup lookup,
            Class<?> owner,
            String method,
            MethodType type,
            FunctionDescriptor descriptor) {
        try {
            return LINKER.upcallStub(lookup.findStatic(owner, method, type), descriptor, Arena.global());
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(e.getMessage(), e);
        }
    }

    /** A C function pointer to a method of an object, living as long as the process; the lookup is of the object's class. */
    public static MemorySegment upcall(
            MethodHandles.Lookup lookup, Object receiver, String method, FunctionDescriptor descriptor) {
        try {
            return LINKER.upcallStub(
                    lookup.findVirtual(lookup.lookupClass(), method, descriptor.toMethodType())
                            .bindTo(receiver),
                    descriptor,
                    Arena.global());
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(e.getMessage(), e);
        }
    }

    /** A C function pointer to a method handle, living as long as {@code arena}. */
    public static MemorySegment upcall(MethodHandle handle, FunctionDescriptor descriptor, Arena arena) {
        return LINKER.upcallStub(handle, descriptor, arena);
    }

    /** The lookup of this package. */
    static MethodHandles.Lookup lookup() {
        return LOOKUP;
    }

    /** UTF-8 bytes without a terminating zero: PJRT's strings carry their size. */
    public static MemorySegment utf8(SegmentAllocator allocator, String text) {
        return bytes(allocator, text.getBytes(StandardCharsets.UTF_8));
    }

    /** A native copy of {@code bytes}. */
    public static MemorySegment bytes(SegmentAllocator allocator, byte[] bytes) {
        MemorySegment segment = allocator.allocate(Math.max(1, bytes.length), 8);
        MemorySegment.copy(bytes, 0, segment, ValueLayout.JAVA_BYTE, 0, bytes.length);
        return segment;
    }

    /** The memory of {@code size} bytes at an address that C gave. */
    public static MemorySegment at(long address, long size) {
        return MemorySegment.ofAddress(address).reinterpret(size);
    }

    /** The bytes of {@code size} at an address that C gave. */
    public static byte[] bytes(long address, long size) {
        return size == 0 ? new byte[0] : at(address, size).toArray(ValueLayout.JAVA_BYTE);
    }

    /** The string of {@code size} bytes at an address that C gave. */
    public static String string(long address, long size) {
        return new String(bytes(address, size), StandardCharsets.UTF_8);
    }

    /** The {@code count} 64-bit integers, sizes or pointers at an address that C gave. */
    public static long[] longs(long address, long count) {
        return count == 0 ? new long[0] : at(address, count * Long.BYTES).toArray(ValueLayout.JAVA_LONG);
    }

    /** The {@code count} 32-bit integers at an address that C gave. */
    public static int[] ints(long address, long count) {
        return count == 0 ? new int[0] : at(address, count * Integer.BYTES).toArray(ValueLayout.JAVA_INT);
    }

    /** Tells the thread's handler what Java threw where C called it and takes no error: nothing may be thrown into C. */
    public static void uncaught(Throwable e) {
        Thread thread = Thread.currentThread();
        thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
    }

    /** Rethrows what a method handle threw. */
    private static RuntimeException unchecked(Throwable e) {
        Throwables.throwIfUnchecked(e);
        throw new AssertionError("a C call threw a checked exception", e);
    }
}

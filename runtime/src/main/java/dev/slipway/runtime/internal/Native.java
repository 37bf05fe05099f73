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
 * The few shapes of C calls there are, as constant handles: with the function's address as first argument, one handle serves all
 * functions of a shape, and the JIT folds it.
 */
public final class Native {

    private static final Linker LINKER = Linker.nativeLinker();
    private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();

    /** {@code PJRT_Error* f(Args*)}. */
    private static final MethodHandle TO_ERROR =
            LINKER.downcallHandle(FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));

    /** As {@link #TO_ERROR}, for functions that look at a field and return: the thread does not leave Java's state for them. */
    private static final MethodHandle GLANCE = LINKER.downcallHandle(
            FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG), Linker.Option.critical(false));

    /** {@code void f(Args*)}. */
    private static final MethodHandle TO_VOID = LINKER.downcallHandle(FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG));

    /** {@code void f(void*, void*)}. */
    private static final MethodHandle TO_VOID_2 =
            LINKER.downcallHandle(FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));

    /** {@code PJRT_Error* f(PJRT_Error_Code, const char*, size_t)}, which plugins give to callbacks. */
    private static final MethodHandle MAKE_ERROR = LINKER.downcallHandle(FunctionDescriptor.of(
            ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));

    /** {@code void free(void*)}. */
    public static final MemorySegment FREE = LINKER.defaultLookup().find("free").orElseThrow();

    private static final MethodHandle MALLOC =
            libc("malloc", FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));

    private Native() {}

    /** Calls {@code PJRT_Error* function(args)} and returns the error's address, 0 for none. */
    public static long call(MemorySegment function, long args) {
        try {
            return (long) TO_ERROR.invokeExact(function, args);
        } catch (Throwable e) {
            throw unchecked(e);
        }
    }

    /** As {@link #call}, for functions that neither wait nor call back. */
    static long glance(MemorySegment function, long args) {
        try {
            return (long) GLANCE.invokeExact(function, args);
        } catch (Throwable e) {
            throw unchecked(e);
        }
    }

    /** Calls {@code void function(args)}. */
    public static void callVoid(MemorySegment function, long args) {
        try {
            TO_VOID.invokeExact(function, args);
        } catch (Throwable e) {
            throw unchecked(e);
        }
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
            try {
                TO_VOID_2.invokeExact(MemorySegment.ofAddress(deleter), object, argument);
            } catch (Throwable e) {
                throw unchecked(e);
            }
        }
    }

    /** An error of the plugin's, by what it gives callbacks to make one: a pointer to a pointer to a function. */
    public static long error(long maker, int code, String message) {
        byte[] text = message.getBytes(StandardCharsets.UTF_8);
        try (Arena arena = Arena.ofConfined()) {
            return (long) MAKE_ERROR.invokeExact(
                    MemorySegment.ofAddress(longs(maker, 1)[0]),
                    code,
                    bytes(arena, text).address(),
                    (long) text.length);
        } catch (Throwable e) {
            throw unchecked(e);
        }
    }

    /** A copy of bytes that C frees, with {@link #FREE}. */
    public static long malloc(byte[] bytes) {
        try {
            long block = (long) MALLOC.invokeExact((long) Math.max(1, bytes.length));
            MemorySegment.copy(bytes, 0, at(block, bytes.length), ValueLayout.JAVA_BYTE, 0, bytes.length);
            return block;
        } catch (Throwable e) {
            throw unchecked(e);
        }
    }

    /** A downcall handle for a function of libc. */
    public static MethodHandle libc(String name, FunctionDescriptor descriptor) {
        return LINKER.downcallHandle(
                LINKER.defaultLookup()
                        .find(name)
                        .orElseThrow(() -> new IllegalStateException("the C library has no function '" + name + "'")),
                descriptor);
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
    public static RuntimeException unchecked(Throwable e) {
        Throwables.throwIfUnchecked(e);
        throw new AssertionError("a C call threw a checked exception", e);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The deleters of exported tensors: one C function for all, which finds the Java side by the tensor's address. */
public final class DlPackExport {

    // C knows an exported tensor by its address only.
    private static final Map<Long, Runnable> EXPORTED = new ConcurrentHashMap<>();
    private static final MemorySegment DELETER = Native.upcall(
            MethodHandles.lookup(),
            DlPackExport.class,
            "delete",
            MethodType.methodType(void.class, long.class),
            FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG));

    private DlPackExport() {}

    /** The C function that runs {@code release} when the taker of the tensor is done. */
    public static long deleter(long tensor, Runnable release) {
        EXPORTED.put(tensor, release);
        return DELETER.address();
    }

    @SuppressWarnings("unused") // called from C
    private static void delete(long tensor) {
        Runnable release = EXPORTED.remove(tensor);
        if (release != null) {
            // The taker may be anywhere, under a lock of the plugin's even: what is freed calls the plugin, so
            // elsewhere.
            Thread.startVirtualThread(release);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_ReadyEvent_Args;
import dev.slipway.runtime.internal.abi.PJRT_Buffer_ToHostBuffer_Args;
import dev.slipway.runtime.internal.abi.PJRT_Event_Await_Args;
import dev.slipway.runtime.internal.abi.PJRT_Event_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_ExecuteOptions;
import dev.slipway.runtime.internal.abi.PJRT_LoadedExecutable_Execute_Args;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A program that is run again and again, as in a decode loop: everything that a run needs is laid out once, so that running,
 * feeding results back and reading them allocates nothing on the Java heap. One thread at a time may use it.
 *
 * {@snippet :
 * try (Dispatch step = program.dispatch(4)) {
 *     step.argument(0, 0, weights).argument(0, 1, cache).argument(0, 2, token);
 *     step.feed(0, 1).feed(1, 2);                  // result 0 is the next run's cache, result 1 its token
 *     for (int i = 0; i < 100; i++) {
 *         step.run();
 *         step.toHost(0, 1, host);                 // the token
 *     }
 * }
 * }
 */
public final class Dispatch implements AutoCloseable {

    private final LoadedExecutable program;
    private final Api api;
    private final int devices;
    private final int numArguments;
    private final int numOutputs;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment arguments;
    private final MemorySegment outputs;
    private final MemorySegment execute;
    private final MemorySegment destroy = PJRT_Buffer_Destroy_Args.in(arena);
    private final MemorySegment toHost = PJRT_Buffer_ToHostBuffer_Args.in(arena);
    private final MemorySegment ready = PJRT_Buffer_ReadyEvent_Args.in(arena);
    private final MemorySegment await = PJRT_Event_Await_Args.in(arena);
    private final MemorySegment destroyEvent = PJRT_Event_Destroy_Args.in(arena);

    /** The handle of a given argument; none where a result was fed in, which is this object's own. */
    private final @Nullable Handle[] given;

    /** For each result the parameter that it is fed to, or -1. */
    private final int[] fedTo;

    private boolean closed;

    Dispatch(LoadedExecutable program, int numArguments, ExecuteOptions options) {
        this.program = program;
        this.api = program.client().api();
        this.devices = options.device().isPresent() ? 1 : program.devices().size();
        this.numArguments = numArguments;
        this.numOutputs = program.numOutputs();
        this.given = new Handle[devices * numArguments];
        this.fedTo = new int[numOutputs];
        Arrays.fill(fedTo, -1);
        this.arguments = longs((long) devices * numArguments);
        this.outputs = longs((long) devices * numOutputs);
        MemorySegment argumentLists = longs(devices);
        MemorySegment outputLists = longs(devices);
        for (int d = 0; d < devices; d++) {
            argumentLists.setAtIndex(
                    ValueLayout.JAVA_LONG, d, arguments.address() + (long) d * numArguments * Long.BYTES);
            outputLists.setAtIndex(ValueLayout.JAVA_LONG, d, outputs.address() + (long) d * numOutputs * Long.BYTES);
        }
        MemorySegment run = PJRT_ExecuteOptions.in(arena);
        this.execute = PJRT_LoadedExecutable_Execute_Args.in(arena);
        try {
            options.write(api, devices, run, arena);
            PJRT_LoadedExecutable_Execute_Args.executable(
                    execute, program.handle().acquire());
        } catch (PjrtException e) {
            arena.close();
            throw e;
        }
        PJRT_LoadedExecutable_Execute_Args.options(execute, run.address());
        PJRT_LoadedExecutable_Execute_Args.argument_lists(execute, argumentLists.address());
        PJRT_LoadedExecutable_Execute_Args.num_devices(execute, devices);
        PJRT_LoadedExecutable_Execute_Args.num_args(execute, numArguments);
        PJRT_LoadedExecutable_Execute_Args.output_lists(execute, outputLists.address());
        options.device()
                .ifPresent(device -> PJRT_LoadedExecutable_Execute_Args.execute_device(execute, device.address()));
    }

    private MemorySegment longs(long count) {
        return arena.allocate(Math.max(1, count) * Long.BYTES, 8);
    }

    /**
     * Sets an argument; it is in use until it is replaced or this is closed.
     *
     * @throws UsageException.Foreign if the buffer is another client's
     * @throws UsageException.BadArgument if it is not of the parameter's type and layout
     */
    public Dispatch argument(int device, int parameter, Buffer buffer) {
        open();
        check(device, parameter, numArguments, "parameter");
        if (buffer.client() != program.client()) {
            throw new UsageException.Foreign(buffer + " belongs to another client");
        }
        program.signature().check(numArguments, parameter, buffer);
        long address = buffer.handle().acquire();
        int at = device * numArguments + parameter;
        release(at);
        given[at] = buffer.handle();
        arguments.setAtIndex(ValueLayout.JAVA_LONG, at, address);
        return this;
    }

    /**
     * Has a result of each run be an argument of the next, on every device.
     *
     * @throws UsageException.BadArgument if they are not of the same type
     */
    public Dispatch feed(int result, int parameter) {
        open();
        check(0, result, numOutputs, "result");
        check(0, parameter, numArguments, "parameter");
        program.signature().checkFeed(result, parameter);
        fedTo[result] = parameter;
        return this;
    }

    /**
     * Runs the program with the arguments as they are; the results of the run before are freed or fed.
     *
     * @throws UsageException.BadArgument if an argument was never set
     * @throws StatusException if the plugin refuses them
     */
    public void run() {
        open();
        recycle();
        for (int i = 0; i < devices * numArguments; i++) {
            if (arguments.getAtIndex(ValueLayout.JAVA_LONG, i) == 0) {
                throw new UsageException.BadArgument("parameter " + i % numArguments + " of device " + i / numArguments
                        + " was never set: set it with argument() before the first run");
            }
        }
        api.call(PjrtFunction.PJRT_LoadedExecutable_Execute, execute);
    }

    /** Moves the last run's results to where they are fed, and frees the others. */
    private void recycle() {
        for (int d = 0; d < devices; d++) {
            for (int r = 0; r < numOutputs; r++) {
                int from = d * numOutputs + r;
                long result = outputs.getAtIndex(ValueLayout.JAVA_LONG, from);
                if (result == 0) {
                    continue;
                }
                outputs.setAtIndex(ValueLayout.JAVA_LONG, from, 0);
                if (fedTo[r] < 0 || closed) {
                    destroy(result);
                } else {
                    int to = d * numArguments + fedTo[r];
                    release(to);
                    arguments.setAtIndex(ValueLayout.JAVA_LONG, to, result);
                }
            }
        }
    }

    private void release(int argument) {
        Handle handle = given[argument];
        long address = arguments.getAtIndex(ValueLayout.JAVA_LONG, argument);
        given[argument] = null;
        arguments.setAtIndex(ValueLayout.JAVA_LONG, argument, 0);
        if (handle != null) {
            handle.release();
        } else if (address != 0) {
            destroy(address);
        }
    }

    private void destroy(long buffer) {
        PJRT_Buffer_Destroy_Args.buffer(destroy, buffer);
        api.call(PjrtFunction.PJRT_Buffer_Destroy, destroy);
    }

    private long result(int device, int result) {
        open();
        check(device, result, numOutputs, "result");
        long address = outputs.getAtIndex(ValueLayout.JAVA_LONG, (long) device * numOutputs + result);
        if (address == 0) {
            throw new UsageException.Closed("result " + result + " is not there: run first, and take it once");
        }
        return address;
    }

    /** Waits until a result of the last run is there. */
    public void await(int device, int result) {
        PJRT_Buffer_ReadyEvent_Args.buffer(ready, result(device, result));
        api.call(PjrtFunction.PJRT_Buffer_ReadyEvent, ready);
        awaitAndDestroy(PJRT_Buffer_ReadyEvent_Args.event(ready));
    }

    private void awaitAndDestroy(long event) {
        try {
            PJRT_Event_Await_Args.event(await, event);
            api.call(PjrtFunction.PJRT_Event_Await, await);
        } finally {
            PJRT_Event_Destroy_Args.event(destroyEvent, event);
            api.call(PjrtFunction.PJRT_Event_Destroy, destroyEvent);
        }
    }

    /**
     * Copies a result of the last run to the host, in the order that it has on the device, and waits for it.
     *
     * @param destination native memory with room for it: the plugin refuses less
     */
    public void toHost(int device, int result, MemorySegment destination) {
        if (!destination.isNative() || destination.isReadOnly()) {
            throw new UsageException.BadArgument("a result is copied to writable native memory, not the Java heap");
        }
        long address = result(device, result);
        if (program.output(result).element() == ElementType.TOKEN) {
            throw new UsageException.BadArgument("a token has no data to copy, and the plugin aborts if it is asked");
        }
        PJRT_Buffer_ToHostBuffer_Args.src(toHost, address);
        PJRT_Buffer_ToHostBuffer_Args.dst(toHost, destination.address());
        PJRT_Buffer_ToHostBuffer_Args.dst_size(toHost, destination.byteSize());
        api.call(PjrtFunction.PJRT_Buffer_ToHostBuffer, toHost);
        awaitAndDestroy(PJRT_Buffer_ToHostBuffer_Args.event(toHost));
    }

    /** Takes a result of the last run out, as a buffer to be closed by the caller; it is then not fed. */
    public Buffer take(int device, int result) {
        long address = result(device, result);
        outputs.setAtIndex(ValueLayout.JAVA_LONG, (long) device * numOutputs + result, 0);
        return program.result(address, result);
    }

    private void check(int device, int index, int count, String what) {
        if (device < 0 || device >= devices || index < 0 || index >= count) {
            throw new UsageException.BadArgument("there is no " + what + " " + index + " on device " + device
                    + ": there are " + count + " on each of " + devices);
        }
    }

    private void open() {
        if (closed) {
            throw new UsageException.Closed("this dispatch is closed");
        }
    }

    @Override
    public void close() {
        open();
        closed = true;
        recycle();
        for (int i = 0; i < given.length; i++) {
            release(i);
        }
        program.handle().release();
        arena.close();
    }
}

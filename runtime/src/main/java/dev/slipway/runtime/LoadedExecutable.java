// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_ExecuteOptions;
import dev.slipway.runtime.internal.abi.PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args;
import dev.slipway.runtime.internal.abi.PJRT_LoadedExecutable_AddressableDevices_Args;
import dev.slipway.runtime.internal.abi.PJRT_LoadedExecutable_Delete_Args;
import dev.slipway.runtime.internal.abi.PJRT_LoadedExecutable_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_LoadedExecutable_Execute_Args;
import dev.slipway.runtime.internal.abi.PJRT_LoadedExecutable_Fingerprint_Args;
import dev.slipway.runtime.internal.abi.PJRT_LoadedExecutable_GetDeviceAssignment_Args;
import dev.slipway.runtime.internal.abi.PJRT_LoadedExecutable_GetExecutable_Args;
import dev.slipway.runtime.internal.abi.PJRT_LoadedExecutable_IsDeleted_Args;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An executable that a client has loaded: it runs on the devices it was compiled for, all at once. Threads may share it.
 *
 * <p>A parameter that the program marks as donated ({@code tf.aliasing_output}, {@code jax.buffer_donor}) is taken over by a run
 * unless {@link ExecuteOptions#nonDonatable} has it: its buffer is then {@linkplain Buffer#isDeleted deleted}, and is still to be
 * closed.
 */
public final class LoadedExecutable implements AutoCloseable {

    private final Client client;
    private final Handle handle;
    private final Executable executable;
    private final List<Device> devices;
    private final List<TensorType> outputs;
    private volatile @Nullable Signature signature;

    LoadedExecutable(Client client, long address) {
        this.client = client;
        this.handle = new Handle(
                "loaded executable", client.api(), address, client.handle(), this, (api, scratch, loaded) -> {
                    MemorySegment args = PJRT_LoadedExecutable_Destroy_Args.in(scratch);
                    PJRT_LoadedExecutable_Destroy_Args.executable(args, loaded);
                    api.call(PjrtFunction.PJRT_LoadedExecutable_Destroy, args);
                });
        this.executable = handle.use((api, scratch, loaded) -> {
            MemorySegment args = PJRT_LoadedExecutable_GetExecutable_Args.in(scratch);
            PJRT_LoadedExecutable_GetExecutable_Args.loaded_executable(args, loaded);
            api.call(PjrtFunction.PJRT_LoadedExecutable_GetExecutable, args);
            return new Executable(
                    client.plugin(),
                    PJRT_LoadedExecutable_GetExecutable_Args.executable(args),
                    handle,
                    client.platform());
        });
        this.devices = handle.use((api, scratch, loaded) -> {
            MemorySegment args = PJRT_LoadedExecutable_AddressableDevices_Args.in(scratch);
            PJRT_LoadedExecutable_AddressableDevices_Args.executable(args, loaded);
            api.call(PjrtFunction.PJRT_LoadedExecutable_AddressableDevices, args);
            return Arrays.stream(Native.longs(
                            PJRT_LoadedExecutable_AddressableDevices_Args.addressable_devices(args),
                            PJRT_LoadedExecutable_AddressableDevices_Args.num_addressable_devices(args)))
                    .mapToObj(client::device)
                    .toList();
        });
        this.outputs = List.copyOf(executable.outputs());
    }

    /** The client that loaded it. */
    public Client client() {
        return client;
    }

    /** What the compiler knows of it; it is closed with this. */
    public Executable executable() {
        return executable;
    }

    /** The devices of this process that it runs on, in the order of arguments and results. */
    public List<Device> devices() {
        return devices;
    }

    /**
     * Runs on one device.
     *
     * @return the results, which may still be under way
     */
    public List<Buffer> execute(Buffer... arguments) {
        return execute(List.of(List.of(arguments)), ExecuteOptions.defaults()).getFirst();
    }

    /**
     * Runs on all devices.
     *
     * @param arguments for each of {@link #devices} the arguments, in order
     * @return for each device the results, which may still be under way: their {@link Buffer#ready} tells
     * @throws UsageException.BadArgument if there are not as many lists as devices, or a buffer is not of its parameter's type and layout:
     *     plugins take whatever has the right size
     * @throws UsageException.Foreign if a buffer is another client's
     * @throws StatusException if the plugin refuses the arguments
     */
    public List<List<Buffer>> execute(List<List<Buffer>> arguments, ExecuteOptions options) {
        check(arguments, options);
        int numArguments = arguments.getFirst().size();
        int numOutputs = outputs.size();
        Handle[] used = new Handle[arguments.size() * numArguments];
        int inUse = 0;
        long run = handle.acquire();
        try (Scratch scratch = Scratch.open()) {
            int lists = arguments.size();
            // One block of pointers: the lists of arguments, those of results, then the arguments and results
            // themselves.
            MemorySegment pointers = scratch.allocate((long) lists * (2 + numArguments + numOutputs) * Long.BYTES, 8);
            int firstArgument = 2 * lists;
            int firstResult = firstArgument + used.length;
            for (int d = 0; d < lists; d++) {
                pointers.setAtIndex(
                        ValueLayout.JAVA_LONG, d, addressOf(pointers, firstArgument + (long) d * numArguments));
                pointers.setAtIndex(
                        ValueLayout.JAVA_LONG, lists + d, addressOf(pointers, firstResult + (long) d * numOutputs));
                for (Buffer buffer : arguments.get(d)) {
                    pointers.setAtIndex(
                            ValueLayout.JAVA_LONG,
                            firstArgument + inUse,
                            buffer.handle().acquire());
                    used[inUse++] = buffer.handle();
                }
            }
            Api api = client.api();
            MemorySegment how = PJRT_ExecuteOptions.in(scratch);
            options.write(api, lists, how, scratch);
            MemorySegment args = PJRT_LoadedExecutable_Execute_Args.in(scratch);
            PJRT_LoadedExecutable_Execute_Args.executable(args, run);
            PJRT_LoadedExecutable_Execute_Args.options(args, how.address());
            PJRT_LoadedExecutable_Execute_Args.argument_lists(args, pointers.address());
            PJRT_LoadedExecutable_Execute_Args.num_devices(args, lists);
            PJRT_LoadedExecutable_Execute_Args.num_args(args, numArguments);
            PJRT_LoadedExecutable_Execute_Args.output_lists(args, addressOf(pointers, lists));
            options.device()
                    .ifPresent(device -> PJRT_LoadedExecutable_Execute_Args.execute_device(args, device.address()));
            api.call(PjrtFunction.PJRT_LoadedExecutable_Execute, args);
            List<Buffer> all = Buffer.all(
                    lists * numOutputs,
                    i -> result(pointers.getAtIndex(ValueLayout.JAVA_LONG, firstResult + i), i % numOutputs));
            List<List<Buffer>> results = new ArrayList<>(lists);
            for (int d = 0; d < lists; d++) {
                results.add(lists == 1 ? all : new ArrayList<>(all.subList(d * numOutputs, (d + 1) * numOutputs)));
            }
            return results;
        } finally {
            for (int i = 0; i < inUse; i++) {
                used[i].release();
            }
            handle.release();
        }
    }

    /** Refuses what plugins take and then read or write where they should not. */
    private void check(List<List<Buffer>> arguments, ExecuteOptions options) {
        int expected = options.device().isPresent() ? 1 : devices.size();
        if (arguments.size() != expected) {
            throw new UsageException.BadArgument("arguments for " + arguments.size() + " devices were given, but '"
                    + executable.name() + "' runs on " + expected);
        }
        if (arguments.isEmpty()) {
            throw new UsageException.BadArgument("'" + executable.name()
                    + "' was compiled for no device in particular: say by the options on which to run it");
        }
        Signature signature = signature();
        int numArguments = arguments.getFirst().size();
        for (List<Buffer> list : arguments) {
            if (list.size() != numArguments) {
                throw new UsageException.BadArgument(
                        "device 0 gets " + numArguments + " arguments and another " + list.size() + ": each gets all");
            }
            for (Buffer buffer : list) {
                if (buffer.client() != client) {
                    throw new UsageException.Foreign(buffer + " belongs to another client");
                }
            }
            signature.check(list);
        }
        if (client.isClosed()) {
            throw new UsageException.Closed("the client of this executable is closed");
        }
    }

    private static long addressOf(MemorySegment pointers, long index) {
        return pointers.address() + index * Long.BYTES;
    }

    /**
     * A run to be repeated, with room for so many arguments.
     *
     * @throws UsageException.BadArgument if the program takes another number of arguments
     */
    public Dispatch dispatch(int numArguments) {
        return dispatch(numArguments, ExecuteOptions.defaults());
    }

    /** A run to be repeated with these options. */
    public Dispatch dispatch(int numArguments, ExecuteOptions options) {
        signature().checkCount(numArguments);
        return new Dispatch(this, numArguments, options);
    }

    Handle handle() {
        return handle;
    }

    int numOutputs() {
        return outputs.size();
    }

    TensorType output(int index) {
        return outputs.get(index);
    }

    Buffer result(long address, int index) {
        return new Buffer(client, address, outputs.get(index), signature().isResultUnusual(index));
    }

    Signature signature() {
        Signature known = signature;
        if (known == null) {
            known = Signature.of(client, executable, outputs);
            signature = known;
        }
        return known;
    }

    /** The devices as a serialized {@code DeviceAssignmentProto} (plugins since 0.79). */
    public byte[] deviceAssignment() {
        return handle.use((api, scratch, loaded) -> {
            MemorySegment args = PJRT_LoadedExecutable_GetDeviceAssignment_Args.in(scratch);
            PJRT_LoadedExecutable_GetDeviceAssignment_Args.executable(args, loaded);
            api.call(PjrtFunction.PJRT_LoadedExecutable_GetDeviceAssignment, args);
            try {
                return Native.bytes(
                        PJRT_LoadedExecutable_GetDeviceAssignment_Args.serialized_bytes(args),
                        PJRT_LoadedExecutable_GetDeviceAssignment_Args.serialized_bytes_size(args));
            } finally {
                Native.free(
                        PJRT_LoadedExecutable_GetDeviceAssignment_Args.serialized_device_assignment_deleter(args),
                        PJRT_LoadedExecutable_GetDeviceAssignment_Args.serialized_device_assignment(args));
            }
        });
    }

    /** A device's place in the program. */
    public record LogicalId(int replica, int partition) {}

    /** The place of each of {@link #devices} in the program (plugins since 0.96). */
    public List<LogicalId> logicalIds() {
        return handle.use((api, scratch, loaded) -> {
            MemorySegment args = PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args.in(scratch);
            PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args.executable(args, loaded);
            api.call(PjrtFunction.PJRT_LoadedExecutable_AddressableDeviceLogicalIds, args);
            int[] pairs = Native.ints(
                    PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args.addressable_device_logical_ids(args),
                    2
                            * PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args.num_addressable_device_logical_ids(
                                    args));
            List<LogicalId> ids = new ArrayList<>();
            for (int i = 0; i < pairs.length; i += 2) {
                ids.add(new LogicalId(pairs[i], pairs[i + 1]));
            }
            return ids;
        });
    }

    /** Frees the code once no run is under way; the handle stays to be closed. */
    public void delete() {
        handle.use((api, scratch, loaded) -> {
            MemorySegment args = PJRT_LoadedExecutable_Delete_Args.in(scratch);
            PJRT_LoadedExecutable_Delete_Args.executable(args, loaded);
            api.call(PjrtFunction.PJRT_LoadedExecutable_Delete, args);
            return null;
        });
    }

    /** Whether the code is gone. */
    public boolean isDeleted() {
        return handle.use((api, scratch, loaded) -> {
            MemorySegment args = PJRT_LoadedExecutable_IsDeleted_Args.in(scratch);
            PJRT_LoadedExecutable_IsDeleted_Args.executable(args, loaded);
            api.call(PjrtFunction.PJRT_LoadedExecutable_IsDeleted, args);
            return PJRT_LoadedExecutable_IsDeleted_Args.is_deleted(args);
        });
    }

    /** A name for the code that is equal for equal code, by the C API's older way; see {@link Executable#fingerprint}. */
    public String fingerprint() {
        return handle.use((api, scratch, loaded) -> {
            MemorySegment args = PJRT_LoadedExecutable_Fingerprint_Args.in(scratch);
            PJRT_LoadedExecutable_Fingerprint_Args.executable(args, loaded);
            api.call(PjrtFunction.PJRT_LoadedExecutable_Fingerprint, args);
            return Native.string(
                    PJRT_LoadedExecutable_Fingerprint_Args.executable_fingerprint(args),
                    PJRT_LoadedExecutable_Fingerprint_Args.executable_fingerprint_size(args));
        });
    }

    /** Whether it was closed. */
    public boolean isClosed() {
        return handle.isClosed();
    }

    @Override
    public void close() {
        handle.close();
        if (!executable.isClosed()) {
            executable.close();
        }
    }
}

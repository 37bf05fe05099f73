// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import com.google.common.math.LongMath;
import dev.slipway.runtime.internal.AbiVersions;
import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.DeepStack;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.KeyValueCallbacks;
import dev.slipway.runtime.internal.Layouts;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_Client_AddressableDevices_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_AddressableMemories_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_BufferFromHostBuffer_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_Compile_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_CreateErrorBuffer_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_CreateUninitializedBuffer_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_CreateViewOfDeviceBuffer_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_Create_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_DefaultDeviceAssignment_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_Devices_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_DmaMap_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_DmaUnmap_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_Load_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_LookupAddressableDevice_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_LookupDevice_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_PlatformName_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_PlatformVersion_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_ProcessIndex_Args;
import dev.slipway.runtime.internal.abi.PJRT_Client_UpdateGlobalProcessInfo_Args;
import dev.slipway.runtime.internal.abi.PJRT_Executable_DeserializeAndLoad_Args;
import dev.slipway.runtime.internal.abi.PJRT_ProcessInfo;
import dev.slipway.runtime.internal.abi.PJRT_ProcessState;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The devices that a plugin finds here, and what runs on them. Threads may share it.
 *
 * <p>What is made from a client is closed by whoever made it, in any order: the client's C object goes with the last of them, and
 * none can be used once the client is closed.
 */
public final class Client implements AutoCloseable {

    /** Until when the plugin may read a host array that was put on a device. */
    public enum HostSemantics {
        /** The plugin copies before {@code put} returns: the memory is free for anything afterwards. */
        COPY(0),
        /** The memory must stay as it is until {@link Buffer#await} returns. */
        UNTIL_TRANSFERRED(1),
        /** The buffer may be the memory itself, which must stay as it is and alive until the buffer is closed or donated. */
        ZERO_COPY(2),
        /** As {@link #ZERO_COPY}, and a donated buffer may be written to. */
        MUTABLE_ZERO_COPY(3);

        private final int code;

        HostSemantics(int code) {
            this.code = code;
        }
    }

    private static final int MAX_CPU_DEVICES = 4096;

    private final Plugin plugin;
    private final Handle handle;
    private final Platform platform;
    private final Map<Long, Device> devices = new LinkedHashMap<>();

    private Client(Plugin plugin, long address) {
        this.plugin = plugin;
        this.handle = new Handle("client", plugin.api(), address, null, this, (api, scratch, client) -> {
            MemorySegment args = PJRT_Client_Destroy_Args.in(scratch);
            PJRT_Client_Destroy_Args.client(args, client);
            api.call(PjrtFunction.PJRT_Client_Destroy, args);
        });
        this.platform = handle.use((api, scratch, client) -> {
            MemorySegment name = PJRT_Client_PlatformName_Args.in(scratch);
            PJRT_Client_PlatformName_Args.client(name, client);
            api.call(PjrtFunction.PJRT_Client_PlatformName, name);
            MemorySegment version = PJRT_Client_PlatformVersion_Args.in(scratch);
            PJRT_Client_PlatformVersion_Args.client(version, client);
            api.call(PjrtFunction.PJRT_Client_PlatformVersion, version);
            return new Platform(
                    Native.string(
                            PJRT_Client_PlatformName_Args.platform_name(name),
                            PJRT_Client_PlatformName_Args.platform_name_size(name)),
                    Native.string(
                            PJRT_Client_PlatformVersion_Args.platform_version(version),
                            PJRT_Client_PlatformVersion_Args.platform_version_size(version)));
        });
        handle.use((api, scratch, client) -> {
            MemorySegment args = PJRT_Client_Devices_Args.in(scratch);
            PJRT_Client_Devices_Args.client(args, client);
            api.call(PjrtFunction.PJRT_Client_Devices, args);
            for (long device :
                    Native.longs(PJRT_Client_Devices_Args.devices(args), PJRT_Client_Devices_Args.num_devices(args))) {
                devices.put(device, new Device(this, device));
            }
            return null;
        });
    }

    static Client create(Plugin plugin, Map<String, NamedValue> options, @Nullable KeyValueStore store) {
        NamedValue devices = options.get("cpu_device_count");
        if (devices != null
                && !(devices instanceof NamedValue.Int64 count
                        && count.value() >= 1
                        && count.value() <= MAX_CPU_DEVICES)) {
            throw new UsageException.BadArgument("cpu_device_count is "
                    + (devices instanceof NamedValue.Int64 count ? count.value() : devices) + ": an integer of 1 to "
                    + MAX_CPU_DEVICES + " is needed, and plugins abort on others");
        }
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_Client_Create_Args.in(scratch);
            PJRT_Client_Create_Args.create_options(
                    args, Api.namedValues(scratch, options).address());
            PJRT_Client_Create_Args.num_options(args, options.size());
            if (store != null) {
                KeyValueCallbacks callbacks = new KeyValueCallbacks(store);
                PJRT_Client_Create_Args.kv_get_callback(args, callbacks.get().address());
                PJRT_Client_Create_Args.kv_try_get_callback(
                        args, callbacks.tryGet().address());
                PJRT_Client_Create_Args.kv_put_callback(args, callbacks.put().address());
            }
            plugin.api().call(PjrtFunction.PJRT_Client_Create, args);
            return new Client(plugin, PJRT_Client_Create_Args.client(args));
        }
    }

    /** The plugin. */
    public Plugin plugin() {
        return plugin;
    }

    Api api() {
        return plugin.api();
    }

    Handle handle() {
        return handle;
    }

    /** Name and version of the platform. */
    public Platform platform() {
        return platform;
    }

    /** This process's number in a job of several. */
    public int processIndex() {
        return handle.use((api, scratch, client) -> {
            MemorySegment args = PJRT_Client_ProcessIndex_Args.in(scratch);
            PJRT_Client_ProcessIndex_Args.client(args, client);
            api.call(PjrtFunction.PJRT_Client_ProcessIndex, args);
            return PJRT_Client_ProcessIndex_Args.process_index(args);
        });
    }

    /** All devices, those of other processes too. */
    public List<Device> devices() {
        return List.copyOf(devices.values());
    }

    /** The devices that this process can give work. */
    public List<Device> addressableDevices() {
        return handle.use((api, scratch, client) -> {
            MemorySegment args = PJRT_Client_AddressableDevices_Args.in(scratch);
            PJRT_Client_AddressableDevices_Args.client(args, client);
            api.call(PjrtFunction.PJRT_Client_AddressableDevices, args);
            return Arrays.stream(Native.longs(
                            PJRT_Client_AddressableDevices_Args.addressable_devices(args),
                            PJRT_Client_AddressableDevices_Args.num_addressable_devices(args)))
                    .mapToObj(this::device)
                    .toList();
        });
    }

    /** The device at a C address. */
    Device device(long address) {
        Device device = devices.get(address);
        if (device == null) {
            throw new UsageException.Foreign("the plugin named a device that is not among the client's");
        }
        return device;
    }

    /**
     * The device of that id.
     *
     * @throws UsageException.BadArgument if there is none
     */
    public Device device(int id) {
        return devices.values().stream()
                .filter(device -> device.id() == id)
                .findFirst()
                .orElseThrow(() -> new UsageException.BadArgument("there is no device " + id + ": the ids are "
                        + devices.values().stream().map(Device::id).toList()));
    }

    /** The memories that this process reaches. */
    public List<Memory> memories() {
        return handle.use((api, scratch, client) -> {
            MemorySegment args = PJRT_Client_AddressableMemories_Args.in(scratch);
            PJRT_Client_AddressableMemories_Args.client(args, client);
            api.call(PjrtFunction.PJRT_Client_AddressableMemories, args);
            return Arrays.stream(Native.longs(
                            PJRT_Client_AddressableMemories_Args.addressable_memories(args),
                            PJRT_Client_AddressableMemories_Args.num_addressable_memories(args)))
                    .mapToObj(memory -> new Memory(this, memory))
                    .toList();
        });
    }

    /** The device ids that the plugin would take for so many replicas and partitions, replica by replica. */
    public int[] defaultDeviceAssignment(int replicas, int partitions) {
        if (replicas < 1 || partitions < 1 || (long) replicas * partitions > devices.size()) {
            throw new UsageException.BadArgument(
                    replicas + " replicas x " + partitions + " partitions cannot be assigned to " + devices.size()
                            + " devices: at least 1 of each, and no more than there are devices");
        }
        return handle.use((api, scratch, client) -> {
            int count = Math.multiplyExact(replicas, partitions);
            MemorySegment ids = scratch.allocate(Math.max(1, (long) count * Integer.BYTES), 8);
            MemorySegment args = PJRT_Client_DefaultDeviceAssignment_Args.in(scratch);
            PJRT_Client_DefaultDeviceAssignment_Args.client(args, client);
            PJRT_Client_DefaultDeviceAssignment_Args.num_replicas(args, replicas);
            PJRT_Client_DefaultDeviceAssignment_Args.num_partitions(args, partitions);
            PJRT_Client_DefaultDeviceAssignment_Args.default_assignment_size(args, count);
            PJRT_Client_DefaultDeviceAssignment_Args.default_assignment(args, ids.address());
            api.call(PjrtFunction.PJRT_Client_DefaultDeviceAssignment, args);
            return ids.asSlice(0, (long) count * Integer.BYTES).toArray(ValueLayout.JAVA_INT);
        });
    }

    /** The machine that is there, as {@link Plugin#topology} describes those that are not. */
    public PluginTopology topology() {
        return handle.use((api, scratch, client) -> PluginTopology.of(plugin, handle, client));
    }

    /**
     * Compiles for these devices and loads the result. Compilers descend by recursion, so a program of more than a few
     * kilobytes is compiled on a thread of its own, whose stack suits its size; what Java is called back for meanwhile runs
     * there.
     *
     * @throws UsageException.BadArgument if the options ask for more devices than there are
     * @throws StatusException if the compiler refuses the program
     */
    public LoadedExecutable compile(Program program, CompileOptions options) {
        int needed = options.numReplicas() * options.numPartitions();
        if (needed > devices.size()) {
            throw new UsageException.BadArgument("the options ask for " + options.numReplicas() + " replicas x "
                    + options.numPartitions() + " partitions = " + needed + " devices, but this client has "
                    + devices.size());
        }
        if (platform.name().equals("cpu")) {
            program.checkSizes();
        }
        return DeepStack.call(
                program.size(),
                () -> handle.use((api, scratch, client) -> {
                    byte[] proto = options.toProto(program);
                    MemorySegment args = PJRT_Client_Compile_Args.in(scratch);
                    PJRT_Client_Compile_Args.client(args, client);
                    PJRT_Client_Compile_Args.program(
                            args, program.write(scratch).address());
                    PJRT_Client_Compile_Args.compile_options(
                            args, Native.bytes(scratch, proto).address());
                    PJRT_Client_Compile_Args.compile_options_size(args, proto.length);
                    api.call(PjrtFunction.PJRT_Client_Compile, args);
                    return new LoadedExecutable(this, PJRT_Client_Compile_Args.executable(args));
                }));
    }

    /**
     * Loads what {@link Executable#serialize} gave.
     *
     * @throws UsageException.Foreign if it is for another platform, or another version of this one
     */
    public LoadedExecutable load(SerializedExecutable executable) {
        if (!executable.platform().equals(platform)) {
            throw new UsageException.Foreign(
                    "the executable was compiled for " + executable.platform().name() + " ("
                            + executable.platform().version() + "), and this client is " + platform.name() + " ("
                            + platform.version() + "): compile it again for this one");
        }
        return handle.use((api, scratch, client) -> {
            byte[] code = executable.bare();
            MemorySegment args = PJRT_Executable_DeserializeAndLoad_Args.in(scratch);
            PJRT_Executable_DeserializeAndLoad_Args.client(args, client);
            PJRT_Executable_DeserializeAndLoad_Args.serialized_executable(
                    args, Native.bytes(scratch, code).address());
            PJRT_Executable_DeserializeAndLoad_Args.serialized_executable_size(args, code.length);
            api.call(PjrtFunction.PJRT_Executable_DeserializeAndLoad, args);
            return new LoadedExecutable(this, PJRT_Executable_DeserializeAndLoad_Args.loaded_executable(args));
        });
    }

    /** Puts a dense array, major to minor, on a device's default memory; it is copied before this returns. */
    public Buffer put(MemorySegment data, TensorType type, Device device) {
        return put(data, type, device.defaultMemory(), HostSemantics.COPY);
    }

    /**
     * Puts a dense array, major to minor, into a memory.
     *
     * @param data at least {@link TensorType#hostBytes} bytes; native memory unless it is copied
     * @throws UsageException.BadArgument if it is shorter, or on the heap and not copied, or of a type without data
     * @throws UsageException.Foreign if the memory is another client's
     */
    public Buffer put(MemorySegment data, TensorType type, Memory memory, HostSemantics semantics) {
        return put(data, type, memory, semantics, null);
    }

    /**
     * Puts a dense array, major to minor, into a memory, to lie there in another order: as a program wants it whose
     * {@link Executable#parameterLayouts} are not the usual ones.
     *
     * @throws UsageException.BadArgument as {@link #put(MemorySegment, TensorType, Memory, HostSemantics)}, or if the layout is of another
     *     rank
     */
    public Buffer put(MemorySegment data, TensorType type, Memory memory, Layout onDevice) {
        plugin.checkLayouts();
        return put(data, type, memory, HostSemantics.COPY, onDevice);
    }

    private Buffer put(
            MemorySegment data, TensorType type, Memory memory, HostSemantics semantics, @Nullable Layout onDevice) {
        own(memory);
        plugin.check(type);
        long bytes = type.hostBytes();
        if (type.element() == ElementType.TOKEN) {
            throw new UsageException.BadArgument("a token has no data to put on a device");
        }
        if (data.byteSize() < bytes) {
            throw new UsageException.BadArgument(
                    type + " takes " + bytes + " bytes, but " + data.byteSize() + " were given");
        }
        if (!data.isNative() && semantics != HostSemantics.COPY) {
            throw new UsageException.BadArgument("an array on the Java heap can only be copied: put it with "
                    + HostSemantics.COPY + ", or give native memory");
        }
        return handle.use((api, scratch, client) -> {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment source = data.isNative() ? data : arena.allocate(Math.max(1, bytes), 64);
                if (!data.isNative()) {
                    MemorySegment.copy(data, 0, source, 0, bytes);
                }
                MemorySegment args = PJRT_Client_BufferFromHostBuffer_Args.in(scratch);
                PJRT_Client_BufferFromHostBuffer_Args.client(args, client);
                PJRT_Client_BufferFromHostBuffer_Args.data(args, source.address());
                PJRT_Client_BufferFromHostBuffer_Args.type(args, type.element().code());
                PJRT_Client_BufferFromHostBuffer_Args.dims(
                        args, dimensions(scratch, type).address());
                PJRT_Client_BufferFromHostBuffer_Args.num_dims(
                        args, type.dimensions().size());
                PJRT_Client_BufferFromHostBuffer_Args.host_buffer_semantics(args, semantics.code);
                PJRT_Client_BufferFromHostBuffer_Args.memory(args, memory.address());
                if (onDevice != null) {
                    PJRT_Client_BufferFromHostBuffer_Args.device_layout(
                            args, onDevice.write(scratch, type).address());
                }
                api.call(PjrtFunction.PJRT_Client_BufferFromHostBuffer, args);
                Buffer buffer =
                        new Buffer(this, PJRT_Client_BufferFromHostBuffer_Args.buffer(args), type, onDevice != null);
                long done = PJRT_Client_BufferFromHostBuffer_Args.done_with_host_buffer(args);
                if (done != 0) {
                    if (semantics == HostSemantics.COPY) {
                        api.events().await(done);
                    } else {
                        // The plugin reads the memory until then, so it must not be collected.
                        api.events().keep(done, data);
                    }
                }
                return buffer;
            }
        });
    }

    /**
     * Puts an array that lies on the host in another order or with gaps, by a copy.
     *
     * @param byteStrides for each dimension the bytes from one element to the next, none below 0
     * @throws UsageException.BadArgument if the strides lead out of {@code data}, or are not one for each dimension
     */
    public Buffer put(MemorySegment data, TensorType type, Memory memory, long[] byteStrides) {
        int rank = type.dimensions().size();
        long end = type.elements() == 0 ? 0 : type.element().hostBytes();
        for (int d = 0; d < Math.min(rank, byteStrides.length) && end > 0; d++) {
            end = byteStrides[d] < 0
                    ? Long.MAX_VALUE
                    : LongMath.saturatedAdd(
                            end, LongMath.saturatedMultiply(type.dimensions().get(d) - 1, byteStrides[d]));
        }
        if (byteStrides.length != rank || end > data.byteSize()) {
            throw new UsageException.BadArgument(
                    "the strides " + Arrays.toString(byteStrides) + " for " + type + " lead out of the "
                            + data.byteSize() + " bytes given: one for each dimension, none below 0, is needed");
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment dense = arena.allocate(Math.max(1, type.hostBytes()), 64);
            gather(data, dense, type, byteStrides);
            return put(dense, type, memory, HostSemantics.COPY);
        }
    }

    /** Copies element by element, the last dimension in runs where it is dense. */
    private static void gather(MemorySegment from, MemorySegment to, TensorType type, long[] strides) {
        int rank = strides.length;
        long bytes = type.element().hostBytes();
        long run = rank > 0 && strides[rank - 1] == bytes ? type.dimensions().getLast() : 1;
        int outer = run == 1 ? rank : rank - 1;
        long count = run == 0 ? 0 : type.elements() / run;
        for (long i = 0; i < count; i++) {
            long rest = i;
            long at = 0;
            for (int d = outer - 1; d >= 0; d--) {
                long size = type.dimensions().get(d);
                at += rest % size * strides[d];
                rest /= size;
            }
            MemorySegment.copy(from, at, to, i * run * bytes, run * bytes);
        }
    }

    static MemorySegment dimensions(Scratch scratch, TensorType type) {
        return scratch.allocateFrom(
                ValueLayout.JAVA_LONG,
                type.dimensions().isEmpty()
                        ? new long[] {0}
                        : type.dimensions().stream().mapToLong(Long::longValue).toArray());
    }

    /** The version of the runtime's ABI, as a serialized proto (the ABI version extension). */
    public byte[] abiVersion() {
        return handle.use(AbiVersions::ofClient);
    }

    /** Throws the plugin's reason unless an executable of that {@link Executable#abiVersion} runs here. */
    public void checkCompatible(byte[] executableAbiVersion) {
        handle.use((api, scratch, client) -> {
            AbiVersions.check(api, scratch, client, executableAbiVersion);
            return null;
        });
    }

    /** The layout that arrays of a type get (the layouts extension). */
    public Layout defaultLayout(TensorType type) {
        plugin.check(type);
        return Layout.parse(handle.use((api, scratch, client) -> Layouts.defaultOfClient(
                api,
                scratch,
                client,
                type.element().code(),
                dimensions(scratch, type),
                type.dimensions().size())));
    }

    /** The device of that id, as the plugin finds it. */
    public Device lookUpDevice(int id) {
        return handle.use((api, scratch, client) -> {
            MemorySegment args = PJRT_Client_LookupDevice_Args.in(scratch);
            PJRT_Client_LookupDevice_Args.client(args, client);
            PJRT_Client_LookupDevice_Args.id(args, id);
            api.call(PjrtFunction.PJRT_Client_LookupDevice, args);
            return device(PJRT_Client_LookupDevice_Args.device(args));
        });
    }

    /** The addressable device of that hardware id, as the plugin finds it. */
    public Device lookUpAddressableDevice(int localHardwareId) {
        return handle.use((api, scratch, client) -> {
            MemorySegment args = PJRT_Client_LookupAddressableDevice_Args.in(scratch);
            PJRT_Client_LookupAddressableDevice_Args.client(args, client);
            PJRT_Client_LookupAddressableDevice_Args.local_hardware_id(args, localHardwareId);
            api.call(PjrtFunction.PJRT_Client_LookupAddressableDevice, args);
            return device(PJRT_Client_LookupAddressableDevice_Args.addressable_device(args));
        });
    }

    /** Arrays to be sent piece by piece into a memory. */
    public HostTransfer transfer(List<TensorType> types, Memory memory) {
        return HostTransfer.create(this, types, memory);
    }

    /** A buffer with memory but no data yet: what it holds is whatever lay there. */
    public Buffer uninitialized(TensorType type, Memory memory) {
        own(memory);
        plugin.check(type);
        return handle.use((api, scratch, client) -> {
            MemorySegment args = PJRT_Client_CreateUninitializedBuffer_Args.in(scratch);
            PJRT_Client_CreateUninitializedBuffer_Args.client(args, client);
            PJRT_Client_CreateUninitializedBuffer_Args.shape_dims(
                    args, dimensions(scratch, type).address());
            PJRT_Client_CreateUninitializedBuffer_Args.shape_num_dims(
                    args, type.dimensions().size());
            PJRT_Client_CreateUninitializedBuffer_Args.shape_element_type(
                    args, type.element().code());
            PJRT_Client_CreateUninitializedBuffer_Args.shape_layout(
                    args,
                    Layout.rowMajor(type.dimensions().size())
                            .write(scratch, type)
                            .address());
            PJRT_Client_CreateUninitializedBuffer_Args.memory(args, memory.address());
            api.call(PjrtFunction.PJRT_Client_CreateUninitializedBuffer, args);
            return new Buffer(this, PJRT_Client_CreateUninitializedBuffer_Args.buffer(args), type, false);
        });
    }

    /** A buffer that stands for an error: whatever uses it gets the error (plugins since 0.82). */
    public Buffer failed(TensorType type, Memory memory, int statusCode, String message) {
        own(memory);
        plugin.check(type);
        byte[] text = message.getBytes(StandardCharsets.UTF_8);
        return handle.use((api, scratch, client) -> {
            MemorySegment args = PJRT_Client_CreateErrorBuffer_Args.in(scratch);
            PJRT_Client_CreateErrorBuffer_Args.client(args, client);
            PJRT_Client_CreateErrorBuffer_Args.error_code(args, StatusException.checkCode(statusCode));
            PJRT_Client_CreateErrorBuffer_Args.error_message(
                    args, Native.bytes(scratch, text).address());
            PJRT_Client_CreateErrorBuffer_Args.error_message_size(args, text.length);
            PJRT_Client_CreateErrorBuffer_Args.shape_dims(
                    args, dimensions(scratch, type).address());
            PJRT_Client_CreateErrorBuffer_Args.shape_num_dims(
                    args, type.dimensions().size());
            PJRT_Client_CreateErrorBuffer_Args.shape_element_type(
                    args, type.element().code());
            PJRT_Client_CreateErrorBuffer_Args.shape_layout(
                    args,
                    Layout.rowMajor(type.dimensions().size())
                            .write(scratch, type)
                            .address());
            PJRT_Client_CreateErrorBuffer_Args.memory(args, memory.address());
            api.call(PjrtFunction.PJRT_Client_CreateErrorBuffer, args);
            return new Buffer(this, PJRT_Client_CreateErrorBuffer_Args.buffer(args), type, false);
        });
    }

    /**
     * A buffer over memory of the device that somebody else owns; {@code data} is kept reachable until the plugin is done with it.
     *
     * @param data memory that the device reads: on the CPU, native memory aligned to 64 bytes
     */
    public Buffer viewOf(MemorySegment data, TensorType type, Device device) {
        return viewOf(data, type, device, () -> {});
    }

    /** As {@link #viewOf(MemorySegment, TensorType, Device)}; {@code done} runs, once, when the plugin is done with the memory. */
    public Buffer viewOf(MemorySegment data, TensorType type, Device device, Runnable done) {
        if (device.client() != this) {
            throw new UsageException.Foreign(device + " belongs to another client");
        }
        plugin.check(type);
        if (!data.isNative() || data.byteSize() < type.hostBytes() || data.address() % 64 != 0) {
            throw new UsageException.BadArgument("a view as " + type + " needs " + type.hostBytes()
                    + " bytes of native memory at an address that 64 divides, not " + data.byteSize() + " bytes at "
                    + data.address());
        }
        return handle.use((api, scratch, client) -> {
            MemorySegment args = PJRT_Client_CreateViewOfDeviceBuffer_Args.in(scratch);
            PJRT_Client_CreateViewOfDeviceBuffer_Args.client(args, client);
            PJRT_Client_CreateViewOfDeviceBuffer_Args.device_buffer_ptr(args, data.address());
            PJRT_Client_CreateViewOfDeviceBuffer_Args.dims(
                    args, dimensions(scratch, type).address());
            PJRT_Client_CreateViewOfDeviceBuffer_Args.num_dims(
                    args, type.dimensions().size());
            PJRT_Client_CreateViewOfDeviceBuffer_Args.element_type(
                    args, type.element().code());
            PJRT_Client_CreateViewOfDeviceBuffer_Args.layout(
                    args,
                    Layout.rowMajor(type.dimensions().size())
                            .write(scratch, type)
                            .address());
            PJRT_Client_CreateViewOfDeviceBuffer_Args.device(args, device.address());
            api.events().keepUntilDeleted(data, done, (callback, number) -> {
                PJRT_Client_CreateViewOfDeviceBuffer_Args.on_delete_callback(args, callback);
                PJRT_Client_CreateViewOfDeviceBuffer_Args.on_delete_callback_arg(args, number);
                api.call(PjrtFunction.PJRT_Client_CreateViewOfDeviceBuffer, args);
            });
            return new Buffer(this, PJRT_Client_CreateViewOfDeviceBuffer_Args.buffer(args), type, false);
        });
    }

    /** Tells the driver of host memory that it may read directly; {@link #dmaUnmap} takes it back. */
    public void dmaMap(MemorySegment memory) {
        if (!memory.isNative()) {
            throw new UsageException.BadArgument("only native memory can be mapped for a device");
        }
        handle.use((api, scratch, client) -> {
            MemorySegment args = PJRT_Client_DmaMap_Args.in(scratch);
            PJRT_Client_DmaMap_Args.client(args, client);
            PJRT_Client_DmaMap_Args.data(args, memory.address());
            PJRT_Client_DmaMap_Args.size(args, memory.byteSize());
            api.call(PjrtFunction.PJRT_Client_DmaMap, args);
            return null;
        });
    }

    /** Takes {@link #dmaMap} back. */
    public void dmaUnmap(MemorySegment memory) {
        handle.use((api, scratch, client) -> {
            MemorySegment args = PJRT_Client_DmaUnmap_Args.in(scratch);
            PJRT_Client_DmaUnmap_Args.client(args, client);
            PJRT_Client_DmaUnmap_Args.data(args, memory.address());
            api.call(PjrtFunction.PJRT_Client_DmaUnmap, args);
            return null;
        });
    }

    /**
     * Host memory that the devices reach without a copy; to be closed before the client.
     *
     * @throws UsageException.BadArgument if no bytes are asked for
     * @throws UsageException.Unsupported if the plugin has neither extension for it
     */
    public HostMemory allocateHost(long bytes) {
        return HostMemory.allocate(this, bytes, OptionalInt.empty());
    }

    /**
     * As {@link #allocateHost(long)}, near a NUMA node.
     *
     * @throws UsageException.BadArgument also if the node is negative
     */
    public HostMemory allocateHost(long bytes, int numaNode) {
        return HostMemory.allocate(this, bytes, OptionalInt.of(numaNode));
    }

    /**
     * Transfers between devices of this process and others.
     *
     * @throws UsageException.Unsupported if the plugin has no cross-host transfers extension
     */
    public CrossHostTransfers crossHost() {
        api().extension(Extension.CROSS_HOST_TRANSFERS);
        return new CrossHostTransfers(this);
    }

    /**
     * What the runtime says while it runs.
     *
     * @throws UsageException.Unsupported if the plugin has no callback extension
     */
    public RuntimeEvents events() {
        api().extension(Extension.CALLBACK);
        return new RuntimeEvents(this);
    }

    /**
     * This process's end of the network between slices; to be closed.
     *
     * @throws UsageException.Unsupported if the plugin has no megascale extension
     */
    public Megascale megascale() {
        return Megascale.of(this);
    }

    /** Loads what a topology compiled, without serializing it (plugins since 0.95). */
    public LoadedExecutable load(Executable executable, CompileOptions options) {
        if (!executable.platform().name().equals(platform.name())) {
            throw new UsageException.Foreign("the executable was compiled for "
                    + executable.platform().name() + ", and" + " this client is " + platform.name());
        }
        return executable
                .handle()
                .use((_, _, compiled) -> handle.use((api, scratch, client) -> {
                    byte[] proto = options.toProto();
                    MemorySegment args = PJRT_Client_Load_Args.in(scratch);
                    PJRT_Client_Load_Args.client(args, client);
                    PJRT_Client_Load_Args.executable(args, compiled);
                    PJRT_Client_Load_Args.compile_options(
                            args, Native.bytes(scratch, proto).address());
                    PJRT_Client_Load_Args.compile_options_size(args, proto.length);
                    api.call(PjrtFunction.PJRT_Client_Load, args);
                    return new LoadedExecutable(this, PJRT_Client_Load_Args.loaded_executable(args));
                }));
    }

    private void own(Memory memory) {
        if (memory.client() != this) {
            throw new UsageException.Foreign("the memory " + memory + " belongs to another client");
        }
    }

    /** A buffer that stands for one which is not there yet (plugins since 0.77). */
    public AliasBuffer alias(TensorType type, Memory memory) {
        own(memory);
        plugin.check(type);
        return AliasBuffer.create(this, type, memory);
    }

    /** How another process of the job is. */
    public enum ProcessState {
        UNSPECIFIED,
        UNINITIALIZED,
        DISCONNECTED,
        CONNECTED,
        ERROR
    }

    /** What is known of a process of the job; {@code incarnation} changes when it starts anew. */
    public record ProcessInfo(int id, long incarnation, ProcessState state, int errorCode, String message) {}

    /** Tells the client of the job's processes, so that collectives with lost ones end (plugins since 0.73). */
    public void updateProcesses(List<ProcessInfo> processes) {
        handle.use((api, scratch, client) -> {
            long stride = PJRT_ProcessInfo.LAYOUT.byteSize();
            MemorySegment infos = scratch.allocate(Math.max(1, stride * processes.size()), 8);
            infos.fill((byte) 0);
            for (int i = 0; i < processes.size(); i++) {
                ProcessInfo process = processes.get(i);
                byte[] text = process.message().getBytes(StandardCharsets.UTF_8);
                MemorySegment info = infos.asSlice(i * stride, stride);
                PJRT_ProcessInfo.struct_size(info, PJRT_ProcessInfo.SIZE);
                PJRT_ProcessInfo.task_id(info, process.id());
                PJRT_ProcessInfo.incarnation_id(info, process.incarnation());
                PJRT_ProcessInfo.state(
                        info,
                        switch (process.state()) {
                            case UNSPECIFIED -> PJRT_ProcessState.kUnspecified;
                            case UNINITIALIZED -> PJRT_ProcessState.kUninitialized;
                            case DISCONNECTED -> PJRT_ProcessState.kDisconnected;
                            case CONNECTED -> PJRT_ProcessState.kConnected;
                            case ERROR -> PJRT_ProcessState.kError;
                        });
                PJRT_ProcessInfo.error_code(info, process.errorCode());
                PJRT_ProcessInfo.error_message(info, Native.bytes(scratch, text).address());
                PJRT_ProcessInfo.error_message_size(info, text.length);
            }
            MemorySegment args = PJRT_Client_UpdateGlobalProcessInfo_Args.in(scratch);
            PJRT_Client_UpdateGlobalProcessInfo_Args.client(args, client);
            PJRT_Client_UpdateGlobalProcessInfo_Args.process_infos(args, infos.address());
            PJRT_Client_UpdateGlobalProcessInfo_Args.num_process_infos(args, processes.size());
            api.call(PjrtFunction.PJRT_Client_UpdateGlobalProcessInfo, args);
            return null;
        });
    }

    /** Whether it was closed. */
    public boolean isClosed() {
        return handle.isClosed();
    }

    @Override
    public void close() {
        handle.close();
    }
}

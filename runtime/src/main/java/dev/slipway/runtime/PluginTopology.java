// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.DeepStack;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.Layouts;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.PhaseCompiler;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_Client_TopologyDescription_Args;
import dev.slipway.runtime.internal.abi.PJRT_Compile_Args;
import dev.slipway.runtime.internal.abi.PJRT_DeviceDescription_MemoryDescriptions_Args;
import dev.slipway.runtime.internal.abi.PJRT_MemoryDescription_Kind_Args;
import dev.slipway.runtime.internal.abi.PJRT_MemoryDescriptions_Extension;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_Attributes_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_Create_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_Deserialize_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_Fingerprint_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_GetDeviceDescriptions_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_GetMemorySpaceKindIds_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_PlatformName_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_PlatformVersion_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_Serialize_Args;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A plugin's description of a machine, which may not be there: what compilation without hardware starts from.
 *
 * <p>Made by {@link Plugin#topology}, or by {@link Client#topology} for what is there; either is closed by whoever asked.
 */
public final class PluginTopology implements AutoCloseable {

    private static final Pattern BOUNDS = Pattern.compile("^\\w+:(\\d+(?:x\\d+)*)$");

    /** A hundred times the largest machine there is. */
    private static final long MAX_CHIPS = 1 << 20;

    private final Plugin plugin;
    private final Handle handle;

    private PluginTopology(Plugin plugin, long address, @Nullable Handle client, boolean owned) {
        this.plugin = plugin;
        this.handle = new Handle("topology", plugin.api(), address, client, this, (api, scratch, topology) -> {
            if (owned) {
                MemorySegment args = PJRT_TopologyDescription_Destroy_Args.in(scratch);
                PJRT_TopologyDescription_Destroy_Args.topology(args, topology);
                api.call(PjrtFunction.PJRT_TopologyDescription_Destroy, args);
            }
        });
    }

    /** libtpu divides by zero on no chips, takes all memory or ends the process on too many, and no slices for one. */
    private static void check(String name, Map<String, NamedValue> options) {
        long chips = 1;
        Matcher bounds = BOUNDS.matcher(name);
        if (bounds.find()) {
            for (String bound : bounds.group(1).split("x", -1)) {
                chips = bound.length() > 7 ? MAX_CHIPS + 1 : Math.min(chips * Long.parseLong(bound), MAX_CHIPS + 1);
            }
        }
        checkSlices(
                "'" + name + "'",
                chips,
                options.get("num_slices") instanceof NamedValue.Int64 number ? number.value() : 1);
    }

    /** Refuses so many slices of so many chips, or devices. */
    static void checkSlices(String slice, long chips, long slices) {
        if (chips < 1 || chips > MAX_CHIPS || slices < 1 || slices > MAX_CHIPS / chips) {
            throw new UsageException.BadArgument(slice + " with " + slices
                    + " slices is no machine: 1 slice or more, and 1 to " + MAX_CHIPS + " chips in all, are one");
        }
    }

    static PluginTopology create(Plugin plugin, String name, Map<String, NamedValue> options) {
        check(name, options);
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_TopologyDescription_Create_Args.in(scratch);
            byte[] text = name.getBytes(StandardCharsets.UTF_8);
            PJRT_TopologyDescription_Create_Args.topology_name(
                    args, Native.bytes(scratch, text).address());
            PJRT_TopologyDescription_Create_Args.topology_name_size(args, text.length);
            PJRT_TopologyDescription_Create_Args.create_options(
                    args, Api.namedValues(scratch, options).address());
            PJRT_TopologyDescription_Create_Args.num_options(args, options.size());
            plugin.api().call(PjrtFunction.PJRT_TopologyDescription_Create, args);
            return new PluginTopology(plugin, PJRT_TopologyDescription_Create_Args.topology(args), null, true);
        }
    }

    static PluginTopology deserialize(Plugin plugin, byte[] serialized) {
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_TopologyDescription_Deserialize_Args.in(scratch);
            PJRT_TopologyDescription_Deserialize_Args.serialized_topology(
                    args, Native.bytes(scratch, serialized).address());
            PJRT_TopologyDescription_Deserialize_Args.serialized_topology_size(args, serialized.length);
            plugin.api().call(PjrtFunction.PJRT_TopologyDescription_Deserialize, args);
            return new PluginTopology(plugin, PJRT_TopologyDescription_Deserialize_Args.topology(args), null, true);
        }
    }

    static PluginTopology of(Plugin plugin, Handle client, long clientAddress) {
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_Client_TopologyDescription_Args.in(scratch);
            PJRT_Client_TopologyDescription_Args.client(args, clientAddress);
            plugin.api().call(PjrtFunction.PJRT_Client_TopologyDescription, args);
            return new PluginTopology(plugin, PJRT_Client_TopologyDescription_Args.topology(args), client, false);
        }
    }

    /** One that the plugin made, to be freed by whoever closes it. */
    static PluginTopology owned(Plugin plugin, long address) {
        return new PluginTopology(plugin, address, null, true);
    }

    /**
     * What a TPU plugin knows of the slice beyond its devices.
     *
     * @throws UsageException.Unsupported if the plugin has no TPU topology extension
     */
    public TpuTopology tpu() {
        plugin.api().extension(Extension.TPU_TOPOLOGY);
        return new TpuTopology(this);
    }

    /**
     * A machine of several slices like this one.
     *
     * @throws UsageException.Unsupported if the plugin lacks the megascale or the multi-slice extension
     * @throws UsageException.BadArgument if there are to be none, or more than 2^20 devices in all
     */
    public MultiSlice multiSlice(int slices) {
        return MultiSlice.of(this, slices);
    }

    /** The plugin that describes it. */
    public Plugin plugin() {
        return plugin;
    }

    Handle handle() {
        return handle;
    }

    /** The platform's name: {@code tpu}, {@code cuda}, {@code cpu}. */
    public String platformName() {
        return handle.use((api, scratch, topology) -> {
            MemorySegment args = PJRT_TopologyDescription_PlatformName_Args.in(scratch);
            PJRT_TopologyDescription_PlatformName_Args.topology(args, topology);
            api.call(PjrtFunction.PJRT_TopologyDescription_PlatformName, args);
            return Native.string(
                    PJRT_TopologyDescription_PlatformName_Args.platform_name(args),
                    PJRT_TopologyDescription_PlatformName_Args.platform_name_size(args));
        });
    }

    /** The platform's version, as the plugin words it. */
    public String platformVersion() {
        return handle.use((api, scratch, topology) -> {
            MemorySegment args = PJRT_TopologyDescription_PlatformVersion_Args.in(scratch);
            PJRT_TopologyDescription_PlatformVersion_Args.topology(args, topology);
            api.call(PjrtFunction.PJRT_TopologyDescription_PlatformVersion, args);
            return Native.string(
                    PJRT_TopologyDescription_PlatformVersion_Args.platform_version(args),
                    PJRT_TopologyDescription_PlatformVersion_Args.platform_version_size(args));
        });
    }

    /** The devices, in the plugin's order. */
    public List<DeviceDescription> devices() {
        return handle.use((api, scratch, topology) -> {
            MemorySegment args = PJRT_TopologyDescription_GetDeviceDescriptions_Args.in(scratch);
            PJRT_TopologyDescription_GetDeviceDescriptions_Args.topology(args, topology);
            api.call(PjrtFunction.PJRT_TopologyDescription_GetDeviceDescriptions, args);
            return Arrays.stream(Native.longs(
                            PJRT_TopologyDescription_GetDeviceDescriptions_Args.descriptions(args),
                            PJRT_TopologyDescription_GetDeviceDescriptions_Args.num_descriptions(args)))
                    .mapToObj(description -> DeviceDescription.read(api, description))
                    .toList();
        });
    }

    /** What the plugin says of the whole. */
    public Map<String, NamedValue> attributes() {
        return handle.use((api, scratch, topology) -> {
            MemorySegment args = PJRT_TopologyDescription_Attributes_Args.in(scratch);
            PJRT_TopologyDescription_Attributes_Args.topology(args, topology);
            api.call(PjrtFunction.PJRT_TopologyDescription_Attributes, args);
            return Api.namedValues(
                    PJRT_TopologyDescription_Attributes_Args.attributes(args),
                    PJRT_TopologyDescription_Attributes_Args.num_attributes(args));
        });
    }

    /** A hash of the description (plugins since 0.101). */
    public long fingerprint() {
        return handle.use((api, scratch, topology) -> {
            MemorySegment args = PJRT_TopologyDescription_Fingerprint_Args.in(scratch);
            PJRT_TopologyDescription_Fingerprint_Args.topology(args, topology);
            api.call(PjrtFunction.PJRT_TopologyDescription_Fingerprint, args);
            return PJRT_TopologyDescription_Fingerprint_Args.fingerprint(args);
        });
    }

    /** The description as bytes, for {@link Plugin#topology(byte[])} and for keys of caches. */
    public byte[] serialize() {
        return handle.use((api, scratch, topology) -> {
            MemorySegment args = PJRT_TopologyDescription_Serialize_Args.in(scratch);
            PJRT_TopologyDescription_Serialize_Args.topology(args, topology);
            api.call(PjrtFunction.PJRT_TopologyDescription_Serialize, args);
            try {
                return Native.bytes(
                        PJRT_TopologyDescription_Serialize_Args.serialized_bytes(args),
                        PJRT_TopologyDescription_Serialize_Args.serialized_bytes_size(args));
            } finally {
                Native.free(
                        PJRT_TopologyDescription_Serialize_Args.serialized_topology_deleter(args),
                        PJRT_TopologyDescription_Serialize_Args.serialized_topology(args));
            }
        });
    }

    /**
     * Compiles for this machine, a program of more than a few kilobytes on a thread of its own, as {@link Client#compile} does.
     *
     * @throws StatusException.CompileTimeHbmOom if the program does not fit the devices' memory
     * @throws StatusException if the compiler refuses the program otherwise
     */
    public Executable compile(Program program, CompileOptions options) {
        return DeepStack.call(
                program.size(),
                () -> handle.use((api, scratch, topology) -> {
                    MemorySegment args = PJRT_Compile_Args.in(scratch);
                    byte[] proto = options.toProto(program);
                    PJRT_Compile_Args.topology(args, topology);
                    PJRT_Compile_Args.program(args, program.write(scratch).address());
                    PJRT_Compile_Args.compile_options(
                            args, Native.bytes(scratch, proto).address());
                    PJRT_Compile_Args.compile_options_size(args, proto.length);
                    api.call(PjrtFunction.PJRT_Compile, args);
                    return new Executable(
                            plugin,
                            PJRT_Compile_Args.executable(args),
                            null,
                            new Platform(platformName(), platformVersion()));
                }));
    }

    /** The layout that arrays of a type have here (the layouts extension). */
    public Layout defaultLayout(TensorType type) {
        plugin.check(type);
        return Layout.parse(handle.use((api, scratch, topology) -> Layouts.defaultOfTopology(
                api,
                scratch,
                topology,
                type.element().code(),
                Client.dimensions(scratch, type),
                type.dimensions().size())));
    }

    /** The kinds of memory of each device, with the default one first where there is one (the memory descriptions extension). */
    public List<List<String>> memoryKinds() {
        return handle.use((api, scratch, topology) -> {
            MemorySegment args = PJRT_TopologyDescription_GetDeviceDescriptions_Args.in(scratch);
            PJRT_TopologyDescription_GetDeviceDescriptions_Args.topology(args, topology);
            api.call(PjrtFunction.PJRT_TopologyDescription_GetDeviceDescriptions, args);
            return Arrays.stream(Native.longs(
                            PJRT_TopologyDescription_GetDeviceDescriptions_Args.descriptions(args),
                            PJRT_TopologyDescription_GetDeviceDescriptions_Args.num_descriptions(args)))
                    .mapToObj(device -> memoryKinds(api, device))
                    .toList();
        });
    }

    private static List<String> memoryKinds(Api api, long device) {
        try (Scratch scratch = Scratch.open()) {
            Api.Table table = api.extension(Extension.MEMORY_DESCRIPTIONS);
            MemorySegment args = PJRT_DeviceDescription_MemoryDescriptions_Args.in(scratch);
            PJRT_DeviceDescription_MemoryDescriptions_Args.device_description(args, device);
            table.call(PJRT_MemoryDescriptions_Extension.PJRT_DeviceDescription_MemoryDescriptions, args);
            long preferred = PJRT_DeviceDescription_MemoryDescriptions_Args.default_memory_index(args);
            List<String> kinds = new ArrayList<>();
            for (long memory : Native.longs(
                    PJRT_DeviceDescription_MemoryDescriptions_Args.memory_descriptions(args),
                    PJRT_DeviceDescription_MemoryDescriptions_Args.num_memory_descriptions(args))) {
                MemorySegment kind = PJRT_MemoryDescription_Kind_Args.in(scratch);
                PJRT_MemoryDescription_Kind_Args.memory_description(kind, memory);
                table.call(PJRT_MemoryDescriptions_Extension.PJRT_MemoryDescription_Kind, kind);
                kinds.add(Native.string(
                        PJRT_MemoryDescription_Kind_Args.kind(kind), PJRT_MemoryDescription_Kind_Args.kind_size(kind)));
            }
            if (preferred > 0 && preferred < kinds.size()) {
                kinds.addFirst(kinds.remove((int) preferred));
            }
            return kinds;
        }
    }

    /** The numbers of the kinds of memory there are (plugins since 0.110). */
    public int[] memoryKindIds() {
        return handle.use((api, scratch, topology) -> {
            MemorySegment args = PJRT_TopologyDescription_GetMemorySpaceKindIds_Args.in(scratch);
            PJRT_TopologyDescription_GetMemorySpaceKindIds_Args.topology(args, topology);
            api.call(PjrtFunction.PJRT_TopologyDescription_GetMemorySpaceKindIds, args);
            return Native.ints(
                    PJRT_TopologyDescription_GetMemorySpaceKindIds_Args.memory_space_kind_ids(args),
                    PJRT_TopologyDescription_GetMemorySpaceKindIds_Args.num_memory_space_kind_ids(args));
        });
    }

    /** How arrays of a type lie in a kind of memory: a serialized {@code ShapeProto} (plugins since 0.109). */
    public byte[] canonicalShape(TensorType type, int memoryKindId) {
        plugin.check(type);
        return handle.use((api, scratch, topology) -> {
            MemorySegment args = PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args.in(scratch);
            PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args.topology(args, topology);
            PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args.memory_space_kind_id(args, memoryKindId);
            PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args.dims(
                    args, Client.dimensions(scratch, type).address());
            PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args.num_dims(
                    args, type.dimensions().size());
            PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args.element_type(
                    args, type.element().code());
            api.call(PjrtFunction.PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace, args);
            long shape = PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args.serialized_shape(args);
            try {
                return Native.bytes(
                        shape,
                        PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args.serialized_shape_size(args));
            } finally {
                Native.free(
                        PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args.serialized_shape_deleter(args),
                        shape);
            }
        });
    }

    /** The phases of the plugin's compiler, in order; empty if it has none (the phase compile extension). */
    public List<String> compilePhases() {
        return handle.use((api, scratch, topology) -> PhaseCompiler.names(api, scratch));
    }

    /**
     * Runs some phases of the plugin's compiler (the phase compile extension).
     *
     * @param programs serialized {@code PjRtPartialProgramProto}s
     * @param phases some of {@link #compilePhases}, in order
     * @return the programs after them, of the same kind
     */
    public List<byte[]> compilePhases(List<byte[]> programs, List<String> phases, CompileOptions options) {
        return handle.use((api, scratch, topology) ->
                PhaseCompiler.run(api, scratch, topology, programs, phases, options.toProto()));
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

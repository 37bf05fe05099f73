// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_Client_TopologyDescription_Args;
import dev.slipway.runtime.internal.abi.PJRT_Compile_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_Attributes_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_Create_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_Deserialize_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_Fingerprint_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_GetDeviceDescriptions_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_PlatformName_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_PlatformVersion_Args;
import dev.slipway.runtime.internal.abi.PJRT_TopologyDescription_Serialize_Args;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A plugin's description of a machine, which may not be there: what compilation without hardware starts from.
 *
 * <p>Made by {@link Plugin#topology}, or by {@link Client#topology} for what is there; either is closed by whoever asked.
 */
public final class PluginTopology implements AutoCloseable {

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

    static PluginTopology create(Plugin plugin, String name, Map<String, NamedValue> options) {
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
                Native.callVoid(
                        MemorySegment.ofAddress(
                                PJRT_TopologyDescription_Serialize_Args.serialized_topology_deleter(args)),
                        PJRT_TopologyDescription_Serialize_Args.serialized_topology(args));
            }
        });
    }

    /**
     * Compiles for this machine.
     *
     * @throws StatusException.CompileTimeHbmOom if the program does not fit the devices' memory
     * @throws StatusException if the compiler refuses the program otherwise
     */
    public Executable compile(Program program, CompileOptions options) {
        return handle.use((api, scratch, topology) -> {
            MemorySegment args = PJRT_Compile_Args.in(scratch);
            byte[] proto = options.toProto();
            PJRT_Compile_Args.topology(args, topology);
            PJRT_Compile_Args.program(args, program.write(scratch).address());
            PJRT_Compile_Args.compile_options(args, Native.bytes(scratch, proto).address());
            PJRT_Compile_Args.compile_options_size(args, proto.length);
            api.call(PjrtFunction.PJRT_Compile, args);
            return new Executable(
                    plugin, PJRT_Compile_Args.executable(args), null, new Platform(platformName(), platformVersion()));
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

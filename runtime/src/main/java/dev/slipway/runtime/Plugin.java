// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.FfiUpcall;
import dev.slipway.runtime.internal.NamelessLibrary;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.PartitionerUpcall;
import dev.slipway.runtime.internal.abi.PJRT_Custom_Partitioner_Extension;
import dev.slipway.runtime.internal.abi.PJRT_FFI_Extension;
import dev.slipway.runtime.internal.abi.PJRT_FFI_Register_Handler_Args;
import dev.slipway.runtime.internal.abi.PJRT_Gpu_Custom_Call;
import dev.slipway.runtime.internal.abi.PJRT_Gpu_Register_Custom_Call_Args;
import dev.slipway.runtime.internal.abi.PJRT_Plugin_Attributes_Args;
import dev.slipway.runtime.internal.abi.PJRT_Plugin_Initialize_Args;
import dev.slipway.runtime.internal.abi.PJRT_Register_Batch_Partitionable_Args;
import dev.slipway.runtime.internal.abi.PJRT_Register_Custom_Partitioner_Args;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import dev.slipway.topology.PluginSpec;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * A PJRT plugin: a shared library that compiles for a kind of machine and, where one is there, runs on it.
 *
 * <p>A library is loaded and initialised once in a process and never unloaded, since its registries and threads outlive any
 * handle; loading it again gives the same plugin. Variables of the C environment that it reads must be set before:
 * {@link Environment}.
 *
 * {@snippet :
 * Environment.set(Environment.DEVICELESS_TPU);
 * Plugin tpu = Plugin.load(path);
 * try (PluginTopology topology = tpu.topology("v5e:4x4", Map.of());
 *         Executable executable = topology.compile(stablehlo, CompileOptions.of(o -> o.numPartitions(16)))) {
 *     byte[] bytes = executable.serialize();
 * }
 * }
 */
public final class Plugin {

    /**
     * System property: {@code true} lets libtpu read its own names, so that profilers and its traces of aborts have them,
     * for 0.15 s at the first compilation.
     */
    public static final String NAMES_PROPERTY = "dev.slipway.runtime.libtpuNames";

    // The dynamic linker's own table of what is loaded is per process; this mirrors it.
    private static final Map<Path, Plugin> LOADED = new ConcurrentHashMap<>();

    /** Sizes near the end of 64 bits overflow in plugins, which then abort. */
    private static final long MAX_BYTES = 1L << 56;

    /** Of those tried, 0.81 ignores a layout, 0.106 takes it for the host's, and 0.115 does as it should. */
    private static final int LAYOUTS_SINCE = 107;

    /** What ELF has of each segment. */
    private static final int SEGMENT_BYTES = 56;

    private final Path path;
    private final Api api;

    private Plugin(Path path, Api api) {
        this.path = path;
        this.api = api;
    }

    /**
     * Loads and initialises the plugin in a shared library.
     *
     * @throws PluginException.Missing if there is no such file
     * @throws PluginException.NotAPlugin if it does not load or does not export {@code GetPjrtApi}
     * @throws PluginException.Incompatible if its major version is not 0, or it is older than 0.57, where the table of functions
     *     had another order
     * @throws StatusException if its initialisation fails
     */
    public static Plugin load(Path library) {
        Path path;
        try {
            path = library.toRealPath();
        } catch (IOException e) {
            throw new PluginException.Missing("no plugin at '" + library
                    + "': give the path of a PJRT plugin's shared library, or a name to install");
        }
        return LOADED.computeIfAbsent(path, Plugin::open);
    }

    /** {@link #load(Path)} after setting variables of the C environment. */
    public static Plugin load(Path library, Map<String, String> environment) {
        Environment.set(environment);
        return load(library);
    }

    private static Plugin open(Path path) {
        if (!Files.isRegularFile(path)) {
            throw new PluginException.NotAPlugin("'" + path + "' is not a file, so it is no PJRT plugin");
        }
        SymbolLookup symbols;
        refuseNoLibrary(path);
        try {
            symbols = nameless(path) ? NamelessLibrary.load(path) : SymbolLookup.libraryLookup(path, Arena.global());
        } catch (IllegalArgumentException e) {
            throw new PluginException.NotAPlugin(
                    "'" + path
                            + "' does not load as a shared library: it needs a library that is not there, or is of another"
                            + " machine (" + e.getMessage() + ")",
                    e);
        }
        MemorySegment entry = symbols.find("GetPjrtApi")
                .orElseThrow(() -> new PluginException.NotAPlugin(
                        "'" + path + "' exports no GetPjrtApi, so it is no PJRT plugin"));
        long address = Native.call(entry, 0);
        if (address == 0) {
            throw new PluginException.NotAPlugin("GetPjrtApi of '" + path + "' returned nothing");
        }
        Api api = new Api(String.valueOf(path.getFileName()), address);
        if (api.major() != 0 || api.minor() < 57) {
            throw new PluginException.Incompatible("'" + path + "' speaks PJRT " + api.major() + "." + api.minor()
                    + ": 0.57 or a later 0.x is needed");
        }
        try (Arena arena = Arena.ofConfined()) {
            api.call(PjrtFunction.PJRT_Plugin_Initialize, PJRT_Plugin_Initialize_Args.in(arena));
        }
        return new Plugin(path, api);
    }

    /** Whether a library is loaded so that it does not read its own names, which costs libtpu's first compilation 0.15 s. */
    private static boolean nameless(Path path) {
        return path.endsWith(PluginName.TPU.library()) && !Boolean.getBoolean(NAMES_PROPERTY);
    }

    /**
     * Refuses what is no ELF file, of which the loader's message does not say so, and one that is cut off: the loader maps what
     * the headers say, and touching what is not there would end the process.
     */
    private static void refuseNoLibrary(Path path) {
        try (FileChannel file = FileChannel.open(path)) {
            ByteBuffer header = read(file, 0, 64);
            if (header.limit() < 4 || header.getInt(0) != 0x464c457f) {
                throw new PluginException.NotAPlugin(
                        "'" + path + "' does not load as a shared library: it is not an ELF file");
            }
            long size = file.size();
            if (header.limit() < 64) {
                throw cutOff(path, size, 64);
            }
            long place = header.getLong(32);
            int step = Short.toUnsignedInt(header.getShort(54));
            if (place < 0 || step != SEGMENT_BYTES) {
                return; // no header of 64 bits: the loader refuses it
            }
            ByteBuffer segments = read(file, place, step * Short.toUnsignedInt(header.getShort(56)));
            for (int at = 0; at + 40 <= segments.limit(); at += step) {
                long end = segments.getLong(at + 8) + segments.getLong(at + 32);
                if (end > size) {
                    throw cutOff(path, size, end);
                }
            }
        } catch (IOException unreadable) {
            throw new PluginException.NotAPlugin("'" + path + "' cannot be read (" + unreadable + ")", unreadable);
        }
    }

    private static PluginException cutOff(Path path, long size, long end) {
        return new PluginException.NotAPlugin(
                "'" + path + "' is cut off: it has " + size + " bytes, and its headers place"
                        + " content up to byte " + end
                        + "; get it again (in the cache folder, delete the package's folder and run"
                        + " `slipway plugins install`)");
    }

    private static ByteBuffer read(FileChannel file, long at, int bytes) throws IOException {
        ByteBuffer read = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
        while (read.hasRemaining() && file.read(read, at + read.position()) > 0) {
            // some reads give less than was asked for
        }
        return read.flip();
    }

    /** The library's real path. */
    public Path path() {
        return path;
    }

    /** The version of the PJRT C API that the plugin was built with. */
    public Version version() {
        return new Version(api.major(), api.minor());
    }

    /** A version of the C API. */
    public record Version(int major, int minor) {
        @Override
        public String toString() {
            return major + "." + minor;
        }
    }

    /** What the plugin says of itself: {@code xla_version}, {@code stablehlo_current_version} and the like. */
    public Map<String, NamedValue> attributes() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment args = PJRT_Plugin_Attributes_Args.in(arena);
            api.call(PjrtFunction.PJRT_Plugin_Attributes, args);
            return Api.namedValues(
                    PJRT_Plugin_Attributes_Args.attributes(args), PJRT_Plugin_Attributes_Args.num_attributes(args));
        }
    }

    /** The extensions that the plugin has; numbers that this module does not know are left out. */
    public Set<Extension> extensions() {
        Set<Extension> found = EnumSet.noneOf(Extension.class);
        for (Extension extension : Extension.values()) {
            if (api.extensions().containsKey(extension.code())) {
                found.add(extension);
            }
        }
        return found;
    }

    /** Whether the plugin has the function of that C name, such as {@code PJRT_Buffer_Bitcast}. */
    public boolean hasFunction(String name) {
        for (PjrtFunction function : PjrtFunction.values()) {
            if (function.name().equals(name)) {
                return api.has(function);
            }
        }
        throw new UsageException.BadArgument("the PJRT C API has no function '" + name + "'");
    }

    /**
     * A client of the devices that are there.
     *
     * @param options as the plugin documents them; the CPU's {@code cpu_device_count} is an int64
     */
    public Client client(Map<String, NamedValue> options) {
        return Client.create(this, options, null);
    }

    /**
     * A client of a job of several processes.
     *
     * @param options as the plugin documents them, with this process's number and the number of processes
     * @param store by which the processes find each other; it is kept as long as this process
     */
    public Client client(Map<String, NamedValue> options, KeyValueStore store) {
        return Client.create(this, options, store);
    }

    /** A client with default options. */
    public Client client() {
        return client(Map.of());
    }

    /**
     * A machine that need not be there.
     *
     * @param name as the plugin spells it: {@code v5e:4x4}
     * @param options as the plugin documents them: {@code num_slices}, {@code chips_per_host_bounds}, {@code target_config} ...
     */
    public PluginTopology topology(String name, Map<String, NamedValue> options) {
        return PluginTopology.create(this, name, options);
    }

    /**
     * The machine that a {@link dev.slipway.topology.Topology} describes.
     *
     * @throws UsageException.BadArgument if it is a CPU, which is not described but there: see {@link #client}
     */
    public PluginTopology topology(PluginSpec machine) {
        return switch (machine) {
            case PluginSpec.Tpu tpu ->
                topology(
                        tpu.topologyName(),
                        Map.of(
                                "chip_config_name", NamedValue.of(tpu.chipConfigName()),
                                "chips_per_host_bounds",
                                        NamedValue.of(tpu.chipsPerHostBounds().stream()
                                                .map(Integer::longValue)
                                                .toList()),
                                "num_slices", NamedValue.of(tpu.numSlices())));
            case PluginSpec.Gpu gpu ->
                topology(
                        gpu.topologyName(),
                        Map.of(
                                "target_config", NamedValue.of(gpu.targetConfig()),
                                "topology", NamedValue.of(gpu.topology())));
            case PluginSpec.Cpu cpu ->
                throw new UsageException.BadArgument(
                        "a CPU of " + cpu.deviceCount() + " devices is compiled for by a client, not by a topology");
        };
    }

    /** A topology from {@link PluginTopology#serialize}. */
    public PluginTopology topology(byte[] serialized) {
        return PluginTopology.deserialize(this, serialized);
    }

    /**
     * Registers a custom call, for all clients of this plugin and for as long as the process lives (the FFI extension).
     *
     * @param target the call's name in programs
     * @param platform XLA's name of the platform: {@code Host} for CPUs, {@code CUDA}, {@code TPU}
     * @throws StatusException if the name is taken
     */
    public void registerHandler(String target, String platform, FfiHandler handler) {
        byte[] targetName = target.getBytes(StandardCharsets.UTF_8);
        byte[] platformName = platform.getBytes(StandardCharsets.UTF_8);
        Api.Table table = api.extension(Extension.FFI);
        if (!table.has(PJRT_FFI_Extension.register_handler)) {
            throw new UsageException.Unsupported(this + " does not register FFI handlers");
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment args = PJRT_FFI_Register_Handler_Args.in(arena);
            PJRT_FFI_Register_Handler_Args.target_name(
                    args, Native.bytes(arena, targetName).address());
            PJRT_FFI_Register_Handler_Args.target_name_size(args, targetName.length);
            PJRT_FFI_Register_Handler_Args.handler(args, FfiUpcall.stub(handler).address());
            PJRT_FFI_Register_Handler_Args.platform_name(
                    args, Native.bytes(arena, platformName).address());
            PJRT_FFI_Register_Handler_Args.platform_name_size(args, platformName.length);
            table.call(PJRT_FFI_Extension.register_handler, args);
        }
    }

    /**
     * Tells the plugin's partitioner that a custom call treats each index of its leading dimensions alone, so that it may be cut along
     * them, for as long as the process lives (the custom partitioner extension). A call in a program says how many those are, in
     * {@code mhlo.frontend_attributes = {num_batch_dims = "1"}}, and has {@code operand_layouts} and {@code result_layouts}.
     * Registering a call again changes nothing.
     *
     * @param target the call's name in programs
     * @throws UsageException.Unsupported if the plugin has no such extension, or an older one
     */
    public void registerBatchPartitionable(String target) {
        byte[] name = target.getBytes(StandardCharsets.UTF_8);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment args = PJRT_Register_Batch_Partitionable_Args.in(arena);
            PJRT_Register_Batch_Partitionable_Args.name(
                    args, Native.bytes(arena, name).address());
            PJRT_Register_Batch_Partitionable_Args.name_size(args, name.length);
            api.extension(Extension.CUSTOM_PARTITIONER)
                    .call(PJRT_Custom_Partitioner_Extension.register_batch_partitionable, args);
        }
    }

    /**
     * Tells the plugin's compiler how a custom call is cut over devices, for as long as the process lives (the custom partitioner extension).
     *
     * @param target the call's name in programs
     * @throws UsageException.BadArgument if the name is empty
     * @throws UsageException.Unsupported if the plugin has no such extension
     */
    public void registerPartitioner(String target, Partitioner partitioner) {
        byte[] name = checkName("a custom call", target).getBytes(StandardCharsets.UTF_8);
        Api.Table table = api.extension(Extension.CUSTOM_PARTITIONER);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment args = PJRT_Register_Custom_Partitioner_Args.in(arena);
            PJRT_Register_Custom_Partitioner_Args.name(
                    args, Native.bytes(arena, name).address());
            PJRT_Register_Custom_Partitioner_Args.name_size(args, name.length);
            PJRT_Register_Custom_Partitioner_Args.callbacks(
                    args, PartitionerUpcall.callbacks(partitioner).address());
            table.call(PJRT_Custom_Partitioner_Extension.register_custom_partitioner, args);
        }
    }

    /**
     * Registers a custom call of GPUs by the extension that is older than FFI's, for as long as the process lives (the GPU custom call
     * extension); {@link #registerHandler} is the way of today.
     *
     * @param target the call's name in programs
     * @throws UsageException.BadArgument if the name is empty
     * @throws UsageException.Unsupported if the plugin has no such extension
     */
    public void registerGpuCustomCall(String target, FfiHandler handler) {
        byte[] name = checkName("a custom call", target).getBytes(StandardCharsets.UTF_8);
        Api.Table table = api.extension(Extension.GPU_CUSTOM_CALL);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment args = PJRT_Gpu_Register_Custom_Call_Args.in(arena);
            PJRT_Gpu_Register_Custom_Call_Args.function_name(
                    args, Native.bytes(arena, name).address());
            PJRT_Gpu_Register_Custom_Call_Args.function_name_size(args, name.length);
            // 1 is a handler of FFI, 0 a bare function.
            PJRT_Gpu_Register_Custom_Call_Args.api_version(args, 1);
            PJRT_Gpu_Register_Custom_Call_Args.handler_execute(
                    args, FfiUpcall.stub(handler).address());
            table.call(PJRT_Gpu_Custom_Call.custom_call, args);
        }
    }

    private static String checkName(String what, String name) {
        if (name.isEmpty()) {
            throw new UsageException.BadArgument(what + " needs a name");
        }
        return name;
    }

    /**
     * Compiles a Triton kernel.
     *
     * @param module Triton's MLIR, as text
     * @param architecture the GPU, as {@code 9.0}
     * @throws UsageException.Unsupported if the plugin has no Triton extension
     */
    public TritonKernel compileTriton(String module, String architecture, TritonKernel.Launch launch) {
        return TritonKernel.compile(this, module, architecture, launch);
    }

    /**
     * What is known of a generation of TPUs.
     *
     * @param name as libtpu spells it
     * @throws UsageException.Unsupported if the plugin has no TPU topology extension
     */
    public TpuPlatform tpuPlatform(String name) {
        api.extension(Extension.TPU_TOPOLOGY);
        return new TpuPlatform(this, name);
    }

    /**
     * Whether what was compiled elsewhere runs elsewhere.
     *
     * @throws UsageException.Unsupported if the plugin has no ABI version extension
     */
    public AbiCompatibility abiCompatibility() {
        api.extension(Extension.ABI_VERSION);
        return new AbiCompatibility(this);
    }

    /**
     * The network between slices, for a process without devices; to be closed.
     *
     * @throws UsageException.Unsupported if the plugin has no megascale extension
     */
    public Megascale megascale() {
        return Megascale.create(this);
    }

    /**
     * The addresses of this host's network interfaces, each as a serialized proto of libtpu's (the megascale extension).
     *
     * @param portName how the port is called
     * @param prefixes of the names of the interfaces that count, as {@code eth}
     * @param all whether all interfaces with such names count, or else the first
     * @param near whether only those of this process's NUMA node count
     * @throws UsageException.BadArgument if the port is not from 0 to 65535
     */
    public List<byte[]> megascaleInterfaces(
            String portName, int port, List<String> prefixes, boolean all, boolean near) {
        return Megascale.interfaces(this, portName, port, prefixes, all, near);
    }

    /**
     * Gathers the errors of a job's workers; to be closed.
     *
     * @param application how the job is called in the report
     * @throws UsageException.Unsupported if the plugin has no megascale extension
     */
    public MegascaleErrors megascaleErrors(String application) {
        return MegascaleErrors.create(this, application);
    }

    /**
     * Hears of errors of the network between slices, until closed; the listener is given a serialized proto of libtpu's, on a thread of the
     * plugin's.
     *
     * @param name one for each listener
     * @throws UsageException.BadArgument if the name is empty
     * @throws UsageException.Unsupported if the plugin has no megascale extension
     */
    public MegascaleErrors.Handler onMegascaleError(String name, Consumer<byte[]> listener) {
        return MegascaleErrors.Handler.register(this, name, listener);
    }

    /**
     * An error of the network between slices, for {@link MegascaleErrors#add}.
     *
     * @param type libtpu's number of the kind of error
     * @param statusCode 1 to 16
     * @param unrecoverableType libtpu's number, where nothing helps
     * @throws UsageException.BadArgument if the status code is no error
     */
    public MegascaleErrors.RuntimeError megascaleError(
            int type, Instant start, int statusCode, String message, int launchId, OptionalInt unrecoverableType) {
        return MegascaleErrors.runtimeError(this, type, start, statusCode, message, launchId, unrecoverableType);
    }

    /**
     * What the plugin reads from executables for TPUs.
     *
     * @throws UsageException.Unsupported if it has no TPU executable extension
     */
    public TpuExecutables tpuExecutables() {
        api.extension(Extension.TPU_EXECUTABLE);
        return new TpuExecutables(this);
    }

    /**
     * Begins a record of what the plugin does, until it is stopped or closed.
     *
     * @throws UsageException.Unsupported if it has no profiler extension
     * @throws StatusException if it cannot record now: {@link StatusException.Unavailable} from libtpu, which has one record at a time
     */
    public Profiler startProfiler(Profiler.Options options) {
        return Profiler.start(this, options);
    }

    /**
     * Adds a pass to the plugin's compiler, for whatever is compiled until the registration is closed.
     *
     * @param name by which the plugin knows it, one for each pass
     * @throws UsageException.Unsupported if it has no XLA transform extension
     * @throws UsageException.BadArgument if the name is empty
     */
    public HloPass.Registration registerPass(String name, HloPass.Stage stage, HloPass pass) {
        return HloPass.Registration.of(this, name, stage, pass);
    }

    /**
     * How devices of several slices are called.
     *
     * @throws UsageException.Unsupported if it has no megascale extension
     */
    public MegascaleIds megascaleIds() {
        api.extension(Extension.MEGASCALE);
        return new MegascaleIds(this);
    }

    /** An event that Java sets (since 0.89). */
    public Promise promise() {
        return Promise.create(this);
    }

    /** What a run carries along for the custom calls in it. */
    public ExecuteContext executeContext() {
        return ExecuteContext.create(this);
    }

    /** The number that a type of user data has for {@link ExecuteContext#add} (the FFI extension). */
    public long registerUserDataType(String name) {
        return ExecuteContext.registerType(this, name);
    }

    /** Refuses types that the plugin would crash on: those it is too old for, and those whose size overflows. */
    void check(TensorType type) {
        if (type.element() == ElementType.TOKEN) {
            throw new UsageException.BadArgument("a token has no data and no layout: only programs pass it on");
        }
        if (type.element().since() > api.minor()) {
            throw new UsageException.Unsupported(this + " does not know the element type " + type.element()
                    + " (since 0." + type.element().since() + ")");
        }
        if (type.hostBytes() > MAX_BYTES) {
            throw new UsageException.BadArgument(type + " takes " + type.hostBytes() + " bytes: no array of more than "
                    + MAX_BYTES + " can be made");
        }
    }

    /** Refuses layouts of single arrays for plugins that take them and then mistake or ignore them. */
    void checkLayouts() {
        if (api.minor() < LAYOUTS_SINCE) {
            throw new UsageException.Unsupported(
                    this + " does not lay single arrays out as it is told: plugins since 0." + LAYOUTS_SINCE + " do");
        }
    }

    Api api() {
        return api;
    }

    @Override
    public String toString() {
        return api.name() + " (PJRT " + version() + ")";
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.AliasBuffer;
import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.Client;
import dev.slipway.runtime.CompileOptions;
import dev.slipway.runtime.Conformance.Check;
import dev.slipway.runtime.Conformance.Status;
import dev.slipway.runtime.Conformance.Target;
import dev.slipway.runtime.Device;
import dev.slipway.runtime.DeviceDescription;
import dev.slipway.runtime.ElementType;
import dev.slipway.runtime.Executable;
import dev.slipway.runtime.ExecuteContext;
import dev.slipway.runtime.ExecuteOptions;
import dev.slipway.runtime.Extension;
import dev.slipway.runtime.HostTransfer;
import dev.slipway.runtime.LoadedExecutable;
import dev.slipway.runtime.Memory;
import dev.slipway.runtime.PjrtException;
import dev.slipway.runtime.Plugin;
import dev.slipway.runtime.PluginTopology;
import dev.slipway.runtime.Program;
import dev.slipway.runtime.Promise;
import dev.slipway.runtime.SerializedExecutable;
import dev.slipway.runtime.StatusException;
import dev.slipway.runtime.TensorType;
import dev.slipway.runtime.UsageException;
import dev.slipway.runtime.internal.abi.PjrtAbi;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The checks of {@link dev.slipway.runtime.Conformance}. */
public final class ConformanceChecks {

    private static final TensorType VECTOR = TensorType.of(ElementType.F32, 4);
    private static final float[] VALUES = {1, 2, 3, 4};

    private static final String DOUBLE = """
            module @double {
              func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
                %y = stablehlo.add %x, %x : tensor<4xf32>
                return %y : tensor<4xf32>
              }
            }
            """;
    private static final String DONATING =
            DOUBLE.replace("%x: tensor<4xf32>)", "%x: tensor<4xf32> {tf.aliasing_output = 0 : i32})");
    private static final String SUM_OF_TWO = """
            module @sum {
              sdy.mesh @mesh = <["x"=2]>
              func.func @main(%x: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
                %zero = stablehlo.constant dense<0.0> : tensor<f32>
                %y = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
                    : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
                return %y : tensor<f32>
              }
            }
            """;

    private final Plugin plugin;
    private final Map<String, Body> checks = new LinkedHashMap<>();
    private final List<AutoCloseable> opened = new ArrayList<>();
    private final Target target;
    private @Nullable Client client;
    private @Nullable RuntimeException noClient;
    private @Nullable PluginTopology topology;
    private @Nullable Executable executable;
    private @Nullable LoadedExecutable loaded;

    @FunctionalInterface
    private interface Body {
        Object run() throws Exception;
    }

    private ConformanceChecks(Plugin plugin, Target target) {
        this.plugin = plugin;
        this.target = target;
        describePlugin();
        describeTopology();
        describeClient();
        compile();
        transfer();
        execute();
    }

    /** Runs all checks. */
    public static List<Check> run(Plugin plugin, Target target, Consumer<Check> listener) {
        ConformanceChecks all = new ConformanceChecks(plugin, target);
        List<Check> results = new ArrayList<>();
        try {
            all.checks.forEach((name, body) -> {
                Check check = run(name, body);
                results.add(check);
                listener.accept(check);
            });
        } finally {
            all.close();
        }
        return results;
    }

    private static Check run(String name, Body body) {
        try {
            return new Check(name, Status.PASS, line(String.valueOf(body.run())));
        } catch (UsageException.Unsupported | StatusException.Unimplemented e) {
            return new Check(name, Status.UNSUPPORTED, line(String.valueOf(e.getMessage())));
        } catch (StatusException.NotFound e) {
            // How CPU plugins say that they do not compile without a client.
            boolean absent = String.valueOf(e.getMessage()).startsWith("No compiler");
            return new Check(name, absent ? Status.UNSUPPORTED : Status.FAILED, line(String.valueOf(e.getMessage())));
        } catch (CompletionException e) {
            return e.getCause() instanceof StatusException.Unimplemented cause
                    ? new Check(name, Status.UNSUPPORTED, line(String.valueOf(cause.getMessage())))
                    : new Check(name, Status.FAILED, line(String.valueOf(e.getCause())));
        } catch (Exception | AssertionError e) {
            return new Check(
                    name,
                    Status.FAILED,
                    line(e instanceof PjrtException ? String.valueOf(e.getMessage()) : e.toString()));
        }
    }

    private static String line(String text) {
        String first = text.strip().lines().findFirst().orElse("");
        return first.length() > 160 ? first.substring(0, 157) + "..." : first;
    }

    private void close() {
        for (AutoCloseable one : opened.reversed()) {
            try {
                one.close();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private <T extends AutoCloseable> T keep(T one) {
        opened.add(one);
        return one;
    }

    private Client client() {
        if (noClient != null) {
            throw new UsageException.Unsupported("no client: " + line(String.valueOf(noClient.getMessage())));
        }
        Client there = client;
        if (there == null) {
            try {
                there = keep(plugin.client(target.client()));
                client = there;
            } catch (RuntimeException e) {
                noClient = e;
                throw e instanceof StatusException
                        ? new UsageException.Unsupported("no client: " + line(String.valueOf(e.getMessage())))
                        : e;
            }
        }
        return there;
    }

    private PluginTopology topology() {
        PluginTopology there = topology;
        if (there == null) {
            there = keep(
                    target.machine().isPresent()
                            ? plugin.topology(target.machine().get())
                            : client().topology());
            topology = there;
        }
        return there;
    }

    /** What is compiled without loading: for the described machine, or what the client compiled. */
    private Executable executable() {
        Executable there = executable;
        if (there == null) {
            there = target.machine().isPresent()
                    ? keep(topology().compile(Program.stablehlo(DOUBLE), CompileOptions.defaults()))
                    : loaded().executable();
            executable = there;
        }
        return there;
    }

    private LoadedExecutable loaded() {
        LoadedExecutable there = loaded;
        if (there == null) {
            there = keep(client().compile(Program.stablehlo(DOUBLE), CompileOptions.defaults()));
            loaded = there;
        }
        return there;
    }

    private Device device() {
        return client().addressableDevices().getFirst();
    }

    private Memory memory() {
        return device().defaultMemory();
    }

    private Buffer vector() {
        return client().put(MemorySegment.ofArray(VALUES.clone()), VECTOR, device());
    }

    private static float[] floats(Buffer buffer) {
        try (Arena arena = Arena.ofConfined()) {
            return buffer.toHost(arena).toArray(ValueLayout.JAVA_FLOAT);
        }
    }

    private static Object expect(Object expected, Object got) {
        boolean equal = Objects.deepEquals(expected, got);
        if (!equal) {
            throw new AssertionError("expected " + text(expected) + ", got " + text(got));
        }
        return text(got);
    }

    private static String text(Object value) {
        return value instanceof float[] floats ? Arrays.toString(floats) : String.valueOf(value);
    }

    private static Object expectError(Class<? extends RuntimeException> type, Body body) throws Exception {
        try {
            Object got = body.run();
            throw new AssertionError("expected " + type.getSimpleName() + ", got " + got);
        } catch (RuntimeException e) {
            Throwable cause = e instanceof CompletionException && e.getCause() != null ? e.getCause() : e;
            if (cause instanceof StatusException.Unimplemented || cause instanceof UsageException.Unsupported) {
                throw (RuntimeException) cause;
            }
            if (!type.isInstance(cause)) {
                throw e;
            }
            return cause.getClass().getSimpleName();
        }
    }

    private static String nonEmpty(String text) {
        if (text.isEmpty()) {
            throw new AssertionError("empty");
        }
        return text;
    }

    private static String bytes(byte[] bytes) {
        if (bytes.length == 0) {
            throw new AssertionError("empty");
        }
        return bytes.length + " bytes";
    }

    private void describePlugin() {
        checks.put("plugin.version", () -> plugin.version());
        checks.put("plugin.functions", () -> {
            long there = Arrays.stream(PjrtFunction.values())
                    .filter(function -> plugin.hasFunction(function.name()))
                    .count();
            List<PjrtFunction> missing = Arrays.stream(PjrtFunction.values())
                    .filter(function -> function.since() <= plugin.version().minor())
                    .filter(function -> !plugin.hasFunction(function.name()))
                    .toList();
            expect(List.of(), missing);
            return there + " of the " + PjrtFunction.values().length + " of 0." + PjrtAbi.MINOR;
        });
        checks.put("plugin.attributes", () -> {
            var attributes = plugin.attributes();
            if (!attributes.containsKey("stablehlo_current_version")) {
                throw new AssertionError("no stablehlo_current_version in " + attributes.keySet());
            }
            return "StableHLO " + attributes.get("stablehlo_current_version").text();
        });
        checks.put("plugin.loading_again_gives_the_same", () -> expect(plugin, Plugin.load(plugin.path())));
        checks.put("plugin.promise", () -> {
            try (Promise kept = plugin.promise();
                    Promise failed = plugin.promise()) {
                expect(false, kept.isDone());
                kept.complete();
                failed.fail(14, "on purpose");
                expect(true, kept.isDone() && kept.error().isEmpty());
                return expect(14, failed.error().orElseThrow().code());
            }
        });
        checks.put("plugin.execute_context", () -> {
            try (ExecuteContext _ = plugin.executeContext()) {
                return "made and freed";
            }
        });
        for (Extension extension : Extension.values()) {
            if (extension == Extension.EXAMPLE || extension == Extension.UNKNOWN) {
                continue;
            }
            checks.put("extension." + extension.name().toLowerCase(Locale.ROOT), () -> {
                if (!plugin.extensions().contains(extension)) {
                    throw new UsageException.Unsupported("not in the plugin's chain");
                }
                return "present";
            });
        }
    }

    private void describeTopology() {
        checks.put("topology.create", () -> topology().platformName());
        checks.put("topology.platform_version", () -> nonEmpty(topology().platformVersion()));
        checks.put(
                "topology.devices",
                () -> topology().devices().size() + " x "
                        + topology().devices().getFirst().kind());
        checks.put("topology.attributes", () -> topology().attributes().keySet());
        checks.put("topology.serialize_and_read", () -> {
            byte[] serialized = topology().serialize();
            try (PluginTopology again = plugin.topology(serialized)) {
                expect(topology().devices().size(), again.devices().size());
            }
            return bytes(serialized);
        });
        checks.put("topology.fingerprint", () -> Long.toHexString(topology().fingerprint()));
        checks.put("topology.default_layout", () -> topology().defaultLayout(TensorType.of(ElementType.BF16, 2, 3)));
        checks.put("topology.memory_kinds", () -> topology().memoryKinds().getFirst());
        checks.put("topology.memory_kind_ids", () -> Arrays.toString(topology().memoryKindIds()));
        checks.put(
                "topology.canonical_shape",
                () -> bytes(topology().canonicalShape(VECTOR, topology().memoryKindIds()[0])));
        checks.put("topology.compile_phases", () -> {
            List<String> phases = topology().compilePhases();
            if (phases.isEmpty()) {
                throw new UsageException.Unsupported("the compiler has no phases");
            }
            return phases;
        });
        checks.put("topology.unknown_name_is_an_error", () -> {
            if (target.machine().isEmpty()) {
                throw new UsageException.Unsupported("this plugin describes what is there");
            }
            return expectError(StatusException.class, () -> plugin.topology("no-such-machine", Map.of()));
        });
    }

    private void describeClient() {
        checks.put("client.create", () -> client().platform());
        checks.put("client.process_index", () -> expect(0, client().processIndex()));
        checks.put("client.devices", () -> client().devices());
        checks.put(
                "client.addressable_devices",
                () -> client().addressableDevices().size());
        checks.put("client.look_up_device", () -> expect(device(), client().lookUpDevice(device().id())));
        checks.put(
                "client.look_up_addressable_device",
                () -> expect(device(), client().lookUpAddressableDevice(device().localHardwareId())));
        checks.put("client.default_device_assignment", () -> Arrays.toString(client().defaultDeviceAssignment(1, 1)));
        checks.put("client.default_layout", () -> client().defaultLayout(TensorType.of(ElementType.F32, 2, 3)));
        checks.put("client.abi_version", () -> bytes(client().abiVersion()));
        checks.put("client.dma_map", () -> {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment page = arena.allocate(4096, 4096);
                client().dmaMap(page);
                client().dmaUnmap(page);
                return "mapped and unmapped";
            }
        });
        checks.put("device.description", () -> {
            DeviceDescription description = device().description();
            return description.kind() + ", id " + description.id() + ", attributes "
                    + description.attributes().keySet();
        });
        checks.put("device.attributes", () -> device().attributes().keySet());
        checks.put(
                "device.memories",
                () -> device().memories().stream().map(Memory::kind).toList());
        checks.put("device.memory_stats", () -> device().memoryStats());
        checks.put("device.clear_memory_stats", () -> {
            device().clearMemoryStats();
            return "cleared";
        });
        checks.put("device.poison", () -> expect(false, device().poison(12345, 13, "nothing is launched")));
        checks.put("device.track", () -> {
            device().track("a check").close();
            return "tracked";
        });
        checks.put("memory.devices_and_kind", () -> {
            if (!memory().devices().contains(device())) {
                throw new AssertionError(memory() + " is not reached by its device");
            }
            return memory() + ", kind " + memory().kindId();
        });
    }

    private void compile() {
        checks.put("compile.stablehlo_text", () -> nonEmpty(executable().name()));
        checks.put(
                "compile.error_is_typed",
                () -> expectError(StatusException.class, () -> {
                    Program wrong = Program.stablehlo("func.func @main() { nonsense }");
                    return target.machine().isPresent()
                            ? topology().compile(wrong, CompileOptions.defaults())
                            : client().compile(wrong, CompileOptions.defaults());
                }));
        checks.put("compile.spmd_for_two_devices", () -> {
            CompileOptions options = CompileOptions.of(o -> o.numPartitions(2));
            if (target.machine().isEmpty()) {
                needTwoDevices();
                try (LoadedExecutable sum = client().compile(Program.stablehlo(SUM_OF_TWO), options)) {
                    return expect(2, sum.executable().numPartitions());
                }
            }
            try (Executable sum = topology().compile(Program.stablehlo(SUM_OF_TWO), options)) {
                return expect(2, sum.numPartitions());
            }
        });
        checks.put("compile.topology_then_load", () -> {
            try (Executable compiled =
                            client().topology().compile(Program.stablehlo(DOUBLE), CompileOptions.defaults());
                    LoadedExecutable here = client().load(compiled, CompileOptions.defaults());
                    Buffer x = vector();
                    Buffer y = here.execute(x).getFirst()) {
                return expect(new float[] {2, 4, 6, 8}, floats(y));
            }
        });
        checks.put(
                "executable.outputs", () -> expect(List.of(VECTOR), executable().outputs()));
        checks.put(
                "executable.counts",
                () -> expect(
                        "1 replica, 1 partition, 1 output",
                        executable().numReplicas() + " replica, " + executable().numPartitions() + " partition, "
                                + executable().numOutputs() + " output"));
        checks.put(
                "executable.fingerprint",
                () -> nonEmpty(executable().fingerprint()).length() + " characters");
        checks.put("executable.code_size", () -> executable().codeSize() + " bytes");
        checks.put("executable.memory", () -> executable().memory());
        checks.put(
                "executable.cost_analysis",
                () -> expect(4.0, executable().costAnalysis().getOrDefault("flops", -1.0)) + " flops");
        checks.put("executable.output_memory_kinds", () -> executable().outputMemoryKinds());
        checks.put("executable.parameter_memory_kinds", () -> executable().parameterMemoryKinds());
        checks.put("executable.output_layouts", () -> executable().outputLayouts());
        checks.put("executable.parameter_layouts", () -> executable().parameterLayouts());
        checks.put(
                "executable.parameter_shardings",
                () -> executable().parameterShardings().size());
        checks.put(
                "executable.output_shardings",
                () -> executable().outputShardings().size());
        checks.put("executable.optimized_program", () -> {
            Program program = executable().optimizedProgram();
            return program.format() + ", " + bytes(program.code());
        });
        checks.put("executable.compile_options", () -> bytes(executable().compileOptions()));
        checks.put("executable.abi_version", () -> bytes(executable().abiVersion()));
        checks.put("executable.metadata", () -> bytes(executable().metadata()));
        checks.put("executable.serialize", () -> bytes(executable().serializeBare()));
        checks.put("executable.serialize_load_run", () -> {
            byte[] saved = loaded().executable().serialize().toBytes();
            try (LoadedExecutable again = client().load(SerializedExecutable.of(saved));
                    Buffer x = vector();
                    Buffer y = again.execute(x).getFirst()) {
                return expect(new float[] {2, 4, 6, 8}, floats(y));
            }
        });
        checks.put("loaded.device_assignment", () -> bytes(loaded().deviceAssignment()));
        checks.put("loaded.fingerprint", () -> nonEmpty(loaded().fingerprint()).length() + " characters");
        checks.put("loaded.logical_ids", () -> loaded().logicalIds());
        checks.put("loaded.delete", () -> {
            try (LoadedExecutable other = client().compile(Program.stablehlo(DOUBLE), CompileOptions.defaults())) {
                other.delete();
                if (!other.isDeleted()) {
                    throw new UsageException.Unsupported("the plugin keeps the code until the handle is closed");
                }
                return "deleted";
            }
        });
    }

    private void needTwoDevices() {
        if (client().addressableDevices().size() < 2) {
            throw new UsageException.Unsupported("only one device here");
        }
    }

    private void transfer() {
        checks.put("buffer.all_element_types_there_and_back", this::allTypes);
        checks.put("buffer.large_there_and_back", () -> {
            byte[] data = new byte[16 << 20];
            ThreadLocalRandom.current().nextBytes(data);
            try (Buffer buffer =
                    client().put(MemorySegment.ofArray(data), TensorType.of(ElementType.U8, data.length), device())) {
                byte[] back = new byte[data.length];
                buffer.toHost(MemorySegment.ofArray(back));
                return "16 MiB: " + expect(true, Arrays.equals(data, back));
            }
        });
        checks.put("buffer.rank_zero_and_empty", () -> {
            try (Buffer scalar = client().put(
                                    MemorySegment.ofArray(new float[] {7}), TensorType.of(ElementType.F32), device());
                    Buffer empty = client().put(
                                    MemorySegment.ofArray(new float[0]),
                                    TensorType.of(ElementType.F32, 0, 3),
                                    device())) {
                expect(new float[] {7}, floats(scalar));
                return expect(new float[0], floats(empty));
            }
        });
        checks.put("buffer.describes_itself", () -> {
            try (Buffer buffer = vector()) {
                expect(VECTOR, buffer.type());
                expect(device(), buffer.device());
                return buffer.type() + " in " + buffer.memory() + ", " + buffer.onDeviceBytes() + " bytes";
            }
        });
        checks.put("buffer.layout", () -> {
            try (Buffer buffer = vector()) {
                return buffer.layout();
            }
        });
        checks.put("buffer.dynamic_dimensions", () -> {
            try (Buffer buffer = vector()) {
                return expect(
                        "[] [4]",
                        Arrays.toString(buffer.dynamicDimensions()) + " "
                                + Arrays.toString(buffer.unpaddedDimensions()));
            }
        });
        checks.put("buffer.ready_future", () -> {
            try (Buffer buffer = vector()) {
                buffer.ready().get(30, TimeUnit.SECONDS);
                return "ready";
            }
        });
        checks.put("buffer.to_host_async", () -> {
            try (Arena arena = Arena.ofShared();
                    Buffer buffer = vector()) {
                MemorySegment copy = arena.allocate(16, 64);
                buffer.toHostAsync(copy).get(30, TimeUnit.SECONDS);
                return expect(VALUES, copy.toArray(ValueLayout.JAVA_FLOAT));
            }
        });
        checks.put("buffer.copy_raw_to_host", () -> {
            try (Arena arena = Arena.ofShared();
                    Buffer buffer = vector()) {
                MemorySegment copy = arena.allocate(8, 64);
                buffer.copyRawToHost(copy, 8).get(30, TimeUnit.SECONDS);
                return expect(new float[] {3, 4}, copy.toArray(ValueLayout.JAVA_FLOAT));
            }
        });
        checks.put("buffer.zero_copy_in", () -> {
            try (Arena arena = Arena.ofShared()) {
                MemorySegment data = arena.allocate(16, 64).copyFrom(MemorySegment.ofArray(VALUES));
                try (Buffer buffer = client().put(data, VECTOR, memory(), Client.HostSemantics.ZERO_COPY)) {
                    buffer.await();
                    expect(VALUES, floats(buffer));
                    if (!buffer.isOnCpu() || buffer.unsafePointer() != data.address()) {
                        throw new UsageException.Unsupported("the plugin copies");
                    }
                    return "the same memory";
                }
            }
        });
        checks.put("buffer.zero_copy_out", () -> {
            try (Buffer buffer = vector()) {
                if (!buffer.isOnCpu()) {
                    throw new UsageException.Unsupported("the memory is not the CPU's");
                }
                try (Buffer.View view = buffer.view()) {
                    return expect(VALUES, view.segment().toArray(ValueLayout.JAVA_FLOAT));
                }
            }
        });
        checks.put("buffer.view_of_foreign_memory", () -> {
            try (Arena arena = Arena.ofShared()) {
                MemorySegment data = arena.allocate(64, 64);
                data.asSlice(0, 16).copyFrom(MemorySegment.ofArray(VALUES));
                try (Buffer probe = vector()) {
                    if (!probe.isOnCpu()) {
                        throw new UsageException.Unsupported("the memory is not the CPU's");
                    }
                }
                try (Buffer buffer = client().viewOf(data, VECTOR, device())) {
                    return expect(VALUES, floats(buffer));
                }
            }
        });
        checks.put("buffer.copy_to_device", () -> {
            needTwoDevices();
            try (Buffer buffer = vector();
                    Buffer copy = buffer.copyTo(client().addressableDevices().get(1))) {
                return expect(VALUES, floats(copy));
            }
        });
        checks.put("buffer.copy_to_memory", () -> {
            List<Memory> memories = device().memories();
            try (Buffer buffer = vector();
                    Buffer copy = buffer.copyTo(memories.getLast())) {
                return expect(VALUES, floats(copy)) + " in "
                        + memories.getLast().kind();
            }
        });
        checks.put("buffer.bitcast", () -> {
            try (Buffer buffer = vector();
                    Buffer cast = buffer.bitcast(TensorType.of(ElementType.S32, 2, 2));
                    Arena arena = Arena.ofConfined()) {
                return expect(Float.floatToRawIntBits(1), cast.toHost(arena).get(ValueLayout.JAVA_INT, 0));
            }
        });
        checks.put("buffer.uninitialized", () -> {
            try (Buffer buffer = client().uninitialized(VECTOR, memory())) {
                buffer.await();
                return expect(16L, buffer.onDeviceBytes()) + " bytes";
            }
        });
        checks.put("buffer.failed", () -> {
            try (Buffer buffer = client().failed(VECTOR, memory(), 14, "on purpose")) {
                return expectError(StatusException.Unavailable.class, () -> {
                    buffer.await();
                    return "no error";
                });
            }
        });
        checks.put("buffer.delete", () -> {
            try (Buffer buffer = vector()) {
                buffer.delete();
                return "deleted: " + expect(true, buffer.isDeleted());
            }
        });
        checks.put("buffer.alias", () -> {
            AliasBuffer alias = client().alias(VECTOR, memory());
            try (Buffer stands = alias.buffer();
                    Buffer real = vector()) {
                alias.fulfill(real);
                return expect(VALUES, floats(stands));
            }
        });
        checks.put("buffer.copy_raw_to_host_later", () -> {
            try (Arena arena = Arena.ofShared();
                    Buffer buffer = vector()) {
                CompletableFuture<MemorySegment> destination = new CompletableFuture<>();
                var done = buffer.copyRawToHostLater(destination, 0, 16);
                MemorySegment copy = arena.allocate(16, 64);
                destination.complete(copy);
                done.get(30, TimeUnit.SECONDS);
                return expect(VALUES, copy.toArray(ValueLayout.JAVA_FLOAT));
            }
        });
        checks.put("buffer.donate_after", () -> {
            CompletableFuture<String> dependency = new CompletableFuture<>();
            try (Buffer buffer = vector();
                    Buffer donated = buffer.donateAfter(dependency)) {
                dependency.complete("done");
                return expect(VALUES, floats(donated));
            }
        });
        checks.put("transfer.in_pieces", () -> {
            try (Arena arena = Arena.ofShared();
                    HostTransfer transfer = client().transfer(List.of(VECTOR), memory());
                    Buffer buffer = transfer.buffer(0)) {
                MemorySegment data = arena.allocate(16, 64).copyFrom(MemorySegment.ofArray(VALUES));
                transfer.send(0, data.asSlice(0, 8), 0, false).get(30, TimeUnit.SECONDS);
                transfer.send(0, data.asSlice(8, 8), 8, true).get(30, TimeUnit.SECONDS);
                return expect(VALUES, floats(buffer));
            }
        });
        checks.put("transfer.whole", () -> {
            try (Arena arena = Arena.ofShared();
                    HostTransfer transfer = client().transfer(List.of(VECTOR), memory());
                    Buffer buffer = transfer.buffer(0)) {
                transfer.sendWhole(0, arena.allocate(16, 64).copyFrom(MemorySegment.ofArray(VALUES)))
                        .get(30, TimeUnit.SECONDS);
                return expect(VALUES, floats(buffer));
            }
        });
        checks.put("transfer.failure_reaches_the_buffer", () -> {
            try (HostTransfer transfer = client().transfer(List.of(VECTOR), memory());
                    Buffer buffer = transfer.buffer(0)) {
                transfer.fail(0, 15, "the file was cut");
                return expectError(StatusException.DataLoss.class, () -> {
                    buffer.await();
                    return "no error";
                });
            }
        });
    }

    private Object allTypes() {
        Client here = client();
        List<String> refused = new ArrayList<>();
        int passed = 0;
        for (ElementType element : ElementType.values()) {
            if (element == ElementType.TOKEN) {
                continue;
            }
            byte[] data = new byte[6 * element.hostBytes()];
            for (int i = 0; i < data.length; i++) {
                data[i] = (byte)
                        (element == ElementType.PRED || element.bits() == 1
                                ? i % 2
                                : element.bits() < 8 ? i % 2 : i + 1);
            }
            try (Buffer buffer = here.put(MemorySegment.ofArray(data), TensorType.of(element, 2, 3), device())) {
                byte[] back = new byte[data.length];
                buffer.toHost(MemorySegment.ofArray(back));
                expect(Arrays.toString(data), Arrays.toString(back));
                passed++;
            } catch (StatusException | UsageException e) {
                refused.add(element.name());
            }
        }
        if (passed < 12) {
            throw new AssertionError("only " + passed + " types passed; refused: " + refused);
        }
        return passed + " types" + (refused.isEmpty() ? "" : "; refused: " + refused);
    }

    private void execute() {
        checks.put("execute.one_device", () -> {
            try (Buffer x = vector();
                    Buffer y = loaded().execute(x).getFirst()) {
                return expect(new float[] {2, 4, 6, 8}, floats(y));
            }
        });
        checks.put("execute.two_devices_and_a_collective", () -> {
            needTwoDevices();
            try (LoadedExecutable sum =
                    client().compile(Program.stablehlo(SUM_OF_TWO), CompileOptions.of(o -> o.numPartitions(2)))) {
                List<List<Buffer>> arguments = new ArrayList<>();
                for (Device device : sum.devices()) {
                    arguments.add(List.of(client().put(
                                    MemorySegment.ofArray(new float[] {device.id() + 1}),
                                    TensorType.of(ElementType.F32, 1),
                                    device)));
                }
                List<List<Buffer>> results = sum.execute(arguments, ExecuteOptions.of(o -> o.launchId(7)));
                try {
                    return expect(new float[] {3}, floats(results.getLast().getFirst()));
                } finally {
                    arguments.forEach(list -> list.forEach(Buffer::close));
                    results.forEach(list -> list.forEach(Buffer::close));
                }
            }
        });
        checks.put("execute.donation", () -> {
            try (LoadedExecutable donating = client().compile(Program.stablehlo(DONATING), CompileOptions.defaults());
                    Buffer x = vector();
                    Buffer y = donating.execute(x).getFirst()) {
                expect(new float[] {2, 4, 6, 8}, floats(y));
                return "argument deleted: " + expect(true, x.isDeleted());
            }
        });
        checks.put("execute.kept_from_donation", () -> {
            try (LoadedExecutable donating = client().compile(Program.stablehlo(DONATING), CompileOptions.defaults());
                    Buffer x = vector();
                    Buffer y = donating.execute(List.of(List.of(x)), ExecuteOptions.of(o -> o.nonDonatable(0)))
                            .getFirst()
                            .getFirst()) {
                expect(new float[] {2, 4, 6, 8}, floats(y));
                return expect(VALUES, floats(x));
            }
        });
        checks.put("execute.with_context", () -> {
            try (ExecuteContext context = plugin.executeContext();
                    Buffer x = vector();
                    Buffer y = loaded().execute(List.of(List.of(x)), ExecuteOptions.of(o -> o.context(context)))
                            .getFirst()
                            .getFirst()) {
                return expect(new float[] {2, 4, 6, 8}, floats(y));
            }
        });
        checks.put("execute.call_location", () -> {
            try (Buffer x = vector();
                    Buffer y = loaded().execute(
                                    List.of(List.of(x)), ExecuteOptions.of(o -> o.callLocation("Here.java:1")))
                            .getFirst()
                            .getFirst()) {
                return expect(new float[] {2, 4, 6, 8}, floats(y));
            }
        });
        checks.put(
                "execute.wrong_argument_count_is_an_error",
                () -> expectError(PjrtException.class, () -> {
                    try (Buffer x = vector()) {
                        return loaded().execute(x, x);
                    }
                }));
        checks.put(
                "execute.wrong_shape_is_an_error",
                () -> expectError(PjrtException.class, () -> {
                    try (Buffer x = client().put(
                                    MemorySegment.ofArray(new float[8]), TensorType.of(ElementType.F32, 8), device())) {
                        return loaded().execute(x);
                    }
                }));
        checks.put("execute.a_thousand_times", () -> {
            Buffer x = vector();
            for (int i = 0; i < 1000; i++) {
                Buffer y = loaded().execute(x).getFirst();
                x.close();
                x = y;
                if (i % 100 == 99) {
                    x.close();
                    x = vector();
                }
            }
            x.close();
            return "1000 runs";
        });
        checks.put("execute.custom_call_in_java", () -> {
            if (client().platform().name().equals("cpu")) {
                String name = "slipway_conformance_" + Long.toHexString(System.nanoTime());
                plugin.registerHandler(name, "Host", call -> {
                    for (long i = 0; i < 4; i++) {
                        float v = call.arguments().getFirst().data().getAtIndex(ValueLayout.JAVA_FLOAT, i);
                        call.results().getFirst().data().setAtIndex(ValueLayout.JAVA_FLOAT, i, 10 * v);
                    }
                });
                String program = """
                        func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
                          %y = stablehlo.custom_call @TARGET(%x) {api_version = 4 : i32} : (tensor<4xf32>) -> tensor<4xf32>
                          return %y : tensor<4xf32>
                        }
                        """.replace("TARGET", name);
                try (LoadedExecutable custom = client().compile(Program.stablehlo(program), CompileOptions.defaults());
                        Buffer x = vector();
                        Buffer y = custom.execute(x).getFirst()) {
                    return expect(new float[] {10, 20, 30, 40}, floats(y));
                }
            }
            throw new UsageException.Unsupported("handlers in Java run on the CPU only");
        });
    }
}

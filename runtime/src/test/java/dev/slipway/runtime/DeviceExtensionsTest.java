// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The extensions that act on devices, on the CPU plugin with C functions added for them ({@code extensions.c}): the plugins that have them
 * need a TPU or a GPU. What those plugins do cannot be tested here; that every argument gets to C and back is.
 */
class DeviceExtensionsTest {

    private static final TensorType VECTOR = TensorType.of(ElementType.F32, 4);

    @TempDir
    private static Path folder;

    private static Plugin plugin;
    private static Client client;
    private static SymbolLookup symbols;

    @BeforeAll
    static void compile() throws Exception {
        Path library = build("extensions.so", List.of());
        symbols = SymbolLookup.libraryLookup(library, Arena.global());
        plugin = Plugin.load(library);
        client = plugin.client(Map.of("cpu_device_count", NamedValue.of(2)));
    }

    @AfterAll
    static void close() {
        client.close();
    }

    private static Path build(String name, List<String> options) throws Exception {
        Path header = Plugins.ofUser()
                .store()
                .require(PipPackage.CPU_0_81, PackageStore.Progress.NONE)
                .resolve(PipPackage.CPU_0_81.files().get(1));
        Path source = folder.resolve("extensions.c");
        try (InputStream in = DeviceExtensionsTest.class.getResourceAsStream("extensions.c")) {
            Files.write(source, in.readAllBytes());
        }
        Path library = folder.resolve(name);
        List<String> command = new ArrayList<>(List.of(
                "gcc",
                "-w",
                "-shared",
                "-fPIC",
                "-DREAL=\"" + TestPlugins.cpu().path() + "\"",
                "-I",
                header.getParent().toString(),
                "-o",
                library.toString(),
                source.toString(),
                "-ldl"));
        command.addAll(options);
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return library;
    }

    /** Things that C made and has not freed. */
    private static long live() throws Throwable {
        return (long) Linker.nativeLinker()
                .downcallHandle(
                        symbols.find("live_allocations").orElseThrow(), FunctionDescriptor.of(ValueLayout.JAVA_LONG))
                .invokeExact();
    }

    private static Buffer vector(int device) {
        return client.put(
                MemorySegment.ofArray(new float[] {1, 2, 3, 4}),
                VECTOR,
                client.addressableDevices().get(device));
    }

    private static float[] floats(Buffer buffer) {
        try (Arena arena = Arena.ofConfined()) {
            return buffer.toHost(arena).toArray(ValueLayout.JAVA_FLOAT);
        }
    }

    @Test
    void rawBytesAreReadAndWrittenInPlace() throws Throwable {
        long before = live();
        try (Buffer buffer = vector(0);
                Arena arena = Arena.ofConfined();
                RawBuffer raw = buffer.raw()) {
            assertThat(raw.bytes()).isEqualTo(16);
            assertThat(raw.memory().id()).isEqualTo(buffer.memory().id());
            assertThat(raw.host().orElseThrow().get(ValueLayout.JAVA_FLOAT, 4)).isEqualTo(2);
            MemorySegment middle = arena.allocate(8);
            raw.read(middle, 4).join();
            assertThat(middle.toArray(ValueLayout.JAVA_FLOAT)).containsExactly(2, 3);
            raw.write(arena.allocateFrom(ValueLayout.JAVA_FLOAT, 7, 8), 8).join();
            assertThat(floats(buffer)).containsExactly(1, 2, 7, 8);
        }
        assertThat(live()).isEqualTo(before);
    }

    @Test
    void rawBytesOutsideTheBufferAreRefused() {
        try (Buffer buffer = vector(0);
                Arena arena = Arena.ofConfined();
                RawBuffer raw = buffer.raw()) {
            MemorySegment eight = arena.allocate(8);
            for (long offset : new long[] {-1, 9, 16, Long.MAX_VALUE}) {
                assertThatThrownBy(() -> raw.read(eight, offset)).isInstanceOf(UsageException.BadArgument.class);
                assertThatThrownBy(() -> raw.write(eight, offset)).isInstanceOf(UsageException.BadArgument.class);
            }
            assertThatThrownBy(() -> raw.read(eight.asReadOnly(), 0)).isInstanceOf(UsageException.BadArgument.class);
            assertThatThrownBy(() -> raw.write(MemorySegment.ofArray(new byte[4]), 0))
                    .isInstanceOf(UsageException.BadArgument.class);
        }
    }

    @Test
    void aRawBufferThatIsClosedIsNotUsed() {
        try (Buffer buffer = vector(0)) {
            RawBuffer raw = buffer.raw();
            raw.close();
            assertThatThrownBy(raw::memory).isInstanceOf(UsageException.Closed.class);
            assertThatThrownBy(raw::host).isInstanceOf(UsageException.Closed.class);
            assertThatThrownBy(raw::close).isInstanceOf(UsageException.Closed.class);
        }
    }

    @Test
    void arraysAreSentAndReceivedByKeys() {
        Device there = client.addressableDevices().get(1);
        try (Buffer first = vector(0);
                Buffer second = vector(0)) {
            CrossHostTransfers transfers = client.crossHost();
            transfers
                    .send(List.of(
                            new CrossHostTransfers.Outgoing(first, there.id(), 41),
                            new CrossHostTransfers.Outgoing(second, there.id(), 42)))
                    .forEach(sent -> assertThat(sent.join()).isNull());
            List<Buffer> received = transfers.receive(
                    there,
                    List.of(new CrossHostTransfers.Incoming(
                            VECTOR, first.device().id(), 42)));
            try (Buffer got = received.getFirst()) {
                assertThat(received).hasSize(1);
                assertThat(got.device()).isSameAs(there);
                assertThat(floats(got)).containsExactly(1, 2, 3, 4);
            }
            assertThatThrownBy(() -> transfers.receive(there, List.of(new CrossHostTransfers.Incoming(VECTOR, 0, 999))))
                    .isInstanceOf(StatusException.class);
        }
    }

    @Test
    void arraysAreSentAndReceivedByDescriptors() {
        CrossHostTransfers transfers = client.crossHost();
        CrossHostTransfers.Expected expected =
                transfers.expect(client.addressableDevices().get(1), List.of(VECTOR, TensorType.of(ElementType.S32)));
        List<byte[]> descriptors = expected.descriptors().join();
        try (Buffer buffer = vector(0);
                Buffer got = expected.buffers().getFirst();
                Buffer _ = expected.buffers().getLast()) {
            assertThat(descriptors).hasSize(2);
            assertThat(transfers.send(buffer, descriptors.getFirst()).join()).isTrue();
            assertThat(floats(got)).containsExactly(1, 2, 3, 4);
            assertThat(transfers
                            .send(buffer, "12345".getBytes(StandardCharsets.UTF_8))
                            .join())
                    .isFalse();
        }
    }

    @Test
    void whyThereAreNoDescriptorsIsTold() {
        CrossHostTransfers.Expected expected =
                client.crossHost().expect(client.addressableDevices().getFirst(), List.of(VECTOR, VECTOR, VECTOR));
        assertThatThrownBy(() -> expected.descriptors().join())
                .isInstanceOf(CompletionException.class)
                .hasCauseInstanceOf(StatusException.class);
        expected.buffers().forEach(Buffer::close);
    }

    @Test
    void transfersOfNothingOrOfOthersAreRefused() {
        CrossHostTransfers transfers = client.crossHost();
        Device device = client.addressableDevices().getFirst();
        assertThatThrownBy(() -> transfers.send(List.of())).isInstanceOf(UsageException.BadArgument.class);
        assertThatThrownBy(() -> transfers.receive(device, List.of())).isInstanceOf(UsageException.BadArgument.class);
        assertThatThrownBy(() -> transfers.expect(device, List.of(TensorType.of(ElementType.TOKEN))))
                .isInstanceOf(UsageException.BadArgument.class);
        try (Client other = plugin.client();
                Buffer buffer = vector(0)) {
            assertThatThrownBy(() -> transfers.expect(other.addressableDevices().getFirst(), List.of(VECTOR)))
                    .isInstanceOf(UsageException.Foreign.class);
            assertThatThrownBy(() -> other.crossHost().send(buffer, new byte[] {1}))
                    .isInstanceOf(UsageException.Foreign.class);
            assertThatThrownBy(() -> transfers.send(buffer, new byte[0]))
                    .isInstanceOf(UsageException.BadArgument.class);
        }
        Buffer closed = vector(0);
        closed.close();
        assertThatThrownBy(() -> transfers.send(List.of(new CrossHostTransfers.Outgoing(closed, 1, 1))))
                .isInstanceOf(UsageException.Closed.class);
        assertThatThrownBy(() -> transfers.send(closed, new byte[] {1})).isInstanceOf(UsageException.Closed.class);
    }

    @Test
    void listenersHearWhatTheRuntimeSays() {
        List<RuntimeEvents.Event> heard = new ArrayList<>();
        RuntimeEvents events = client.events();
        events.onSliceFailure(heard::add);
        events.onPrefatal(heard::add);
        RuntimeEvents.Event lost = new RuntimeEvents.SliceFailure(RuntimeEvents.SliceFailure.Cause.WORKER_UNAVAILABLE);
        RuntimeEvents.Event fatal = new RuntimeEvents.Prefatal(13, "the chip is gone");
        events.raise(lost);
        events.raise(fatal);
        assertThat(heard).containsExactly(lost, fatal);
        assertThatThrownBy(() -> new RuntimeEvents.Prefatal(0, "no error"))
                .isInstanceOf(UsageException.BadArgument.class);
    }

    @Test
    void hostMemoryIsHadAndGivenBack() throws Throwable {
        long before = live();
        HostMemory memory = client.allocateHost(64, 1);
        assertThat(live()).isEqualTo(before + 1);
        assertThat(memory.segment().byteSize()).isEqualTo(64);
        assertThat(memory.segment().get(ValueLayout.JAVA_INT, 0)).isEqualTo(1);
        try (HostMemory anywhere = client.allocateHost(64)) {
            assertThat(anywhere.segment().get(ValueLayout.JAVA_INT, 0)).isEqualTo(-1);
        }
        memory.close();
        assertThat(live()).isEqualTo(before);
        assertThatThrownBy(() -> memory.segment().get(ValueLayout.JAVA_INT, 0))
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(memory::close).isInstanceOf(UsageException.Closed.class);
        assertThatThrownBy(() -> client.allocateHost(0)).isInstanceOf(UsageException.BadArgument.class);
        assertThatThrownBy(() -> client.allocateHost(64, -1)).isInstanceOf(UsageException.BadArgument.class);
    }

    @Test
    void hostMemoryIsHadTheOlderWayToo() throws Exception {
        Plugin older = Plugin.load(build("older.so", List.of("-DOLD")));
        try (Client old = older.client();
                HostMemory memory = old.allocateHost(1000)) {
            assertThat(memory.segment().address() % 256).isZero();
            memory.segment().fill((byte) 1);
            assertThatThrownBy(() -> old.allocateHost(64, 0)).isInstanceOf(UsageException.Unsupported.class);
        }
    }

    @Test
    void aStreamWaitsForABuffer() {
        try (Buffer buffer = vector(0)) {
            long stream = client.addressableDevices().getFirst().stream();
            assertThat(stream).isEqualTo(4096);
            buffer.awaitOn(stream);
            assertThatThrownBy(() -> buffer.awaitOn(0)).isInstanceOf(UsageException.BadArgument.class);
        }
    }

    @Test
    void aTritonKernelIsCompiled() {
        TritonKernel kernel = plugin.compileTriton("module {}", "9.0", new TritonKernel.Launch(4, 2, 3));
        assertThat(kernel).isEqualTo(new TritonKernel("module {} for 9.0", "", 423));
        assertThatThrownBy(() -> new TritonKernel.Launch(0, 1, 1)).isInstanceOf(UsageException.BadArgument.class);
    }

    @Test
    void aClientHasAnEndOfTheNetworkBetweenSlices() throws Throwable {
        long before = live();
        try (Megascale context = client.megascale()) {
            assertThat(context.port()).isEqualTo(2);
        }
        assertThat(live()).isEqualTo(before);
    }

    @ParameterizedTest
    @EnumSource(names = {"CPU", "CPU_0_106", "CPU_0_81"})
    void pluginsWithoutTheExtensionsSaySo(PluginName name) {
        Plugin bare = TestPlugins.load(name);
        try (Client own = bare.client();
                Buffer buffer = own.put(
                        MemorySegment.ofArray(new float[4]),
                        VECTOR,
                        own.addressableDevices().getFirst())) {
            assertThatThrownBy(buffer::raw).isInstanceOf(UsageException.Unsupported.class);
            assertThatThrownBy(own::crossHost).isInstanceOf(UsageException.Unsupported.class);
            assertThatThrownBy(own::events).isInstanceOf(UsageException.Unsupported.class);
            assertThatThrownBy(() -> own.allocateHost(64)).isInstanceOf(UsageException.Unsupported.class);
            assertThatThrownBy(() -> buffer.awaitOn(1)).isInstanceOf(UsageException.Unsupported.class);
            assertThatThrownBy(own::megascale).isInstanceOf(UsageException.Unsupported.class);
        }
        assertThatThrownBy(() -> bare.compileTriton("module {}", "9.0", new TritonKernel.Launch(1, 1, 1)))
                .isInstanceOf(UsageException.Unsupported.class);
        assertThatThrownBy(bare::megascale).isInstanceOf(UsageException.Unsupported.class);
        assertThatThrownBy(() -> bare.megascaleErrors("job")).isInstanceOf(UsageException.Unsupported.class);
        assertThatThrownBy(() -> bare.onMegascaleError("job", error -> {}))
                .isInstanceOf(UsageException.Unsupported.class);
        assertThatThrownBy(() -> bare.tpuPlatform("tpuv4")).isInstanceOf(UsageException.Unsupported.class);
        assertThatThrownBy(bare::abiCompatibility).isInstanceOf(UsageException.Unsupported.class);
        assertThatThrownBy(() -> bare.registerGpuCustomCall("call", call -> {}))
                .isInstanceOf(UsageException.Unsupported.class);
        assertThatThrownBy(() -> bare.registerPartitioner("call", call -> {
                    throw new IllegalStateException("it is not called");
                }))
                .isInstanceOf(UsageException.Unsupported.class);
    }
}

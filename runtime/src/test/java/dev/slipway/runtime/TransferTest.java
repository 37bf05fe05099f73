// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import net.jqwik.api.lifecycle.AfterContainer;
import net.jqwik.api.lifecycle.BeforeContainer;

/** Arrays in and out: cut over meshes, without copies, and shared with other libraries. */
class TransferTest {

    private static Client client;

    @BeforeContainer
    static void open() {
        client = TestPlugins.cpu().client(Map.of("cpu_device_count", NamedValue.of(8)));
    }

    @AfterContainer
    static void close() {
        client.close();
    }

    @Property(tries = 60)
    void whatIsCutOverAMeshIsGatheredAgain(
            @ForAll @Size(3) List<@IntRange(min = 1, max = 2) Integer> mesh,
            @ForAll @IntRange(min = 0, max = 5) int permutation,
            @ForAll @Size(3) List<@IntRange(min = 1, max = 3) Integer> parts) {
        List<List<Integer>> axes = switch (permutation) {
            case 0 -> List.of(List.of(0), List.of(1), List.of(2));
            case 1 -> List.of(List.of(2), List.of(0), List.of());
            case 2 -> List.of(List.of(), List.of(1, 0), List.of(2));
            case 3 -> List.of(List.of(0, 1, 2), List.of(), List.of());
            case 4 -> List.of(List.of(), List.of(), List.of(2, 1));
            default -> List.of(List.of(), List.of(), List.of());
        };
        ShardedArrays.Sharding sharding = new ShardedArrays.Sharding(mesh, axes);
        TensorType type = new TensorType(
                ElementType.S32,
                IntStream.range(0, 3)
                        .mapToObj(d -> (long) parts.get(d)
                                * axes.get(d).stream().map(mesh::get).reduce(1, (a, b) -> a * b))
                        .toList());
        int[] data = IntStream.range(0, (int) type.elements()).toArray();
        List<Buffer> shards = ShardedArrays.put(
                client,
                MemorySegment.ofArray(data),
                type,
                sharding,
                client.addressableDevices().subList(0, sharding.devices()));
        int[] back = new int[data.length];
        ShardedArrays.gather(shards, type, sharding, MemorySegment.ofArray(back));
        shards.forEach(Buffer::close);
        assertThat(back).isEqualTo(data);
    }

    @Example
    void aShardIsThePartThatItsPlaceInTheMeshSays() {
        ShardedArrays.Sharding sharding = new ShardedArrays.Sharding(List.of(2, 2), List.of(List.of(0), List.of(1)));
        List<Buffer> shards = ShardedArrays.put(
                client,
                MemorySegment.ofArray(IntStream.range(0, 16).toArray()),
                TensorType.of(ElementType.S32, 4, 4),
                sharding,
                client.addressableDevices().subList(0, 4));
        try (Arena arena = Arena.ofConfined()) {
            assertThat(shards.get(1).toHost(arena).toArray(ValueLayout.JAVA_INT))
                    .containsExactly(2, 3, 6, 7);
            assertThat(shards.get(2).toHost(arena).toArray(ValueLayout.JAVA_INT))
                    .containsExactly(8, 9, 12, 13);
        }
        shards.forEach(Buffer::close);
    }

    @Example
    void aDimensionThatCannotBeCutEvenlyIsRefused() {
        ShardedArrays.Sharding sharding = new ShardedArrays.Sharding(List.of(2), List.of(List.of(0)));
        assertThatThrownBy(() -> sharding.shard(TensorType.of(ElementType.F32, 3)))
                .isInstanceOf(UsageException.BadArgument.class)
                .hasMessageContaining("2 equal parts");
    }

    @Example
    void aMemoryMappedFileBecomesABufferWithoutACopy() throws Exception {
        Path file = Files.createTempFile("weights", ".bin");
        try {
            byte[] content = new byte[1 << 20];
            content[4096] = 42;
            Files.write(file, content);
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ);
                    Arena arena = Arena.ofShared()) {
                MemorySegment mapped = channel.map(FileChannel.MapMode.READ_ONLY, 0, content.length, arena);
                try (Buffer buffer = client.put(
                        mapped.asSlice(4096),
                        TensorType.of(ElementType.U8, content.length - 4096),
                        client.device(0).defaultMemory(),
                        Client.HostSemantics.ZERO_COPY)) {
                    buffer.await();
                    assertThat(buffer.unsafePointer()).isEqualTo(mapped.address() + 4096);
                    try (Buffer.View view = buffer.view()) {
                        assertThat(view.segment().get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 42);
                    }
                }
            }
        } finally {
            Files.delete(file);
        }
    }

    @Example
    void anArrayThatLiesInAnotherOrderIsPutByItsStrides() {
        // Column by column: element [row, column] at 4 * row + 8 * column.
        MemorySegment columns = MemorySegment.ofArray(new int[] {1, 4, 2, 5, 3, 6});
        try (Buffer buffer = client.put(
                        columns,
                        TensorType.of(ElementType.S32, 2, 3),
                        client.device(0).defaultMemory(),
                        new long[] {4, 8});
                Arena arena = Arena.ofConfined()) {
            assertThat(buffer.toHost(arena).toArray(ValueLayout.JAVA_INT)).containsExactly(1, 2, 3, 4, 5, 6);
        }
        assertThatThrownBy(() -> client.put(
                        columns,
                        TensorType.of(ElementType.S32, 2, 3),
                        client.device(0).defaultMemory(),
                        new long[] {4, 12}))
                .isInstanceOf(UsageException.BadArgument.class)
                .hasMessageContaining("24 bytes");
    }

    @Example
    void aBufferGoesOutByDlPackAndComesBackWithoutACopy() throws Exception {
        TensorType type = TensorType.of(ElementType.BF16, 2, 3);
        Buffer original = client.put(MemorySegment.ofArray(new short[] {1, 2, 3, 4, 5, 6}), type, client.device(0));
        long tensor = DlPack.export(original);
        try (Buffer taken = DlPack.take(tensor, client);
                Arena arena = Arena.ofConfined()) {
            assertThat(taken.type()).isEqualTo(type);
            assertThat(taken.unsafePointer()).isEqualTo(original.unsafePointer());
            original.close();
            assertThat(taken.toHost(arena).toArray(ValueLayout.JAVA_SHORT)).containsExactly(1, 2, 3, 4, 5, 6);
        }
    }

    @Example
    void aTypeThatDlPackDoesNotHaveIsRefused() {
        try (Buffer buffer =
                client.put(MemorySegment.ofArray(new byte[4]), TensorType.of(ElementType.S4, 4), client.device(0))) {
            assertThatThrownBy(() -> DlPack.export(buffer)).isInstanceOf(UsageException.Unsupported.class);
        }
    }

    @Example
    void aTransferOverlapsWithARunThatWaitsForIt() throws Exception {
        TensorType type = TensorType.of(ElementType.F32, 4);
        try (LoadedExecutable twice = client.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults());
                HostTransfer transfer =
                        client.transfer(List.of(type), client.device(0).defaultMemory());
                Buffer x = transfer.buffer(0);
                Buffer y = twice.execute(x).getFirst();
                Arena arena = Arena.ofShared()) {
            assertThat(y.ready().isDone()).isFalse();
            transfer.send(0, arena.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4), 0, true)
                    .get(30, TimeUnit.SECONDS);
            assertThat(y.toHost(arena).toArray(ValueLayout.JAVA_FLOAT)).containsExactly(2, 4, 6, 8);
        }
    }

    @Example
    void arraysGoInAndOutWhileAProgramRuns() throws Exception {
        CountDownLatch running = new CountDownLatch(1);
        CountDownLatch moved = new CountDownLatch(1);
        TestPlugins.cpu().registerHandler("transfer_test_wait", "Host", call -> {
            running.countDown();
            assertThat(moved.await(30, TimeUnit.SECONDS)).isTrue();
        });
        String program = """
                func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {
                  %y = stablehlo.custom_call @transfer_test_wait(%x) {api_version = 4 : i32}
                      : (tensor<1xf32>) -> tensor<1xf32>
                  return %y : tensor<1xf32>
                }
                """;
        // XLA runs a small program on the thread that starts it, unless its arguments are yet to come.
        try (LoadedExecutable waits = client.compile(Program.stablehlo(program), CompileOptions.defaults());
                HostTransfer transfer = client.transfer(
                        List.of(TensorType.of(ElementType.F32, 1)),
                        client.device(0).defaultMemory());
                Buffer argument = transfer.buffer(0);
                Buffer result = waits.execute(argument).getFirst();
                Arena arena = Arena.ofShared()) {
            CompletableFuture<?> sent = transfer.send(0, arena.allocateFrom(ValueLayout.JAVA_FLOAT, 1), 0, true);
            assertThat(running.await(30, TimeUnit.SECONDS)).isTrue();
            try (Buffer x = client.put(
                    MemorySegment.ofArray(new float[] {1, 2}), TensorType.of(ElementType.F32, 2), client.device(0))) {
                assertThat(x.toHost(arena).toArray(ValueLayout.JAVA_FLOAT)).containsExactly(1, 2);
            }
            assertThat(result.ready().isDone()).isFalse();
            moved.countDown();
            result.await();
            sent.get(30, TimeUnit.SECONDS);
        }
    }

    @Example
    void aWaitThatIsCancelledLeavesTheBufferAsItWas() throws Exception {
        try (HostTransfer transfer = client.transfer(
                        List.of(TensorType.of(ElementType.F32, 2)),
                        client.device(0).defaultMemory());
                Buffer x = transfer.buffer(0);
                Arena arena = Arena.ofShared()) {
            CompletableFuture<?> waiting = x.ready();
            assertThat(waiting.cancel(true)).isTrue();
            transfer.send(0, arena.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2), 0, true)
                    .get(30, TimeUnit.SECONDS);
            assertThat(x.toHost(arena).toArray(ValueLayout.JAVA_FLOAT)).containsExactly(1, 2);
        }
    }

    @Example
    void aLaunchThatWaitsForItsArgumentsCanBeCancelled() {
        TensorType type = TensorType.of(ElementType.F32, 4);
        try (LoadedExecutable twice = client.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults());
                HostTransfer transfer =
                        client.transfer(List.of(type), client.device(0).defaultMemory());
                Buffer x = transfer.buffer(0);
                Buffer y = twice.execute(List.of(List.of(x)), ExecuteOptions.of(o -> o.launchId(77)))
                        .getFirst()
                        .getFirst()) {
            assertThat(client.device(0).poison(77, 1, "given up")).isTrue();
            assertThatThrownBy(y::await)
                    .isInstanceOf(StatusException.Cancelled.class)
                    .hasMessageContaining("given up");
            transfer.fail(0, 1, "no more");
        }
    }

    @Example
    void waitingCanHaveATimeLimit() {
        TensorType type = TensorType.of(ElementType.F32, 4);
        try (HostTransfer transfer =
                        client.transfer(List.of(type), client.device(0).defaultMemory());
                Buffer never = transfer.buffer(0)) {
            assertThatThrownBy(() -> never.ready().get(50, TimeUnit.MILLISECONDS))
                    .isInstanceOf(TimeoutException.class);
            transfer.fail(0, 1, "given up");
            assertThatThrownBy(never::await).isInstanceOf(StatusException.Cancelled.class);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Handle;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Nothing leaks, and threads may share what the documentation says they may. */
class LifetimeTest {

    private static final TensorType BLOCK = TensorType.of(ElementType.F32, 16 << 10);

    /** Resident memory of this process, in bytes. */
    private static long resident() throws IOException {
        String[] fields = Files.readString(Path.of("/proc/self/statm")).split(" ", -1);
        return Long.parseLong(fields[1]) * 4096;
    }

    private static void round(Client client, LoadedExecutable program, MemorySegment data) {
        try (Buffer x = client.put(data, BLOCK, client.device(0));
                Buffer y = program.execute(x).getFirst();
                Arena arena = Arena.ofConfined()) {
            assertThat(y.toHost(arena).getAtIndex(ValueLayout.JAVA_FLOAT, 7)).isEqualTo(2f);
        }
    }

    @Test
    void tenThousandRoundsOfPutExecuteAndCloseLeaveNativeMemoryFlat() throws IOException {
        String program = TestPlugins.DOUBLE.replace("4xf32", (16 << 10) + "xf32");
        float[] ones = new float[16 << 10];
        Arrays.fill(ones, 1f);
        try (Client client = TestPlugins.cpu().client(Map.of("cpu_device_count", NamedValue.of(1)));
                LoadedExecutable twice = client.compile(Program.stablehlo(program), CompileOptions.defaults())) {
            for (int i = 0; i < 2000; i++) {
                round(client, twice, MemorySegment.ofArray(ones));
            }
            long before = resident();
            for (int i = 0; i < 10_000; i++) {
                round(client, twice, MemorySegment.ofArray(ones));
            }
            // A buffer is 64 KiB: leaking one a round would be 625 MiB.
            assertThat(resident() - before).isLessThan(64L << 20);
        }
    }

    @Test
    void clientsAndExecutablesComeAndGoWithNativeMemoryFlat() throws IOException {
        for (int i = 0; i < 30; i++) {
            createCompileExecuteClose();
        }
        long before = resident();
        for (int i = 0; i < 300; i++) {
            createCompileExecuteClose();
        }
        assertThat(resident() - before).isLessThan(96L << 20);
    }

    private static void createCompileExecuteClose() {
        try (Client client = TestPlugins.cpu().client(Map.of("cpu_device_count", NamedValue.of(2)));
                LoadedExecutable twice =
                        client.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults());
                Buffer x = client.put(
                        MemorySegment.ofArray(new float[4]), TensorType.of(ElementType.F32, 4), client.device(0));
                Buffer y = twice.execute(x).getFirst()) {
            y.await();
        }
    }

    @Test
    void sixteenThreadsCompileAndExecuteOnOneClient() throws Exception {
        AtomicInteger runs = new AtomicInteger();
        try (Client client = TestPlugins.cpu().client(Map.of("cpu_device_count", NamedValue.of(2)));
                var threads = Executors.newFixedThreadPool(16)) {
            List<Future<?>> all = new ArrayList<>();
            for (int t = 0; t < 16; t++) {
                int factor = t + 1;
                all.add(threads.submit(() -> {
                    String program = """
                            func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
                              %c = stablehlo.constant dense<FACTOR.0> : tensor<4xf32>
                              %y = stablehlo.multiply %x, %c : tensor<4xf32>
                              return %y : tensor<4xf32>
                            }
                            """.replace("FACTOR", Integer.toString(factor));
                    for (int round = 0; round < 5; round++) {
                        try (LoadedExecutable times =
                                client.compile(Program.stablehlo(program), CompileOptions.defaults())) {
                            for (int i = 0; i < 50; i++) {
                                try (Buffer x = client.put(
                                                MemorySegment.ofArray(new float[] {i, 0, 0, 0}),
                                                TensorType.of(ElementType.F32, 4),
                                                client.device(0));
                                        Buffer y = times.execute(x).getFirst();
                                        Arena arena = Arena.ofConfined()) {
                                    assertThat(y.toHost(arena).get(ValueLayout.JAVA_FLOAT, 0))
                                            .isEqualTo((float) i * factor);
                                    runs.incrementAndGet();
                                }
                            }
                        }
                    }
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
        }
        assertThat(runs).hasValue(16 * 5 * 50);
    }

    @Test
    void aHandleMayBeClosedWhileOthersUseIt() throws Exception {
        try (Client client = TestPlugins.cpu().client();
                LoadedExecutable twice =
                        client.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults());
                var threads = Executors.newFixedThreadPool(4)) {
            for (int round = 0; round < 50; round++) {
                Buffer x = client.put(
                        MemorySegment.ofArray(new float[4]), TensorType.of(ElementType.F32, 4), client.device(0));
                List<Future<?>> users = new ArrayList<>();
                for (int t = 0; t < 3; t++) {
                    users.add(threads.submit(() -> {
                        try {
                            while (true) {
                                twice.execute(x).getFirst().close();
                            }
                        } catch (UsageException.Closed e) {
                            // What a user of a closed handle is to see.
                        }
                    }));
                }
                x.close();
                for (Future<?> user : users) {
                    user.get();
                }
            }
        }
    }

    @Test
    void whatIsMadeWhileItsParentIsClosedIsFreed() {
        List<String> freed = new ArrayList<>();
        Api api = TestPlugins.cpu().api();
        Handle parent = new Handle("parent", api, 1, null, this, (_, _, address) -> freed.add("parent " + address));
        parent.acquire();
        parent.close();

        assertThatThrownBy(() ->
                        new Handle("child", api, 2, parent, this, (_, _, address) -> freed.add("child " + address)))
                .isInstanceOf(UsageException.Closed.class)
                .hasMessage("this parent is closed");
        assertThat(freed).containsExactly("child 2");
        parent.release();
        assertThat(freed).containsExactly("child 2", "parent 1");
    }

    @Test
    void clientsThatAreClosedWhileTheyAreUsedLeaveNativeMemoryFlat() throws Exception {
        TensorType type = TensorType.of(ElementType.F32, 2 << 20);
        MemorySegment data = MemorySegment.ofArray(new float[2 << 20]);
        for (int i = 0; i < 50; i++) {
            closeWhilePutting(type, data);
        }
        long before = resident();
        for (int i = 0; i < 100; i++) {
            closeWhilePutting(type, data);
        }
        // An array is 8 MiB: leaking one a round would be 800 MiB. C's allocator keeps some for each of many threads.
        assertThat(resident() - before).isLessThan(400L << 20);
    }

    private static void closeWhilePutting(TensorType type, MemorySegment data) throws Exception {
        try (var thread = Executors.newSingleThreadExecutor()) {
            Client client = TestPlugins.cpu().client(Map.of("cpu_device_count", NamedValue.of(1)));
            CountDownLatch begun = new CountDownLatch(1);
            Device device = client.device(0);
            Memory memory = device.defaultMemory();
            Future<?> putting = thread.submit(() -> {
                while (true) {
                    client.put(data, type, memory, Client.HostSemantics.COPY).close();
                    begun.countDown();
                }
            });
            begun.await();
            client.close();
            assertThatThrownBy(putting::get).hasCauseInstanceOf(UsageException.Closed.class);
        }
    }

    @Test
    void aPreparedRunThatIsClosedHoldsNoArgument() throws Exception {
        CountDownLatch freed = new CountDownLatch(1);
        try (Client client = TestPlugins.cpu().client();
                LoadedExecutable twice =
                        client.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults());
                Arena arena = Arena.ofShared()) {
            Buffer x = client.viewOf(
                    arena.allocate(64, 64), TensorType.of(ElementType.F32, 4), client.device(0), freed::countDown);
            Dispatch dispatch = twice.dispatch(1);
            dispatch.close();
            assertThatThrownBy(() -> dispatch.argument(0, 0, x)).isInstanceOf(UsageException.Closed.class);
            x.close();

            assertThat(freed.await(10, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void ofTwoThreadsThatSendTheLastPieceOneDoes() throws Exception {
        TensorType type = TensorType.of(ElementType.F32, 16);
        try (Client client = TestPlugins.cpu().client();
                Arena arena = Arena.ofShared();
                var threads = Executors.newFixedThreadPool(2)) {
            MemorySegment data = arena.allocate(64, 64);
            for (int round = 0; round < 500; round++) {
                try (HostTransfer transfer =
                        client.transfer(List.of(type), client.device(0).defaultMemory())) {
                    CyclicBarrier together = new CyclicBarrier(2);
                    AtomicInteger sent = new AtomicInteger();
                    List<Future<?>> both = new ArrayList<>();
                    for (int t = 0; t < 2; t++) {
                        both.add(threads.submit(() -> {
                            together.await();
                            try {
                                transfer.send(0, data, 0, true).join();
                                sent.incrementAndGet();
                            } catch (UsageException.Closed e) {
                                // The other was first.
                            }
                            return null;
                        }));
                    }
                    for (Future<?> one : both) {
                        one.get();
                    }
                    assertThat(sent).hasValue(1);
                }
            }
        }
    }

    @Test
    void aDroppedHandleIsReportedWithWhereItWasMade() throws Exception {
        ConcurrentLinkedQueue<Leaks.Leak> leaks = new ConcurrentLinkedQueue<>();
        try (Client client = TestPlugins.cpu().client();
                Leaks.Watch _ = Leaks.watch(leaks::add)) {
            drop(client);
            for (int i = 0; i < 100 && leaks.isEmpty(); i++) {
                System.gc();
                Thread.sleep(50);
            }
        }
        assertThat(leaks).singleElement().satisfies(leak -> {
            assertThat(leak.what()).isEqualTo("buffer");
            assertThat(leak.site().getStackTrace())
                    .anyMatch(frame -> frame.getMethodName().equals("drop"));
        });
    }

    private static void drop(Client client) {
        Buffer dropped =
                client.put(MemorySegment.ofArray(new float[4]), TensorType.of(ElementType.F32, 4), client.device(0));
        assertThat(dropped.isDeleted()).isFalse();
    }
}

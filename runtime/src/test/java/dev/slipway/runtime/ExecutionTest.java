// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Programs run on the CPU plugin, on one device and on several. */
class ExecutionTest {

    private static final TensorType VECTOR = TensorType.of(ElementType.F32, 4);
    private static Client client;

    @BeforeAll
    static void open() {
        client = TestPlugins.cpu().client(Map.of("cpu_device_count", NamedValue.of(8)));
    }

    @AfterAll
    static void close() {
        client.close();
    }

    private static Buffer vector(float... values) {
        return client.put(
                MemorySegment.ofArray(values), TensorType.of(ElementType.F32, values.length), client.device(0));
    }

    private static float[] floats(Buffer buffer) {
        try (Arena arena = Arena.ofConfined()) {
            return buffer.toHost(arena).toArray(ValueLayout.JAVA_FLOAT);
        }
    }

    @Test
    void aProgramRunsOnOneDevice() {
        try (LoadedExecutable program =
                        client.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults());
                Buffer x = vector(1, 2, 3, 4);
                Buffer y = program.execute(x).getFirst()) {
            assertThat(floats(y)).containsExactly(2, 4, 6, 8);
            assertThat(y.type()).isEqualTo(VECTOR);
        }
    }

    @Test
    void anSpmdProgramRunsOnEightDevicesAndSumsAcrossThem() {
        String sum = """
                module @sum {
                  sdy.mesh @mesh = <["x"=8]>
                  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
                    %zero = stablehlo.constant dense<0.0> : tensor<f32>
                    %y = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
                        : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
                    return %y : tensor<f32>
                  }
                }
                """;
        try (LoadedExecutable program =
                client.compile(Program.stablehlo(sum), CompileOptions.of(o -> o.numPartitions(8)))) {
            List<List<Buffer>> arguments = new ArrayList<>();
            for (Device device : program.devices()) {
                arguments.add(List.of(client.put(
                        MemorySegment.ofArray(new float[] {device.id() + 1}),
                        TensorType.of(ElementType.F32, 1),
                        device)));
            }
            List<List<Buffer>> results = program.execute(arguments, ExecuteOptions.defaults());
            assertThat(results).hasSize(8);
            for (List<Buffer> onOneDevice : results) {
                assertThat(floats(onOneDevice.getFirst())).containsExactly(36);
            }
            results.forEach(list -> list.forEach(Buffer::close));
            arguments.forEach(list -> list.forEach(Buffer::close));
        }
    }

    @Test
    void aSerializedExecutableRunsAgain() {
        byte[] bytes;
        try (LoadedExecutable program =
                client.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults())) {
            bytes = program.executable().serialize().toBytes();
        }
        try (LoadedExecutable again = client.load(SerializedExecutable.of(bytes));
                Buffer x = vector(1, 2, 3, 4);
                Buffer y = again.execute(x).getFirst()) {
            assertThat(floats(y)).containsExactly(2, 4, 6, 8);
        }
    }

    @Test
    void aSerializedExecutableThatWasDamagedIsRefusedBeforeThePluginSeesIt() {
        byte[] bytes;
        try (LoadedExecutable program =
                client.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults())) {
            bytes = program.executable().serialize().toBytes();
        }
        bytes[bytes.length / 2] ^= 1;
        assertThatThrownBy(() -> SerializedExecutable.of(bytes))
                .isInstanceOf(UsageException.BadArgument.class)
                .hasMessageContaining("SHA-256");
    }

    @Test
    void anExecutableForAnotherPlatformIsRefused() {
        SerializedExecutable foreign = new SerializedExecutable(new Platform("tpu", "v1"), new byte[] {1, 2, 3});
        assertThatThrownBy(() -> client.load(foreign))
                .isInstanceOf(UsageException.Foreign.class)
                .hasMessageContaining("tpu");
    }

    @Test
    void aDonatedBufferIsDeletedAndAKeptOneIsNot() {
        String donating =
                TestPlugins.DOUBLE.replace("%x: tensor<4xf32>", "%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}");
        try (LoadedExecutable program = client.compile(Program.stablehlo(donating), CompileOptions.defaults());
                Buffer given = vector(1, 2, 3, 4);
                Buffer kept = vector(1, 2, 3, 4);
                Buffer first = program.execute(given).getFirst();
                Buffer second = program.execute(List.of(List.of(kept)), ExecuteOptions.of(o -> o.nonDonatable(0)))
                        .getFirst()
                        .getFirst()) {
            assertThat(floats(first)).containsExactly(2, 4, 6, 8);
            assertThat(floats(second)).containsExactly(2, 4, 6, 8);
            assertThat(given.isDeleted()).isTrue();
            assertThat(kept.isDeleted()).isFalse();
            assertThatThrownBy(() -> floats(given)).isInstanceOf(StatusException.class);
        }
    }

    @Test
    void aDispatchFeedsItsResultsBackAndGivesThemUpOnceTaken() {
        String donating =
                TestPlugins.DOUBLE.replace("%x: tensor<4xf32>", "%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}");
        try (LoadedExecutable program = client.compile(Program.stablehlo(donating), CompileOptions.defaults());
                Buffer x = vector(1, 2, 3, 4);
                Dispatch loop = program.dispatch(1);
                Arena arena = Arena.ofConfined()) {
            loop.argument(0, 0, x).feed(0, 0);
            MemorySegment host = arena.allocate(16, 64);
            for (int i = 0; i < 10; i++) {
                loop.run();
                loop.toHost(0, 0, host);
                assertThat(host.get(ValueLayout.JAVA_FLOAT, 0)).isEqualTo((float) (2 << i));
            }
            try (Buffer last = loop.take(0, 0)) {
                assertThat(floats(last)).containsExactly(1024, 2048, 3072, 4096);
            }
            assertThatThrownBy(() -> loop.toHost(0, 0, host)).isInstanceOf(UsageException.Closed.class);
            assertThat(x.isDeleted()).isTrue();
        }
    }

    @Test
    void anAliasThatWasToStandForAClosedBufferCanStillStandForAnother() {
        AliasBuffer alias = client.alias(VECTOR, client.device(0).defaultMemory());
        Buffer gone = vector(9, 9, 9, 9);
        gone.close();
        try (Buffer stands = alias.buffer();
                Buffer real = vector(1, 2, 3, 4)) {
            assertThatThrownBy(() -> alias.fulfill(gone)).isInstanceOf(UsageException.Closed.class);
            alias.fulfill(real);

            assertThat(floats(stands)).containsExactly(1, 2, 3, 4);
            assertThatThrownBy(() -> alias.fulfill(real)).isInstanceOf(UsageException.Closed.class);
        }
    }

    @Test
    void aDispatchWithoutItsArgumentsIsRefused() {
        try (LoadedExecutable program =
                        client.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults());
                Dispatch dispatch = program.dispatch(1)) {
            assertThatThrownBy(dispatch::run)
                    .isInstanceOf(UsageException.BadArgument.class)
                    .hasMessageContaining("parameter 0");
        }
    }

    @Test
    void aViewReadsTheBufferWithoutACopy() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = arena.allocate(16, 64);
            data.copyFrom(MemorySegment.ofArray(new float[] {1, 2, 3, 4}));
            try (Buffer buffer =
                            client.put(data, VECTOR, client.device(0).defaultMemory(), Client.HostSemantics.ZERO_COPY);
                    Buffer.View view = buffer.view()) {
                assertThat(view.segment().address()).isEqualTo(data.address());
                assertThat(view.segment().toArray(ValueLayout.JAVA_FLOAT)).containsExactly(1, 2, 3, 4);
            }
        }
    }

    @Test
    void aProgramThatDoesNotParseSaysWhere() {
        assertThatThrownBy(() -> client.compile(
                        Program.stablehlo("func.func @main() {\n  nonsense\n}"), CompileOptions.defaults()))
                .isInstanceOfSatisfying(
                        StatusException.class, e -> assertThat(e.location()).hasValue("-:2:3"));
    }

    @Test
    void aClosedHandleIsRefusedAndSoIsClosingTwice() {
        Buffer buffer = vector(1);
        buffer.close();
        assertThatThrownBy(buffer::type).isInstanceOf(UsageException.Closed.class);
        assertThatThrownBy(buffer::close).isInstanceOf(UsageException.Closed.class);
    }

    @Test
    void aBufferOutlivesItsClientButCannotBeUsed() {
        Client other = TestPlugins.cpu().client();
        Buffer buffer = other.put(MemorySegment.ofArray(new float[4]), VECTOR, other.device(0));
        other.close();
        assertThatThrownBy(buffer::type).isInstanceOf(UsageException.Closed.class);
        buffer.close();
    }

    @Test
    void aBufferOfAnotherClientIsRefused() {
        try (Client other = TestPlugins.cpu().client();
                Buffer foreign = other.put(MemorySegment.ofArray(new float[4]), VECTOR, other.device(0));
                LoadedExecutable program =
                        client.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults())) {
            assertThatThrownBy(() -> program.execute(foreign)).isInstanceOf(UsageException.Foreign.class);
        }
    }

    /** Subtractions of the argument, each from what the last one gave. */
    private static Program subtractions(int count) {
        StringBuilder text = new StringBuilder("func.func @main(%m: tensor<i32>) -> tensor<i32> {\n");
        String last = "m";
        for (int i = 0; i < count; i++) {
            text.append('%').append(i).append(" = stablehlo.subtract %").append(last);
            text.append(", %m : tensor<i32>\n");
            last = String.valueOf(i);
        }
        text.append("return %").append(last).append(" : tensor<i32>\n}");
        return Program.stablehlo(text.toString());
    }

    @Test
    void aLongChainOfOperationsIsCompiledAndRunFromAThreadOfLittleStack() throws Exception {
        Program chain = subtractions(20_000);
        int[] result = new int[1];
        Thread little = new Thread(
                null,
                () -> {
                    try (Arena arena = Arena.ofConfined();
                            LoadedExecutable program = client.compile(chain, CompileOptions.defaults());
                            Buffer three = client.put(
                                    MemorySegment.ofArray(new int[] {3}),
                                    TensorType.of(ElementType.S32),
                                    client.device(0));
                            Buffer y = program.execute(three).getFirst()) {
                        result[0] = y.toHost(arena).get(ValueLayout.JAVA_INT, 0);
                        assertThat(program.executable().optimizedProgram().text())
                                .contains("subtract");
                    }
                },
                "little",
                256 << 10);
        little.start();
        little.join();

        assertThat(result[0]).isEqualTo(3 * -19_999);
    }

    @Test
    void aRefusalOfALargeProgramTellsWhoAsked() {
        String text = subtractions(1000).text().replace("%999 = stablehlo.subtract", "%999 = stablehlo.subtrakt");

        assertThatThrownBy(() -> client.compile(Program.stablehlo(text), CompileOptions.defaults()))
                .isInstanceOf(StatusException.class)
                .hasMessageContaining("subtrakt")
                .satisfies(refusal -> assertThat(refusal.getStackTrace())
                        .anyMatch(frame -> frame.getClassName().equals(ExecutionTest.class.getName())));
    }
}

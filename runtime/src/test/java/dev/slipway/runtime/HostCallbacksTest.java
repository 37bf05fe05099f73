// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_Chunk;
import dev.slipway.runtime.internal.abi.PJRT_ExecuteOptions;
import dev.slipway.runtime.internal.abi.PJRT_RecvCallbackInfo;
import dev.slipway.runtime.internal.abi.PJRT_SendCallbackInfo;
import dev.slipway.runtime.internal.abi.PjrtAbi;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The callback of a channel that sends, called as a plugin calls it: no plugin that runs here compiles {@code send}. */
class HostCallbacksTest {

    private static final AtomicLong FREED = new AtomicLong();
    private static final MethodHandle SEND = Linker.nativeLinker()
            .downcallHandle(FunctionDescriptor.of(
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_BOOLEAN,
                    ValueLayout.JAVA_LONG));

    @SuppressWarnings("unused") // called from C
    private static void free(long data, long argument) {
        FREED.set(argument);
    }

    @SuppressWarnings("unused") // called from C
    private static long makeError(int code, long message, long size) {
        return 1000L + code;
    }

    private static MemorySegment stub(String name, MethodType type, FunctionDescriptor descriptor) {
        return Native.upcall(MethodHandles.lookup(), HostCallbacksTest.class, name, type, descriptor);
    }

    private static MemorySegment chunk(Arena arena, int value, long argument) {
        MemorySegment chunk = PJRT_Chunk.in(arena);
        PJRT_Chunk.data(chunk, arena.allocateFrom(ValueLayout.JAVA_INT, value).address());
        PJRT_Chunk.size(chunk, 4);
        PJRT_Chunk.deleter(
                chunk,
                stub(
                                "free",
                                MethodType.methodType(void.class, long.class, long.class),
                                FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG))
                        .address());
        PJRT_Chunk.deleter_arg(chunk, argument);
        return chunk;
    }

    @Test
    void aPieceThatIsSentReachesTheHandlerAndIsFreed() throws Throwable {
        AtomicLong got = new AtomicLong();
        MemorySegment function = HostCallbacks.sender(
                TestPlugins.cpu().api(),
                new HostChannel.Send(1, (data, total, done) -> got.set(data.get(ValueLayout.JAVA_INT, 0) + total)));
        try (Arena arena = Arena.ofConfined()) {
            long error = (long) SEND.invokeExact(function, chunk(arena, 7, 11).address(), 0L, 100L, true, 0L);
            assertThat(error).isZero();
            assertThat(got).hasValue(107);
            assertThat(FREED).hasValue(11);
        }
    }

    @Test
    void whatAHandlerThrowsIsThePluginsErrorAndThePieceIsFreedStill() throws Throwable {
        MemorySegment function =
                HostCallbacks.sender(TestPlugins.cpu().api(), new HostChannel.Send(1, (data, total, done) -> {
                    throw new IllegalStateException("no room");
                }));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment maker = arena.allocateFrom(
                    ValueLayout.JAVA_LONG,
                    stub(
                                    "makeError",
                                    MethodType.methodType(long.class, int.class, long.class, long.class),
                                    FunctionDescriptor.of(
                                            ValueLayout.JAVA_LONG,
                                            ValueLayout.JAVA_INT,
                                            ValueLayout.JAVA_LONG,
                                            ValueLayout.JAVA_LONG))
                            .address());
            long error =
                    (long) SEND.invokeExact(function, chunk(arena, 7, 12).address(), maker.address(), 4L, true, 0L);
            assertThat(error).isEqualTo(1013);
            assertThat(FREED).hasValue(12);
        }
    }

    @Test
    void theRunsOfOneSetOfOptionsShareTheFunctionOfAChannel() {
        ExecuteOptions options =
                ExecuteOptions.of(o -> o.onSend(1, (_, _, _) -> {}).onReceive(2, _ -> {}));
        Plugin cpu = TestPlugins.cpu();

        assertThat(functions(cpu, options)).isEqualTo(functions(cpu, options)).doesNotContain(0L);
    }

    /** The functions for sending and receiving that a run on one device is given. */
    private static List<Long> functions(Plugin plugin, ExecuteOptions options) {
        try (Scratch scratch = Scratch.open()) {
            MemorySegment struct = PJRT_ExecuteOptions.in(scratch);
            options.write(plugin.api(), 1, struct, scratch);
            return List.of(
                    PJRT_SendCallbackInfo.send_callback(
                            info(PJRT_ExecuteOptions.send_callbacks(struct), PJRT_SendCallbackInfo.LAYOUT)),
                    PJRT_RecvCallbackInfo.recv_callback(
                            info(PJRT_ExecuteOptions.recv_callbacks(struct), PJRT_RecvCallbackInfo.LAYOUT)));
        }
    }

    private static MemorySegment info(long lists, MemoryLayout layout) {
        return Native.at(Native.longs(lists, 1)[0], layout.byteSize());
    }

    /** A plugin of one function, which frees a stream. */
    private static Api freeing() {
        long slot = PjrtFunction.PJRT_CopyToDeviceStream_Destroy.slot();
        MemorySegment table = Arena.global().allocate(PjrtAbi.FIRST_FUNCTION + (slot + 1) * Long.BYTES, 8);
        table.set(ValueLayout.JAVA_LONG, 0, table.byteSize());
        table.set(
                ValueLayout.JAVA_LONG,
                PjrtAbi.FIRST_FUNCTION + slot * Long.BYTES,
                stub(
                                "destroy",
                                MethodType.methodType(long.class, long.class),
                                FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG))
                        .address());
        return new Api("freeing", table.address());
    }

    @SuppressWarnings("unused") // called from C
    private static long destroy(long args) {
        FREED.incrementAndGet();
        return 0;
    }

    @Test
    void aStreamIsFreedOnceAndIsNotToBeClosedTwice() {
        HostChannel.Stream stream = new HostChannel.Stream(freeing(), 4096);
        FREED.set(0);
        stream.close();

        assertThatThrownBy(stream::close).isInstanceOf(UsageException.Closed.class);
        assertThatThrownBy(stream::totalBytes).isInstanceOf(UsageException.Closed.class);
        assertThat(FREED).hasValue(1);
    }

    @Test
    void theCpuCompilerRefusesAProgramThatSendsToTheHost() {
        assertRefused("send", """
                func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
                  %t = stablehlo.create_token : !stablehlo.token
                  %s = "stablehlo.send"(%x, %t) {
                    channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true
                  } : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
                  return %x : tensor<4xf32>
                }
                """);
    }

    @Test
    void theCpuCompilerRefusesAProgramThatReceivesFromTheHost() {
        assertRefused("recv", """
                func.func @main() -> tensor<4xf32> {
                  %t = stablehlo.create_token : !stablehlo.token
                  %x:2 = "stablehlo.recv"(%t) {
                    channel_handle = #stablehlo.channel_handle<handle = 2, type = 3>, is_host_transfer = true
                  } : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
                  return %x#0 : tensor<4xf32>
                }
                """);
    }

    private static void assertRefused(String op, String program) {
        for (PluginName name : List.of(PluginName.CPU, PluginName.CPU_0_106, PluginName.CPU_0_81)) {
            try (Client client = TestPlugins.load(name).client()) {
                assertThatThrownBy(() -> client.compile(Program.stablehlo(program), CompileOptions.defaults()))
                        .as(name.text())
                        .isInstanceOf(StatusException.Unimplemented.class)
                        .hasMessageContaining("HLO opcode `" + op + "` is not supported by XLA:CPU");
            }
        }
    }
}

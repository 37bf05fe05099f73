// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.Client;
import dev.slipway.runtime.CompileOptions;
import dev.slipway.runtime.Dispatch;
import dev.slipway.runtime.ElementType;
import dev.slipway.runtime.LoadedExecutable;
import dev.slipway.runtime.NamedValue;
import dev.slipway.runtime.PackageStore;
import dev.slipway.runtime.Plugins;
import dev.slipway.runtime.Program;
import dev.slipway.runtime.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What the binding costs: a call that does nothing, a run of a tiny program, and arrays to the device and back.
 * {@code bench/runtime-vs-rivals} puts C, jaxlib and pypjrt beside it; {@code -prof gc} shows what is allocated.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
public class RuntimeBenchmark {

    /** Bytes of the arrays that are moved: 64 MiB. */
    private static final int BLOCK = 64 << 20;

    private static final String ADD = """
            func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
              %y = stablehlo.add %x, %x : tensor<8xf32>
              return %y : tensor<8xf32>
            }
            """;

    private final Arena arena = Arena.ofShared();
    private final MemorySegment block = arena.allocate(BLOCK, 64);
    private final MemorySegment copy = arena.allocate(BLOCK, 64);
    private final MemorySegment small = arena.allocate(32, 64);
    private final Client client = Plugins.ofUser()
            .load("cpu", PackageStore.Progress.NONE)
            .client(Map.of("cpu_device_count", NamedValue.of(1)));
    private final TensorType blockType = TensorType.of(ElementType.U8, BLOCK);
    private final LoadedExecutable add = client.compile(Program.stablehlo(ADD), CompileOptions.defaults());
    private final Buffer x = client.put(small, TensorType.of(ElementType.F32, 8), client.device(0));
    private final Buffer large = client.put(block, blockType, client.device(0));
    private final Dispatch dispatch = add.dispatch(1).argument(0, 0, x);

    /** Waits until the arrays are there. */
    @Setup
    public void settle() {
        x.await();
        large.await();
        dispatch.run();
    }

    /** Closes everything. */
    @TearDown
    public void close() {
        dispatch.close();
        x.close();
        large.close();
        add.close();
        client.close();
        arena.close();
    }

    /** A call that only looks at a field. */
    @Benchmark
    public boolean noOpCall() {
        return x.isOnCpu();
    }

    /** A run of one addition, prepared: what a decode loop does. */
    @Benchmark
    public void dispatchPrepared() {
        dispatch.run();
        dispatch.await(0, 0);
    }

    /** A run of one addition through lists and buffers. */
    @Benchmark
    public void dispatchPlain() {
        try (Buffer y = add.execute(x).getFirst()) {
            y.await();
        }
    }

    /** 64 MiB to the device, by a copy: time for each KiB. */
    @Benchmark
    @OperationsPerInvocation(BLOCK >> 10)
    public void hostToDevice() {
        try (Buffer buffer = client.put(block, blockType, client.device(0))) {
            buffer.await();
        }
    }

    /** 64 MiB to the device, as it lies: time for each KiB. */
    @Benchmark
    @OperationsPerInvocation(BLOCK >> 10)
    public void hostToDeviceWithoutACopy() {
        try (Buffer buffer =
                client.put(block, blockType, client.device(0).defaultMemory(), Client.HostSemantics.ZERO_COPY)) {
            buffer.await();
        }
    }

    /** 64 MiB from the device: time for each KiB. */
    @Benchmark
    @OperationsPerInvocation(BLOCK >> 10)
    public void deviceToHost() {
        large.toHost(copy);
    }

    /** 64 MiB from memory to memory, to compare with: time for each KiB. */
    @Benchmark
    @OperationsPerInvocation(BLOCK >> 10)
    public void memoryCopy() {
        MemorySegment.copy(block, 0, copy, 0, BLOCK);
    }
}

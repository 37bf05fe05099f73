// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.Client;
import dev.slipway.runtime.CompileOptions;
import dev.slipway.runtime.Dispatch;
import dev.slipway.runtime.ElementType;
import dev.slipway.runtime.LoadedExecutable;
import dev.slipway.runtime.PackageStore;
import dev.slipway.runtime.Plugins;
import dev.slipway.runtime.Program;
import dev.slipway.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What a run allocates on the Java heap. */
class AllocationTest {

    private static final String ADD = """
            func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
              %y = stablehlo.add %x, %x : tensor<8xf32>
              return %y : tensor<8xf32>
            }
            """;
    private static final int RUNS = 500;

    private static Client client;
    private static LoadedExecutable add;
    private static Buffer x;

    @BeforeAll
    static void open() {
        client = Plugins.ofUser().load("cpu", PackageStore.Progress.NONE).client();
        add = client.compile(Program.stablehlo(ADD), CompileOptions.defaults());
        x = client.put(MemorySegment.ofArray(new float[8]), TensorType.of(ElementType.F32, 8), client.device(0));
    }

    @AfterAll
    static void close() {
        x.close();
        add.close();
        client.close();
    }

    private static long bytesOf(Runnable run) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        // The first runs load classes and read what the program takes.
        for (int i = 0; i < RUNS; i++) {
            run.run();
        }
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < RUNS; i++) {
            run.run();
        }
        return (threads.getCurrentThreadAllocatedBytes() - before) / RUNS;
    }

    @Test
    void aRunThroughListsAndBuffersAllocatesLittleMoreThanThose() {
        // 736 B by the interpreter, 424 B by compiled code; 1,784 and 1,312 B when streams over no callbacks were made
        // for each run.
        assertThat(bytesOf(() -> {
                    try (Buffer y = add.execute(x).getFirst()) {
                        y.await();
                    }
                }))
                .isLessThan(1200);
    }

    @Test
    void aPreparedRunAllocatesLess() {
        try (Dispatch dispatch = add.dispatch(1).argument(0, 0, x)) {
            assertThat(bytesOf(() -> {
                        dispatch.run();
                        dispatch.await(0, 0);
                    }))
                    .isLessThan(300);
        }
    }
}

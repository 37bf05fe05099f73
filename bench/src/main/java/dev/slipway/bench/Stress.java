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
import dev.slipway.runtime.Plugin;
import dev.slipway.runtime.Plugins;
import dev.slipway.runtime.Program;
import dev.slipway.runtime.TensorType;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Wears the runtime: rounds of creating, compiling, running and closing, whose native memory must stay flat, and threads that
 * compile and run on one client, whose results must be right. Figures are printed as they come; a wrong one ends it.
 */
public final class Stress {

    private static final TensorType VECTOR = TensorType.of(ElementType.F32, 16);

    private final Plugin plugin;
    private final PrintStream out;

    /** Wears a plugin, and tells {@code out} how it goes. */
    public Stress(Plugin plugin, PrintStream out) {
        this.plugin = plugin;
        this.out = out;
    }

    /**
     * How long to wear it.
     *
     * @param rounds of creating a client, compiling, running and closing; 0 for none
     * @param threads that then share one client
     * @param minutes for which they do; 0 for none
     */
    record Options(int rounds, int threads, int minutes) {

        /** Reads {@code --rounds}, {@code --threads} and {@code --minutes}, each with a number after it. */
        static Options of(List<String> args) {
            Map<String, Integer> numbers = new TreeMap<>(Map.of("--rounds", 10_000, "--threads", 16, "--minutes", 3));
            for (int i = 0; i < args.size(); i += 2) {
                if (!numbers.containsKey(args.get(i))
                        || i + 1 == args.size()
                        || !args.get(i + 1).matches("\\d{1,8}")) {
                    throw new IllegalArgumentException("stress takes " + numbers.keySet()
                            + ", each with a number after it, not " + args.subList(i, Math.min(i + 2, args.size())));
                }
                numbers.put(args.get(i), Integer.valueOf(args.get(i + 1)));
            }
            return new Options(
                    numbers.getOrDefault("--rounds", 0),
                    numbers.getOrDefault("--threads", 0),
                    numbers.getOrDefault("--minutes", 0));
        }
    }

    static void main(List<String> args) throws InterruptedException {
        Options options = Options.of(args);
        Stress stress = new Stress(Plugins.ofUser().load("cpu", PackageStore.Progress.NONE), System.out);
        if (options.rounds() > 0) {
            stress.rounds(options.rounds());
        }
        if (options.minutes() > 0) {
            stress.threads(options.threads(), Duration.ofMinutes(options.minutes()));
        }
    }

    private static Program add(int constant) {
        return Program.stablehlo("""
                func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
                  %c = stablehlo.constant dense<CONSTANT.0> : tensor<16xf32>
                  %y = stablehlo.add %x, %c : tensor<16xf32>
                  return %y : tensor<16xf32>
                }
                """.replace("CONSTANT", String.valueOf(constant)));
    }

    /**
     * Creates a client, compiles, runs, reads and closes, again and again.
     *
     * @return resident memory at the end, less that after a third of the rounds, when the allocators have settled, in bytes
     */
    public long rounds(int count) {
        long settled = 0;
        for (int round = 0; round < count; round++) {
            try (Client client = plugin.client(Map.of("cpu_device_count", NamedValue.of(2)))) {
                compileAndRun(client, round % 1000);
            }
            if (round == count / 3) {
                settled = resident();
            }
            if ((round + 1) % Math.max(1, count / 10) == 0) {
                out.printf("%,7d rounds  resident %,5d MiB%n", round + 1, resident() >> 20);
            }
        }
        long grown = resident() - settled;
        out.printf(
                "%,d rounds of create, compile, run, close: %,d KiB more than after %,d of them (%,d bytes a round)%n",
                count, grown >> 10, count / 3, grown / Math.max(1, count - count / 3));
        return grown;
    }

    /**
     * Has threads compile and run on one client.
     *
     * @return how many programs were compiled and checked
     */
    public long threads(int count, Duration time) throws InterruptedException {
        AtomicLong done = new AtomicLong();
        long end = System.nanoTime() + time.toNanos();
        long before = resident();
        try (Client client = plugin.client(Map.of("cpu_device_count", NamedValue.of(4)));
                ExecutorService workers = Executors.newFixedThreadPool(count)) {
            List<Future<?>> all = new ArrayList<>();
            for (int t = 0; t < count; t++) {
                int seed = t * 1000;
                all.add(workers.submit(() -> {
                    for (int i = 0; System.nanoTime() < end; i++) {
                        compileAndRun(client, seed + i % 1000);
                        done.incrementAndGet();
                    }
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
        } catch (ExecutionException e) {
            throw new IllegalStateException("a thread failed after " + done + " programs", e.getCause());
        }
        out.printf(
                "%d threads on one client for %d s: %,d programs compiled, run ten times and checked; resident %,d MiB before, %,d MiB after%n",
                count, time.toSeconds(), done.get(), before >> 20, resident() >> 20);
        return done.get();
    }

    private static void compileAndRun(Client client, int constant) {
        try (LoadedExecutable program = client.compile(add(constant), CompileOptions.defaults());
                Arena arena = Arena.ofConfined();
                Buffer x = client.put(MemorySegment.ofArray(new float[16]), VECTOR, client.device(0));
                Dispatch loop = program.dispatch(1).argument(0, 0, x).feed(0, 0)) {
            try (Buffer y = program.execute(x).getFirst()) {
                check(y.toHost(arena), constant);
            }
            MemorySegment host = arena.allocate(VECTOR.hostBytes(), 64);
            for (int run = 1; run <= 9; run++) {
                loop.run();
                loop.toHost(0, 0, host);
                check(host, run * constant);
            }
        }
    }

    private static void check(MemorySegment host, float expected) {
        float[] values = host.toArray(ValueLayout.JAVA_FLOAT);
        for (float value : values) {
            if (value != expected) {
                throw new IllegalStateException("expected " + expected + " everywhere, got " + Arrays.toString(values));
            }
        }
    }

    /** Resident memory of this process in bytes, as Linux counts it. */
    private static long resident() {
        System.gc();
        try {
            return Files.readAllLines(Path.of("/proc/self/status")).stream()
                    .filter(line -> line.startsWith("VmRSS"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
                    .findFirst()
                    .orElse(0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

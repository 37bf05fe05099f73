// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import dev.slipway.aot.AotCompiler;
import dev.slipway.aot.Compiled;
import dev.slipway.aot.DecodeSession;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.aot.PluginLocator;
import dev.slipway.checkpoint.Checkpoint;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.runtime.PluginLog;
import dev.slipway.stablehlo.Module;
import dev.slipway.stablehlo.Operation;
import dev.slipway.topology.Topologies;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** What a comparison needs of one process of ours, as one JSON document: first and later times, CPU time beside wall time. */
final class Measure {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final OperatingSystemMXBean PROCESS =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private Measure() {}

    /**
     * One run of something on this thread.
     *
     * @param wall seconds
     * @param cpu seconds of this thread
     * @param allocated bytes of heap by this thread
     */
    record Cost(double wall, double cpu, long allocated) {}

    /** Runs something and says what it cost. The result goes to nobody but is not optimised away. */
    static Cost cost(Supplier<?> work) {
        long allocated = THREADS.getCurrentThreadAllocatedBytes();
        long cpu = THREADS.getCurrentThreadCpuTime();
        long wall = System.nanoTime();
        Object result = work.get();
        long wallEnd = System.nanoTime();
        long cpuEnd = THREADS.getCurrentThreadCpuTime();
        long allocatedEnd = THREADS.getCurrentThreadAllocatedBytes();
        if (result == Measure.class) {
            throw new AssertionError("keeps the result alive");
        }
        return new Cost((wallEnd - wall) / 1e9, (cpuEnd - cpu) / 1e9, allocatedEnd - allocated);
    }

    /** A model on a machine to the text that the compiler reads. */
    static byte[] text(String model, String target) {
        return Cases.lower(model, target).program().module().toString().getBytes(StandardCharsets.UTF_8);
    }

    /** The operations of a module, those in regions included. */
    static long operations(Module module) {
        return count(module.operation()) - 1;
    }

    private static long count(Operation operation) {
        return 1
                + operation.regions().stream()
                        .flatMap(region -> region.blocks().stream())
                        .flatMap(block -> block.operations().stream())
                        .mapToLong(Measure::count)
                        .sum();
    }

    /**
     * Lowers a model: the first time in this process, and {@code times} warm ones after ten times as many unmeasured, when the JIT's
     * compilers have come to rest (300 are too few: the 300 after them take twice as long as the last).
     */
    static Map<String, Object> lower(String model, String target, int times) {
        Cost cold = cost(() -> text(model, target));
        for (int i = 0; i < 10 * times; i++) {
            text(model, target);
        }
        List<Double> wall = new ArrayList<>();
        List<Double> cpu = new ArrayList<>();
        long allocated = Long.MAX_VALUE;
        for (int i = 0; i < times; i++) {
            Cost warm = cost(() -> text(model, target));
            wall.add(warm.wall());
            cpu.add(warm.cpu());
            allocated = Math.min(allocated, warm.allocated());
        }
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("lower_s", cold.wall());
        values.put("lower_cpu_s", cold.cpu());
        values.put("warm_lower_s", wall);
        values.put("warm_lower_cpu_s", cpu);
        values.put("allocated_bytes", allocated);
        values.put("module_bytes", text(model, target).length);
        values.put("module_ops", operations(Cases.lower(model, target).program().module()));
        return values;
    }

    /** Builds and prints a chain of {@code ops} additions: the later half of {@code times}. */
    static Map<String, Object> build(int ops, int times) {
        List<Double> wall = new ArrayList<>();
        for (int i = 0; i < times; i++) {
            wall.add(cost(() -> StablehloBenchmark.chain(ops).toString()).wall());
        }
        return Map.of(
                "build_s",
                wall.subList(times / 2, times),
                "module_bytes",
                StablehloBenchmark.chain(ops).toString().length());
    }

    /** Compiles a model once: XLA's wall time, and the CPU time of all threads meanwhile. */
    static Map<String, Object> compile(String model, String target) {
        try (PluginLog _ = PluginLog.capture()) {
            AotCompiler.Lowered lowered = Cases.lower(model, target);
            PluginLocator plugins = PluginLocator.ofUser();
            plugins.locate(lowered.topology().platform()).load();
            double before = processSeconds();
            Compiled compiled = new AotCompiler(plugins).compile(lowered, Map.of());
            double cpu = processSeconds() - before;
            Map<String, Object> values = new LinkedHashMap<>();
            values.put("compile_s", compiled.timings().compile());
            values.put("compile_cpu_s", cpu);
            values.put("temp_bytes", compiled.memory().temporaries());
            values.put("code_bytes", compiled.memory().code());
            compiled.flops().ifPresent(flops -> values.put("flops", flops));
            return values;
        }
    }

    /**
     * SmolLM2 on this CPU: a prompt and the tokens after it, once unmeasured, as its rivals do it, and once measured.
     *
     * @param prompt how many tokens are read
     * @param tokens how many are made
     */
    static Map<String, Object> decode(int prompt, int tokens) {
        long start = System.nanoTime();
        try (PluginLog _ = PluginLog.capture();
                Checkpoint checkpoint = Cases.smollm2();
                DecodeSession session = DecodeSession.open(
                        PluginLocator.ofUser(),
                        InferenceRunner.of(checkpoint.config(), DecodeOptions.greedy(prompt + tokens)),
                        Topologies.resolve("cpu"),
                        checkpoint.parameters())) {
            double load = since(start);
            start = System.nanoTime();
            double firstPrefill;
            try (DecodeSession.TokenStream first = stream(session, prompt)) {
                firstPrefill = first.prefillSeconds();
                first.advance();
            }
            double compile = since(start) - firstPrefill;
            try (DecodeSession.TokenStream stream = stream(session, prompt)) {
                List<Integer> ids = new ArrayList<>();
                ids.add(stream.tokens()[0]);
                start = System.nanoTime();
                while (ids.size() < tokens) {
                    ids.add(stream.advance()[0]);
                }
                double decode = since(start);
                return Map.of(
                        "load_s",
                        load,
                        "compile_s",
                        compile,
                        "first_prefill_tokens_per_s",
                        prompt / firstPrefill,
                        "prefill_tokens_per_s",
                        prompt / stream.prefillSeconds(),
                        "decode_tokens_per_s",
                        (tokens - 1) / decode,
                        "tokens",
                        ids.subList(0, Math.min(32, ids.size())));
            }
        }
    }

    private static DecodeSession.TokenStream stream(DecodeSession session, int prompt) {
        return session.stream(Cases.prompts(1, prompt), prompt, Map.of(), new int[4]);
    }

    private static double since(long start) {
        return (System.nanoTime() - start) / 1e9;
    }

    /** CPU time of this process so far. */
    static double processSeconds() {
        return PROCESS.getProcessCpuTime() / 1e9;
    }
}

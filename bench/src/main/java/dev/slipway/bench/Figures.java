// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import com.google.common.collect.ImmutableMap;
import dev.slipway.aot.AotCompiler;
import dev.slipway.aot.Compiled;
import dev.slipway.aot.PluginLocator;
import dev.slipway.runtime.PluginLog;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What a program costs in terms that do not depend on how busy a machine is. Tests hold these figures to recorded ones;
 * {@code ./slipway-bench figures} prints them, and {@code ./slipway-bench figures --record} records them anew.
 *
 * @param ops operations in the module
 * @param moduleBytes its text
 * @param allocatedBytes heap of a warm lowering to text
 * @param flops XLA's count on one device, each loop's body once; 0 where the compiler counts none
 * @param bytesAccessed likewise
 * @param temporaries bytes on one device
 * @param codeBytes bytes on one device
 */
record Figures(
        String model,
        String target,
        long ops,
        long moduleBytes,
        long allocatedBytes,
        double flops,
        double bytesAccessed,
        long temporaries,
        long codeBytes) {
    private static final int WARM_UPS = 20;
    private static final int RUNS = 5;

    /** By how much the heap of a lowering differs between runs of the same code. */
    private static final double NOISE = 0.02;

    /** The cases that are recorded: each kind of machine, and models that compile in seconds. */
    static final List<Map.Entry<String, String>> CASES = List.of(
            Map.entry("tiny-llama", "cpu"),
            Map.entry("tiny-llama", "v5e-16"),
            Map.entry("tiny-llama", "v5p-8"),
            Map.entry("tiny-llama", "v6e-8"),
            Map.entry("tiny-llama", "7x-8"),
            Map.entry("tiny-llama", "v5e-16x2"),
            Map.entry("smollm2-135m", "cpu"),
            Map.entry("smollm2-135m", "v5e-16"),
            Map.entry("fuji-1b", "v5e-16"));

    /** Measures a case. */
    static Figures of(String model, String target) {
        for (int i = 0; i < WARM_UPS; i++) {
            Measure.text(model, target);
        }
        long allocated = Long.MAX_VALUE;
        for (int i = 0; i < RUNS; i++) {
            allocated = Math.min(
                    allocated, Measure.cost(() -> Measure.text(model, target)).allocated());
        }
        AotCompiler.Lowered lowered = Cases.lower(model, target);
        Compiled compiled = new AotCompiler(PluginLocator.ofUser()).compile(lowered, Map.of());
        return new Figures(
                model,
                target,
                Measure.operations(lowered.program().module()),
                Measure.text(model, target).length,
                allocated,
                compiled.flops().orElse(0),
                compiled.bytesAccessed().orElse(0),
                compiled.memory().temporaries(),
                compiled.memory().code());
    }

    /** The figures by name, for all that is compared and shown. */
    ImmutableMap<String, Double> byName() {
        return ImmutableMap.<String, Double>builder()
                .put("operations", (double) ops)
                .put("bytes of text", (double) moduleBytes)
                .put("bytes allocated by a lowering", (double) allocatedBytes)
                .put("XLA's flops", flops)
                .put("XLA's bytes accessed", bytesAccessed)
                .put("bytes of temporaries", (double) temporaries)
                .put("bytes of code", (double) codeBytes)
                .buildOrThrow();
    }

    /** A line for each figure that differs by more than {@value #NOISE} of what it was, new cases left out. */
    static List<String> changes(List<Figures> before, List<Figures> now) {
        List<String> lines = new ArrayList<>();
        for (Figures then : before) {
            now.stream()
                    .filter(each -> each.model.equals(then.model) && each.target.equals(then.target))
                    .forEach(each -> then.byName().forEach((name, old) -> {
                        double value = each.byName().getOrDefault(name, old);
                        if (Math.abs(value - old) > NOISE * old) {
                            lines.add(String.format(
                                    Locale.ROOT,
                                    "%s on %s: %s %.0f -> %.0f (%+.1f %%)",
                                    then.model,
                                    then.target,
                                    name,
                                    old,
                                    value,
                                    100 * (value / old - 1)));
                        }
                    }));
        }
        return lines;
    }

    /** All recorded cases. */
    static List<Figures> all() {
        List<Figures> all = new ArrayList<>();
        try (PluginLog _ = PluginLog.capture()) {
            CASES.forEach(each -> all.add(of(each.getKey(), each.getValue())));
        }
        return all;
    }
}

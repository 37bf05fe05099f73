// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.aot.DecodeSession;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.aot.PluginLocator;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.Form;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.topology.Topology;
import java.util.Objects;
import java.util.function.UnaryOperator;

/**
 * A model that is to run here, and how.
 *
 * @param machine {@code cpu} or {@code cpu-N}
 * @param usual has the form of its programs; their options are each program's own
 */
record LocalModel(PluginLocator plugins, Model model, Topology machine, InferenceRunner usual) {
    /** A model whose programs are written as suits the machine and the weights, in the types that its folder states. */
    static LocalModel of(PluginLocator plugins, Model model, Topology machine, MeshSpec mesh) {
        InferenceRunner runner =
                InferenceRunner.of(model.config(), DecodeOptions.greedy(1)).withMesh(mesh);
        // AXLearn's scores are compared to the last digits, so sums are in its order whatever the file's types are.
        InferenceRunner suiting = model.axlearn()
                ? runner.withForm(InferenceRunner.formFor(machine.chip()))
                : runner.withFormFor(machine, model.weights().parameters());
        return new LocalModel(plugins, model, machine, suiting).withForm(model::withStatedTypes);
    }

    /** This model with its programs written in another way. */
    LocalModel withForm(UnaryOperator<Form> change) {
        Form form = Objects.requireNonNull(usual.form(), "settled when this was made");
        return new LocalModel(plugins, model, machine, usual.withForm(change.apply(form)));
    }

    InferenceRunner runner(DecodeOptions options) {
        return usual.withOptions(options);
    }

    /** Puts the weights on the devices; close the session when all is run. */
    DecodeSession open(InferenceRunner runner) {
        return DecodeSession.open(plugins, runner, machine, model.weights().parameters());
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.aot.DecodeSession;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.aot.PluginLocator;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.Form;
import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.topology.Topology;

/**
 * A model that is to run here, and how.
 *
 * @param machine {@code cpu} or {@code cpu-N}
 * @param form how its programs are written
 */
record LocalModel(PluginLocator plugins, Model model, Topology machine, MeshSpec mesh, Form form) {
    /** A model whose programs are written as suits the machine and the weights, in the types that its folder states. */
    static LocalModel of(PluginLocator plugins, Model model, Topology machine, MeshSpec mesh) {
        Form suiting = InferenceRunner.formFor(
                machine.chip(),
                model.config(),
                Mesh.of(machine, mesh),
                model.weights().parameters());
        return new LocalModel(plugins, model, machine, mesh, model.withStatedTypes(suiting));
    }

    /** This model with its programs written in another way. */
    LocalModel withForm(Form other) {
        return new LocalModel(plugins, model, machine, mesh, other);
    }

    InferenceRunner runner(DecodeOptions options) {
        return InferenceRunner.of(model.config(), options).withMesh(mesh).withForm(form);
    }

    /** Puts the weights on the devices; close the session when all is run. */
    DecodeSession open(InferenceRunner runner) {
        return DecodeSession.open(plugins, runner, machine, model.weights().parameters());
    }
}

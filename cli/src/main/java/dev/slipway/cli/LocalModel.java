// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.aot.DecodeSession;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.aot.PluginLocator;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.Form;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.topology.Topology;
import org.jspecify.annotations.Nullable;

/**
 * A model that is to run here, and how.
 *
 * @param machine {@code cpu} or {@code cpu-N}
 * @param form how its programs are written; null for what suits the machine and the weights
 */
record LocalModel(
        PluginLocator plugins,
        Model model,
        Topology machine,
        MeshSpec mesh,
        @Nullable Form form) {
    InferenceRunner runner(DecodeOptions options) {
        InferenceRunner runner = InferenceRunner.of(model.config(), options).withMesh(mesh);
        return form == null ? runner : runner.withForm(form);
    }

    /** Puts the weights on the devices; close the session when all is run. */
    DecodeSession open(InferenceRunner runner) {
        return DecodeSession.open(plugins, runner, machine, model.weights().parameters());
    }
}

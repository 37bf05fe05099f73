// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import com.google.common.collect.ImmutableList;
import dev.slipway.mesh.Mesh;
import dev.slipway.stablehlo.Module;

/**
 * A lowered program: its module and what its arguments and results are.
 *
 * @param method which program it is, e.g. {@code "sample_decode"}
 * @param module the StableHLO module; its function {@code main} takes the arguments in order
 * @param mesh where it runs
 * @param arguments in order: parameters first, then what the method takes
 * @param results in order
 * @param parameters how many of the arguments are parameters
 * @param notes what the reader should know, e.g. which dimensions do not divide and are left whole
 */
public record InferenceProgram(
        String method,
        Module module,
        Mesh mesh,
        ImmutableList<TensorSpec> arguments,
        ImmutableList<TensorSpec> results,
        int parameters,
        ImmutableList<String> notes) {
    /** The arguments that are parameters. */
    public ImmutableList<TensorSpec> parameterSpecs() {
        return arguments.subList(0, parameters);
    }

    /** The arguments that are not parameters. */
    public ImmutableList<TensorSpec> inputSpecs() {
        return arguments.subList(parameters, arguments.size());
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import com.google.common.base.Splitter;
import dev.slipway.mesh.DeviceOrder;
import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.MeshShape;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.topology.Topology;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options that say how a machine's devices are arranged. A command declares it as {@code @Mixin MeshOptions mesh}. */
final class MeshOptions {
    @Spec(Spec.Target.MIXEE)
    @SuppressWarnings("NullAway.Init") // picocli sets it before it runs a command
    private CommandSpec command;

    @Option(names = "--slices", paramLabel = "N", description = "Number of slices (1).")
    private int slices;

    @Option(names = "--axes", paramLabel = "A,B", description = "Names of the mesh axes (data,model).")
    private @Nullable String axes;

    @Option(
            names = "--shape",
            paramLabel = "N,M",
            description =
                    "Sizes of the axes, one of them -1 for what is left. Without one, all devices are on the first axis.")
    private @Nullable String shape;

    @Option(names = "--ici", paramLabel = "N,M", description = "Sizes within a slice, one of them -1; with --dcn.")
    private @Nullable String ici;

    @Option(names = "--dcn", paramLabel = "N,M", description = "Sizes across slices, one of them -1; with --ici.")
    private @Nullable String dcn;

    @Option(
            names = "--order",
            paramLabel = "ORDER",
            defaultValue = "runtime",
            description =
                    "runtime: as JAX and AXLearn lay devices where the hardware is (default); topology: as listed.")
    private DeviceOrder order = DeviceOrder.RUNTIME;

    /** The machine that a TARGET means, with as many slices as asked. */
    Topology topology(String target) throws IOException {
        return Machines.find(
                target, command.commandLine().getParseResult().hasMatchedOption("--slices") ? atLeastOne() : 0);
    }

    private int atLeastOne() {
        if (slices < 1) {
            throw misuse("--slices " + slices + ": at least 1 was expected");
        }
        return slices;
    }

    DeviceOrder order() {
        return order;
    }

    /** Axes and sizes as asked. */
    MeshSpec spec() {
        List<String> names = axes == null
                ? MeshSpec.DEFAULT_AXES
                : Splitter.on(',').trimResults().splitToList(axes);
        if (ici == null && dcn == null) {
            return new MeshSpec(names, new MeshShape.Plain(shape == null ? List.of() : sizes("--shape", shape)));
        }
        if (shape != null) {
            throw misuse("--shape is for one shape, --ici and --dcn for a hybrid one: give either");
        }
        if (ici == null || dcn == null) {
            throw misuse("--ici and --dcn go together: " + (ici == null ? "--ici" : "--dcn") + " is missing");
        }
        return new MeshSpec(names, new MeshShape.Hybrid(sizes("--ici", ici), sizes("--dcn", dcn)));
    }

    /** The mesh on a machine. */
    Mesh mesh(Topology topology) {
        return Mesh.of(topology, spec(), order);
    }

    private List<Integer> sizes(String option, String text) {
        List<Integer> sizes = new ArrayList<>();
        for (String part : Splitter.on(',').trimResults().split(text)) {
            try {
                sizes.add(Integer.parseInt(part));
            } catch (NumberFormatException e) {
                throw misuse(option + " " + text + ": \"" + part + "\" is not a whole number");
            }
        }
        return sizes;
    }

    private ParameterException misuse(String message) {
        return new ParameterException(command.commandLine(), message);
    }
}

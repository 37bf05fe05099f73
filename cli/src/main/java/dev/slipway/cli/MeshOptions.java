// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.mesh.DeviceOrder;
import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.MeshShape;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.topology.Topology;
import java.io.IOException;
import java.util.List;
import java.util.OptionalInt;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options that say how a machine's devices lie on a mesh. A command declares it as {@code @Mixin MeshOptions mesh}. */
final class MeshOptions {
    @Spec(Spec.Target.MIXEE)
    @SuppressWarnings("NullAway.Init") // picocli sets it before it runs a command
    private CommandSpec command;

    @Option(
            names = "--slices",
            paramLabel = "N",
            defaultValue = "1",
            description = "Slices of the target; 1 by default.")
    private int slices;

    @Option(names = "--axes", split = ",", paramLabel = "AXIS", description = "Mesh axes; data,model by default.")
    private List<String> axes = MeshSpec.DEFAULT_AXES;

    @Option(
            names = "--shape",
            split = ",",
            paramLabel = "SIZE",
            description = "Mesh shape; one size may be -1. By default all devices on the first axis.")
    private List<Integer> shape = List.of();

    @Option(
            names = "--ici",
            split = ",",
            paramLabel = "SIZE",
            description = "Mesh shape within a slice, one size may be -1; with --dcn.")
    private List<Integer> ici = List.of();

    @Option(
            names = "--dcn",
            split = ",",
            paramLabel = "SIZE",
            description = "Mesh shape across slices, one size may be -1; with --ici.")
    private List<Integer> dcn = List.of();

    @Option(
            names = "--order",
            paramLabel = "ORDER",
            defaultValue = "runtime",
            description = "Device order: runtime (as JAX lays them where the hardware is) or topology (as listed).")
    private DeviceOrder order = DeviceOrder.RUNTIME;

    /** How many slices were asked for. */
    int slices() {
        if (slices < 1) {
            throw misuse("--slices " + slices + ": at least 1 was expected");
        }
        return slices;
    }

    DeviceOrder order() {
        return order;
    }

    /** The machine that a TARGET means, with the slices that were asked for. */
    Topology topology(String target) throws IOException {
        boolean asked = command.commandLine().getParseResult().hasMatchedOption("--slices");
        return Machines.find(target, asked ? OptionalInt.of(slices()) : OptionalInt.empty());
    }

    /** The mesh that was asked for, before it is laid on a machine. */
    MeshSpec spec() {
        if (ici.isEmpty() != dcn.isEmpty()) {
            throw misuse("--ici and --dcn are given together: " + (ici.isEmpty() ? "--ici" : "--dcn") + " is missing");
        }
        if (!ici.isEmpty() && !shape.isEmpty()) {
            throw misuse("a mesh has either --shape or --ici and --dcn");
        }
        for (String axis : axes) {
            if (!isAxisName(axis)) {
                throw misuse(
                        "--axes has the name '%s'; letters, digits, '_', '-' and '.' are expected, and commas between names"
                                .formatted(axis));
            }
        }
        return new MeshSpec(axes, ici.isEmpty() ? new MeshShape.Plain(shape) : MeshShape.hybrid(ici, dcn));
    }

    /** The mesh that was asked for, on a machine. */
    Mesh mesh(Topology topology) {
        return Mesh.of(topology, spec(), order);
    }

    /** No regular expression: the first of a process takes a millisecond or two on the way to the compiler. */
    private static boolean isAxisName(String name) {
        return !name.isEmpty() && name.chars().allMatch(c -> Character.isLetterOrDigit(c) || "_.-".indexOf(c) >= 0);
    }

    private ParameterException misuse(String message) {
        return new ParameterException(command.commandLine(), message);
    }
}

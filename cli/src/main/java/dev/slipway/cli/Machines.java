// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.topology.InvalidTopologyException;
import dev.slipway.topology.Platform;
import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.OptionalInt;

/** Finds the machine that a command's TARGET means. */
final class Machines {
    private Machines() {}

    /**
     * A machine by name, or one that a JSON file describes.
     *
     * @param target a name, or the path of a file that ends in {@code .json}
     * @param slices how many slices were asked for, if any were
     */
    static Topology find(String target, OptionalInt slices) throws IOException {
        if (!target.endsWith(".json")) {
            return Topologies.resolve(target, slices.orElse(1));
        }
        Topology machine;
        try {
            machine = Topologies.fromJson(new String(InFile.read(Path.of(target)), StandardCharsets.UTF_8));
        } catch (InvalidTopologyException e) {
            throw new InvalidTopologyException(target + ": " + e.getMessage());
        }
        return slices.isPresent() ? machine.withSlices(slices.getAsInt()) : machine;
    }

    /** A machine's name with its number of slices, where the name does not tell. */
    static String title(Topology machine) {
        boolean told = machine.slices() == 1
                || (machine.platform() == Platform.GPU && machine.name().endsWith("x" + machine.hostCount()));
        return told ? machine.name() : machine.name() + " x " + machine.slices() + " slices";
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology;

import dev.slipway.topology.internal.ChipCatalogue;
import dev.slipway.topology.internal.TopologyJson;
import dev.slipway.topology.internal.TopologyNames;
import java.util.List;

/** Finds machines: by the names that people give them, and in JSON. */
public final class Topologies {
    private static final TopologyNames NAMES = new TopologyNames(ChipCatalogue.get());

    private Topologies() {}

    /** A machine of one slice; see {@link #resolve(String, int)}. */
    public static Topology resolve(String name) {
        return resolve(name, 1);
    }

    /**
     * The machine of a name. Understood are, whatever the case:
     *
     * <ul>
     *   <li>the catalogue's names of TPU slices, such as {@code v5e-16} and {@code v5p-8} (v4 and v5p count two cores a
     *       chip, 7x counts two devices a chip, the others count chips), and {@code v4-384}
     *   <li>a TPU shape in full, such as {@code v5p:4x4x8}: the catalogue's name for it where there is one
     *   <li>{@code h100-8} for one host and {@code h100-8x4} for four, or {@code h100-8} with four slices: a slice of GPUs
     *       is an NVLink domain, and {@code gb200-4x18} is one
     *   <li>{@code cpu} and {@code cpu-N}
     *   <li>other names for these: {@code v5litepod-16}, {@code tpu-v5p-8}, {@code a3-highgpu-8g}
     * </ul>
     *
     * @param name what the machine is called
     * @param slices how many of the named machine; of {@code h100-8x4}, which has four slices, two make eight
     * @throws UnknownTopologyException if there is no such machine
     * @throws InvalidTopologyException if there are fewer than one slice, or a shape cannot be built
     */
    public static Topology resolve(String name, int slices) {
        return NAMES.resolve(name, slices);
    }

    /**
     * The machine of a catalogued name, spelt exactly so: how the reference's functions take names.
     *
     * @throws UnknownTopologyException if the name is not in {@link #catalogue}, be it another name of a known machine
     * @throws InvalidTopologyException if there are fewer than one slice
     */
    public static Topology catalogued(String name, int slices) {
        return NAMES.catalogued(name, slices);
    }

    /**
     * The catalogue's 222 TPU slices by their canonical names, by generation and then by size. These are the names that
     * AXLearn's ahead-of-time compiler takes.
     */
    public static List<String> catalogue() {
        return NAMES.catalogued();
    }

    /** The chips that are known, TPUs first. */
    public static List<ChipSpec> chips() {
        return ChipCatalogue.get().entries().values().stream()
                .map(ChipCatalogue.Entry::chip)
                .toList();
    }

    /**
     * Reads a machine that {@link #toJson} wrote or that a user described: {@code name}, {@code chip} (a known chip's name,
     * or a chip in full), {@code slices} (1 if absent), {@code slice} and {@code host} (three extents each) and {@code
     * wrap} (three booleans, all false if absent).
     *
     * @throws InvalidTopologyException if the text is no JSON, a field is missing, misspelt or of the wrong type, or the
     *     machine is impossible
     */
    public static Topology fromJson(String json) {
        return TopologyJson.read(json);
    }

    /** The machine as JSON that {@link #fromJson} reads. */
    public static String toJson(Topology topology) {
        return TopologyJson.write(topology);
    }
}

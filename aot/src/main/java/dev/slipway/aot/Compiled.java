// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.lowering.InferenceProgram;
import dev.slipway.mesh.Mesh;
import dev.slipway.runtime.CompileOptions;
import dev.slipway.runtime.MemoryStats;
import dev.slipway.runtime.SerializedExecutable;
import dev.slipway.topology.Topology;
import java.util.Map;
import java.util.OptionalDouble;

/**
 * A program compiled for a machine: the executable as bytes, and what the compiler knows of it. A plain value: no native
 * memory stands behind it.
 *
 * @param program what was lowered, with its argument and result trees
 * @param topology the machine
 * @param options what the compiler was told
 * @param executable loads with {@link dev.slipway.runtime.Client#load} where the machine is there
 * @param memory bytes per device
 * @param costs XLA's cost analysis per device, by XLA's names; the body of each {@code while} counted once
 * @param timings how long it took
 */
public record Compiled(
        InferenceProgram program,
        Topology topology,
        CompileOptions options,
        SerializedExecutable executable,
        MemoryStats memory,
        Map<String, Double> costs,
        Timings timings) {
    public Compiled {
        costs = Map.copyOf(costs);
    }

    /**
     * How long the steps took, in seconds.
     *
     * @param lower model and mesh to module
     * @param print module to the text that the compiler reads
     * @param compile XLA's own time
     */
    public record Timings(double lower, double print, double compile) {}

    /** Where it runs. */
    public Mesh mesh() {
        return program.mesh();
    }

    /** Floating-point operations of one run on one device; each {@code while} body counted once. */
    public OptionalDouble flops() {
        return cost("flops");
    }

    /** Bytes that one run reads and writes on one device; each {@code while} body counted once. */
    public OptionalDouble bytesAccessed() {
        return cost("bytes accessed");
    }

    /** Bytes in use at the peak on one device: the compiler's figure, or the sum of the parts where that is more. */
    public long peakBytes() {
        return Math.max(memory.peak().orElse(0), memory.total());
    }

    /** The device's memory in bytes; 0 where it is not known. */
    public long deviceBytes() {
        return topology.chip().hbmBytesPerDevice();
    }

    private OptionalDouble cost(String name) {
        Double value = costs.get(name);
        return value == null ? OptionalDouble.empty() : OptionalDouble.of(value);
    }
}

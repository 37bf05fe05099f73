// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.MeshSpec;
import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Four slices into a three-axis mesh in run-time order, ids of the devices included, for machines of growing size.
 * {@code bench/mesh-vs-jax} puts {@code mesh_utils} of JAX beside it.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(1)
public class MeshBenchmark {
    /** 256, 2048, 8192, 16384, 24576 and 35840 devices over the four slices. */
    @Param({"v5p-128", "v5p-1024", "v5p-4096", "v5p-8192", "v5p-12288", "v5p-17920"})
    public String machine = "v5p-128";

    private Topology topology = Topologies.resolve("v5p-128", 4);
    private final MeshSpec spec =
            MeshSpec.hybrid(List.of("data", "fsdp", "model"), List.of(1, -1, 16), List.of(4, 1, 1));

    /** Finds the machine. */
    @Setup
    public void find() {
        topology = Topologies.resolve(machine, 4);
    }

    /** The mesh and its device assignment. */
    @Benchmark
    public int[] runtimeOrder() {
        return Mesh.of(topology, spec).deviceIds();
    }

    /** Says what was made, so that it can be compared with what JAX makes. */
    @TearDown
    public void digest() {
        int[] ids = runtimeOrder();
        ByteBuffer bytes = ByteBuffer.allocate(4 * ids.length);
        bytes.asIntBuffer().put(ids);
        CRC32 crc = new CRC32();
        crc.update(bytes);
        System.out.printf("digest %s %d %08x%n", machine, ids.length, crc.getValue());
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.lowering.TensorSpec;
import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.NamedSharding;
import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.Client;
import dev.slipway.runtime.Device;
import dev.slipway.runtime.ElementType;
import dev.slipway.runtime.ShardedArrays;
import dev.slipway.runtime.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;

/** Host arrays to the devices of a mesh and back, cut as their specs say. */
final class DeviceArrays {
    private final Client client;
    private final Mesh mesh;
    private final List<Device> devices;

    /** @param devices in mesh order */
    DeviceArrays(Client client, Mesh mesh, List<Device> devices) {
        this.client = client;
        this.mesh = mesh;
        this.devices = devices;
    }

    /** Element type of the runtime for one of StableHLO's: both are spelled as MLIR spells them. */
    static ElementType element(dev.slipway.stablehlo.ElementType type) {
        for (ElementType element : ElementType.values()) {
            if (element.mlir().equals(type.toString())) {
                return element;
            }
        }
        throw new AotException("element type %s has no counterpart in PJRT".formatted(type));
    }

    /** The runtime's type of a whole tensor. */
    static TensorType type(TensorSpec spec) {
        return TensorType.of(element(spec.type().element()), spec.type().shape().toArray());
    }

    /** Puts a whole host array on the devices: a buffer for each, in mesh order. */
    List<Buffer> put(TensorSpec spec, MemorySegment data) {
        return ShardedArrays.put(client, data, type(spec), sharding(spec), devices);
    }

    /** Gathers a whole array from its buffers, one for each device in mesh order. */
    MemorySegment gather(TensorSpec spec, List<Buffer> buffers, Arena arena) {
        TensorType whole = type(spec);
        MemorySegment data = arena.allocate(whole.hostBytes(), 64);
        ShardedArrays.gather(buffers, whole, sharding(spec), data);
        return data;
    }

    private ShardedArrays.Sharding sharding(TensorSpec spec) {
        NamedSharding.Split split = NamedSharding.of(mesh, spec.partition()).split();
        List<List<Integer>> dimensions =
                IntStream.range(0, spec.type().rank()).mapToObj(split::axes).toList();
        return new ShardedArrays.Sharding(split.sizes(), dimensions);
    }
}

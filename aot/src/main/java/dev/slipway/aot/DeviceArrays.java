// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.lowering.TensorSpec;
import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.NamedSharding;
import dev.slipway.mesh.Shard;
import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.Client;
import dev.slipway.runtime.Device;
import dev.slipway.runtime.ElementType;
import dev.slipway.runtime.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

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
        TensorType whole = type(spec);
        NamedSharding sharding = NamedSharding.of(mesh, spec.partition());
        List<Buffer> buffers = new ArrayList<>();
        if (sharding.isFullyReplicated()) {
            devices.forEach(device -> buffers.add(client.put(data, whole, device)));
            return buffers;
        }
        List<Shard> shards = sharding.shards(whole.dimensions());
        try (Arena arena = Arena.ofConfined()) {
            for (int i = 0; i < shards.size(); i++) {
                Shard shard = shards.get(i);
                TensorType part = new TensorType(whole.element(), shard.sizes());
                MemorySegment piece = arena.allocate(part.hostBytes(), 64);
                copy(whole, shard, data, piece, true);
                buffers.add(client.put(piece, part, devices.get(i)));
            }
        }
        return buffers;
    }

    /** Gathers a whole array from its buffers, one for each device in mesh order. */
    MemorySegment gather(TensorSpec spec, List<Buffer> buffers, Arena arena) {
        TensorType whole = type(spec);
        NamedSharding sharding = NamedSharding.of(mesh, spec.partition());
        MemorySegment data = arena.allocate(whole.hostBytes(), 64);
        if (sharding.isFullyReplicated()) {
            buffers.getFirst().toHost(data);
            return data;
        }
        List<Shard> shards = sharding.shards(whole.dimensions());
        try (Arena scratch = Arena.ofConfined()) {
            for (int i = 0; i < shards.size(); i++) {
                copy(whole, shards.get(i), data, buffers.get(i).toHost(scratch), false);
            }
        }
        return data;
    }

    /** Copies a shard out of a whole array or into it, row by row of the innermost dimension that is whole. */
    private static void copy(TensorType whole, Shard shard, MemorySegment all, MemorySegment part, boolean out) {
        List<Long> sizes = shard.sizes();
        int rank = sizes.size();
        long[] strides = new long[rank];
        long stride = whole.element().hostBytes();
        for (int i = rank - 1; i >= 0; i--) {
            strides[i] = stride;
            stride *= whole.dimensions().get(i);
        }
        int inner = rank;
        long run = whole.element().hostBytes();
        while (inner > 0) {
            inner--;
            run *= sizes.get(inner);
            if (!sizes.get(inner).equals(whole.dimensions().get(inner))) {
                break;
            }
        }
        long[] index = new long[inner];
        long at = 0;
        while (true) {
            long offset = 0;
            for (int i = 0; i < rank; i++) {
                offset += (shard.starts().get(i) + (i < inner ? index[i] : 0)) * strides[i];
            }
            if (out) {
                MemorySegment.copy(all, offset, part, at, run);
            } else {
                MemorySegment.copy(part, at, all, offset, run);
            }
            at += run;
            int i = inner - 1;
            while (i >= 0 && ++index[i] == sizes.get(i)) {
                index[i--] = 0;
            }
            if (i < 0) {
                return;
            }
        }
    }
}

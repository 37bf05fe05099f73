// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Whole arrays cut over a mesh of devices, and gathered again: what a {@code NamedSharding} says, done on the host.
 *
 * {@snippet :
 * // a mesh of 2 x 4 devices; the array's first dimension over the first axis, the second over the other
 * var sharding = new ShardedArrays.Sharding(List.of(2, 4), List.of(List.of(0), List.of(1)));
 * List<Buffer> shards = ShardedArrays.put(client, data, type, sharding, devices);
 * ShardedArrays.gather(shards, type, sharding, back);
 * }
 */
public final class ShardedArrays {

    private ShardedArrays() {}

    /**
     * How an array lies on a mesh.
     *
     * @param mesh the mesh's sizes; device {@code i} of a list stands at the mesh's position {@code i}, last axis quickest
     * @param dimensions for each dimension of the array the mesh axes that it is cut over, major to minor; over axes that are not
     *     named the array is repeated
     */
    public record Sharding(List<Integer> mesh, List<List<Integer>> dimensions) {
        /**
         * How an array lies on a mesh.
         *
         * @throws UsageException.BadArgument if a size of the mesh is below 1, or an axis is not there or comes twice
         */
        public Sharding {
            mesh = List.copyOf(mesh);
            dimensions = dimensions.stream().map(List::copyOf).toList();
            if (mesh.stream().anyMatch(size -> size < 1)) {
                throw new UsageException.BadArgument("the mesh " + mesh + " has an axis without devices");
            }
            List<Integer> used = dimensions.stream().flatMap(List::stream).toList();
            for (int axis : used) {
                if (axis < 0 || axis >= mesh.size()) {
                    throw new UsageException.BadArgument("the mesh " + mesh + " has no axis " + axis);
                }
            }
            if (used.stream().distinct().count() != used.size()) {
                throw new UsageException.BadArgument("the dimensions " + dimensions + " use a mesh axis twice");
            }
        }

        /** How many devices the mesh has. */
        public int devices() {
            return mesh.stream().reduce(1, Math::multiplyExact);
        }

        /** The type of one device's part. */
        public TensorType shard(TensorType whole) {
            if (whole.dimensions().size() != dimensions.size()) {
                throw new UsageException.BadArgument(whole + " has "
                        + whole.dimensions().size() + " dimensions, and the sharding is for " + dimensions.size());
            }
            List<Long> sizes = new ArrayList<>();
            for (int d = 0; d < dimensions.size(); d++) {
                long size = whole.dimensions().get(d);
                long parts = parts(d);
                if (size % parts != 0) {
                    throw new UsageException.BadArgument(
                            "dimension " + d + " of " + whole + " cannot be cut into " + parts + " equal parts");
                }
                sizes.add(size / parts);
            }
            return new TensorType(whole.element(), sizes);
        }

        private long parts(int dimension) {
            return dimensions.get(dimension).stream()
                    .mapToLong(axis -> mesh.get(axis))
                    .reduce(1, (a, b) -> a * b);
        }

        /** Which part of each dimension the device at a position has. */
        private long[] position(int device) {
            int[] coordinate = new int[mesh.size()];
            int rest = device;
            for (int axis = mesh.size() - 1; axis >= 0; axis--) {
                coordinate[axis] = rest % mesh.get(axis);
                rest /= mesh.get(axis);
            }
            long[] part = new long[dimensions.size()];
            for (int d = 0; d < part.length; d++) {
                for (int axis : dimensions.get(d)) {
                    part[d] = part[d] * mesh.get(axis) + coordinate[axis];
                }
            }
            return part;
        }
    }

    /**
     * Cuts an array and puts its parts on the devices.
     *
     * @param data the whole array, dense, major to minor
     * @param devices one for each position of the mesh
     * @return a buffer for each device, to be closed by the caller
     * @throws UsageException.BadArgument if a dimension cannot be cut evenly, or the devices are not as many as the mesh has
     */
    public static List<Buffer> put(
            Client client, MemorySegment data, TensorType type, Sharding sharding, List<Device> devices) {
        TensorType shard = sharding.shard(type);
        if (devices.size() != sharding.devices()) {
            throw new UsageException.BadArgument("the mesh " + sharding.mesh() + " has " + sharding.devices()
                    + " devices, but " + devices.size() + " were given");
        }
        if (data.byteSize() < type.hostBytes()) {
            throw new UsageException.BadArgument(
                    type + " takes " + type.hostBytes() + " bytes, but " + data.byteSize() + " were given");
        }
        List<Buffer> buffers = new ArrayList<>();
        try (Arena arena = Arena.ofConfined()) {
            boolean whole = shard.equals(type);
            MemorySegment part = whole ? data : arena.allocate(Math.max(1, shard.hostBytes()), 64);
            for (int i = 0; i < devices.size(); i++) {
                if (!whole) {
                    copy(data, part, type, shard, sharding.position(i), true);
                }
                buffers.add(client.put(part, shard, devices.get(i)));
            }
        } catch (RuntimeException e) {
            buffers.forEach(Buffer::close);
            throw e;
        }
        return buffers;
    }

    /**
     * Puts the parts together again.
     *
     * @param shards in the order of the mesh's positions
     * @param data takes the whole array, dense, major to minor
     */
    public static void gather(List<Buffer> shards, TensorType type, Sharding sharding, MemorySegment data) {
        TensorType shard = sharding.shard(type);
        if (shards.size() != sharding.devices() || data.byteSize() < type.hostBytes()) {
            throw new UsageException.BadArgument("gathering " + type + " needs " + sharding.devices() + " parts and "
                    + type.hostBytes() + " bytes, not " + shards.size() + " and " + data.byteSize());
        }
        for (int i = 0; i < shards.size(); i++) {
            if (!shards.get(i).type().equals(shard)) {
                throw new UsageException.BadArgument(
                        "part " + i + " is " + shards.get(i).type() + ", and " + shard + " was expected");
            }
        }
        if (shard.equals(type)) {
            shards.getFirst().toHost(data);
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment part = arena.allocate(Math.max(1, shard.hostBytes()), 64);
            for (int i = 0; i < shards.size(); i++) {
                shards.get(i).toHost(part);
                copy(data, part, type, shard, sharding.position(i), false);
            }
        }
    }

    /** Copies one part out of or into the whole, in runs as long as its inner dimensions that are whole make them. */
    private static void copy(
            MemorySegment whole, MemorySegment part, TensorType type, TensorType shard, long[] position, boolean out) {
        int bytes = type.element().hostBytes();
        int outer = shard.dimensions().size();
        long run = 1;
        boolean inner = true;
        while (outer > 0 && inner) {
            outer--;
            run *= shard.dimensions().get(outer);
            inner = shard.dimensions().get(outer).equals(type.dimensions().get(outer));
        }
        long rows = run == 0 ? 0 : shard.elements() / run;
        for (long row = 0; row < rows; row++) {
            long rest = row;
            long at = 0;
            long stride = 1;
            for (int d = shard.dimensions().size() - 1; d >= 0; d--) {
                long size = shard.dimensions().get(d);
                long index = d < outer ? rest % size : 0;
                rest = d < outer ? rest / size : rest;
                at += (position[d] * size + index) * stride;
                stride *= type.dimensions().get(d);
            }
            if (out) {
                MemorySegment.copy(whole, at * bytes, part, row * run * bytes, run * bytes);
            } else {
                MemorySegment.copy(part, row * run * bytes, whole, at * bytes, run * bytes);
            }
        }
    }
}

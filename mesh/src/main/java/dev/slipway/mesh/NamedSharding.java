// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A partition spec on a mesh: which part of a tensor each device holds.
 *
 * @param mesh the devices
 * @param spec which axes divide which dimension
 */
public record NamedSharding(Mesh mesh, PartitionSpec spec) {
    /** @throws ShardingException if the spec names an axis that the mesh does not have */
    public NamedSharding {
        for (List<String> axes : spec.dimensions()) {
            for (String axis : axes) {
                if (!mesh.axes().contains(axis)) {
                    throw new ShardingException(
                            "Axis \"" + axis + "\" of " + spec + " is not one of the mesh's, " + mesh);
                }
            }
        }
    }

    public static NamedSharding of(Mesh mesh, PartitionSpec spec) {
        return new NamedSharding(mesh, spec);
    }

    /** Into how many parts a dimension is cut. */
    public int parts(int dimension) {
        int parts = 1;
        for (String axis : spec.axes(dimension)) {
            parts *= mesh.axisSize(axis);
        }
        return parts;
    }

    /** Whether every device holds the whole tensor: no dimension is divided, or only by axes of size 1. */
    public boolean isFullyReplicated() {
        return IntStream.range(0, spec.rank()).allMatch(d -> parts(d) == 1);
    }

    /**
     * The shape of each device's part.
     *
     * @param shape the whole tensor's shape
     * @throws ShardingException if the tensor has fewer dimensions than the spec, or a dimension does not divide
     */
    public List<Long> shardShape(List<Long> shape) {
        checkRank(shape.size());
        List<Long> out = new ArrayList<>();
        for (int d = 0; d < shape.size(); d++) {
            int parts = parts(d);
            long size = shape.get(d);
            if (size % parts != 0) {
                throw new ShardingException("Dimension " + d + " of a tensor of shape " + shape + " has size " + size
                        + ", which does not divide by " + parts + ": the size of "
                        + spec.axes(d).stream()
                                .map(axis -> "axis \"" + axis + "\" (" + mesh.axisSize(axis) + ")")
                                .collect(Collectors.joining(" times ")));
            }
            out.add(size / parts);
        }
        return List.copyOf(out);
    }

    /**
     * What each device holds, in mesh order.
     *
     * @param shape the whole tensor's shape
     * @throws ShardingException as {@link #shardShape} does
     */
    public List<Shard> shards(List<Long> shape) {
        List<Long> sizes = shardShape(shape);
        int[] ids = mesh.deviceIds();
        int[] strides = axisStrides();
        List<Shard> shards = new ArrayList<>(ids.length);
        for (int i = 0; i < ids.length; i++) {
            List<Long> starts = new ArrayList<>(sizes.size());
            for (int d = 0; d < sizes.size(); d++) {
                long part = 0;
                for (String axis : spec.axes(d)) {
                    int a = mesh.axisIndex(axis);
                    int size = mesh.shape().get(a);
                    part = part * size + i / strides[a] % size;
                }
                starts.add(part * sizes.get(d));
            }
            shards.add(new Shard(ids[i], starts, sizes));
        }
        return shards;
    }

    private int[] axisStrides() {
        int[] strides = new int[mesh.shape().size()];
        int stride = 1;
        for (int axis = strides.length - 1; axis >= 0; axis--) {
            strides[axis] = stride;
            stride *= mesh.shape().get(axis);
        }
        return strides;
    }

    /**
     * The sharding as Shardy writes it, for a mesh that the module calls {@code @mesh}: {@code #sdy.sharding<@mesh,
     * [{"data"}, {}]>}.
     *
     * @param rank the tensor's number of dimensions
     * @throws ShardingException if that is less than the spec's
     */
    public String sdyText(int rank) {
        return "#sdy.sharding<@mesh, " + sdyDimensions(rank) + ">";
    }

    /**
     * The dimensions' part of {@link #sdyText}: {@code [{"data"}, {}]}.
     *
     * @throws ShardingException if the tensor has fewer dimensions than the spec
     */
    public String sdyDimensions(int rank) {
        checkRank(rank);
        return IntStream.range(0, rank)
                .mapToObj(d -> spec.axes(d).stream()
                        .map(axis -> "\"" + axis + "\"")
                        .collect(Collectors.joining(", ", "{", "}")))
                .collect(Collectors.joining(", ", "[", "]"));
    }

    /**
     * The sharding in XLA's V2 (iota) form, over the mesh's devices numbered in mesh order: {@code
     * {devices=[2,1,4]<=[8] last_tile_dim_replicate}}.
     *
     * @param rank the tensor's number of dimensions
     * @throws ShardingException if that is less than the spec's
     */
    public String hloText(int rank) {
        checkRank(rank);
        if (isFullyReplicated()) {
            return "{replicated}";
        }
        List<Integer> order = new ArrayList<>();
        List<Integer> tiles = new ArrayList<>();
        for (int d = 0; d < rank; d++) {
            tiles.add(parts(d));
            spec.axes(d).forEach(axis -> order.add(mesh.axisIndex(axis)));
        }
        int replicas = 1;
        for (int axis = 0; axis < mesh.shape().size(); axis++) {
            if (!order.contains(axis)) {
                order.add(axis);
                replicas *= mesh.shape().get(axis);
            }
        }
        if (replicas > 1) {
            tiles.add(replicas);
        }
        return "{devices=" + list(tiles) + "<=" + iota(order) + (replicas > 1 ? " last_tile_dim_replicate" : "") + "}";
    }

    /** The transposed iota in its shortest form: axes of size 1 left out, and neighbours that stay neighbours joined. */
    private String iota(List<Integer> order) {
        List<Integer> shape = mesh.shape();
        List<List<Integer>> runs = new ArrayList<>();
        int previous = -2;
        for (int axis : order.stream().filter(a -> shape.get(a) > 1).toList()) {
            boolean follows = previous >= 0
                    && axis > previous
                    && IntStream.range(previous + 1, axis).allMatch(a -> shape.get(a) == 1);
            if (!follows) {
                runs.add(new ArrayList<>());
            }
            runs.getLast().add(axis);
            previous = axis;
        }
        int[] bySource = IntStream.range(0, runs.size())
                .boxed()
                .sorted((a, b) ->
                        Integer.compare(runs.get(a).getFirst(), runs.get(b).getFirst()))
                .mapToInt(Integer::intValue)
                .toArray();
        List<Integer> dims = Arrays.stream(bySource)
                .mapToObj(run -> runs.get(run).stream().map(shape::get).reduce(1, (a, b) -> a * b))
                .toList();
        if (runs.size() == 1) {
            return list(dims);
        }
        int[] place = new int[runs.size()];
        for (int i = 0; i < bySource.length; i++) {
            place[bySource[i]] = i;
        }
        return list(dims) + "T"
                + Arrays.stream(place).mapToObj(Integer::toString).collect(Collectors.joining(",", "(", ")"));
    }

    private void checkRank(int rank) {
        if (rank < spec.rank()) {
            throw new ShardingException(spec + " speaks of " + spec.rank() + " dimensions, but the tensor has " + rank);
        }
    }

    private static String list(List<Integer> values) {
        return values.stream().map(String::valueOf).collect(Collectors.joining(",", "[", "]"));
    }
}

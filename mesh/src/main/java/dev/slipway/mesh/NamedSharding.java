// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A partition spec on a mesh: which part of a tensor each device holds.
 *
 * @param mesh the devices
 * @param spec which axes divide which dimension
 */
public record NamedSharding(Mesh mesh, PartitionSpec spec) {
    /** @throws ShardingException if the spec names an axis that the mesh does not have, or parts that do not divide one */
    public NamedSharding {
        boolean inPart = false;
        for (AxisPart part : spec.parts()) {
            if (!mesh.axes().contains(part.axis())) {
                throw new ShardingException(
                        "Axis \"" + part.axis() + "\" of " + spec + " is not one of the mesh's, " + mesh);
            }
            inPart |= part.isPart();
        }
        if (inPart) {
            Split.of(mesh, spec);
        }
    }

    public static NamedSharding of(Mesh mesh, PartitionSpec spec) {
        return new NamedSharding(mesh, spec);
    }

    /**
     * A mesh whose axes are split where a spec takes them in part; the order of the devices stays.
     *
     * @param sizes of the axes that the mesh then has
     * @param dimensions for each dimension of the spec the axes that divide it, by their places in {@code sizes}, the first
     *     outermost
     */
    public record Split(List<Integer> sizes, List<List<Integer>> dimensions) {
        public Split {
            sizes = List.copyOf(sizes);
            dimensions = dimensions.stream().map(List::copyOf).toList();
        }

        private static Split of(Mesh mesh, PartitionSpec spec) {
            List<AxisPart> parts = spec.parts();
            List<Integer> sizes = new ArrayList<>();
            // Of each axis its splits: the product of the sizes of those before each, and its place.
            Map<String, NavigableMap<Integer, Integer>> splits = new HashMap<>();
            for (String axis : mesh.axes()) {
                int size = mesh.axisSize(axis);
                NavigableSet<Integer> ends = new TreeSet<>(List.of(size));
                for (AxisPart part : parts) {
                    if (part.axis().equals(axis) && part.isPart()) {
                        ends.add(part.before());
                        ends.add(part.end());
                    }
                }
                NavigableMap<Integer, Integer> places = new TreeMap<>();
                int before = 1;
                for (int end : ends.tailSet(1, false)) {
                    if (end % before != 0 || size % end != 0) {
                        throw new ShardingException("Axis \"" + axis + "\" has " + size
                                + " devices, which do not split into the parts of " + spec);
                    }
                    places.put(before, sizes.size());
                    sizes.add(end / before);
                    before = end;
                }
                splits.put(axis, places);
            }
            return new Split(
                    sizes,
                    spec.dimensions().stream()
                            .map(entries -> entries.stream()
                                    .map(AxisPart::parse)
                                    .flatMap(part -> places(splits, part).stream())
                                    .toList())
                            .toList());
        }

        private static Collection<Integer> places(Map<String, NavigableMap<Integer, Integer>> splits, AxisPart part) {
            NavigableMap<Integer, Integer> places = Objects.requireNonNull(splits.get(part.axis()));
            return part.isPart() ? places.subMap(part.before(), part.end()).values() : places.values();
        }

        /** The axes that divide a dimension; none past the end. */
        public List<Integer> axes(int dimension) {
            return dimension < dimensions.size() ? dimensions.get(dimension) : List.of();
        }

        private int parts(int dimension) {
            int parts = 1;
            for (int axis : axes(dimension)) {
                parts *= sizes.get(axis);
            }
            return parts;
        }
    }

    /** The mesh, its axes split where the spec takes them in part. */
    public Split split() {
        return Split.of(mesh, spec);
    }

    /** Into how many parts a dimension is cut. */
    public int parts(int dimension) {
        return split().parts(dimension);
    }

    /** Whether every device holds the whole tensor: no dimension is divided, or only by axes of size 1. */
    public boolean isFullyReplicated() {
        Split split = split();
        return IntStream.range(0, spec.rank()).allMatch(d -> split.parts(d) == 1);
    }

    /**
     * The shape of each device's part.
     *
     * @param shape the whole tensor's shape
     * @throws ShardingException if the tensor has fewer dimensions than the spec, or a dimension does not divide
     */
    public List<Long> shardShape(List<Long> shape) {
        return shardShape(split(), shape);
    }

    private List<Long> shardShape(Split split, List<Long> shape) {
        checkRank(shape.size());
        List<Long> out = new ArrayList<>();
        for (int d = 0; d < shape.size(); d++) {
            int parts = split.parts(d);
            long size = shape.get(d);
            if (size % parts != 0) {
                throw new ShardingException("Dimension " + d + " of a tensor of shape " + shape + " has size " + size
                        + ", which does not divide by " + parts + ": the size of "
                        + spec.axes(d).stream()
                                .map(AxisPart::parse)
                                .map(part -> "axis \"" + part + "\" ("
                                        + (part.isPart() ? part.size() : mesh.axisSize(part.axis())) + ")")
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
        Split split = split();
        List<Long> sizes = shardShape(split, shape);
        int[] ids = mesh.deviceIds();
        int[] strides = strides(split.sizes());
        List<Shard> shards = new ArrayList<>(ids.length);
        for (int i = 0; i < ids.length; i++) {
            List<Long> starts = new ArrayList<>(sizes.size());
            for (int d = 0; d < sizes.size(); d++) {
                long part = 0;
                for (int axis : split.axes(d)) {
                    int size = split.sizes().get(axis);
                    part = part * size + i / strides[axis] % size;
                }
                starts.add(part * sizes.get(d));
            }
            shards.add(new Shard(ids[i], starts, sizes));
        }
        return shards;
    }

    private static int[] strides(List<Integer> sizes) {
        int[] strides = new int[sizes.size()];
        int stride = 1;
        for (int axis = strides.length - 1; axis >= 0; axis--) {
            strides[axis] = stride;
            stride *= sizes.get(axis);
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
                        .map(AxisPart::parse)
                        .map(part -> "\"" + part.axis() + "\"" + part.suffix())
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
        Split split = split();
        List<Integer> order = new ArrayList<>();
        List<Integer> tiles = new ArrayList<>();
        for (int d = 0; d < rank; d++) {
            tiles.add(split.parts(d));
        }
        split.dimensions().forEach(order::addAll);
        int replicas = 1;
        for (int axis = 0; axis < split.sizes().size(); axis++) {
            if (!order.contains(axis)) {
                order.add(axis);
                replicas *= split.sizes().get(axis);
            }
        }
        if (replicas > 1) {
            tiles.add(replicas);
        }
        return "{devices=" + list(tiles) + "<=" + iota(split.sizes(), order)
                + (replicas > 1 ? " last_tile_dim_replicate" : "") + "}";
    }

    /** The transposed iota in its shortest form: axes of size 1 left out, and neighbours that stay neighbours joined. */
    private static String iota(List<Integer> shape, List<Integer> order) {
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

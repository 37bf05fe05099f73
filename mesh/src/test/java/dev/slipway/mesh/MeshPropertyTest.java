// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slipway.topology.Device;
import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;

/** What holds for every machine and every mesh. */
class MeshPropertyTest {
    private static final List<String> NAMES = List.of("data", "expert", "fsdp", "seq", "model");

    /** A hybrid mesh request: all of its sizes multiply to the machine's devices and slices. */
    record Request(Topology topology, List<Integer> ici, List<Integer> dcn) {
        List<String> axes() {
            return NAMES.subList(0, ici.size());
        }

        List<Integer> sizes() {
            return IntStream.range(0, ici.size())
                    .mapToObj(i -> ici.get(i) * dcn.get(i))
                    .toList();
        }

        MeshSpec spec() {
            return MeshSpec.hybrid(axes(), ici, dcn);
        }
    }

    @Provide
    Arbitrary<Request> requests() {
        List<String> names = new ArrayList<>(Topologies.catalogue().stream()
                .filter(name -> Topologies.resolve(name).deviceCount() <= 256)
                .toList());
        names.addAll(List.of("v4-384", "v5p-1024", "v6e-8-1", "v5p:4x4x6", "v5e:2x6", "h100-8", "gb200-4", "cpu-12"));
        return Combinators.combine(
                        Arbitraries.of(names),
                        Arbitraries.integers().between(1, 4),
                        Arbitraries.integers().between(1, NAMES.size()),
                        Arbitraries.randomValue(Random::nextLong))
                .as((name, slices, rank, seed) -> {
                    Random random = new Random(seed);
                    Topology topology = Topologies.resolve(name, name.startsWith("cpu") ? 1 : slices);
                    return new Request(
                            topology,
                            factor(topology.devicesPerSlice(), rank, random),
                            factor(topology.slices(), rank, random));
                });
    }

    /** Spreads the prime factors of a number over so many sizes. */
    private static List<Integer> factor(int number, int rank, Random random) {
        int[] sizes = new int[rank];
        Arrays.fill(sizes, 1);
        int rest = number;
        for (int p = 2; rest > 1; p++) {
            while (rest % p == 0) {
                sizes[random.nextInt(rank)] *= p;
                rest /= p;
            }
        }
        return IntStream.of(sizes).boxed().toList();
    }

    @Property
    void everyOrderIsAPermutationOfTheDevices(@ForAll("requests") Request request, @ForAll DeviceOrder order) {
        Mesh mesh = Mesh.of(request.topology(), request.spec(), order);
        assertThat(mesh.shape()).isEqualTo(request.sizes());
        assertThat(mesh.devices())
                .containsExactlyInAnyOrderElementsOf(request.topology().devices());
    }

    @Property
    void aHybridMeshNeverLeavesASliceAlongAnIciAxis(@ForAll("requests") Request request) {
        Mesh mesh = Mesh.of(request.topology(), request.spec());
        assertThat(mesh.crossesSlicesWithinIci()).isFalse();
        for (int axis = 0; axis < request.ici().size(); axis++) {
            AxisCost cost = mesh.axisCosts().get(axis);
            assertThat(cost.inSlice()).isEqualTo(request.ici().get(axis));
            assertThat(cost.slices()).isEqualTo(request.dcn().get(axis));
        }
    }

    @Property
    void dcnIsTheOuterPartOfEveryAxis(@ForAll("requests") Request request) {
        Mesh mesh = Mesh.of(request.topology(), request.spec());
        Set<List<Integer>> granulePlaces = new HashSet<>();
        int[] positions = mesh.positions();
        for (int i = 0; i < positions.length; i++) {
            List<Integer> outer = new ArrayList<>();
            int rest = i;
            for (int axis = mesh.shape().size() - 1; axis >= 0; axis--) {
                outer.addFirst(rest % mesh.shape().get(axis) / request.ici().get(axis));
                rest /= mesh.shape().get(axis);
            }
            outer.add(request.topology().sliceAt(positions[i]));
            granulePlaces.add(outer);
        }
        assertThat(granulePlaces).hasSize(request.topology().slices());
    }

    @Property
    void aMinusOneBecomesWhatIsLeft(@ForAll("requests") Request request, @ForAll @IntRange(max = 4) int which) {
        int hole = which % request.ici().size();
        List<Integer> plain = new ArrayList<>(request.sizes());
        plain.set(hole, -1);
        MeshSpec spec = new MeshSpec(request.axes(), new MeshShape.Plain(plain));
        assertThat(spec.resolve(request.topology()).shape().sizes()).isEqualTo(request.sizes());

        List<Integer> ici = new ArrayList<>(request.ici());
        List<Integer> dcn = new ArrayList<>(request.dcn());
        ici.set(hole, -1);
        dcn.set(hole, -1);
        assertThat(MeshSpec.hybrid(request.axes(), ici, dcn)
                        .resolve(request.topology())
                        .shape())
                .isEqualTo(new MeshShape.Hybrid(request.ici(), request.dcn()));
    }

    @Property
    void aMinusOneThatCannotBeWholeIsRefused(@ForAll("requests") Request request) {
        int tooMany = request.topology().deviceCount() + 1;
        MeshSpec spec = MeshSpec.of(List.of("data", "model"), -1, tooMany);
        assertThatThrownBy(() -> spec.resolve(request.topology()))
                .isInstanceOf(MeshShapeException.class)
                .hasMessageContaining("data")
                .hasMessageContaining(String.valueOf(tooMany))
                .hasMessageContaining(String.valueOf(request.topology().deviceCount()));
    }

    @Property
    void topologyOrderIsTheListAsItComes(@ForAll("requests") Request request) {
        Mesh mesh = Mesh.reshapeDevices(request.topology(), request.spec());
        assertThat(mesh.devices()).isEqualTo(request.topology().devices());
        assertThat(mesh.deviceIds())
                .containsExactly(request.topology().devices().stream()
                        .mapToInt(Device::id)
                        .toArray());
    }

    @Property
    void theShardsOfATensorTileItOnce(@ForAll("requests") Request request, @ForAll Random random) {
        Mesh mesh = Mesh.of(request.topology(), request.spec());
        List<List<String>> dimensions = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        int replicas = 1;
        for (String axis : mesh.axes()) {
            int d = random.nextInt(4);
            if (d < 3) {
                dimensions.get(d).add(axis);
            } else {
                replicas *= mesh.axisSize(axis);
            }
        }
        NamedSharding sharding = NamedSharding.of(mesh, new PartitionSpec(dimensions));
        List<Long> shape = IntStream.range(0, 3)
                .mapToObj(d -> (long) sharding.parts(d) * (1 + random.nextInt(3)))
                .toList();
        List<Shard> shards = sharding.shards(shape);
        List<List<Long>> starts = shards.stream().map(Shard::starts).distinct().toList();
        long volume = shape.get(0) * shape.get(1) * shape.get(2);
        long shardVolume = shards.getFirst().sizes().stream().reduce(1L, (a, b) -> a * b);

        assertThat(starts).hasSize(mesh.size() / replicas);
        assertThat(shardVolume * starts.size()).isEqualTo(volume);
        for (Shard shard : shards) {
            for (int d = 0; d < 3; d++) {
                assertThat(shard.starts().get(d) % shard.sizes().get(d)).isZero();
                assertThat(shard.starts().get(d)).isBetween(0L, shape.get(d) - 1);
            }
        }
    }

    @Property
    void aSpecIsReadBackAsItWasWritten(@ForAll Random random) {
        List<List<String>> dimensions = new ArrayList<>();
        List<String> free = new ArrayList<>(NAMES);
        for (int d = random.nextInt(5); d > 0; d--) {
            List<String> axes = new ArrayList<>();
            for (int n = random.nextInt(3); n > 0 && !free.isEmpty(); n--) {
                axes.add(free.remove(random.nextInt(free.size())));
            }
            dimensions.add(axes);
        }
        PartitionSpec spec = new PartitionSpec(dimensions);
        assertThat(PartitionSpec.parse(spec.toString())).isEqualTo(spec);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slipway.topology.Topologies;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Shardings against what JAX answers; {@code sharding_cases.json} says how its cases were made. */
class NamedShardingTest {
    @TestFactory
    List<DynamicTest> everyAnswerOfJax() throws IOException {
        List<DynamicTest> tests = new ArrayList<>();
        for (JsonNode c : ReferenceMeshTest.cases("sharding_cases.json")) {
            String name = c.get("spec_text").stringValue() + " on " + c.get("axes") + c.get("mesh");
            tests.add(DynamicTest.dynamicTest(name, () -> check(c)));
        }
        assertThat(tests).hasSize(240);
        return tests;
    }

    private static void check(JsonNode c) {
        List<Integer> sizes = ReferenceMeshTest.ints(c.get("mesh"));
        int devices = sizes.stream().reduce(1, (a, b) -> a * b);
        Mesh mesh = Mesh.of(
                Topologies.resolve("cpu-" + devices),
                new MeshSpec(ReferenceMeshTest.strings(c.get("axes")), new MeshShape.Plain(sizes)));
        PartitionSpec spec = new PartitionSpec(
                c.get("spec").values().stream().map(ReferenceMeshTest::strings).toList());
        NamedSharding sharding = NamedSharding.of(mesh, spec);
        List<Long> shape = longs(c.get("shape"));

        assertThat(spec).hasToString(c.get("spec_text").stringValue());
        assertThat(sharding.isFullyReplicated()).isEqualTo(c.get("replicated").booleanValue());
        assertThat(sharding.hloText(shape.size())).isEqualTo(c.get("hlo").stringValue());
        assertThat(sharding.sdyText(shape.size()).replace("@mesh", "mesh" + mesh.sdyText()))
                .isEqualTo(c.get("sdy").stringValue());
        if (c.has("error")) {
            assertThatThrownBy(() -> sharding.shards(shape)).isInstanceOf(ShardingException.class);
            return;
        }
        List<Long> shardShape = longs(c.get("shard_shape"));
        assertThat(sharding.shardShape(shape)).isEqualTo(shardShape);
        assertThat(sharding.shards(shape))
                .containsExactlyElementsOf(IntStream.range(0, devices)
                        .mapToObj(i -> new Shard(i, longs(c.get("starts").get(i)), shardShape))
                        .toList());
    }

    private static List<Long> longs(JsonNode array) {
        return array.values().stream().map(JsonNode::longValue).toList();
    }

    private final Mesh mesh = Mesh.of(Topologies.resolve("v5e-8"), MeshSpec.of(List.of("data", "model"), 2, 4));

    @Test
    void aDimensionThatDoesNotDivideIsNamedWithItsAxis() {
        NamedSharding sharding = NamedSharding.of(mesh, PartitionSpec.of(null, "model"));
        assertThatThrownBy(() -> sharding.shardShape(List.of(8L, 9L)))
                .isInstanceOf(ShardingException.class)
                .hasMessage(
                        "Dimension 1 of a tensor of shape [8, 9] has size 9, which does not divide by 4: the size of"
                                + " axis \"model\" (4)");
    }

    @Test
    void anAxisThatTheMeshDoesNotHaveIsRefused() {
        assertThatThrownBy(() -> NamedSharding.of(mesh, PartitionSpec.of("fsdp")))
                .isInstanceOf(ShardingException.class)
                .hasMessage("Axis \"fsdp\" of P('fsdp',) is not one of the mesh's, (data=2, model=4)");
    }

    @Test
    void anAxisCanDivideOneDimensionOnly() {
        assertThatThrownBy(() -> PartitionSpec.of("data", "data"))
                .isInstanceOf(ShardingException.class)
                .hasMessageContaining("Axis \"data\" comes twice");
    }

    /** What XLA makes of {@code {"model":(1)8}}: 8 tiles, each on two devices that follow each other. */
    @Test
    void aDimensionMayBeCutAlongTheFirstPartOfAnAxis() {
        Mesh wide = Mesh.of(Topologies.resolve("v5e-32"), MeshSpec.of(List.of("data", "model"), 2, 16));
        NamedSharding sharding = NamedSharding.of(wide, PartitionSpec.of("data", "model:(1)8"));

        assertThat(sharding.hloText(2)).isEqualTo("{devices=[2,8,2]<=[32] last_tile_dim_replicate}");
        assertThat(sharding.sdyText(2)).isEqualTo("#sdy.sharding<@mesh, [{\"data\"}, {\"model\":(1)8}]>");
        assertThat(sharding.shardShape(List.of(4L, 8L))).containsExactly(2L, 1L);
        List<Shard> shards = sharding.shards(List.of(4L, 8L));
        assertThat(IntStream.of(0, 1, 2, 15, 16, 31).mapToObj(i -> shards.get(i).starts()))
                .containsExactly(
                        List.of(0L, 0L),
                        List.of(0L, 0L),
                        List.of(0L, 1L),
                        List.of(0L, 7L),
                        List.of(2L, 0L),
                        List.of(2L, 7L));
    }

    @Test
    void theOtherPartsOfAnAxisMayCutOtherDimensions() {
        Mesh line = Mesh.of(Topologies.resolve("v5e-8"), MeshSpec.of(List.of("model"), 8));
        NamedSharding sharding = NamedSharding.of(line, PartitionSpec.of("model:(2)4", "model:(1)2"));

        assertThat(sharding.hloText(2)).isEqualTo("{devices=[4,2]<=[2,4]T(1,0)}");
        assertThat(sharding.shards(List.of(4L, 2L)).get(5).starts()).containsExactly(1L, 1L);
    }

    @Test
    void whatTwoPartsOfAnAxisHaveInCommonCanDivideOneDimensionOnly() {
        assertThatThrownBy(() -> PartitionSpec.of("model:(1)4", "model:(2)2"))
                .isInstanceOf(ShardingException.class)
                .hasMessageContaining("Axis \"model\" comes twice in P('model:(1)4', 'model:(2)2')");
        assertThatThrownBy(() -> PartitionSpec.of("model:(1)4", "model"))
                .isInstanceOf(ShardingException.class)
                .hasMessageContaining("Axis \"model\" comes twice");
    }

    @ParameterizedTest
    @ValueSource(strings = {"model:(1)3", "model:(3)2", "model:(1)8", "model:(4)2"})
    void partsThatDoNotDivideTheAxisAreRefused(String part) {
        assertThatThrownBy(() -> NamedSharding.of(mesh, PartitionSpec.of(part)))
                .isInstanceOf(ShardingException.class)
                .hasMessageContaining("Axis \"model\" has 4 devices, which do not split into the parts of P('" + part);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "model:(",
                "model:()2",
                "model:(1)",
                "model:(1)1",
                "model:(1)0",
                "model:(1)-8",
                "model:(0)2",
                "model:(a)2",
                "m:(2147483647)9"
            })
    void whatIsNoPartOfAnAxisIsRefused(String part) {
        assertThatThrownBy(() -> PartitionSpec.of(part))
                .isInstanceOf(ShardingException.class)
                .hasMessageContaining("expected");
    }

    @Test
    void textWithPartsOfAxesIsReadAsItIsWritten() {
        PartitionSpec spec = PartitionSpec.of("data", null, "model:(1)8");
        assertThat(spec).hasToString("P('data', None, 'model:(1)8')");
        assertThat(PartitionSpec.parse(spec.toString())).isEqualTo(spec);
    }

    @Test
    void aTensorOfFewerDimensionsThanTheSpecIsRefused() {
        NamedSharding sharding = NamedSharding.of(mesh, PartitionSpec.of("data", null, "model"));
        assertThatThrownBy(() -> sharding.hloText(2))
                .isInstanceOf(ShardingException.class)
                .hasMessage("P('data', None, 'model') speaks of 3 dimensions, but the tensor has 2");
    }

    @ParameterizedTest
    @ValueSource(strings = {"P('data' 'model')", "P(('data' 'model'), None)", "P(('data',,), None)", "P((,))", "P(,)"})
    void textThatIsNoSpecIsRefused(String text) {
        assertThatThrownBy(() -> PartitionSpec.parse(text))
                .isInstanceOf(ShardingException.class)
                .hasMessageContaining("expected one like");
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import dev.slipway.topology.TopologyException;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Meshes against AXLearn's and JAX's own functions: the cases say which, and how they were made. */
class ReferenceMeshTest {
    private static final JsonMapper MAPPER = new JsonMapper();

    @TestFactory
    List<DynamicTest> everyCaseOfTheReference() throws IOException {
        List<DynamicTest> tests = new ArrayList<>();
        for (JsonNode c : cases("mesh_cases_public.json")) {
            JsonNode input = c.get("input");
            JsonNode expect = c.get("expect");
            String name = c.get("id").stringValue() + " " + input;
            tests.add(DynamicTest.dynamicTest(name, () -> {
                if (expect.get("ok").booleanValue()) {
                    check(make(input), expect);
                } else {
                    assertThat(catchThrowable(() -> make(input)))
                            .isInstanceOfAny(MeshException.class, TopologyException.class);
                }
            }));
        }
        assertThat(tests).hasSize(256);
        return tests;
    }

    private static void check(Mesh mesh, JsonNode expect) {
        assertThat(mesh.shape()).isEqualTo(ints(expect.get("shape")));
        assertThat(mesh.deviceIds())
                .containsExactly(ints(expect.get("device_ids")).stream()
                        .mapToInt(Integer::intValue)
                        .toArray());
        if (expect.has("resolved_mesh_shape")) {
            assertThat(mesh.spec().shape()).isEqualTo(shape(expect.get("resolved_mesh_shape")));
        }
        if (expect.has("assignment_physical_by_logical")) {
            List<List<Integer>> rows = new ArrayList<>();
            expect.get("assignment_physical_by_logical").values().forEach(row -> rows.add(ints(row)));
            assertThat(mesh.assignment()).isEqualTo(rows);
        }
        if (expect.has("branch")) {
            assertThat(mesh.rule())
                    .isEqualTo(
                            switch (expect.get("branch").stringValue()) {
                                case "axlearn_rings" -> LayoutRule.RINGS;
                                case "torus_whole_axes" -> LayoutRule.WHOLE_AXES;
                                case "torus_split" -> LayoutRule.SPLIT_AXES;
                                case "torus_contiguous_submesh" -> LayoutRule.CONTIGUOUS_SUBMESHES;
                                case "row_major" -> LayoutRule.ROW_MAJOR;
                                default -> LayoutRule.SMALL_SLICE_TABLE;
                            });
        }
    }

    static Mesh make(JsonNode input) {
        JsonNode devices = input.get("devices");
        Topology topology = devices.has("cpu")
                ? Topologies.resolve("cpu-" + devices.get("cpu").intValue())
                : Topologies.catalogued(
                        devices.get("topology").stringValue(),
                        devices.get("num_slices").intValue());
        List<String> axes = input.get("axis_names").isNull() ? MeshSpec.DEFAULT_AXES : strings(input.get("axis_names"));
        MeshShape shape = shape(input.get("mesh_shape"));
        return switch (input.get("op").stringValue()) {
            case "aot_reshape" -> Mesh.reshapeDevices(topology, new MeshSpec(axes, shape));
            case "axlearn_create_device_mesh" -> Mesh.of(topology, new MeshSpec(axes, shape));
            case "jax_create_device_mesh" ->
                Mesh.jaxDeviceMesh(
                        topology,
                        axes,
                        shape.sizes(),
                        input.get("allow_split_physical_axes").booleanValue(),
                        input.get("contiguous_submeshes").booleanValue());
            default ->
                Mesh.jaxHybridDeviceMesh(
                        topology,
                        axes,
                        (MeshShape.Hybrid) shape,
                        input.get("allow_split_physical_axes").booleanValue(),
                        input.get("process_is_granule").booleanValue());
        };
    }

    static MeshShape shape(JsonNode node) {
        return switch (node) {
            case JsonNode n when n.isNull() -> MeshShape.of();
            case JsonNode n when n.isArray() -> new MeshShape.Plain(ints(n));
            default -> new MeshShape.Hybrid(ints(node.get("ici")), ints(node.get("dcn")));
        };
    }

    static List<JsonNode> cases(String resource) throws IOException {
        try (InputStream in = ReferenceMeshTest.class.getResourceAsStream(resource)) {
            return List.copyOf(MAPPER.readTree(in).get("cases").values());
        }
    }

    static List<Integer> ints(JsonNode array) {
        return IntStream.range(0, array.size())
                .mapToObj(i -> array.get(i).intValue())
                .toList();
    }

    static List<String> strings(JsonNode array) {
        return IntStream.range(0, array.size())
                .mapToObj(i -> array.get(i).stringValue())
                .toList();
    }
}

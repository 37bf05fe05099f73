// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slipway.topology.Topologies;
import dev.slipway.topology.TopologyException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import tools.jackson.databind.JsonNode;

class MeshTest {
    private static final List<String> AXES = List.of("data", "model");
    /** What of {@code mesh_quirks.json} is right as the reference has it, and what the reference should be able to lay. */
    private static final Set<String> KEPT = Set.of("q18");

    private static final Set<String> LAID_WHERE_THE_REFERENCE_FAILS = Set.of("q12", "q13", "q14", "q15", "q16", "q17");

    @TestFactory
    List<DynamicTest> quirksOfTheReferenceAreRefusedOrMendedOrKept() throws IOException {
        List<DynamicTest> tests = new ArrayList<>();
        for (JsonNode c : ReferenceMeshTest.cases("mesh_quirks.json")) {
            String id = c.get("id").stringValue();
            tests.add(DynamicTest.dynamicTest(id + " " + c.get("what").stringValue(), () -> {
                if (KEPT.contains(id)) {
                    assertThat(ReferenceMeshTest.make(c.get("input")).deviceIds())
                            .containsExactly(
                                    ReferenceMeshTest.ints(c.get("expect").get("device_ids")).stream()
                                            .mapToInt(Integer::intValue)
                                            .toArray());
                } else if (LAID_WHERE_THE_REFERENCE_FAILS.contains(id)) {
                    Mesh mesh = ReferenceMeshTest.make(c.get("input"));
                    assertThat(mesh.devices())
                            .containsExactlyInAnyOrderElementsOf(mesh.topology().devices());
                    assertThat(mesh.rule()).isEqualTo(LayoutRule.SPLIT_AXES);
                } else {
                    assertThatThrownBy(() -> ReferenceMeshTest.make(c.get("input")))
                            .isInstanceOfAny(MeshException.class, TopologyException.class);
                }
            }));
        }
        assertThat(tests).hasSize(19);
        return tests;
    }

    @Test
    void theSizesThatJaxFailsOnAreLaidOnTheTorusWithTheirTrueFactors() {
        Mesh mesh = Mesh.of(Topologies.resolve("v5p-896"), MeshSpec.of(AXES, 56, 8));
        assertThat(mesh.assignment()).isEqualTo(List.of(List.of(1, 4), List.of(2, 2), List.of(28, 1)));
    }

    @Test
    void runtimeOrderIsTheDefault() {
        MeshSpec spec = MeshSpec.of(AXES, 2, 4);
        assertThat(Mesh.of(Topologies.resolve("v5e-8"), spec))
                .isEqualTo(Mesh.of(Topologies.resolve("v5e-8"), spec, DeviceOrder.RUNTIME))
                .isNotEqualTo(Mesh.of(Topologies.resolve("v5e-8"), spec, DeviceOrder.TOPOLOGY));
    }

    @Test
    void theReferencePutsTheSliceBoundaryOnTheWrongAxisAndRuntimeOrderDoesNot() {
        MeshSpec spec = MeshSpec.hybrid(AXES, List.of(2, 2), List.of(1, 2));
        Mesh reference = Mesh.of(Topologies.resolve("v5e-4", 2), spec, DeviceOrder.TOPOLOGY);
        Mesh runtime = Mesh.of(Topologies.resolve("v5e-4", 2), spec, DeviceOrder.RUNTIME);

        assertThat(reference.deviceIds())
                .containsExactly(100000, 100001, 100002, 100003, 200000, 200001, 200002, 200003);
        assertThat(reference.crossesSlicesWithinIci()).isTrue();
        assertThat(runtime.crossesSlicesWithinIci()).isFalse();
        assertThat(runtime.deviceAt(0, 2).sliceIndex()).hasValue(1);
        assertThat(runtime.deviceAt(1, 1).sliceIndex()).hasValue(0);
    }

    @Test
    void withoutAShapeAllDevicesLieOnTheFirstAxis() {
        Mesh mesh = Mesh.of(Topologies.resolve("v5e-8", 2), MeshSpec.byDefault());
        assertThat(mesh.axes()).containsExactly("data", "model");
        assertThat(mesh.shape()).containsExactly(16, 1);
    }

    @Test
    void aProductThatIsNotTheDevicesIsNamedWithAxesAndCount() {
        assertThatThrownBy(() -> Mesh.of(Topologies.resolve("v5e-8"), MeshSpec.of(AXES, 4, 4)))
                .isInstanceOf(MeshShapeException.class)
                .hasMessage("(data=4, model=4) multiplies to 16, but v5e-8 has 8 devices");
    }

    @Test
    void aProductBeyondIntsIsSaidAsItIs() {
        assertThatThrownBy(() -> Mesh.of(Topologies.resolve("v5e-8"), MeshSpec.of(AXES, 65536, 65536)))
                .isInstanceOf(MeshShapeException.class)
                .hasMessage("(data=65536, model=65536) multiplies to 4294967296, but v5e-8 has 8 devices");
    }

    @Test
    void aMinusOneThatDoesNotDivideIsNamedWithAxisProductAndCount() {
        assertThatThrownBy(() -> Mesh.of(Topologies.resolve("v5e-8"), MeshSpec.of(AXES, -1, 3)))
                .isInstanceOf(MeshShapeException.class)
                .hasMessage(
                        "Axis \"data\" is -1 in (data=-1, model=3), but v5e-8 has 8 devices, and 8 does not divide by"
                                + " the product 3 of the other sizes");
    }

    @Test
    void twoUnknownSizesAreRefused() {
        assertThatThrownBy(() -> Mesh.of(Topologies.resolve("v5e-8"), MeshSpec.of(AXES, -1, -1)))
                .isInstanceOf(MeshShapeException.class)
                .hasMessageStartingWith("Axes \"data\" and \"model\" are both -1");
    }

    @Test
    void zeroAndOtherNegativeSizesAreRefused() {
        for (int size : new int[] {0, -2}) {
            assertThatThrownBy(() -> Mesh.of(Topologies.resolve("v5e-8"), MeshSpec.of(AXES, size, 8)))
                    .isInstanceOf(MeshShapeException.class)
                    .hasMessageStartingWith("Axis \"data\" has size " + size);
        }
    }

    @Test
    void aHybridShapeMustMatchSliceAndSlicesEachForItself() {
        assertThatThrownBy(() -> Mesh.reshapeDevices(
                        Topologies.resolve("v5e-4", 2), MeshSpec.hybrid(AXES, List.of(8, 1), List.of(1, 1))))
                .isInstanceOf(MeshShapeException.class)
                .hasMessage("(data=8, model=1) multiplies to 8, but one slice of v5e-4 has 4 devices (ici)");
    }

    @Test
    void doubleEmptyAndMissingAxisNamesAreRefused() {
        assertThatThrownBy(() -> MeshSpec.of(List.of("data", "data"), 2, 4))
                .hasMessageContaining("\"data\" comes twice");
        assertThatThrownBy(() -> MeshSpec.of(List.of("data", ""), 2, 4)).isInstanceOf(MeshAxisException.class);
        assertThatThrownBy(() -> MeshSpec.of(List.of("data"), 2, 4))
                .isInstanceOf(MeshAxisException.class)
                .hasMessageContaining("2 sizes")
                .hasMessageContaining("1 axis name [data]");
    }

    @Test
    void onlyAPlainShapeMayBeAbsentAndNotForJaxsOwnFunctions() {
        assertThatThrownBy(() -> MeshSpec.hybrid(AXES, List.of(), List.of()))
                .isInstanceOf(MeshAxisException.class)
                .hasMessageContaining("0 sizes");
        assertThatThrownBy(() -> Mesh.jaxDeviceMesh(Topologies.resolve("v5e-1"), AXES, List.of(), false, false))
                .isInstanceOf(MeshAxisException.class)
                .hasMessageContaining("[data, model]");
    }

    @Test
    void gpusTakeHostsOrNvlinkDomainsAsTheDcnPart() {
        Mesh byHost = Mesh.of(Topologies.resolve("gb200-4x18"), MeshSpec.hybrid(AXES, List.of(1, 4), List.of(18, 1)));
        Mesh byDomain = Mesh.of(Topologies.resolve("gb200-4x36"), MeshSpec.hybrid(AXES, List.of(1, 72), List.of(2, 1)));
        assertThat(byHost.shape()).containsExactly(18, 4);
        assertThat(byDomain.shape()).containsExactly(2, 72);
    }

    @Test
    void anAxisIsNotNamedLikeAPartOfOne() {
        assertThatThrownBy(() -> MeshSpec.of(List.of("data", "model:(1)2"), 2, 4))
                .isInstanceOf(MeshAxisException.class)
                .hasMessage("Axis \"model:(1)2\": \":(\" begins a part of an axis, as in model:(1)8");
    }
}

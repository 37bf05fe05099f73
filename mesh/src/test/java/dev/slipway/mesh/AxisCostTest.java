// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.slipway.topology.Topologies;
import java.util.List;
import org.junit.jupiter.api.Test;

class AxisCostTest {
    private static final double MIB = 1 << 20;

    private static Mesh mesh(String target, int slices, MeshSpec spec) {
        return Mesh.of(Topologies.resolve(target, slices), spec);
    }

    @Test
    void aClosedTorusDimensionSendsBothWays() {
        // 3/4 of the bytes over two links of 50 GB/s, and two hops of 1 us: "How to Scale Your Model", sharding.md.
        AxisCost x = AxisCost.of(mesh("v4-128", 1, MeshSpec.of(List.of("a", "b", "c"), 4, 4, 4)), "c");
        assertThat(x.medium()).isEqualTo(AxisCost.Medium.ICI);
        assertThat(x.hops()).isEqualTo(1);
        assertThat(x.wraps()).isTrue();
        assertThat(x.allGatherSeconds(MIB)).isEqualTo(0.75 * MIB / 1e11 + 2e-6, within(1e-12));
        assertThat(x.allReduceSeconds(MIB)).isEqualTo(2 * x.allGatherSeconds(MIB));
        assertThat(x.allToAllSeconds(MIB)).isEqualTo(MIB / 4e11 + 2e-6, within(1e-12));
    }

    @Test
    void anOpenDimensionSendsOneWayFromEndToEnd() {
        AxisCost model = AxisCost.of(mesh("v5e-16", 1, MeshSpec.of(List.of("data", "model"), 4, 4)), "model");
        assertThat(model.wraps()).isFalse();
        assertThat(model.allGatherSeconds(MIB)).isEqualTo(0.75 * MIB / 5e10 + 3e-6, within(1e-12));
    }

    @Test
    void anAxisOverTwoDimensionsUsesTheLinksOfBoth() {
        AxisCost wide = AxisCost.of(mesh("v4-128", 1, MeshSpec.of(List.of("data", "model"), 4, 16)), "model");
        assertThat(wide.iciBytesPerSecond()).isEqualTo(2e11);
        assertThat(wide.iciSteps()).isEqualTo(4);
    }

    @Test
    void ringsOfNeighboursCloseWhereTheTorusDoesNot() {
        AxisCost ring = AxisCost.of(mesh("v5e-16", 1, MeshSpec.of(List.of("data", "model"), 1, 16)), "model");
        assertThat(ring.hops()).isEqualTo(1);
        assertThat(ring.wraps()).isTrue();
        assertThat(ring.iciBytesPerSecond()).isEqualTo(1e11);
    }

    @Test
    void anAxisThatIsSpreadOutSharesLinksWithItsLikes() {
        // 8x8 on 4x4x4: the first axis takes all of z and every other chip of y, where two rings share each link.
        Mesh mesh = mesh("v4-128", 1, MeshSpec.of(List.of("data", "model"), 8, 8));
        assertThat(mesh.assignment()).isEqualTo(List.of(List.of(1, 4), List.of(2, 2), List.of(4, 1)));
        assertThat(AxisCost.of(mesh, "data").iciBytesPerSecond()).isEqualTo(1e11 + 1e11 / 2);
    }

    @Test
    void anAxisAcrossSlicesGoesOverTheHostsNetworkPorts() {
        Mesh mesh = mesh("v5e-16", 2, MeshSpec.hybrid(List.of("data", "model"), List.of(1, 16), List.of(2, 1)));
        AxisCost data = AxisCost.of(mesh, "data");
        assertThat(data.medium()).isEqualTo(AxisCost.Medium.DCN);
        assertThat(data.allGatherSeconds(MIB)).isEqualTo(0.5 * MIB / (1.25e10 / 4) + 4e-6, within(1e-12));
    }

    @Test
    void anAxisOfBothPartsPaysForBoth() {
        Mesh mesh = mesh("v5e-16", 2, MeshSpec.hybrid(List.of("data", "model"), List.of(4, 4), List.of(2, 1)));
        AxisCost data = AxisCost.of(mesh, "data");
        assertThat(data.medium()).isEqualTo(AxisCost.Medium.ICI_AND_DCN);
        assertThat(data.allGatherSeconds(MIB))
                .isEqualTo(0.5 * MIB / (4 * 1.25e10 / 4) + 4e-6 + 0.75 * MIB / 5e10 + 3e-6, within(1e-12));
    }

    @Test
    void nvlinkReachesEveryoneInOneStep() {
        AxisCost model = AxisCost.of(mesh("h100-8", 1, MeshSpec.of(List.of("data", "model"), 1, 8)), "model");
        assertThat(model.iciBytesPerSecond()).isEqualTo(4.5e11);
        assertThat(model.allToAllSeconds(8e9)).isEqualTo(7e9 / 8 / 4.5e11 + 1.9e-6, within(1e-9));
    }

    @Test
    void anAxisOfOneCostsNothing() {
        AxisCost data = AxisCost.of(mesh("v5e-8", 1, MeshSpec.of(List.of("data", "model"), 1, 8)), "data");
        assertThat(data.medium()).isEqualTo(AxisCost.Medium.NONE);
        assertThat(data.allReduceSeconds(MIB)).isZero();
    }

    @Test
    void whatTheCatalogueDoesNotKnowIsNotMadeUp() {
        AxisCost data = AxisCost.of(mesh("cpu-4", 1, MeshSpec.byDefault()), "data");
        assertThat(data.allGatherSeconds(MIB)).isNaN();
    }
}

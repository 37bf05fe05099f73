// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.topology.Topologies;
import java.io.StringReader;
import java.util.List;
import java.util.function.UnaryOperator;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.xml.sax.InputSource;

class MeshPictureTest {
    private static final MeshSpec HYBRID = MeshSpec.hybrid(List.of("data", "model"), List.of(1, 8), List.of(2, 1));

    @Test
    void chipsStandWithTheirCoordinatesWithHostsAndSlicesApart() {
        Mesh mesh = Mesh.of(Topologies.resolve("v5e-8", 2), HYBRID);
        assertThat(MeshPicture.of(mesh).lines(80, 1000, UnaryOperator.identity()))
                .containsExactly(
                        "slice 0       slice 1",
                        "┌─────────┐   ┌─────────┐",
                        "│ 0,0 0,1 │   │ 1,0 1,1 │",
                        "│ 0,2 0,3 │   │ 1,2 1,3 │",
                        "├─────────┤   ├─────────┤",
                        "│ 0,7 0,6 │   │ 1,7 1,6 │",
                        "│ 0,5 0,4 │   │ 1,5 1,4 │",
                        "└─────────┘   └─────────┘");
    }

    @Test
    void planesThatDoNotFitTheWidthStandBelow() {
        Mesh mesh = Mesh.of(Topologies.resolve("v5e-8", 2), HYBRID);
        assertThat(MeshPicture.of(mesh).lines(20, 1000, UnaryOperator.identity()))
                .hasSize(16);
    }

    @Test
    void aLargeMachineIsDrawnInPartAndSaysSo() {
        Mesh mesh = Mesh.of(Topologies.resolve("v4-4096"), MeshSpec.byDefault());
        List<String> lines = MeshPicture.of(mesh).lines(400, 256, UnaryOperator.identity());
        assertThat(lines.getLast()).isEqualTo("and 14 more planes like these, of 128 devices each");
    }

    @Test
    void oneRingOfTheLastAxisIsMarked() {
        Mesh mesh = Mesh.of(Topologies.resolve("v5e-4"), MeshSpec.of(List.of("data", "model"), 2, 2));
        assertThat(String.join("\n", MeshPicture.of(mesh).lines(80, 1000, text -> "<" + text + ">")))
                .contains("<0,0> <0,1>")
                .contains("│ 1,1 1,0 │");
    }

    @Test
    void theSvgHasEveryDeviceOnce() throws Exception {
        Mesh mesh = Mesh.of(Topologies.resolve("7x-16", 2), MeshSpec.of(List.of("data", "model"), 2, -1));
        String svg = MeshPicture.of(mesh).svg();
        Document document =
                DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(svg)));
        assertThat(document.getElementsByTagName("g").getLength()).isEqualTo(32);
        for (int id : mesh.deviceIds()) {
            assertThat(svg).containsOnlyOnce("<title>device " + id + " at ");
        }
    }
}

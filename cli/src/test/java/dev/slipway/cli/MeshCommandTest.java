// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;

/** {@code slipway mesh} and {@code slipway targets}: what scripts rely on. */
class MeshCommandTest {
    private static final JsonMapper MAPPER = new JsonMapper();

    /** The cases that mesh's own tests hold to; surefire runs in the module's folder. */
    private static final Path REFERENCE = Path.of("../mesh/src/test/resources/dev/slipway/mesh/mesh_cases_public.json");

    @TempDir
    Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int slipway(String... arguments) {
        return Main.run(new PrintWriter(out), new PrintWriter(err), arguments);
    }

    private JsonNode json() {
        return MAPPER.readTree(out.toString());
    }

    @Test
    void aBatchAnswersEveryCaseOfTheReferenceInOrder() throws IOException {
        JsonNode cases = MAPPER.readTree(Files.readString(REFERENCE)).get("cases");
        ArrayNode inputs = MAPPER.createArrayNode();
        cases.values().forEach(c -> inputs.add(c.get("input")));
        Path file = Files.writeString(folder.resolve("batch.json"), inputs.toString());

        assertThat(slipway("mesh", "--batch", file.toString())).isZero();

        assertThat(json().size()).isEqualTo(256);
        Iterator<JsonNode> answers = json().values().iterator();
        for (JsonNode c : cases.values()) {
            JsonNode answer = answers.next();
            String id = c.get("id").stringValue();
            assertThat(answer.get("ok")).as(id).isEqualTo(c.get("expect").get("ok"));
            if (answer.get("ok").booleanValue()) {
                c.get("expect")
                        .properties()
                        .forEach(field -> assertThat(answer.get(field.getKey()))
                                .as(id + " " + field.getKey())
                                .isEqualTo(field.getValue()));
            } else {
                assertThat(answer.get("reason").stringValue()).as(id).isNotBlank();
            }
        }
    }

    @Test
    void aBatchWithoutAnOpAnswersAsTheCommandLineDoes() throws IOException {
        Path file = Files.writeString(folder.resolve("batch.json"), """
                [{"devices": {"topology": "v5litepod-8"}, "mesh_shape": [2, -1]},
                 {"devices": {"topology": "v5e-8"}, "mesh_shape": [2, 4], "order": "topology"},
                 {"devices": {"topology": "v5e-8"}, "mesh_shape": [2, 4.5]},
                 {"devices": {"topology": "v5e-8"}, "mesh_shape": [2, 4], "op": "no_such"},
                 17]
                """);
        assertThat(slipway("mesh", "--batch", file.toString())).isZero();
        assertThat(json().get(0).get("device_ids").toString()).isEqualTo("[0,1,2,3,7,6,5,4]");
        assertThat(json().get(1).get("device_ids").toString()).isEqualTo("[0,1,2,3,4,5,6,7]");
        for (int i = 2; i < 5; i++) {
            assertThat(json().get(i).get("ok").booleanValue()).isFalse();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"{}", "7", ""})
    void aBatchThatIsNoArrayIsOneClearLine(String content) throws IOException {
        Path file = Files.writeString(folder.resolve("batch.json"), content);
        assertThat(slipway("mesh", "--batch", file.toString())).isEqualTo(1);
        assertThat(err.toString().strip()).startsWith("slipway: The batch").doesNotContain("\n");
    }

    @Test
    void jsonHasAxesShapeAndDeviceIds() {
        assertThat(slipway(
                        "mesh",
                        "v4-8",
                        "--slices",
                        "2",
                        "--axes",
                        "data,fsdp",
                        "--ici",
                        "2,2",
                        "--dcn",
                        "1,-1",
                        "--json"))
                .isZero();
        assertThat(json().get("axes").toString()).isEqualTo("[\"data\",\"fsdp\"]");
        assertThat(json().get("shape").toString()).isEqualTo("[2,4]");
        assertThat(json().get("resolved_shape").toString()).isEqualTo("{\"ici\":[2,2],\"dcn\":[1,2]}");
        assertThat(json().get("device_ids").toString())
                .isEqualTo("[100000,100001,200000,200001,100002,100003,200002,200003]");
    }

    @Test
    void topologyOrderIsTheReferencesReshape() {
        assertThat(slipway("mesh", "v5e-16", "--shape", "-1,4", "--order", "topology", "--json"))
                .isZero();
        assertThat(json().get("device_ids").toString()).isEqualTo("[0,1,4,5,2,3,6,7,8,9,12,13,10,11,14,15]");
    }

    @Test
    void theReportDrawsTheDevicesAndPricesTheAxes() throws IOException {
        Path svg = folder.resolve("mesh.svg");
        assertThat(slipway("mesh", "v5e-8", "--slices", "2", "--ici", "1,8", "--dcn", "2,1", "--svg", svg.toString()))
                .isZero();
        assertThat(out.toString())
                .contains("v5e-8 x 2 slices")
                .contains("│ 0,0 0,1 │   │ 1,0 1,1 │")
                .contains("DCN, 2 slices")
                .contains("all-reduce");
        assertThat(Files.readString(svg)).startsWith("<svg ").contains("slice 1");
    }

    @Test
    void anOrderThatLeavesSlicesWithinAnIciAxisSaysSo() {
        slipway("mesh", "v5e-4", "--slices", "2", "--ici", "2,2", "--dcn", "1,2", "--order", "topology");
        assertThat(out.toString()).contains("--order runtime does not");
    }

    @Test
    void badUsageExitsWithTwoAndFailureWithOne() {
        for (String[] line : List.of(
                new String[] {"mesh"},
                new String[] {"mesh", "v5e-8", "--slices", "0"},
                new String[] {"mesh", "v5e-8", "--shape", "2,x"},
                new String[] {"mesh", "v5e-8", "--ici", "2,4"},
                new String[] {"mesh", "v5e-8", "--shape", "2,4", "--ici", "2,4", "--dcn", "1,1"},
                new String[] {"mesh", "v5e-8", "--order", "sideways"})) {
            assertThat(slipway(line)).as(String.join(" ", line)).isEqualTo(2);
        }
        assertThat(slipway("mesh", "v5e-9")).isEqualTo(1);
        assertThat(slipway("mesh", "v5e-8", "--shape", "3,3")).isEqualTo(1);
        assertThat(slipway("mesh", "none.json")).isEqualTo(1);
        assertThat(err.toString())
                .contains("did you mean v5e-8, v5e-16, v5e-4?")
                .contains("(data=3, model=3) multiplies to 9, but v5e-8 has 8 devices")
                .contains("no such file: none.json")
                .doesNotContain("\tat ");
    }

    @Test
    void aMachineOfTheUsersOwnIsReadFromAFile() throws IOException {
        Path file = Files.writeString(
                folder.resolve("mine.json"),
                "{\"name\": \"mine\", \"chip\": \"v5e\", \"slices\": 2, \"slice\": [2, 6, 1], \"host\": [2, 2, 1]}");
        assertThat(slipway("mesh", file.toString(), "--shape", "-1,12", "--json"))
                .isZero();
        assertThat(json().get("shape").toString()).isEqualTo("[2,12]");
    }

    @Test
    void targetsListsChipsAndEveryNameInJson() {
        assertThat(slipway("targets")).isZero();
        assertThat(out.toString()).contains("v5p-8 .. v5p-17920").doesNotContain("v5p-640");
        out.getBuffer().setLength(0);
        assertThat(slipway("targets", "--json")).isZero();
        long names = json().get("chips").values().stream()
                .filter(chip -> chip.get("platform").stringValue().equals("tpu"))
                .mapToLong(chip -> chip.get("names").size())
                .sum();
        assertThat(names).isEqualTo(222);
    }

    @Test
    void oneTargetIsShownWithItsDevicesInListOrder() {
        assertThat(slipway("targets", "v5litepod-16", "--json")).isZero();
        assertThat(json().get("name").stringValue()).isEqualTo("v5e-16");
        assertThat(json().get("topology_name").stringValue()).isEqualTo("v5e:4x4");
        assertThat(json().get("num_hosts").intValue()).isEqualTo(4);
        assertThat(json().get("devices").get(2).toString())
                .isEqualTo("{\"id\":4,\"process_index\":0,\"coords\":[0,1,0],\"core_on_chip\":0,\"slice_index\":null}");
    }
}

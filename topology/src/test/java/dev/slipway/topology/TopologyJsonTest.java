// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TopologyJsonTest {
    private static final String MINE = """
            {"name": "mine", "chip": "v5e", "slices": 2, "slice": [4, 6, 1], "host": [2, 2, 1], "wrap": [false, true, false]}
            """;

    @Test
    void aUsersOwnMachineIsReadWithItsBoundsAndWrap() {
        Topology mine = Topologies.fromJson(MINE);
        assertThat(mine.deviceCount()).isEqualTo(48);
        assertThat(mine.hostsPerSlice()).isEqualTo(6);
        assertThat(mine.wrap()).isEqualTo(new Wrap(false, true, false));
        assertThat(mine.plugin()).isEqualTo(new PluginSpec.Tpu("v5e:4x6", "default", List.of(2, 2, 1), 2));
    }

    @Test
    void aUsersOwnChipIsReadInFull() {
        Topology mine = Topologies.fromJson(lab("", ""));
        assertThat(mine.platform()).isEqualTo(Platform.GPU);
        assertThat(mine.chip().hbmBytes()).isEqualTo(8L << 30);
        assertThat(Topologies.fromJson(Topologies.toJson(mine))).isEqualTo(mine);
    }

    /** A GPU of one's own; some of its text may be replaced. */
    private static String lab(String part, String replacement) {
        return """
                {"name": "lab", "slice": [4, 1, 1], "host": [4, 1, 1], "chip": {
                  "name": "x1", "device_kind": "X1", "cores": 64, "hbm_bytes": 8589934592, "hbm_bytes_per_second": 5e11,
                  "gpu": {"capability": "9.0", "fpus_per_core": 128, "shared_bytes_per_core": 233472,
                          "shared_bytes_per_block_optin": 232448, "devices_per_host": 4}}}
                """.replace(part, replacement);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "\"hbm_bytes_per_second\" | \"hbm_bandwith\" | chip has an unknown field \"hbm_bandwith\"",
                "\"fpus_per_core\": 128 | \"fpus_per_core\": 128, \"l2\": 1 | chip.gpu has an unknown field \"l2\"",
                "\"9.0\" | \"90\" | Chip X1 has capability \"90\": one like 9.0",
                "\"9.0\" | \"9.x\" | Chip X1 has capability \"9.x\"",
                "\"9.0\" | \"\" | Chip X1 has capability \"\"",
            })
    void whatIsWrongWithAUsersChipIsNamed(String part, String replacement, String complaint) {
        assertThatThrownBy(() -> Topologies.fromJson(lab(part, replacement)))
                .isInstanceOf(InvalidTopologyException.class)
                .hasMessageContaining(complaint);
    }

    @Test
    void asManyDevicesAsLongsCannotCountAreRefused() {
        String json = lab("[4, 1, 1], \"host\": [4, 1, 1]", "[1024, 1024, 1024], \"host\": [1, 1, 1], \"slices\": 16")
                .replace("\"cores\": 64", "\"cores\": 64, \"devices_per_chip\": 1073741824");

        assertThatThrownBy(() -> Topologies.fromJson(json))
                .isInstanceOf(InvalidTopologyException.class)
                .hasMessage("lab with 16 slices of 1152921504606846976 devices: 8388608 in all at most");
    }

    @Test
    void aUsersGpuMayHaveAnyNameForItsKind() {
        Topology mine = Topologies.fromJson(lab("\"X1\"", "\"the \\\"big\\\" ü\\\\\\n\""));

        assertThat(((PluginSpec.Gpu) mine.plugin()).targetConfig())
                .contains("name: \"the \\042big\\042 \\303\\274\\134\\012\"\n");
    }

    @Test
    void aChipMayBeCopiedFromTheCatalogueWithItsPlace() {
        Topology mine = Topologies.fromJson("""
                {"name": "lab", "slice": [2, 2, 1], "host": [2, 2, 1], "chip": {
                  "name": "v5e", "device_kind": "TPU v5 lite", "links": 4,
                  "tpu": {"libtpu_name": "v5e", "chip_config": "default", "torus_rank": 2, "shapes": ["2x2"],
                          "wrap": "16", "aliases": ["v5litepod"]}}}
                """);

        assertThat(mine.chip().links()).isEqualTo(4);
    }

    @ParameterizedTest
    @CsvSource({
        "hbm_bytes, -8, -8",
        "hbm_bytes_per_second, 1e400, Infinity",
        "bf16_flops_per_second, -1, -1.0",
        "link_bytes_per_second, -1e400, -Infinity",
        "cores, -64, -64",
        "fpus_per_core, -1, -1",
        "clock_ghz, 1e400, Infinity",
        "l2_bytes, -5, -5"
    })
    void aFigureThatCannotBeIsNamed(String figure, String value, String shown) {
        String json = """
                {"name": "lab", "slice": [4, 1, 1], "host": [4, 1, 1], "chip": {
                  "name": "x1", "device_kind": "x1", "cores": 64, "hbm_bytes": 1, "hbm_bytes_per_second": 1,
                  "bf16_flops_per_second": 1, "link_bytes_per_second": 1,
                  "gpu": {"capability": "9.0", "fpus_per_core": 128, "clock_ghz": 1, "l2_bytes": 1024,
                          "shared_bytes_per_core": 233472, "shared_bytes_per_block_optin": 232448,
                          "devices_per_host": 4}}}
                """.replaceFirst("\"%s\": \\d+".formatted(figure), "\"%s\": %s".formatted(figure, value));

        assertThatThrownBy(() -> Topologies.fromJson(json))
                .isInstanceOf(InvalidTopologyException.class)
                .hasMessage(
                        "Chip x1 has %s %s: a number from 0 on was expected, 0 for not known".formatted(figure, shown));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "[4, 6, 1] | [4, 5, 1] | A slice of 4x5x1 chips (mine) cannot be made of hosts of 2x2x1",
                "[4, 6, 1] | [0, 6, 1] | have an extent below 1",
                "[4, 6, 1] | [4, 6] | a list of 3 was expected",
                "[4, 6, 1] | [4, 6.5, 1] | whole numbers was expected",
                "\"slices\": 2 | \"slices\": 0 | mine with 0 slices: at least 1 was expected",
                "\"slices\": 2 | \"slices\": -1 | mine with -1 slices",
                "\"slices\": 2 | \"slices\": \"two\" | a whole number was expected",
                "\"slices\": 2 | \"slice_count\": 2 | unknown field \"slice_count\"",
                "\"chip\": \"v5e\" | \"chip\": \"v9\" | Unknown chip \"v9\"",
                "\"chip\": \"v5e\" | \"chip\": {\"name\": \"z\"} | no field \"device_kind\"",
                "\"host\": [2, 2, 1], | '' | no field \"host\"",
                "{ | '' | not JSON",
            })
    void whatIsWrongIsNamed(String part, String replacement, String complaint) {
        String json = MINE.replace(part, replacement);
        assertThatThrownBy(() -> Topologies.fromJson(json))
                .isInstanceOf(InvalidTopologyException.class)
                .hasMessageContaining(complaint);
    }

    @Provide
    Arbitrary<Topology> machines() {
        List<String> names = new ArrayList<>(Topologies.catalogue());
        names.addAll(List.of("v4-384", "v6e-8-1", "v5p:4x4x6", "h100-8", "gb200-4", "mi300x-8", "cpu-12"));
        return Combinators.combine(Arbitraries.of(names), Arbitraries.integers().between(1, 5))
                .as((name, slices) -> Topologies.resolve(name, name.startsWith("cpu") ? 1 : slices));
    }

    @Property
    void aMachineIsReadBackAsItWasWritten(@ForAll("machines") Topology machine) {
        assertThat(Topologies.fromJson(Topologies.toJson(machine))).isEqualTo(machine);
    }

    @Property(tries = 100)
    void noTwoDevicesShareAnIdOrAPlace(@ForAll("machines") Topology machine) {
        Set<Integer> ids = new HashSet<>();
        Set<List<Object>> places = new HashSet<>();
        for (Device device : machine.devices()) {
            ids.add(device.id());
            places.add(List.of(device.sliceIndex(), device.coords(), device.coreOnChip()));
            assertThat(device.processIndex()).isBetween(0, machine.hostCount() - 1);
        }
        assertThat(ids).hasSize(machine.deviceCount());
        assertThat(machine.deviceIds())
                .containsExactly(machine.devices().stream().mapToInt(Device::id).toArray());
        assertThat(places).hasSize(machine.deviceCount());
    }
}

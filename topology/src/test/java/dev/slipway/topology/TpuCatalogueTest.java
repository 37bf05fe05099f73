// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.base.Splitter;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

/** The TPU catalogue and device lists against what libtpu and AXLearn say. */
class TpuCatalogueTest {
    @Test
    void everyCataloguedNameGivesWhatLibtpuIsToldAndReports() throws IOException {
        List<String> names = new ArrayList<>();
        for (String line : lines("catalogue.tsv")) {
            List<String> row = Splitter.on('\t').splitToList(line);
            Topology topology = Topologies.resolve(row.get(0));
            names.add(row.get(0));
            assertThat(topology.name()).isEqualTo(row.get(0));
            assertThat(topology.plugin())
                    .as(row.get(0))
                    .isEqualTo(new PluginSpec.Tpu(
                            row.get(1), row.get(2), Bounds.parse(row.get(3)).toList(), 1));
            assertThat(topology.slice().volume()).as(row.get(0)).isEqualTo(Integer.parseInt(row.get(4)));
            assertThat(topology.devicesPerSlice()).as(row.get(0)).isEqualTo(Integer.parseInt(row.get(5)));
            assertThat(topology.hostsPerSlice()).as(row.get(0)).isEqualTo(Integer.parseInt(row.get(6)));
            assertThat(topology.chip().deviceKind()).isEqualTo(row.get(7));
        }
        assertThat(Topologies.catalogue()).hasSize(222).containsExactlyInAnyOrderElementsOf(names);
    }

    @Test
    void deviceListsAreLibtpusInEveryField() throws IOException {
        Map<Topology, List<Device>> lists = new LinkedHashMap<>();
        Topology topology = null;
        for (String line : lines("devices.tsv")) {
            if (line.indexOf('\t') > 0) {
                List<String> head = Splitter.on('\t').splitToList(line);
                topology = Topologies.resolve(head.get(0), Integer.parseInt(head.get(1)));
                lists.put(topology, new ArrayList<>());
            } else {
                List<String> f = Splitter.on(' ').splitToList(line);
                lists.get(Objects.requireNonNull(topology))
                        .add(new Device(
                                Integer.parseInt(f.get(0)),
                                Integer.parseInt(f.get(1)),
                                new Coords(
                                        Integer.parseInt(f.get(2)),
                                        Integer.parseInt(f.get(3)),
                                        Integer.parseInt(f.get(4))),
                                Integer.parseInt(f.get(5)),
                                f.get(6).equals("-") ? OptionalInt.empty() : OptionalInt.of(Integer.parseInt(f.get(6))),
                                topology.chip().deviceKind()));
            }
        }
        assertThat(lists).hasSize(27);
        lists.forEach((machine, devices) ->
                assertThat(machine.devices()).as(machine.name()).isEqualTo(devices));
    }

    private static List<String> lines(String resource) throws IOException {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(
                Objects.requireNonNull(TpuCatalogueTest.class.getResourceAsStream(resource)),
                StandardCharsets.UTF_8))) {
            return in.lines().filter(line -> !line.startsWith("#")).toList();
        }
    }
}

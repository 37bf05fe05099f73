// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.runtime.DeviceDescription;
import dev.slipway.runtime.NamedValue;
import dev.slipway.runtime.PackageStore;
import dev.slipway.runtime.Plugin;
import dev.slipway.runtime.PluginTopology;
import dev.slipway.runtime.Plugins;
import dev.slipway.topology.Coords;
import dev.slipway.topology.Device;
import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Stream;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The catalogue against the TPU plugin itself: every device in every field, in the plugin's order. */
class LibtpuCatalogueTest {
    private static final int SMALL = 1024;
    private static final Plugin LIBTPU = Plugins.ofUser().load("tpu", PackageStore.Progress.NONE);

    static Stream<Named<Topology>> machines() {
        List<Topology> machines = new ArrayList<>();
        for (String name : Topologies.catalogue()) {
            Topology one = Topologies.resolve(name);
            machines.add(one);
            if (one.deviceCount() <= SMALL) {
                machines.add(one.withSlices(2));
                machines.add(one.withSlices(3));
            }
        }
        // What the catalogue leaves out: MaxText's v4-384, hosts of eight chips, and shapes given in full.
        Stream.of("v4-384", "v5e-8-1", "v6e-8-1", "v5p:4x4x6", "v5p:8x4x4", "v5e:2x6", "v6e:1x2", "v5e:3x3")
                .map(name -> Topologies.resolve(name, 2))
                .forEach(machines::add);
        return machines.stream().map(m -> Named.of(Machines.title(m), m));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("machines")
    void thePluginListsTheSameDevices(Topology machine) {
        try (PluginTopology topology = LIBTPU.topology(machine.plugin())) {
            List<Device> listed =
                    topology.devices().stream().map(LibtpuCatalogueTest::device).toList();
            // Equality first: AssertJ's comparison is slow on lists of thousands.
            if (!listed.equals(machine.devices())) {
                assertThat(machine.devices()).isEqualTo(listed);
            }
        }
    }

    private static Device device(DeviceDescription device) {
        List<Long> coords = ((NamedValue.Int64List) device.attributes().get("coords")).value();
        NamedValue slice = device.attributes().get("slice_index");
        return new Device(
                device.id(),
                device.processIndex(),
                new Coords(
                        coords.get(0).intValue(),
                        coords.get(1).intValue(),
                        coords.get(2).intValue()),
                number(device.attributes().get("core_on_chip")),
                slice == null ? OptionalInt.empty() : OptionalInt.of(number(slice)),
                device.kind());
    }

    private static int number(NamedValue value) {
        return Math.toIntExact(((NamedValue.Int64) value).value());
    }
}

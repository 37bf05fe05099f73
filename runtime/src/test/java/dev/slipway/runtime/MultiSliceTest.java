// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slipway.topology.Topologies;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Several TPU slices as one machine, without TPUs. */
class MultiSliceTest {

    @Test
    void slicesOfAKindMakeOneMachine() {
        try (PluginTopology slice =
                        TestPlugins.tpu().topology(Topologies.resolve("v5e-16").plugin());
                MultiSlice both = slice.multiSlice(2)) {
            assertThat(both.slices()).isEqualTo(2);
            assertThat(both.slice()).isZero();
            assertThat(both.devices()).isEqualTo(Map.of(0, 16, 1, 16));
        }
    }

    @Test
    void equalMachinesHaveEqualBytes() {
        try (PluginTopology slice =
                        TestPlugins.tpu().topology(Topologies.resolve("v5e-16").plugin());
                MultiSlice two = slice.multiSlice(2);
                MultiSlice again = slice.multiSlice(2);
                MultiSlice four = slice.multiSlice(4)) {
            assertThat(two.serialize()).isEqualTo(again.serialize()).isNotEqualTo(four.serialize());
        }
    }

    @Test
    void aDeviceIsFoundByItsNumberAcrossSlices() {
        MegascaleIds ids = TestPlugins.tpu().megascaleIds();
        MegascaleIds.Place place = new MegascaleIds.Place(3, 7);
        assertThat(ids.place(ids.of(place))).isEqualTo(place);
        assertThat(ids.of(new MegascaleIds.Place(0, 7))).isNotEqualTo(ids.of(place));
    }

    @Test
    void noSlicesAreRefused() {
        try (PluginTopology slice =
                TestPlugins.tpu().topology(Topologies.resolve("v5e-16").plugin())) {
            assertThatThrownBy(() -> slice.multiSlice(0)).isInstanceOf(UsageException.BadArgument.class);
        }
    }

    @Test
    void pluginsWithoutTheExtensionsSaySo() {
        assertThatThrownBy(() -> TestPlugins.cpu().megascaleIds()).isInstanceOf(UsageException.Unsupported.class);
        try (Client client = TestPlugins.cpu().client();
                PluginTopology topology = client.topology()) {
            assertThatThrownBy(() -> topology.multiSlice(2)).isInstanceOf(UsageException.Unsupported.class);
        }
    }
}

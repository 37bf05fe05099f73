// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.slipway.runtime.DeviceDescription;
import dev.slipway.runtime.NamedValue;
import dev.slipway.runtime.PackageStore;
import dev.slipway.runtime.PluginTopology;
import dev.slipway.runtime.Plugins;
import dev.slipway.topology.Accelerator;
import dev.slipway.topology.ChipSpec;
import dev.slipway.topology.PluginSpec;
import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The NVIDIA chips against XLA's CUDA plugin, where it is installed: it is large, so no test fetches it. */
class GpuTargetTest {
    @BeforeAll
    static void cudaIsInstalled() {
        assumeTrue(Plugins.ofUser().find("cuda").isPresent(), "slipway plugins install cuda");
    }

    static Stream<String> nvidia() {
        return Topologies.chips().stream()
                .filter(c -> c.accelerator() instanceof Accelerator.Gpu gpu
                        && !gpu.target().isRocm())
                .map(ChipSpec::name);
    }

    @ParameterizedTest
    @MethodSource("nvidia")
    void thePluginTakesTheTargetAndListsItsDevices(String chip) {
        Accelerator.Gpu gpu = (Accelerator.Gpu) Topologies.chips().stream()
                .filter(c -> c.name().equals(chip))
                .findFirst()
                .orElseThrow()
                .accelerator();
        Topology machine = Topologies.resolve(chip + "-" + gpu.devicesPerHost(), 2);
        PluginSpec.Gpu spec = (PluginSpec.Gpu) machine.plugin();
        Map<String, NamedValue> options =
                Map.of("target_config", NamedValue.of(spec.targetConfig()), "topology", NamedValue.of(spec.topology()));
        try (PluginTopology topology =
                Plugins.ofUser().load("cuda", PackageStore.Progress.NONE).topology(spec.topologyName(), options)) {
            List<DeviceDescription> devices = topology.devices();
            assertThat(devices)
                    .extracting(DeviceDescription::id)
                    .containsExactlyElementsOf(
                            IntStream.range(0, machine.deviceCount()).boxed().toList());
            assertThat(devices.getLast().processIndex())
                    .isEqualTo(machine.devices().getLast().processIndex());
            assertThat(devices.getFirst().kind()).isEqualTo(machine.chip().deviceKind());
            assertThat(devices.getFirst().attributes())
                    .containsEntry(
                            "device_memory_bytes_limit",
                            NamedValue.of(machine.chip().hbmBytes()))
                    .containsEntry("core_count", NamedValue.of(gpu.target().cores()));
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TopologiesTest {
    @ParameterizedTest
    @CsvSource({
        "v5litepod-16, v5e-16",
        "v5lite-16, v5e-16",
        "tpu-v5p-8, v5p-8",
        "TPU-V5P-8, v5p-8",
        "V5E-16, v5e-16",
        "' v5e-16 ', v5e-16",
        "v7x-8, 7x-8",
        "tpu7x-8, 7x-8",
        "ironwood-8, 7x-8",
        "trillium-4, v6e-4",
        "v5e:4x4, v5e-16",
        "v5litepod:4x4, v5e-16",
        "v5e-4x4, v5e-16",
        "v5:2x2x1, v5p-8",
        "tpu7x:2x2x1, 7x-8",
        "v4:4x4x12, v4-384",
        "v5p:4x4x8, v5p-256",
        "v5p:4x4x6, v5p:4x4x6",
        "v5p:8x4x4, v5p:8x4x4",
        "v5e:2x6, v5e:2x6",
        "ct5lp-hightpu-4t, v5e-4",
        "ct5lp-hightpu-8t, v5e-8-1",
        "ct6e-standard-8t, v6e-8-1",
        "ct5p-hightpu-4t, v5p-8",
        "tpu7x-standard-4t, 7x-8",
        "a3-highgpu-8g, h100-8",
        "a3, h100-8",
        "a3-ultragpu-8g, h200-8",
        "a2-megagpu-16g, a100-40g-16",
        "a4x-highgpu-4g, gb200-4",
        "p5.48xlarge, h100-8",
        "Standard_ND96isr_H100_v5, h100-8",
        "h100-sxm-8, h100-8",
        "h100-pcie-2, h100-pcie-2",
        "h100-8x1, h100-8",
        "cpu-1, cpu",
    })
    void otherNamesResolveToOneCanonicalName(String name, String canonical) {
        assertThat(Topologies.resolve(name).name()).isEqualTo(canonical);
        assertThat(Topologies.resolve(canonical)).isEqualTo(Topologies.resolve(name));
    }

    @ParameterizedTest
    @CsvSource({
        "v4-12, 'v4-16, v4-8, v4-32'",
        "v5e-17, 'v5e-16, v5e-32, v5e-8'",
        "v5litepod-9, 'v5e-8, v5e-16, v5e-4'",
        "v6f-16, 'v6e-16, v4-16, v5e-16'",
        "a3-highgpu-9g, 'a3-highgpu-8g, a3-highgpu-4g, a3-highgpu-2g'",
        "h100-32, 'h100-8, h100-4, h100-2'",
    })
    void aNearMissGetsTheThreeNearestNames(String name, String nearest) {
        UnknownTopologyException e =
                catchThrowableOfType(UnknownTopologyException.class, () -> Topologies.resolve(name));
        assertThat(e.nearest()).containsExactlyElementsOf(List.of(nearest.split(", ", -1)));
        assertThat(e)
                .hasMessageStartingWith("Unknown target \"" + name + "\": did you mean ")
                .hasMessageNotContaining("v5p-17920");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "", "v5e", "v5e-", "v5e-016", "v5e--16", "v5e-16-", "v5-lite", "tpu", "a100-8", "h100-0", "h100-99",
                "cpu-0", "x"
            })
    void whatIsNoMachineIsRefused(String name) {
        assertThatThrownBy(() -> Topologies.resolve(name))
                .isInstanceOf(UnknownTopologyException.class)
                .hasMessageContaining("did you mean");
    }

    @ParameterizedTest
    @ValueSource(strings = {"v5litepod-8", "tpu-v4-8", "V4-8", "v4-384", "v7x-8", "v5-8", " v4-8", "h100-8"})
    void theCatalogueItselfTakesExactNamesOnly(String name) {
        assertThatThrownBy(() -> Topologies.catalogued(name, 1)).isInstanceOf(UnknownTopologyException.class);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1, -1_073_741_823}) // four times the last are 4 in 32 bits
    void fewerThanOneSliceIsRefused(int slices) {
        for (String name : List.of("v5e-8", "h100-8", "h100-8x4", "cpu-8")) {
            assertThatThrownBy(() -> Topologies.resolve(name, slices))
                    .isInstanceOf(InvalidTopologyException.class)
                    .hasMessageContaining(slices + " slices");
        }
    }

    @Test
    void aCpuHasNoSlices() {
        assertThatThrownBy(() -> Topologies.resolve("cpu-8", 2))
                .isInstanceOf(InvalidTopologyException.class)
                .hasMessageContaining("A CPU has no slices");
    }

    @ParameterizedTest
    @ValueSource(strings = {"cpu-999999999", "h100-8x99999999", "v5e:4096x4096"})
    void aMachineThatNoMemoryHoldsIsRefused(String name) {
        assertThatThrownBy(() -> Topologies.resolve(name))
                .isInstanceOf(InvalidTopologyException.class)
                .hasMessageEndingWith("devices: 8388608 in all at most");
    }

    @ParameterizedTest
    @ValueSource(strings = {"v5e:2x2x2", "v5p:0x2x1", "v5p:2x-2x1", "v5p:2xax1", "v5p:2x2x2x2", "v4:99999x99999x99999"})
    void aShapeThatCannotBeIsRefused(String name) {
        assertThatThrownBy(() -> Topologies.resolve(name)).isInstanceOf(InvalidTopologyException.class);
    }

    @ParameterizedTest
    @CsvSource({
        "v5e-16, false, false, false",
        "v5e-128, false, true, false",
        "v5e-256, true, true, false",
        "v6e-256, true, true, false",
        "v4-64, false, false, false",
        "v4-128, true, true, true",
        "v4-384, true, true, true",
        "v5p-17920, true, true, true",
        "7x-64, false, false, false",
        "7x-128, true, true, true",
    })
    void dimensionsWrapAsInMaxTextsTable(String name, boolean x, boolean y, boolean z) {
        assertThat(Topologies.resolve(name).wrap()).isEqualTo(new Wrap(x, y, z));
    }

    @Test
    void gpusOfSeveralHostsAreSlicesOfOneNvlinkDomainEach() {
        Topology four = Topologies.resolve("h100-8x4");
        assertThat(four).isEqualTo(Topologies.resolve("h100-8", 4));
        assertThat(four.withSlices(1)).isEqualTo(Topologies.resolve("h100-8"));
        assertThat(four.slices()).isEqualTo(4);
        assertThat(four.hostCount()).isEqualTo(4);
        assertThat(four.devices().get(9).sliceIndex()).hasValue(1);
        assertThat(four.devices().stream().mapToInt(Device::id))
                .containsExactlyElementsOf(IntStream.range(0, 32).boxed().toList());
    }

    @Test
    void anNvl72RackIsOneDomainOfEighteenHosts() {
        Topology rack = Topologies.resolve("gb200-4x18");
        assertThat(rack.slices()).isEqualTo(1);
        assertThat(rack.hostsPerSlice()).isEqualTo(18);
        assertThat(((PluginSpec.Gpu) rack.plugin()).topology()).isEqualTo("1x18x4");
        assertThat(Topologies.resolve("gb200-4x36").slices()).isEqualTo(2);
        assertThat(Topologies.resolve("gb200-4x18", 2)).isEqualTo(Topologies.resolve("gb200-4x36"));
        assertThatThrownBy(() -> Topologies.resolve("gb200-4x20"))
                .isInstanceOf(InvalidTopologyException.class)
                .hasMessageContaining("NVLink domains of 18 hosts");
    }

    @Test
    void domainsThatAreNotFullAreSlicesOfTheirOwn() {
        Topology two = Topologies.resolve("gb200-4x2", 3);
        assertThat(two.name()).isEqualTo("gb200-4x2");
        assertThat(two.slices()).isEqualTo(3);
        assertThat(((PluginSpec.Gpu) two.plugin()).topology()).isEqualTo("3x2x4");
    }

    @Test
    void aCpuHasOneDeviceOrAsManyAsAsked() {
        assertThat(Topologies.resolve("cpu").plugin()).isEqualTo(new PluginSpec.Cpu(1));
        assertThat(Topologies.resolve("cpu-12").plugin()).isEqualTo(new PluginSpec.Cpu(12));
        assertThat(Topologies.resolve("cpu-3").devices()).extracting(Device::id).containsExactly(0, 1, 2);
    }

    @Test
    void everyChipHasItsFiguresAndSaysWhereTheyComeFrom() {
        for (ChipSpec chip : Topologies.chips()) {
            if (chip.platform() != Platform.CPU) {
                assertThat(chip.sources()).as(chip.name()).isNotEmpty();
                assertThat(chip.hbmBytes()).as(chip.name()).isGreaterThan(10L << 30);
                assertThat(chip.hbmBytesPerSecond()).as(chip.name()).isBetween(5e11, 1e13);
                assertThat(chip.bf16FlopsPerSecond()).as(chip.name()).isBetween(1e14, 1e16);
                assertThat(chip.links()).as(chip.name()).isPositive();
                assertThat(chip.linkBytesPerSecond()).as(chip.name()).isBetween(1e10, 2e11);
                assertThat(chip.year()).as(chip.name()).isBetween(2020, 2026);
            }
        }
    }

    @Test
    void theGpuTargetIsTextThatXlaReads() {
        String target = ((PluginSpec.Gpu) Topologies.resolve("h100-8").plugin()).targetConfig();
        assertThat(target)
                .contains("cuda_compute_capability { major: 9 minor: 0 feature_extension: ACCELERATED_FEATURES }")
                .contains("core_count: 132")
                .contains("device_memory_size: 84942979072")
                .contains("key: 16 value { clock_rate_ghz: 1.8295201 units_per_core: 4 ops_per_clock: 512 }")
                .contains("platform_name: \"CUDA\"");
        assertThat(((PluginSpec.Gpu) Topologies.resolve("mi300x-8").plugin()).targetConfig())
                .contains("rocm_compute_capability { gcn_arch_name: \"gfx942:sramecc+:xnack-\" }")
                .contains("platform_name: \"ROCM\"");
    }
}

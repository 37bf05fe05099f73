// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import dev.slipway.topology.Topologies;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What libtpu tells beyond the common API, on a machine without TPUs. */
class TpuExtensionsTest {

    private static PluginTopology slice(String name) {
        return TestPlugins.tpu().topology(Topologies.resolve(name).plugin());
    }

    /** So that it does not read its own 120 MB of names at the first compilation. */
    @Test
    void theLibraryIsLoadedByANameThatIsGone() throws IOException {
        Path library = TestPlugins.tpu().path();

        assertThat(Files.readAllLines(Path.of("/proc/self/maps")))
                .filteredOn(line -> line.contains("libtpu.so"))
                .isNotEmpty()
                .allMatch(line -> line.endsWith("(deleted)"));
        try (Stream<Path> beside = Files.list(library.getParent())) {
            assertThat(beside.map(path -> path.getFileName().toString()))
                    .contains("libtpu.so")
                    .noneMatch(name -> name.startsWith(".libtpu.so"));
        }
    }

    @ParameterizedTest
    @CsvSource({"v5e-16, 16, 1, 1, 4", "v5p-64, 32, 2, 1, 8", "7x-16, 8, 2, 2, 2", "v4-16, 8, 2, 1, 2"})
    void aSliceTellsItsChipsCoresDevicesAndProcesses(String name, int chips, int cores, int devices, int processes) {
        try (PluginTopology slice = slice(name)) {
            TpuTopology tpu = slice.tpu();
            assertThat(tpu.chips()).isEqualTo(chips);
            assertThat(tpu.coresPerChip()).isEqualTo(cores);
            assertThat(tpu.cores()).isEqualTo(chips * cores);
            assertThat(tpu.devicesPerChip()).isEqualTo(devices);
            assertThat(tpu.devices()).isEqualTo(slice.devices().size());
            assertThat(tpu.processes()).isEqualTo(processes);
            assertThat(tpu.chipsPerProcess()).isEqualTo(chips / processes);
            assertThat(tpu.coresPerProcess()).isEqualTo(chips * cores / processes);
            assertThat(tpu.devicesPerProcess()).isEqualTo(chips * devices / processes);
            assertThat(tpu.chipBounds().stream().reduce(1, (a, b) -> a * b)).isEqualTo(chips);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"v5e-16", "v5p-16", "7x-16"})
    void everyDeviceIsFoundWhereItLies(String name) {
        try (PluginTopology slice = slice(name)) {
            TpuTopology tpu = slice.tpu();
            for (DeviceDescription device : slice.devices()) {
                TpuTopology.ChipPlace place = tpu.chipOfDevice(device.id());
                assertThat(((NamedValue.Int64List) device.attributes().get("coords")).value())
                        .isEqualTo(place.chip().stream().map(Integer::longValue).toList());
                assertThat(tpu.deviceAt(place)).isEqualTo(device.id());
                assertThat(tpu.processOfDevice(device.id()).process()).isEqualTo(device.processIndex());
                assertThat(tpu.processOfChip(tpu.chipAt(place.chip())).process())
                        .isEqualTo(device.processIndex());
                assertThat(tpu.deviceIds(device.processIndex())).contains(device.id());
            }
        }
    }

    @Test
    void processesLieInABoxOfTheirOwn() {
        try (PluginTopology slice = slice("v5e-16")) {
            TpuTopology tpu = slice.tpu();
            assertThat(tpu.chipBounds()).containsExactly(4, 4, 1);
            assertThat(tpu.chipsPerProcessBounds()).containsExactly(2, 2, 1);
            assertThat(tpu.processBounds()).containsExactly(2, 2, 1);
            assertThat(tpu.processIds()).containsExactly(0, 1, 2, 3);
            assertThat(IntStream.range(0, 4).mapToObj(tpu::processCoordinates))
                    .containsExactly(List.of(0, 0, 0), List.of(1, 0, 0), List.of(0, 1, 0), List.of(1, 1, 0));
            assertThat(tpu.routingStrategy()).isEqualTo("mesh");
        }
    }

    @Test
    void aPartOfASliceIsATopologyOfItsOwn() {
        try (PluginTopology slice = slice("v5e-16");
                PluginTopology part = slice.tpu().subslice(List.of(2, 2, 1), List.of(1, 2, 1))) {
            assertThat(slice.tpu().isSubslice()).isFalse();
            assertThat(part.tpu().isSubslice()).isTrue();
            assertThat(part.devices()).hasSize(8);
            assertThat(part.tpu().chipBounds()).containsExactly(2, 4, 1);
        }
    }

    @Test
    void aPlaceOutsideTheSliceIsRefused() {
        try (PluginTopology slice = slice("v5e-16")) {
            TpuTopology tpu = slice.tpu();
            assertThatThrownBy(() -> tpu.chipOfDevice(16)).isInstanceOf(UsageException.BadArgument.class);
            assertThatThrownBy(() -> tpu.deviceIds(-1)).isInstanceOf(UsageException.BadArgument.class);
            assertThatThrownBy(() -> tpu.chipAt(List.of(0, 4, 0))).isInstanceOf(UsageException.BadArgument.class);
            assertThatThrownBy(() -> tpu.chipAt(List.of(0, 0))).isInstanceOf(UsageException.BadArgument.class);
        }
    }

    @Test
    void aSerializedExecutableIsReadWithoutLoadingIt() {
        Plugin tpu = TestPlugins.tpu();
        try (PluginTopology slice = slice("v5e-4");
                Executable executable =
                        slice.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults())) {
            SerializedExecutable saved =
                    SerializedExecutable.of(executable.serialize().toBytes());
            String text = executable.optimizedProgram().text();
            // What is saved is the same but for libtpu's notes to itself.
            assertThat(tpu.tpuExecutables().program(saved).text())
                    .isEqualTo(text.replaceAll(", backend_config=.*", ""))
                    .contains("ROOT");
            MemoryStats stats = tpu.tpuExecutables().memory(saved);
            assertThat(stats).isEqualTo(executable.memory());
            assertThat(stats.peak()).isNotEqualTo(OptionalLong.of(0));
            assertThat(tpu.tpuExecutables().target(saved)).isNotEmpty();
        }
    }

    @Test
    void devicesOfASliceAreFoundInAPartOfIt() {
        try (PluginTopology slice = slice("v5e-16");
                PluginTopology part = slice.tpu().subslice(List.of(2, 2, 1), List.of(1, 2, 1))) {
            TpuTopology tpu = slice.tpu();
            List<Integer> origin = List.of(2, 0, 0);
            for (int device = 0; device < 16; device++) {
                List<Integer> chip = tpu.chipOfDevice(device).chip();
                int id = device;
                if (chip.getFirst() < 2) {
                    // libtpu ends the process on these.
                    assertThatThrownBy(() -> tpu.deviceInPart(part, origin, id))
                            .isInstanceOf(UsageException.BadArgument.class);
                } else {
                    assertThat(part.tpu()
                                    .chipOfDevice(tpu.deviceInPart(part, origin, id))
                                    .chip())
                            .isEqualTo(List.of(chip.get(0) - 2, chip.get(1), chip.get(2)));
                }
            }
            assertThatThrownBy(() -> tpu.deviceInPart(part, List.of(4, 0, 0), 0))
                    .isInstanceOf(UsageException.BadArgument.class);
        }
    }

    @Test
    void aSliceMayHaveOtherHosts() {
        try (PluginTopology slice = slice("v5e-16");
                PluginTopology half = slice.tpu().withHosts(List.of(1, 2, 1))) {
            assertThat(slice.tpu().hasEnhancedBarrier()).isTrue();
            assertThat(half.tpu().processBounds()).containsExactly(1, 2, 1);
            assertThat(half.devices()).hasSize(8);
            assertThatThrownBy(() -> slice.tpu().withHosts(List.of(2))).isInstanceOf(UsageException.BadArgument.class);
            assertThatThrownBy(() -> slice.tpu().withHosts(List.of(2, 0, 1)))
                    .isInstanceOf(UsageException.BadArgument.class);
        }
    }

    @Test
    void aGenerationTellsItsSlicesAndTrays() {
        TpuPlatform v4 = TestPlugins.tpu().tpuPlatform("tpuv4");
        assertThat(v4.slice("4x4x4"))
                .isEqualTo(new TpuPlatform.Slice(List.of(4, 4, 4), List.of(true, true, true), false));
        assertThat(v4.slice("4x4x8_twisted").twisted()).isTrue();
        assertThat(v4.slices()).hasSizeGreaterThan(100).contains(v4.slice("4x4x4"));
        assertThat(v4.tray()).isEqualTo(new TpuPlatform.Tray(4, 1));
        assertThat(TestPlugins.tpu().tpuPlatform("tpuv5e").slice("4x4").dimensions())
                .containsExactly(4, 4);
        assertThatThrownBy(() -> v4.slice("3x3x3")).isInstanceOf(StatusException.class);
        assertThatThrownBy(() -> TestPlugins.tpu().tpuPlatform("v4").slices())
                .isInstanceOf(StatusException.InvalidArgument.class)
                .hasMessageContaining("v4");
        assertThatThrownBy(() -> TestPlugins.tpu().tpuPlatform("")).isInstanceOf(UsageException.BadArgument.class);
    }

    @Test
    void aProgramIsWeighedForAMachine() {
        TpuExecutables executables = TestPlugins.tpu().tpuExecutables();
        try (PluginTopology slice = slice("v5e-4");
                Executable executable =
                        slice.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults())) {
            SerializedExecutable saved =
                    SerializedExecutable.of(executable.serialize().toBytes());
            byte[] target = executables.target(saved);
            assertThat(executables.cost(target, List.of(executables.program(saved))))
                    .containsEntry("flops", NamedValue.of(4f));
            assertThatThrownBy(() -> executables.cost(target, List.of()))
                    .isInstanceOf(UsageException.BadArgument.class);
            assertThatThrownBy(() -> executables.cost(target, List.of(Program.stablehlo(TestPlugins.DOUBLE))))
                    .isInstanceOf(UsageException.BadArgument.class);
        }
    }

    @Test
    void theCompilersFlagsAreReadByName() {
        TpuExecutables executables = TestPlugins.tpu().tpuExecutables();
        byte[] environment = executables.withTpuEnvironment(new byte[0]);
        assertThat(executables.environmentField(environment, "xla_tpu_scoped_vmem_limit_kib"))
                .isEqualTo("-1");
        assertThatThrownBy(() -> executables.environmentField(environment, "no_such_flag"))
                .isInstanceOf(StatusException.InvalidArgument.class)
                .hasMessageContaining("no_such_flag");
        assertThatThrownBy(() -> executables.environmentField(environment, ""))
                .isInstanceOf(UsageException.BadArgument.class);
        assertThat(executables.isPredetermined(new byte[] {8, 8})).isFalse();
    }

    @Test
    void versionsAreComparedWithoutAClient() throws Exception {
        AbiCompatibility abi = TestPlugins.tpu().abiCompatibility();
        try (PluginTopology slice = slice("v5e-4");
                Executable executable =
                        slice.compile(Program.stablehlo(TestPlugins.DOUBLE), CompileOptions.defaults())) {
            byte[] version = executable.abiVersion();
            // A runtime of the same platform: base version 4 and the hash of a compiler, by libtpu's field numbers.
            ByteString runtime = UnknownFieldSet.newBuilder()
                    .addField(1, UnknownFieldSet.Field.newBuilder().addVarint(4).build())
                    .addField(
                            3,
                            UnknownFieldSet.Field.newBuilder()
                                    .addLengthDelimited(ByteString.copyFromUtf8("a hash"))
                                    .build())
                    .build()
                    .toByteString();
            byte[] runtimeVersion = UnknownFieldSet.newBuilder()
                    .addField(1, UnknownFieldSet.parseFrom(version).getField(1))
                    .addField(
                            2,
                            UnknownFieldSet.Field.newBuilder()
                                    .addLengthDelimited(runtime)
                                    .build())
                    .build()
                    .toByteArray();
            assertThat(abi.platformOfRuntime(runtimeVersion)).isEqualTo(abi.platformOfExecutable(version));
            assertThatThrownBy(() -> abi.checkExecutable(runtimeVersion, version))
                    .isInstanceOf(StatusException.FailedPrecondition.class)
                    .hasMessageContaining("base ABI version");
            assertThatThrownBy(() -> abi.checkRuntime(runtimeVersion, runtimeVersion))
                    .isInstanceOf(StatusException.Unimplemented.class);
            assertThatThrownBy(() -> abi.platformOfRuntime(version))
                    .isInstanceOf(StatusException.InvalidArgument.class);
        }
    }

    @Test
    void anExecutableForAnotherPlatformIsNotRead() {
        SerializedExecutable foreign = new SerializedExecutable(new Platform("cuda", "13"), new byte[16]);
        assertThatThrownBy(() -> TestPlugins.tpu().tpuExecutables().program(foreign))
                .isInstanceOf(UsageException.Foreign.class);
    }

    @Test
    void pluginsWithoutTheExtensionsSaySo() {
        assertThatThrownBy(() -> TestPlugins.cpu().tpuExecutables()).isInstanceOf(UsageException.Unsupported.class);
        try (Client client = TestPlugins.cpu().client();
                PluginTopology topology = client.topology()) {
            assertThatThrownBy(topology::tpu).isInstanceOf(UsageException.Unsupported.class);
        }
    }
}

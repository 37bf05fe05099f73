// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.topology.Accelerator;
import dev.slipway.topology.ChipSpec;
import dev.slipway.topology.Device;
import dev.slipway.topology.Platform;
import dev.slipway.topology.PluginSpec;
import dev.slipway.topology.Topologies;
import dev.slipway.topology.Topology;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code slipway targets}: the machines there are, or one of them. */
@Command(
        name = "targets",
        mixinStandardHelpOptions = true,
        description = "Lists the machines that can be compiled for, or shows one of them.")
final class TargetsCommand implements Callable<Integer> {
    @Parameters(
            index = "0",
            arity = "0..1",
            paramLabel = "NAME",
            description = "A machine: v5e-16, v5p:4x4x8, h100-8x4, cpu-8, a3-highgpu-8g, or a .json file.")
    private @Nullable String name;

    @Option(names = "--slices", paramLabel = "N", description = "Slices of the machine; 1 by default.")
    private @Nullable Integer slices;

    @Mixin
    private final Output output = new Output();

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it before it runs a command
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        if (name == null) {
            UnreadOptions.refuse(spec, List.of("--slices"), "is for a NAME; give one, such as v5e-16");
            list();
        } else {
            Topology machine = Machines.find(name, slices == null ? OptionalInt.empty() : OptionalInt.of(slices));
            if (output.json()) {
                output.document(describe(machine));
            } else {
                show(machine);
            }
        }
        return 0;
    }

    private void list() {
        Map<String, List<String>> names = Topologies.catalogue().stream()
                .collect(Collectors.groupingBy(
                        n -> n.substring(0, n.lastIndexOf('-')), LinkedHashMap::new, Collectors.toList()));
        if (output.json()) {
            List<Map<String, Object>> chips = new ArrayList<>();
            for (ChipSpec chip : Topologies.chips()) {
                Map<String, Object> out = chip(chip);
                out.put("names", names.getOrDefault(chip.name(), List.of(example(chip))));
                chips.add(out);
            }
            output.document(Map.of("chips", chips));
            return;
        }
        Terminal terminal = output.terminal();
        Table table = Table.of("chip", "year", "memory", "bandwidth", "bf16", "links", "host network", "machines");
        for (ChipSpec chip : Topologies.chips()) {
            List<String> slices = names.getOrDefault(chip.name(), List.of());
            table.row(
                    terminal.bold(chip.name()),
                    chip.year() == 0 ? "-" : chip.year(),
                    Figures.memory(chip.hbmBytes()),
                    Figures.rate(chip.hbmBytesPerSecond(), "B/s"),
                    Figures.rate(chip.bf16FlopsPerSecond(), "flop/s"),
                    chip.links() == 0 ? "-" : chip.links() + " x " + Figures.rate(chip.linkBytesPerSecond(), "B/s"),
                    Figures.rate(chip.dcnBytesPerSecondPerHost(), "B/s"),
                    slices.isEmpty()
                            ? example(chip)
                            : slices.getFirst() + " .. " + slices.getLast() + terminal.dim(" (" + slices.size() + ")"));
        }
        table.print(output.out(), terminal);
        output.out().println();
        output.out()
                .println(terminal.dim("  A TPU shape can be given in full: v5p:4x4x8. GPUs in several hosts: h100-8x4."
                        + " Cloud machine types are understood: a3-highgpu-8g."));
        output.out()
                .println(terminal.dim("  Figures are per chip, links and network in one direction. One machine:"
                        + " slipway targets NAME. Every name: slipway targets --json."));
    }

    private static String example(ChipSpec chip) {
        return switch (chip.accelerator()) {
            case Accelerator.Gpu gpu -> chip.name() + "-" + gpu.devicesPerHost();
            case Accelerator.Cpu _ -> "cpu, cpu-N";
            case Accelerator.Tpu tpu -> tpu.libtpuName();
        };
    }

    private void show(Topology machine) {
        Terminal terminal = output.terminal();
        ChipSpec chip = machine.chip();
        output.out().println();
        output.out().println("  " + terminal.bold(Machines.title(machine)) + terminal.dim("   " + chip.product()));
        output.out().println();
        Table table = Table.of();
        table.row(
                terminal.dim("devices"),
                machine.deviceCount() + (machine.slices() > 1 ? " (" + machine.devicesPerSlice() + " a slice)" : ""));
        table.row(
                terminal.dim("hosts"),
                machine.hostCount() + " of " + machine.devicesPerHost() + " devices"
                        + (machine.platform() == Platform.TPU ? " (" + machine.host() + " chips)" : ""));
        if (machine.platform() == Platform.TPU) {
            List<String> wraps = new ArrayList<>();
            for (int d = 0; d < 3; d++) {
                if (machine.wrap().toList().get(d)) {
                    wraps.add(List.of("x", "y", "z").get(d));
                }
            }
            table.row(
                    terminal.dim("slice"),
                    machine.slice() + " chips, "
                            + (wraps.isEmpty() ? "no dimension closes" : "rings along " + String.join(", ", wraps)));
        }
        table.row(
                terminal.dim("memory"),
                Figures.memory(chip.hbmBytesPerDevice()) + " a device, "
                        + Figures.memory(chip.hbmBytesPerDevice() * machine.deviceCount()) + " in all, at "
                        + Figures.rate(chip.hbmBytesPerSecondPerDevice(), "B/s") + " a device");
        table.row(
                terminal.dim("peak"),
                Figures.rate(chip.bf16FlopsPerSecondPerDevice(), "flop/s") + " bf16 a device, "
                        + Figures.rate(chip.int8OpsPerSecond() / chip.devicesPerChip(), "op/s") + " int8, "
                        + Figures.rate(chip.fp8FlopsPerSecond() / chip.devicesPerChip(), "flop/s") + " fp8");
        table.row(
                terminal.dim("links"),
                chip.links() + " x " + Figures.rate(chip.linkBytesPerSecond(), "B/s")
                        + " a chip each way; host to network " + Figures.rate(chip.dcnBytesPerSecondPerHost(), "B/s"));
        table.row(terminal.dim("kind"), chip.deviceKind() + (chip.year() == 0 ? "" : ", " + chip.year()));
        table.row(
                terminal.dim("plugin"),
                switch (machine.plugin()) {
                    case PluginSpec.Tpu tpu ->
                        tpu.topologyName() + ", chip_config_name=" + tpu.chipConfigName() + ", chips_per_host_bounds="
                                + tpu.chipsPerHostBounds() + ", num_slices=" + tpu.numSlices();
                    case PluginSpec.Gpu gpu -> "topology=" + gpu.topology();
                    case PluginSpec.Cpu cpu -> "cpu_device_count=" + cpu.deviceCount();
                });
        table.print(output.out(), terminal);
        if (!chip.sources().isEmpty()) {
            output.out().println();
            chip.sources().forEach(source -> output.out().println(terminal.dim("  " + source)));
        }
    }

    private static Map<String, Object> describe(Topology machine) {
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("name", machine.name());
        out.put("platform", machine.platform().id());
        out.put("device_kind", machine.chip().deviceKind());
        switch (machine.plugin()) {
            case PluginSpec.Tpu tpu -> {
                out.put("topology_name", tpu.topologyName());
                out.put("chip_config_name", tpu.chipConfigName());
                out.put("chips_per_host_bounds", tpu.chipsPerHostBounds());
            }
            case PluginSpec.Gpu gpu -> {
                out.put("topology", gpu.topology());
                out.put("target_config", gpu.targetConfig());
            }
            case PluginSpec.Cpu cpu -> out.put("cpu_device_count", cpu.deviceCount());
        }
        out.put("num_slices", machine.slices());
        out.put("chip_grid", machine.slice().toList());
        out.put("wrap", machine.wrap().toList());
        out.put("num_chips", machine.slice().volume());
        out.put("devices_per_slice", machine.devicesPerSlice());
        out.put("num_devices", machine.deviceCount());
        out.put("num_hosts", machine.hostCount());
        out.put("chip", chip(machine.chip()));
        out.put(
                "devices",
                machine.devices().stream().map(TargetsCommand::device).toList());
        return out;
    }

    private static Map<String, Object> device(Device device) {
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("id", device.id());
        out.put("process_index", device.processIndex());
        out.put("coords", device.coords().toList());
        out.put("core_on_chip", device.coreOnChip());
        out.put(
                "slice_index",
                device.sliceIndex().isPresent() ? device.sliceIndex().getAsInt() : null);
        return out;
    }

    private static Map<String, Object> chip(ChipSpec chip) {
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("name", chip.name());
        out.put("product", chip.product());
        out.put("platform", chip.platform().id());
        out.put("device_kind", chip.deviceKind());
        out.put("year", known(chip.year()));
        out.put("cores", chip.cores());
        out.put("devices_per_chip", chip.devicesPerChip());
        out.put("hbm_bytes", known(chip.hbmBytes()));
        out.put("hbm_bytes_per_second", known(chip.hbmBytesPerSecond()));
        out.put("bf16_flops_per_second", known(chip.bf16FlopsPerSecond()));
        out.put("int8_ops_per_second", known(chip.int8OpsPerSecond()));
        out.put("fp8_flops_per_second", known(chip.fp8FlopsPerSecond()));
        out.put("links", chip.links());
        out.put("link_bytes_per_second", known(chip.linkBytesPerSecond()));
        out.put("dcn_bytes_per_second_per_host", known(chip.dcnBytesPerSecondPerHost()));
        out.put("sources", chip.sources());
        return out;
    }

    private static @Nullable Number known(Number figure) {
        return figure.doubleValue() == 0 ? null : figure;
    }
}

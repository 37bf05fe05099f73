// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.CrossHostTransfers;
import dev.slipway.runtime.DeviceDescription;
import dev.slipway.runtime.ElementType;
import dev.slipway.runtime.ExecuteContext;
import dev.slipway.runtime.Extension;
import dev.slipway.runtime.HostMemory;
import dev.slipway.runtime.Megascale;
import dev.slipway.runtime.MegascaleErrors;
import dev.slipway.runtime.MegascaleIds;
import dev.slipway.runtime.Memory;
import dev.slipway.runtime.MultiSlice;
import dev.slipway.runtime.Plugin;
import dev.slipway.runtime.PluginTopology;
import dev.slipway.runtime.Profiler;
import dev.slipway.runtime.Promise;
import dev.slipway.runtime.RuntimeEvents;
import dev.slipway.runtime.StatusException;
import dev.slipway.runtime.TensorType;
import dev.slipway.runtime.TpuTopology;
import dev.slipway.runtime.UsageException;
import dev.slipway.runtime.internal.abi.PjrtAbi;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** What a plugin says of itself, of a machine, and of the devices that are there. */
final class DescriptionChecks extends CheckGroup {

    DescriptionChecks(Subject subject) {
        super(subject);
    }

    @Override
    void addTo(Map<String, Body> checks) {
        plugin(checks);
        topology(checks);
        client(checks);
    }

    private void plugin(Map<String, Body> checks) {
        checks.put("plugin.version", () -> plugin.version());
        checks.put("plugin.functions", () -> {
            long there = Arrays.stream(PjrtFunction.values())
                    .filter(function -> plugin.hasFunction(function.name()))
                    .count();
            List<PjrtFunction> missing = Arrays.stream(PjrtFunction.values())
                    .filter(function -> function.since() <= plugin.version().minor())
                    .filter(function -> !plugin.hasFunction(function.name()))
                    .toList();
            expect(List.of(), missing);
            return there + " of the " + PjrtFunction.values().length + " of 0." + PjrtAbi.MINOR;
        });
        checks.put("plugin.attributes", () -> {
            var attributes = plugin.attributes();
            if (!attributes.containsKey("stablehlo_current_version")) {
                throw new AssertionError("no stablehlo_current_version in " + attributes.keySet());
            }
            return "StableHLO " + attributes.get("stablehlo_current_version").text();
        });
        checks.put("plugin.loading_again_gives_the_same", () -> expect(plugin, Plugin.load(plugin.path())));
        checks.put("plugin.promise", () -> {
            try (Promise kept = plugin.promise();
                    Promise failed = plugin.promise()) {
                expect(false, kept.isDone());
                kept.complete();
                failed.fail(14, "on purpose");
                expect(true, kept.isDone() && kept.error().isEmpty());
                return expect(14, failed.error().orElseThrow().code());
            }
        });
        checks.put("plugin.execute_context", () -> {
            try (ExecuteContext _ = plugin.executeContext()) {
                return "made and freed";
            }
        });
        checks.put("plugin.profile", () -> {
            try (Profiler profiler = plugin.startProfiler(Profiler.Options.DEFAULT)) {
                Profiler.Profile profile = profiler.stop();
                expect(List.of(), profile.errors());
                return bytes(profile.xspace()) + " of "
                        + profile.planes().stream().map(Profiler.Plane::name).toList();
            }
        });
        checks.put("plugin.megascale_ids", () -> {
            MegascaleIds.Place place = new MegascaleIds.Place(1, 2);
            return expect(
                    place, plugin.megascaleIds().place(plugin.megascaleIds().of(place)));
        });
        checks.put("plugin.megascale_context", () -> {
            try (Megascale context = plugin.megascale()) {
                context.initialize();
                return "port " + context.port();
            }
        });
        checks.put("plugin.megascale_errors", () -> {
            try (MegascaleErrors errors = plugin.megascaleErrors("a check")) {
                return expect(0L, errors.size());
            }
        });
        checks.put("plugin.tpu_platform", () -> plugin.tpuPlatform("tpuv4").slice("4x4x4"));
        for (Extension extension : Extension.values()) {
            if (extension == Extension.EXAMPLE || extension == Extension.UNKNOWN) {
                continue;
            }
            checks.put("extension." + extension.name().toLowerCase(Locale.ROOT), () -> {
                if (!plugin.extensions().contains(extension)) {
                    throw new UsageException.Unsupported("not in the plugin's chain");
                }
                return "present";
            });
        }
    }

    private void topology(Map<String, Body> checks) {
        checks.put("topology.create", () -> topology().platformName());
        checks.put("topology.platform_version", () -> nonEmpty(topology().platformVersion()));
        checks.put(
                "topology.devices",
                () -> topology().devices().size() + " x "
                        + topology().devices().getFirst().kind());
        checks.put("topology.attributes", () -> topology().attributes().keySet());
        checks.put("topology.serialize_and_read", () -> {
            byte[] serialized = topology().serialize();
            try (PluginTopology again = plugin.topology(serialized)) {
                expect(topology().devices().size(), again.devices().size());
            }
            return bytes(serialized);
        });
        checks.put("topology.fingerprint", () -> Long.toHexString(topology().fingerprint()));
        checks.put("topology.default_layout", () -> topology().defaultLayout(TensorType.of(ElementType.BF16, 2, 3)));
        checks.put("topology.memory_kinds", () -> topology().memoryKinds().getFirst());
        checks.put("topology.memory_kind_ids", () -> Arrays.toString(topology().memoryKindIds()));
        checks.put(
                "topology.canonical_shape",
                () -> bytes(topology().canonicalShape(VECTOR, topology().memoryKindIds()[0])));
        checks.put("topology.compile_phases", () -> {
            List<String> phases = topology().compilePhases();
            if (phases.isEmpty()) {
                throw new UsageException.Unsupported("the compiler has no phases");
            }
            return phases;
        });
        checks.put("topology.multi_slice", () -> {
            try (MultiSlice two = topology().multiSlice(2)) {
                expect(2, two.slices());
                return two.devices() + ", " + bytes(two.serialize());
            }
        });
        checks.put("topology.tpu_slice", () -> {
            TpuTopology slice = topology().tpu();
            return expect(topology().devices().size(), slice.devices()) + " devices on " + slice.chips() + " chips";
        });
        checks.put("topology.unknown_name_is_an_error", () -> {
            if (target.machine().isEmpty()) {
                throw new UsageException.Unsupported("this plugin describes what is there");
            }
            return expectError(StatusException.class, () -> plugin.topology("no-such-machine", Map.of()));
        });
    }

    private void client(Map<String, Body> checks) {
        checks.put("client.create", () -> client().platform());
        checks.put("client.process_index", () -> expect(0, client().processIndex()));
        checks.put("client.devices", () -> client().devices());
        checks.put(
                "client.addressable_devices",
                () -> client().addressableDevices().size());
        checks.put("client.look_up_device", () -> expect(device(), client().lookUpDevice(device().id())));
        checks.put(
                "client.look_up_addressable_device",
                () -> expect(device(), client().lookUpAddressableDevice(device().localHardwareId())));
        checks.put("client.default_device_assignment", () -> Arrays.toString(client().defaultDeviceAssignment(1, 1)));
        checks.put("client.default_layout", () -> client().defaultLayout(TensorType.of(ElementType.F32, 2, 3)));
        checks.put("client.abi_version", () -> bytes(client().abiVersion()));
        checks.put("client.host_memory", () -> {
            try (HostMemory memory = client().allocateHost(4096)) {
                memory.segment().fill((byte) 1);
                return memory.segment().byteSize() + " bytes";
            }
        });
        checks.put("client.events", () -> {
            RuntimeEvents events = client().events();
            List<RuntimeEvents.Event> heard = new ArrayList<>();
            RuntimeEvents.Event event = new RuntimeEvents.SliceFailure(RuntimeEvents.SliceFailure.Cause.INJECTED);
            events.onSliceFailure(heard::add);
            events.raise(event);
            return expect(List.of(event), heard);
        });
        checks.put("client.cross_host_descriptors", () -> {
            CrossHostTransfers.Expected expected = client().crossHost().expect(device(), List.of(VECTOR));
            try (Buffer _ = expected.buffers().getFirst()) {
                return bytes(expected.descriptors().get(10, TimeUnit.SECONDS).getFirst());
            }
        });
        checks.put("client.dma_map", () -> {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment page = arena.allocate(4096, 4096);
                client().dmaMap(page);
                client().dmaUnmap(page);
                return "mapped and unmapped";
            }
        });
        checks.put("device.description", () -> {
            DeviceDescription description = device().description();
            return description.kind() + ", id " + description.id() + ", attributes "
                    + description.attributes().keySet();
        });
        checks.put("device.attributes", () -> device().attributes().keySet());
        checks.put(
                "device.memories",
                () -> device().memories().stream().map(Memory::kind).toList());
        checks.put("device.memory_stats", () -> device().memoryStats());
        checks.put("device.clear_memory_stats", () -> {
            device().clearMemoryStats();
            return "cleared";
        });
        checks.put("device.poison", () -> expect(false, device().poison(12345, 13, "nothing is launched")));
        checks.put("device.track", () -> {
            device().track("a check").close();
            return "tracked";
        });
        checks.put("memory.devices_and_kind", () -> {
            if (!memory().devices().contains(device())) {
                throw new AssertionError(memory() + " is not reached by its device");
            }
            return memory() + ", kind " + memory().kindId();
        });
    }
}

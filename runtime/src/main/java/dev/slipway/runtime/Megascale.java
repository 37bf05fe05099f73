// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_ClientContext_Initialize_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_ClientContext_MegascalePort_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_ClientContext_UnblockPendingWork_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_CreateClientContextFromPjRtClient_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_CreateDefaultClientContext_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_CreateMegascaleCollectives_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_CreateMultiSliceConfig_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_DeleteClientContext_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_Extension;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_GetInterfaceAddressesHelper_Args;
import dev.slipway.runtime.internal.abi.PJRT_Megascale_ProcessesInfo;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * This process's end of the network between slices (the megascale extension): {@link Plugin#megascale} for hosts without devices,
 * {@link Client#megascale} for those with some.
 */
public final class Megascale implements AutoCloseable {

    private final Plugin plugin;
    private final Handle handle;

    private Megascale(Plugin plugin, @Nullable Handle client, long address) {
        this.plugin = plugin;
        this.handle = new Handle("megascale context", plugin.api(), address, client, this, (api, scratch, context) -> {
            MemorySegment args = PJRT_Megascale_DeleteClientContext_Args.in(scratch);
            PJRT_Megascale_DeleteClientContext_Args.client_context(args, context);
            table(api).call(PJRT_Megascale_Extension.delete_client_context, args);
        });
    }

    private static Api.Table table(Api api) {
        return api.extension(Extension.MEGASCALE);
    }

    static Megascale create(Plugin plugin) {
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_Megascale_CreateDefaultClientContext_Args.in(scratch);
            table(plugin.api()).call(PJRT_Megascale_Extension.create_default_client_context, args);
            return new Megascale(plugin, null, PJRT_Megascale_CreateDefaultClientContext_Args.client_context(args));
        }
    }

    static Megascale of(Client client) {
        return client.handle().use((api, scratch, address) -> {
            MemorySegment args = PJRT_Megascale_CreateClientContextFromPjRtClient_Args.in(scratch);
            PJRT_Megascale_CreateClientContextFromPjRtClient_Args.client(args, address);
            table(api).call(PJRT_Megascale_Extension.create_client_context_from_pjrt_client, args);
            return new Megascale(
                    client.plugin(),
                    client.handle(),
                    PJRT_Megascale_CreateClientContextFromPjRtClient_Args.client_context(args));
        });
    }

    /** Opens the network. */
    public void initialize() {
        handle.use((api, scratch, context) -> {
            MemorySegment args = PJRT_Megascale_ClientContext_Initialize_Args.in(scratch);
            PJRT_Megascale_ClientContext_Initialize_Args.client_context(args, context);
            table(api).call(PJRT_Megascale_Extension.client_context_initialize, args);
            return null;
        });
    }

    /** The port on which other processes reach this one. */
    public int port() {
        return handle.use((api, scratch, context) -> {
            MemorySegment args = PJRT_Megascale_ClientContext_MegascalePort_Args.in(scratch);
            PJRT_Megascale_ClientContext_MegascalePort_Args.client_context(args, context);
            table(api).call(PJRT_Megascale_Extension.client_context_megascale_port, args);
            return PJRT_Megascale_ClientContext_MegascalePort_Args.port(args);
        });
    }

    /**
     * Lets work of a launch that waits for the network go, when another slice is lost.
     *
     * @param expireAfter how long this holds
     * @throws UsageException.BadArgument if that is negative
     */
    public void unblock(int launchId, Duration expireAfter) {
        if (expireAfter.isNegative()) {
            throw new UsageException.BadArgument(expireAfter + " is no time to hold: 0 or more is needed");
        }
        handle.use((api, scratch, context) -> {
            MemorySegment args = PJRT_Megascale_ClientContext_UnblockPendingWork_Args.in(scratch);
            PJRT_Megascale_ClientContext_UnblockPendingWork_Args.client_context(args, context);
            PJRT_Megascale_ClientContext_UnblockPendingWork_Args.launch_id(args, launchId);
            PJRT_Megascale_ClientContext_UnblockPendingWork_Args.expire_after_ms(args, expireAfter.toMillis());
            table(api).call(PJRT_Megascale_Extension.client_context_unblock_pending_work, args);
            return null;
        });
    }

    /**
     * One process of a job.
     *
     * @param address where it is reached, as {@code host:port}
     * @param slice which slice it is in, from 0
     * @param index which of the slice's processes it is, from 0
     */
    public record Worker(String address, int slice, int index) {}

    /**
     * Communication between the processes of a job on host memory.
     *
     * @param workers the processes, all of them
     * @param devicesPerProcess how many devices each has
     * @param dcnTopology the network as a serialized {@code DCNTopology} proto of libtpu's; may be empty
     * @throws UsageException.BadArgument if there are no processes, an address is empty or a number below its first
     */
    public Collectives collectives(List<Worker> workers, int devicesPerProcess, byte[] dcnTopology) {
        if (workers.isEmpty()
                || devicesPerProcess < 1
                || workers.stream()
                        .anyMatch(worker -> worker.address().isEmpty() || worker.slice() < 0 || worker.index() < 0)) {
            throw new UsageException.BadArgument("the processes " + workers + " with " + devicesPerProcess
                    + " devices each are no job: one or more of both, addresses, and numbers from 0 are needed");
        }
        return handle.use((api, scratch, context) -> {
            api.extension(Extension.COLLECTIVES);
            List<byte[]> addresses = workers.stream()
                    .map(worker -> worker.address().getBytes(StandardCharsets.UTF_8))
                    .toList();
            MemorySegment info = PJRT_Megascale_ProcessesInfo.in(scratch);
            PJRT_Megascale_ProcessesInfo.addresses(info, scratch.pointers(addresses));
            PJRT_Megascale_ProcessesInfo.address_sizes(info, scratch.sizes(addresses));
            PJRT_Megascale_ProcessesInfo.num_addresses(info, workers.size());
            PJRT_Megascale_ProcessesInfo.slice_indexes(
                    info, scratch.ints(workers.stream().mapToInt(Worker::slice)));
            PJRT_Megascale_ProcessesInfo.num_slice_indexes(info, workers.size());
            PJRT_Megascale_ProcessesInfo.per_slice_indexes(
                    info, scratch.ints(workers.stream().mapToInt(Worker::index)));
            PJRT_Megascale_ProcessesInfo.num_per_slice_indexes(info, workers.size());
            PJRT_Megascale_ProcessesInfo.num_devices_per_process(info, devicesPerProcess);
            MemorySegment args = PJRT_Megascale_CreateMegascaleCollectives_Args.in(scratch);
            PJRT_Megascale_CreateMegascaleCollectives_Args.client_context(args, context);
            PJRT_Megascale_CreateMegascaleCollectives_Args.processes_info(args, info.address());
            if (dcnTopology.length > 0) {
                PJRT_Megascale_CreateMegascaleCollectives_Args.dcn_topology(
                        args, Native.bytes(scratch, dcnTopology).address());
                PJRT_Megascale_CreateMegascaleCollectives_Args.dcn_topology_size(args, dcnTopology.length);
            }
            table(api).call(PJRT_Megascale_Extension.create_megascale_collectives, args);
            return new Collectives(plugin, handle, PJRT_Megascale_CreateMegascaleCollectives_Args.collectives(args));
        });
    }

    /**
     * How the slices of a running job make one machine; {@link PluginTopology#multiSlice} is the same for one that does not run.
     *
     * @param topology one slice, of this plugin
     * @param slices how many there are
     * @param slice which of them this process is in
     * @param host which of the slice's hosts it is
     * @param endpoints where the slices are reached, as a serialized {@code EndpointAddresses} proto of libtpu's
     * @param dcnTopology the network as a serialized {@code DCNTopology} proto of libtpu's
     * @throws UsageException.BadArgument if slice or host are not among them
     */
    public MultiSlice multiSlice(
            PluginTopology topology, int slices, int slice, int host, byte[] endpoints, byte[] dcnTopology) {
        if (slices < 1 || slice < 0 || slice >= slices || host < 0) {
            throw new UsageException.BadArgument("host " + host + " of slice " + slice + " is not in a machine of "
                    + slices + " slices, which count from 0 as hosts do");
        }
        if (topology.plugin() != plugin) {
            throw new UsageException.Foreign("the topology belongs to another plugin");
        }
        PluginTopology.checkSlices("this topology", topology.devices().size(), slices);
        return topology.handle()
                .use((_, _, machine) -> handle.use((api, scratch, context) -> {
                    api.extension(Extension.MULTI_SLICE);
                    MemorySegment args = PJRT_Megascale_CreateMultiSliceConfig_Args.in(scratch);
                    PJRT_Megascale_CreateMultiSliceConfig_Args.topology(args, machine);
                    PJRT_Megascale_CreateMultiSliceConfig_Args.num_slices(args, slices);
                    PJRT_Megascale_CreateMultiSliceConfig_Args.local_slice_id(args, slice);
                    PJRT_Megascale_CreateMultiSliceConfig_Args.local_host_id(args, host);
                    PJRT_Megascale_CreateMultiSliceConfig_Args.endpoint_addresses(
                            args, Native.bytes(scratch, endpoints).address());
                    PJRT_Megascale_CreateMultiSliceConfig_Args.endpoint_addresses_size(args, endpoints.length);
                    PJRT_Megascale_CreateMultiSliceConfig_Args.dcn_topology(
                            args, Native.bytes(scratch, dcnTopology).address());
                    PJRT_Megascale_CreateMultiSliceConfig_Args.dcn_topology_size(args, dcnTopology.length);
                    PJRT_Megascale_CreateMultiSliceConfig_Args.client_context(args, context);
                    table(api).call(PJRT_Megascale_Extension.create_multi_slice_config, args);
                    return new MultiSlice(plugin, PJRT_Megascale_CreateMultiSliceConfig_Args.multi_slice_config(args));
                }));
    }

    /**
     * The addresses of this host's network interfaces, each as a serialized proto of libtpu's.
     *
     * @param portName how the port is called
     * @param prefixes of the names of the interfaces that count, as {@code eth}
     * @param all whether all interfaces with such names count, or else the first
     * @param near whether only those of this process's NUMA node count
     * @throws UsageException.BadArgument if the port is not from 0 to 65535
     */
    static List<byte[]> interfaces(
            Plugin plugin, String portName, int port, List<String> prefixes, boolean all, boolean near) {
        if (port < 0 || port > 65535) {
            throw new UsageException.BadArgument(port + " is no port: 0 to 65535 are");
        }
        byte[] name = portName.getBytes(StandardCharsets.UTF_8);
        List<byte[]> texts = prefixes.stream()
                .map(prefix -> prefix.getBytes(StandardCharsets.UTF_8))
                .toList();
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PJRT_Megascale_GetInterfaceAddressesHelper_Args.in(scratch);
            PJRT_Megascale_GetInterfaceAddressesHelper_Args.megascale_port_name(
                    args, Native.bytes(scratch, name).address());
            PJRT_Megascale_GetInterfaceAddressesHelper_Args.megascale_port_name_size(args, name.length);
            PJRT_Megascale_GetInterfaceAddressesHelper_Args.megascale_port(args, port);
            PJRT_Megascale_GetInterfaceAddressesHelper_Args.interface_prefixes(args, scratch.pointers(texts));
            PJRT_Megascale_GetInterfaceAddressesHelper_Args.interface_prefixes_sizes(args, scratch.sizes(texts));
            PJRT_Megascale_GetInterfaceAddressesHelper_Args.num_interface_prefixes(args, texts.size());
            PJRT_Megascale_GetInterfaceAddressesHelper_Args.use_all_interfaces(args, all);
            PJRT_Megascale_GetInterfaceAddressesHelper_Args.limit_to_process_numa_local_interfaces(args, near);
            table(plugin.api()).call(PJRT_Megascale_Extension.get_interface_addresses_helper, args);
            try {
                long count = PJRT_Megascale_GetInterfaceAddressesHelper_Args.num_addresses(args);
                long[] pointers =
                        Native.longs(PJRT_Megascale_GetInterfaceAddressesHelper_Args.serialized_addresses(args), count);
                long[] sizes = Native.longs(
                        PJRT_Megascale_GetInterfaceAddressesHelper_Args.serialized_addresses_sizes(args), count);
                List<byte[]> addresses = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    addresses.add(Native.bytes(pointers[i], sizes[i]));
                }
                return addresses;
            } finally {
                Native.free(
                        PJRT_Megascale_GetInterfaceAddressesHelper_Args.addresses_deleter(args),
                        PJRT_Megascale_GetInterfaceAddressesHelper_Args.addresses(args));
            }
        }
    }

    @Override
    public void close() {
        handle.close();
    }
}

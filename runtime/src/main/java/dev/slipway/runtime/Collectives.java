// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.abi.PJRT_Collectives_CreateCommunicators_Args;
import dev.slipway.runtime.internal.abi.PJRT_Collectives_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_Collectives_Extension;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/**
 * Communication between the hosts of a job over the data-centre network, on host memory (the collectives extension, {@link
 * Megascale#collectives}).
 */
public final class Collectives implements AutoCloseable {

    private final Plugin plugin;
    private final Handle handle;

    Collectives(Plugin plugin, Handle context, long address) {
        this.plugin = plugin;
        this.handle = new Handle("collectives", plugin.api(), address, context, this, (api, scratch, collectives) -> {
            MemorySegment args = PJRT_Collectives_Destroy_Args.in(scratch);
            PJRT_Collectives_Destroy_Args.collectives(args, collectives);
            api.extension(Extension.COLLECTIVES).call(PJRT_Collectives_Extension.collectives_destroy, args);
        });
    }

    /**
     * The communicators of those members of a group that are in this process.
     *
     * @param devices the group: numbers of devices among all processes, each once
     * @param cliqueIds what the members agreed on to know each other, as the plugin makes it; may be empty
     * @param ranks which members are here, by their places in {@code devices}, each once
     * @return one for each rank
     * @throws UsageException.BadArgument if there are no devices or ranks, one is there twice, or a rank is no place of a device
     */
    public List<Communicator> communicators(List<Long> devices, List<byte[]> cliqueIds, List<Integer> ranks) {
        boolean valid = !ranks.isEmpty()
                && devices.stream().distinct().count() == devices.size()
                && ranks.stream().distinct().count() == ranks.size()
                && ranks.stream().allMatch(rank -> rank >= 0 && rank < devices.size());
        if (!valid) {
            throw new UsageException.BadArgument(
                    "the ranks " + ranks + " of the devices " + devices
                            + " make no communicators: one or more places among the devices are needed, and each device and rank once");
        }
        return handle.use((api, scratch, collectives) -> {
            Api.Table table = api.extension(Extension.COLLECTIVES);
            MemorySegment args = PJRT_Collectives_CreateCommunicators_Args.in(scratch);
            PJRT_Collectives_CreateCommunicators_Args.collectives(args, collectives);
            PJRT_Collectives_CreateCommunicators_Args.device_ids(
                    args, scratch.longs(devices.stream().mapToLong(Long::longValue)));
            PJRT_Collectives_CreateCommunicators_Args.num_device_ids(args, devices.size());
            if (!cliqueIds.isEmpty()) {
                PJRT_Collectives_CreateCommunicators_Args.clique_ids(args, scratch.pointers(cliqueIds));
                PJRT_Collectives_CreateCommunicators_Args.clique_id_sizes(args, scratch.sizes(cliqueIds));
                PJRT_Collectives_CreateCommunicators_Args.num_clique_ids(args, cliqueIds.size());
            }
            PJRT_Collectives_CreateCommunicators_Args.rank_ids(
                    args, scratch.longs(ranks.stream().mapToLong(Integer::longValue)));
            PJRT_Collectives_CreateCommunicators_Args.num_device_ranks(args, ranks.size());
            table.call(PJRT_Collectives_Extension.collectives_create_communicators, args);
            try {
                return Arrays.stream(Native.longs(
                                PJRT_Collectives_CreateCommunicators_Args.communicators(args),
                                PJRT_Collectives_CreateCommunicators_Args.num_communicators(args)))
                        .mapToObj(address -> new Communicator(plugin, handle, address, devices.size()))
                        .toList();
            } finally {
                // It holds the array, not what is in it.
                Native.free(
                        PJRT_Collectives_CreateCommunicators_Args.communicators_holder_deleter(args),
                        PJRT_Collectives_CreateCommunicators_Args.communicators_holder(args));
            }
        });
    }

    @Override
    public void close() {
        handle.close();
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_Collectives_Communicator_AllGather_Args;
import dev.slipway.runtime.internal.abi.PJRT_Collectives_Communicator_AllReduce_Args;
import dev.slipway.runtime.internal.abi.PJRT_Collectives_Communicator_AllToAll_Args;
import dev.slipway.runtime.internal.abi.PJRT_Collectives_Communicator_CollectivePermute_Args;
import dev.slipway.runtime.internal.abi.PJRT_Collectives_Communicator_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_Collectives_Communicator_ReduceScatter_Args;
import dev.slipway.runtime.internal.abi.PJRT_Collectives_Communicator_ToString_Args;
import dev.slipway.runtime.internal.abi.PJRT_Collectives_CpuExecutor;
import dev.slipway.runtime.internal.abi.PJRT_Collectives_Extension;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One member of a group that communicates (the collectives extension, {@link Collectives#communicators}). All members are to make the same
 * calls in the same order; the futures complete when this one's part is done. Memory is native, is to stay as it is until then, and is
 * dense.
 */
public final class Communicator implements AutoCloseable {

    private final Plugin plugin;
    private final Handle handle;
    private final int members;

    Communicator(Plugin plugin, Handle collectives, long address, int members) {
        this.plugin = plugin;
        this.members = members;
        this.handle =
                new Handle("communicator", plugin.api(), address, collectives, this, (api, scratch, communicator) -> {
                    MemorySegment args = PJRT_Collectives_Communicator_Destroy_Args.in(scratch);
                    PJRT_Collectives_Communicator_Destroy_Args.communicator(args, communicator);
                    table(api).call(PJRT_Collectives_Extension.communicator_destroy, args);
                });
    }

    private static Api.Table table(Api api) {
        return api.extension(Extension.COLLECTIVES);
    }

    /** How elements are joined, by the extension's numbers. */
    public enum Reduction {
        SUM(0),
        PRODUCT(1),
        MIN(2),
        MAX(3);

        private final int code;

        Reduction(int code) {
            this.code = code;
        }
    }

    /**
     * Which of the calls that go on at a time this is: the members that give the same meet.
     *
     * @param run the number of the run
     * @param devices the group, as in {@link Collectives#communicators}
     * @param localMembers how many of them are in this process
     * @param acrossReplicas whether it is one operation in all replicas of a program, or else one between programs
     * @param operation the number of the operation in the run
     * @param limit how long the members wait for each other
     */
    public record Meeting(
            long run, List<Long> devices, int localMembers, boolean acrossReplicas, long operation, Duration limit) {

        /**
         * A meeting.
         *
         * @throws UsageException.BadArgument if it has no devices or members, or the limit is not above 0
         */
        public Meeting {
            devices = List.copyOf(devices);
            if (devices.isEmpty() || localMembers < 1 || localMembers > devices.size() || !limit.isPositive()) {
                throw new UsageException.BadArgument(localMembers + " members of the devices " + devices + " within "
                        + limit + " are no meeting: 1 or more of both and a time above 0 are needed");
            }
        }

        private long write(Scratch scratch) {
            MemorySegment executor = PJRT_Collectives_CpuExecutor.in(scratch);
            PJRT_Collectives_CpuExecutor.run_id(executor, run);
            PJRT_Collectives_CpuExecutor.global_device_ids(
                    executor, scratch.longs(devices.stream().mapToLong(Long::longValue)));
            PJRT_Collectives_CpuExecutor.num_global_device_ids(executor, devices.size());
            PJRT_Collectives_CpuExecutor.num_local_participants(executor, localMembers);
            PJRT_Collectives_CpuExecutor.collective_op_kind(executor, acrossReplicas ? 1 : 0);
            PJRT_Collectives_CpuExecutor.op_id(executor, operation);
            PJRT_Collectives_CpuExecutor.timeout_in_ns(executor, limit.toNanos());
            return executor.address();
        }
    }

    /**
     * Joins the arrays of all members, element by element; each gets the whole.
     *
     * @param type of the elements
     * @param count of elements in {@code from} and in {@code to}
     */
    public CompletableFuture<@Nullable Void> allReduce(
            MemorySegment from, MemorySegment to, ElementType type, long count, Reduction how, Meeting meeting) {
        check(from, count, type, true);
        check(to, count, type, !to.isReadOnly());
        return start(List.of(from, to), (api, scratch, communicator) -> {
            MemorySegment args = PJRT_Collectives_Communicator_AllReduce_Args.in(scratch);
            PJRT_Collectives_Communicator_AllReduce_Args.communicator(args, communicator);
            PJRT_Collectives_Communicator_AllReduce_Args.send_buffer_ptr(args, from.address());
            PJRT_Collectives_Communicator_AllReduce_Args.send_buffer_size(args, from.byteSize());
            PJRT_Collectives_Communicator_AllReduce_Args.recv_buffer_ptr(args, to.address());
            PJRT_Collectives_Communicator_AllReduce_Args.recv_buffer_size(args, to.byteSize());
            PJRT_Collectives_Communicator_AllReduce_Args.primitive_type(args, type.code());
            PJRT_Collectives_Communicator_AllReduce_Args.count(args, count);
            PJRT_Collectives_Communicator_AllReduce_Args.reduction_kind(args, how.code);
            PJRT_Collectives_Communicator_AllReduce_Args.cpu_executor(args, meeting.write(scratch));
            table(api).call(PJRT_Collectives_Extension.communicator_all_reduce, args);
            return PJRT_Collectives_Communicator_AllReduce_Args.event(args);
        });
    }

    /**
     * Joins the arrays of all members, element by element; each gets a part of its own.
     *
     * @param count of elements in {@code to}; {@code from} has as many for each member
     */
    public CompletableFuture<@Nullable Void> reduceScatter(
            MemorySegment from, MemorySegment to, ElementType type, long count, Reduction how, Meeting meeting) {
        check(from, Math.multiplyExact(count, members), type, true);
        check(to, count, type, !to.isReadOnly());
        return start(List.of(from, to), (api, scratch, communicator) -> {
            MemorySegment args = PJRT_Collectives_Communicator_ReduceScatter_Args.in(scratch);
            PJRT_Collectives_Communicator_ReduceScatter_Args.communicator(args, communicator);
            PJRT_Collectives_Communicator_ReduceScatter_Args.send_buffer_ptr(args, from.address());
            PJRT_Collectives_Communicator_ReduceScatter_Args.send_buffer_size(args, from.byteSize());
            PJRT_Collectives_Communicator_ReduceScatter_Args.recv_buffer_ptr(args, to.address());
            PJRT_Collectives_Communicator_ReduceScatter_Args.recv_buffer_size(args, to.byteSize());
            PJRT_Collectives_Communicator_ReduceScatter_Args.primitive_type(args, type.code());
            PJRT_Collectives_Communicator_ReduceScatter_Args.count(args, count);
            PJRT_Collectives_Communicator_ReduceScatter_Args.reduction_kind(args, how.code);
            PJRT_Collectives_Communicator_ReduceScatter_Args.cpu_executor(args, meeting.write(scratch));
            table(api).call(PJRT_Collectives_Extension.communicator_reduce_scatter, args);
            return PJRT_Collectives_Communicator_ReduceScatter_Args.event(args);
        });
    }

    /**
     * Puts the arrays of all members one after the other; each gets the whole.
     *
     * @param count of elements in {@code from}; {@code to} has as many for each member
     */
    public CompletableFuture<@Nullable Void> allGather(
            MemorySegment from, MemorySegment to, ElementType type, long count, Meeting meeting) {
        check(from, count, type, true);
        check(to, Math.multiplyExact(count, members), type, !to.isReadOnly());
        return start(List.of(from, to), (api, scratch, communicator) -> {
            MemorySegment args = PJRT_Collectives_Communicator_AllGather_Args.in(scratch);
            PJRT_Collectives_Communicator_AllGather_Args.communicator(args, communicator);
            PJRT_Collectives_Communicator_AllGather_Args.send_buffer_ptr(args, from.address());
            PJRT_Collectives_Communicator_AllGather_Args.send_buffer_size(args, from.byteSize());
            PJRT_Collectives_Communicator_AllGather_Args.recv_buffer_ptr(args, to.address());
            PJRT_Collectives_Communicator_AllGather_Args.recv_buffer_size(args, to.byteSize());
            PJRT_Collectives_Communicator_AllGather_Args.primitive_type(args, type.code());
            PJRT_Collectives_Communicator_AllGather_Args.count(args, count);
            PJRT_Collectives_Communicator_AllGather_Args.cpu_executor(args, meeting.write(scratch));
            table(api).call(PJRT_Collectives_Extension.communicator_all_gather, args);
            return PJRT_Collectives_Communicator_AllGather_Args.event(args);
        });
    }

    /**
     * Sends this member's array to others, and receives one.
     *
     * @param source the rank that this member receives from; without one, {@code to} is filled with zeros
     * @param targets the ranks that this member sends to
     * @param count of elements in {@code from} and in {@code to}
     * @throws UsageException.BadArgument also if a rank is none
     */
    public CompletableFuture<@Nullable Void> permute(
            MemorySegment from,
            MemorySegment to,
            ElementType type,
            long count,
            OptionalInt source,
            List<Integer> targets,
            Meeting meeting) {
        check(from, count, type, true);
        check(to, count, type, !to.isReadOnly());
        if (source.orElse(0) < 0
                || source.orElse(0) >= members
                || targets.stream().anyMatch(rank -> rank < 0 || rank >= members)) {
            throw new UsageException.BadArgument("from " + source + " to " + targets + " leads out of the " + members
                    + " members, which count from 0");
        }
        return start(List.of(from, to), (api, scratch, communicator) -> {
            MemorySegment args = PJRT_Collectives_Communicator_CollectivePermute_Args.in(scratch);
            PJRT_Collectives_Communicator_CollectivePermute_Args.communicator(args, communicator);
            PJRT_Collectives_Communicator_CollectivePermute_Args.send_buffer_ptr(args, from.address());
            PJRT_Collectives_Communicator_CollectivePermute_Args.send_buffer_size(args, from.byteSize());
            PJRT_Collectives_Communicator_CollectivePermute_Args.recv_buffer_ptr(args, to.address());
            PJRT_Collectives_Communicator_CollectivePermute_Args.recv_buffer_size(args, to.byteSize());
            PJRT_Collectives_Communicator_CollectivePermute_Args.primitive_type(args, type.code());
            PJRT_Collectives_Communicator_CollectivePermute_Args.count(args, count);
            PJRT_Collectives_Communicator_CollectivePermute_Args.has_source_rank(args, source.isPresent());
            PJRT_Collectives_Communicator_CollectivePermute_Args.source_rank(args, source.orElse(0));
            PJRT_Collectives_Communicator_CollectivePermute_Args.target_ranks(
                    args, scratch.longs(targets.stream().mapToLong(Integer::longValue)));
            PJRT_Collectives_Communicator_CollectivePermute_Args.num_target_ranks(args, targets.size());
            PJRT_Collectives_Communicator_CollectivePermute_Args.cpu_executor(args, meeting.write(scratch));
            table(api).call(PJRT_Collectives_Extension.communicator_collective_permute, args);
            return PJRT_Collectives_Communicator_CollectivePermute_Args.event(args);
        });
    }

    /**
     * Gives each member one of this member's arrays, and gets one from each.
     *
     * @param from one for each member
     * @param to one for each member
     * @param count of elements in each of them
     * @throws UsageException.BadArgument also if there are fewer or more than members
     */
    public CompletableFuture<@Nullable Void> allToAll(
            List<MemorySegment> from, List<MemorySegment> to, ElementType type, long count, Meeting meeting) {
        if (from.size() != members || to.size() != members) {
            throw new UsageException.BadArgument(from.size() + " arrays to send and " + to.size()
                    + " to receive were given: one for each of the " + members + " members is needed");
        }
        from.forEach(segment -> check(segment, count, type, true));
        to.forEach(segment -> check(segment, count, type, !segment.isReadOnly()));
        return start(List.of(List.copyOf(from), List.copyOf(to)), (api, scratch, communicator) -> {
            MemorySegment args = PJRT_Collectives_Communicator_AllToAll_Args.in(scratch);
            PJRT_Collectives_Communicator_AllToAll_Args.communicator(args, communicator);
            PJRT_Collectives_Communicator_AllToAll_Args.send_buffers_ptrs(
                    args, scratch.longs(from.stream().mapToLong(MemorySegment::address)));
            PJRT_Collectives_Communicator_AllToAll_Args.send_buffers_sizes(
                    args, scratch.longs(from.stream().mapToLong(MemorySegment::byteSize)));
            PJRT_Collectives_Communicator_AllToAll_Args.num_send_buffers(args, members);
            PJRT_Collectives_Communicator_AllToAll_Args.recv_buffers_ptrs(
                    args, scratch.longs(to.stream().mapToLong(MemorySegment::address)));
            PJRT_Collectives_Communicator_AllToAll_Args.recv_buffers_sizes(
                    args, scratch.longs(to.stream().mapToLong(MemorySegment::byteSize)));
            PJRT_Collectives_Communicator_AllToAll_Args.num_recv_buffers(args, members);
            PJRT_Collectives_Communicator_AllToAll_Args.primitive_type(args, type.code());
            PJRT_Collectives_Communicator_AllToAll_Args.count(args, count);
            PJRT_Collectives_Communicator_AllToAll_Args.cpu_executor(args, meeting.write(scratch));
            table(api).call(PJRT_Collectives_Extension.communicator_all_to_all, args);
            return PJRT_Collectives_Communicator_AllToAll_Args.event(args);
        });
    }

    private CompletableFuture<@Nullable Void> start(Object kept, Handle.Use<Long> call) {
        long event = handle.use(call);
        return plugin.api().events().future(event, kept);
    }

    private static void check(MemorySegment memory, long count, ElementType type, boolean allowed) {
        if (type == ElementType.TOKEN || count < 0 || type.bits() % 8 != 0) {
            throw new UsageException.BadArgument(
                    count + " elements of " + type + " cannot be sent: types of whole bytes, and 0 or more, can");
        }
        if (!allowed || !memory.isNative() || memory.byteSize() < Math.multiplyExact(count, type.bits() / 8L)) {
            throw new UsageException.BadArgument(count + " elements of " + type + " do not fit into "
                    + memory.byteSize() + (memory.isReadOnly() ? " read-only" : "")
                    + (memory.isNative() ? "" : " heap") + " bytes: native memory that is large enough is needed");
        }
    }

    /** As the plugin describes it; {@code "a closed communicator"} once it is closed. */
    @Override
    public String toString() {
        if (handle.isClosed()) {
            return "a closed communicator";
        }
        return handle.use((api, scratch, communicator) -> {
            MemorySegment args = PJRT_Collectives_Communicator_ToString_Args.in(scratch);
            PJRT_Collectives_Communicator_ToString_Args.communicator(args, communicator);
            table(api).call(PJRT_Collectives_Extension.communicator_to_string, args);
            try {
                return Native.string(
                        PJRT_Collectives_Communicator_ToString_Args.str(args),
                        PJRT_Collectives_Communicator_ToString_Args.str_size(args));
            } finally {
                Native.free(
                        PJRT_Collectives_Communicator_ToString_Args.str_holder_deleter(args),
                        PJRT_Collectives_Communicator_ToString_Args.str_holder(args));
            }
        });
    }

    @Override
    public void close() {
        handle.close();
    }
}

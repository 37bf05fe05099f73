// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.abi.PJRT_ExecuteOptions;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** How to run an executable once. */
public final class ExecuteOptions {

    private static final ExecuteOptions DEFAULTS = of(_ -> {});

    private final int launchId;
    private final Set<Integer> nonDonatable;
    private final @Nullable Device device;
    private final @Nullable String callLocation;
    private final @Nullable ExecuteContext context;
    private final HostCallbacks callbacks;

    private ExecuteOptions(Builder builder) {
        this.launchId = builder.launchId;
        this.nonDonatable = Set.copyOf(builder.nonDonatable);
        this.device = builder.device;
        this.callLocation = builder.callLocation;
        this.context = builder.context;
        this.callbacks = new HostCallbacks(builder.channels);
    }

    /** No launch id, whatever the program donates is donated, on the devices it was compiled for. */
    public static ExecuteOptions defaults() {
        return DEFAULTS;
    }

    /** Options as the builder is told. */
    public static ExecuteOptions of(Consumer<Builder> fill) {
        Builder builder = new Builder();
        fill.accept(builder);
        return new ExecuteOptions(builder);
    }

    /** Identifies one launch over several hosts; 0 for none. */
    public int launchId() {
        return launchId;
    }

    /** Parameters whose buffers stay the caller's though the program may take them over. */
    public Set<Integer> nonDonatable() {
        return nonDonatable;
    }

    /** The one device to run on, where that is not where it was compiled for. */
    public Optional<Device> device() {
        return Optional.ofNullable(device);
    }

    /** Where in the caller's program this run was started: for messages. */
    public Optional<String> callLocation() {
        return Optional.ofNullable(callLocation);
    }

    /** Fills the C struct; what it points at is allocated beside it. */
    void write(Api api, int devices, MemorySegment struct, SegmentAllocator allocator) {
        PJRT_ExecuteOptions.launch_id(struct, launchId);
        if (!nonDonatable.isEmpty()) {
            long[] kept =
                    nonDonatable.stream().mapToLong(Integer::longValue).sorted().toArray();
            PJRT_ExecuteOptions.non_donatable_input_indices(
                    struct, allocator.allocateFrom(ValueLayout.JAVA_LONG, kept).address());
            PJRT_ExecuteOptions.num_non_donatable_input_indices(struct, kept.length);
        }
        if (callLocation != null) {
            PJRT_ExecuteOptions.call_location(
                    struct, allocator.allocateFrom(callLocation).address());
        }
        if (context != null) {
            PJRT_ExecuteOptions.context(struct, context.handle().use((_, _, address) -> address));
        }
        callbacks.write(api, struct, allocator, devices);
    }

    /** What {@link #of} fills. */
    public static final class Builder {
        private int launchId;
        private final Set<Integer> nonDonatable = new TreeSet<>();
        private @Nullable Device device;
        private @Nullable String callLocation;
        private @Nullable ExecuteContext context;
        private final List<HostChannel> channels = new ArrayList<>();

        private Builder() {}

        /** What custom calls in the program are given; it must outlive the run. */
        public Builder context(ExecuteContext carried) {
            this.context = carried;
            return this;
        }

        /** Takes what the program sends on a channel. */
        public Builder onSend(long channel, HostChannel.SendHandler handler) {
            channels.add(new HostChannel.Send(channel, handler));
            return this;
        }

        /** Gives what the program receives on a channel. */
        public Builder onReceive(long channel, HostChannel.ReceiveHandler handler) {
            channels.add(new HostChannel.Receive(channel, handler));
            return this;
        }

        /** See {@link ExecuteOptions#launchId}. */
        public Builder launchId(int id) {
            this.launchId = id;
            return this;
        }

        /** See {@link ExecuteOptions#nonDonatable}. */
        public Builder nonDonatable(int... parameters) {
            for (int parameter : parameters) {
                if (parameter < 0) {
                    throw new UsageException.BadArgument("there is no parameter " + parameter);
                }
                nonDonatable.add(parameter);
            }
            return this;
        }

        /** See {@link ExecuteOptions#device}. */
        public Builder device(Device one) {
            this.device = one;
            return this;
        }

        /** See {@link ExecuteOptions#callLocation}. */
        public Builder callLocation(String location) {
            this.callLocation = location;
            return this;
        }
    }
}

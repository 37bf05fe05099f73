// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slipway.topology.Topologies;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
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
    void aProcessOfARunningJobKnowsItsSlice() {
        try (Megascale context = TestPlugins.tpu().megascale();
                PluginTopology slice =
                        TestPlugins.tpu().topology(Topologies.resolve("v5e-16").plugin());
                MultiSlice two = context.multiSlice(slice, 2, 1, 0, new byte[0], new byte[0])) {
            assertThat(two.slices()).isEqualTo(2);
            assertThat(two.slice()).isEqualTo(1);
            assertThat(two.devices()).isEqualTo(Map.of(0, 16, 1, 16));
            assertThatThrownBy(() -> context.multiSlice(slice, 2, 2, 0, new byte[0], new byte[0]))
                    .isInstanceOf(UsageException.BadArgument.class);
        }
    }

    @Test
    void theNetworkIsUsedOnceItIsOpen() {
        Megascale context = TestPlugins.tpu().megascale();
        assertThatThrownBy(context::port).isInstanceOf(StatusException.FailedPrecondition.class);
        assertThatThrownBy(() -> context.unblock(1, Duration.ofMillis(-1)))
                .isInstanceOf(UsageException.BadArgument.class);
        context.initialize();
        // No port was asked for by libtpu's flags.
        assertThat(context.port()).isEqualTo(-1);
        context.unblock(1, Duration.ofMillis(10));
        assertThatThrownBy(() -> context.collectives(List.of(), 1, new byte[0]))
                .isInstanceOf(UsageException.BadArgument.class);
        context.close();
        assertThatThrownBy(context::port).isInstanceOf(UsageException.Closed.class);
    }

    @Test
    void errorsOfWorkersAreGatheredAndReportedOnce() {
        MegascaleErrors.RuntimeError lost =
                TestPlugins.tpu().megascaleError(1, Instant.EPOCH, 14, "a worker is lost", 7, OptionalInt.empty());
        assertThat(lost.bytes()).isNotEmpty();
        try (MegascaleErrors errors = TestPlugins.tpu().megascaleErrors("a job")) {
            assertThat(errors.isActive()).isTrue();
            errors.add("worker 0", lost.bytes());
            assertThat(errors.size()).isEqualTo(1);
            assertThatThrownBy(() -> errors.add("worker 1", new byte[] {1, 2, 3}))
                    .isInstanceOf(StatusException.Internal.class);
            assertThatThrownBy(() -> errors.add("", lost.bytes())).isInstanceOf(UsageException.BadArgument.class);
            errors.report();
            assertThat(errors.isActive()).isFalse();
            assertThatThrownBy(errors::report).isInstanceOf(UsageException.Closed.class);
        }
        assertThatThrownBy(
                        () -> TestPlugins.tpu().megascaleError(1, Instant.EPOCH, 0, "no error", 7, OptionalInt.empty()))
                .isInstanceOf(UsageException.BadArgument.class);
    }

    @Test
    void aListenerOfErrorsIsTakenAwayOnce() {
        MegascaleErrors.Handler handler = TestPlugins.tpu().onMegascaleError("a test", error -> {});
        handler.close();
        assertThatThrownBy(handler::close).isInstanceOf(UsageException.Closed.class);
        assertThatThrownBy(() -> TestPlugins.tpu().onMegascaleError("", error -> {}))
                .isInstanceOf(UsageException.BadArgument.class);
    }

    @Test
    void theHostsInterfacesAreListed() {
        assertThat(TestPlugins.tpu().megascaleInterfaces("port", 8471, List.of(), true, false))
                .isNotEmpty()
                .allSatisfy(address -> assertThat(address).isNotEmpty());
        assertThatThrownBy(() -> TestPlugins.tpu().megascaleInterfaces("port", 70000, List.of(), true, false))
                .isInstanceOf(UsageException.BadArgument.class);
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

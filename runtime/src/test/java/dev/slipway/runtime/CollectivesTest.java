// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Collectives of libtpu on host memory, without TPUs. libtpu reads the network's port from its flags when it is loaded, so the job is in a
 * JVM of its own.
 */
class CollectivesTest {

    private static final String[] ALL = {
        "allReduce 0 [11.0, 22.0, 33.0, 44.0]",
        "allReduce 1 [11.0, 22.0, 33.0, 44.0]",
        "reduceScatter 0 [10.0, 20.0]",
        "reduceScatter 1 [30.0, 40.0]",
        "allGather 0 [1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0]",
        "allGather 1 [1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0]",
        "permute 0 [10.0, 20.0, 30.0, 40.0]",
        "permute 1 [1.0, 2.0, 3.0, 4.0]",
        "allToAll 0 [1.0, 2.0, 10.0, 20.0]",
        "allToAll 1 [3.0, 4.0, 30.0, 40.0]"
    };

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    @Test
    void twoMembersInOneProcessExchangeArrays() throws Exception {
        int port = freePort();
        assertThat(TestJvm.run(
                        CollectivesProcess.class,
                        Map.of("LIBTPU_INIT_ARGS", "--megascale_port=" + port + " --megascale_transport_type=grpc")))
                .contains("port " + port)
                .contains(ALL);
    }

    @Test
    void membersThatAreNoneAreRefused() {
        try (Megascale context = TestPlugins.tpu().megascale();
                Collectives collectives =
                        context.collectives(List.of(new Megascale.Worker("localhost:1", 0, 0)), 2, new byte[0])) {
            for (List<Integer> ranks : List.of(List.<Integer>of(), List.of(2), List.of(-1), List.of(0, 0))) {
                assertThatThrownBy(() -> collectives.communicators(List.of(0L, 1L), List.of(), ranks))
                        .isInstanceOf(UsageException.BadArgument.class);
            }
            assertThatThrownBy(() -> collectives.communicators(List.of(7L, 7L), List.of(), List.of(0)))
                    .isInstanceOf(UsageException.BadArgument.class);
        }
    }

    @Test
    void aMeetingThatCannotBeIsRefused() {
        assertThatThrownBy(() -> new Communicator.Meeting(1, List.of(), 1, true, 1, Duration.ofSeconds(1)))
                .isInstanceOf(UsageException.BadArgument.class);
        assertThatThrownBy(() -> new Communicator.Meeting(1, List.of(0L), 2, true, 1, Duration.ofSeconds(1)))
                .isInstanceOf(UsageException.BadArgument.class);
        assertThatThrownBy(() -> new Communicator.Meeting(1, List.of(0L), 1, true, 1, Duration.ZERO))
                .isInstanceOf(UsageException.BadArgument.class);
    }

    @Test
    void whatIsClosedIsNotUsed() {
        try (Megascale context = TestPlugins.tpu().megascale()) {
            Collectives collectives =
                    context.collectives(List.of(new Megascale.Worker("localhost:1", 0, 0)), 2, new byte[0]);
            collectives.close();
            assertThatThrownBy(() -> collectives.communicators(List.of(0L), List.of(), List.of(0)))
                    .isInstanceOf(UsageException.Closed.class);
        }
    }
}

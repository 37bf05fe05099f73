// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What processes of one job tell each other, and what the CPU plugins make of it. */
class KeyValueStoreTest {

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void aGetWaitsForThePutOfAnother() throws Exception {
        try (TcpKeyValueStore.Server server = TcpKeyValueStore.serve(InetAddress.getLoopbackAddress(), 0)) {
            KeyValueStore one = TcpKeyValueStore.connect(server.address());
            KeyValueStore two = TcpKeyValueStore.connect(server.address());
            assertThat(one.tryGet("topology")).isEmpty();
            CompletableFuture<byte[]> waiting = CompletableFuture.supplyAsync(() -> {
                try {
                    return one.get("topology", Duration.ofSeconds(30));
                } catch (TimeoutException | InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            two.put("topology", bytes("2 x 4"));
            assertThat(waiting.get(30, TimeUnit.SECONDS)).isEqualTo(bytes("2 x 4"));
            assertThat(server.values().tryGet("topology")).hasValue(bytes("2 x 4"));
        }
    }

    @Test
    void aGetThatNobodyAnswersEndsInTime() throws Exception {
        try (TcpKeyValueStore.Server server = TcpKeyValueStore.serve(InetAddress.getLoopbackAddress(), 0)) {
            KeyValueStore store = TcpKeyValueStore.connect(server.address());
            assertThatThrownBy(() -> store.get("absent", Duration.ofMillis(50)))
                    .isInstanceOf(TimeoutException.class)
                    .hasMessageContaining("absent");
        }
    }

    /**
     * Why no client spans two CPU processes: a client of the CPU plugin knows its own devices only, takes no number of processes,
     * and never asks the store, though it is given one.
     */
    @Test
    void cpuPluginsMakeClientsOfOneProcessOnly() {
        AtomicInteger asked = new AtomicInteger();
        KeyValueStore counting = new KeyValueStore() {
            @Override
            public byte[] get(String key, Duration timeout) throws TimeoutException {
                asked.incrementAndGet();
                throw new TimeoutException(key);
            }

            @Override
            public Optional<byte[]> tryGet(String key) {
                asked.incrementAndGet();
                return Optional.empty();
            }

            @Override
            public void put(String key, byte[] value) {
                asked.incrementAndGet();
            }
        };
        try (Client client = TestPlugins.cpu()
                .client(Map.of("process_id", NamedValue.of(1), "cpu_device_count", NamedValue.of(2)), counting)) {
            assertThat(client.processIndex()).isEqualTo(1);
            assertThat(client.devices()).hasSize(2).isEqualTo(client.addressableDevices());
        }
        for (String option : new String[] {"num_processes", "num_nodes", "world_size"}) {
            assertThatThrownBy(() -> TestPlugins.cpu().client(Map.of(option, NamedValue.of(2)), counting))
                    .isInstanceOf(StatusException.InvalidArgument.class)
                    .hasMessageContaining("Unexpected option name");
        }
        for (PluginName older : new PluginName[] {PluginName.CPU_0_106, PluginName.CPU_0_81}) {
            try (Client client = TestPlugins.load(older).client(Map.of("num_processes", NamedValue.of(2)), counting)) {
                assertThat(client.devices()).isEqualTo(client.addressableDevices());
            }
        }
        assertThat(asked).hasValue(0);
    }
}

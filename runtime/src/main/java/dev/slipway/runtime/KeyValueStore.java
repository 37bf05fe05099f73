// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeoutException;

/**
 * What the processes of one job tell each other while their clients are being made. Plugins call it from threads of their own.
 *
 * @see TcpKeyValueStore
 */
public interface KeyValueStore {

    /**
     * The value of a key, waited for.
     *
     * @throws TimeoutException if nobody has put it in time
     */
    byte[] get(String key, Duration timeout) throws TimeoutException, InterruptedException;

    /** The value of a key, if it is there now. */
    Optional<byte[]> tryGet(String key);

    /** Sets a key. */
    void put(String key, byte[] value);

    /** A store for one process. */
    static KeyValueStore inMemory() {
        return new InMemory();
    }

    /** A map that one can wait on. */
    final class InMemory implements KeyValueStore {
        private final ConcurrentHashMap<String, byte[]> values = new ConcurrentHashMap<>();
        private final Object changed = new Object();

        private InMemory() {}

        @Override
        public byte[] get(String key, Duration timeout) throws TimeoutException, InterruptedException {
            long end = System.nanoTime() + timeout.toNanos();
            synchronized (changed) {
                while (true) {
                    byte[] value = values.get(key);
                    if (value != null) {
                        return value.clone();
                    }
                    long left = (end - System.nanoTime()) / 1_000_000;
                    if (left <= 0) {
                        throw new TimeoutException("nobody put '" + key + "' within " + timeout);
                    }
                    changed.wait(left);
                }
            }
        }

        @Override
        public Optional<byte[]> tryGet(String key) {
            return Optional.ofNullable(values.get(key)).map(byte[]::clone);
        }

        @Override
        public void put(String key, byte[] value) {
            synchronized (changed) {
                values.put(key, value.clone());
                changed.notifyAll();
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/**
 * A key-value store that one process serves and the others reach by TCP. It has no protection: serve it where only the job's
 * processes can connect, such as loopback.
 *
 * <p>A request is an operation byte, a key, and a timeout or a value; an answer is a byte that says whether there is a value, and
 * the value.
 */
public final class TcpKeyValueStore implements KeyValueStore {

    private static final int GET = 0;
    private static final int TRY_GET = 1;
    private static final int PUT = 2;
    private static final int MAX_VALUE = 64 << 20;

    private final InetSocketAddress server;

    private TcpKeyValueStore(InetSocketAddress server) {
        this.server = server;
    }

    /** The store that a process serves at an address; each request is a connection. */
    public static KeyValueStore connect(InetSocketAddress server) {
        return new TcpKeyValueStore(server);
    }

    /** Serves a store on a port of {@code address}; port 0 takes one that is free. */
    public static Server serve(InetAddress address, int port) throws IOException {
        return new Server(new ServerSocket(port, 64, address));
    }

    /** A store that is being served until it is closed. */
    public static final class Server implements AutoCloseable {
        private final KeyValueStore values = KeyValueStore.inMemory();
        private final ServerSocket socket;

        private Server(ServerSocket socket) {
            this.socket = socket;
            Thread.ofVirtual().name("slipway-key-values").start(this::accept);
        }

        /** Where it is served. */
        public InetSocketAddress address() {
            return new InetSocketAddress(socket.getInetAddress(), socket.getLocalPort());
        }

        /** The store itself, for the process that serves it. */
        public KeyValueStore values() {
            return values;
        }

        private void accept() {
            while (!socket.isClosed()) {
                try {
                    Socket connection = socket.accept();
                    Thread.startVirtualThread(() -> answer(connection));
                } catch (SocketException e) {
                    return; // closed
                } catch (IOException e) {
                    // That connection failed; its client says so.
                }
            }
        }

        private void answer(Socket connection) {
            try (connection;
                    DataInputStream in = new DataInputStream(connection.getInputStream());
                    DataOutputStream out = new DataOutputStream(connection.getOutputStream())) {
                int operation = in.readByte();
                String key = in.readUTF();
                switch (operation) {
                    case PUT -> {
                        int size = in.readInt();
                        if (size < 0 || size > MAX_VALUE) {
                            return;
                        }
                        byte[] value = in.readNBytes(size);
                        if (value.length < size) {
                            return;
                        }
                        values.put(key, value);
                        out.writeBoolean(false);
                    }
                    case GET -> {
                        Duration timeout = Duration.ofMillis(in.readLong());
                        Optional<byte[]> value;
                        try {
                            value = Optional.of(values.get(key, timeout));
                        } catch (TimeoutException e) {
                            value = Optional.empty();
                        }
                        write(out, value);
                    }
                    case TRY_GET -> write(out, values.tryGet(key));
                    default -> out.writeBoolean(false);
                }
                out.flush();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (IOException e) {
                // The client is gone.
            }
        }

        private static void write(DataOutputStream out, Optional<byte[]> value) throws IOException {
            out.writeBoolean(value.isPresent());
            if (value.isPresent()) {
                out.writeInt(value.get().length);
                out.write(value.get());
            }
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private interface Request {
        void write(DataOutputStream out) throws IOException;
    }

    private Optional<byte[]> ask(int operation, String key, int timeoutMillis, Request rest) {
        try (Socket connection = new Socket()) {
            connection.connect(server, 10_000);
            connection.setSoTimeout(timeoutMillis);
            DataOutputStream out = new DataOutputStream(connection.getOutputStream());
            DataInputStream in = new DataInputStream(connection.getInputStream());
            out.writeByte(operation);
            out.writeUTF(key);
            rest.write(out);
            out.flush();
            if (!in.readBoolean()) {
                return Optional.empty();
            }
            byte[] value = new byte[in.readInt()];
            in.readFully(value);
            return Optional.of(value);
        } catch (EOFException e) {
            throw new UncheckedIOException("the key-value store at " + server + " hung up", e);
        } catch (IOException e) {
            throw new UncheckedIOException("the key-value store at " + server + " does not answer", e);
        }
    }

    @Override
    public byte[] get(String key, Duration timeout) throws TimeoutException {
        return ask(
                        GET,
                        key,
                        (int) Math.min(Integer.MAX_VALUE, timeout.toMillis() + 10_000),
                        out -> out.writeLong(timeout.toMillis()))
                .orElseThrow(() -> new TimeoutException("nobody put '" + key + "' within " + timeout));
    }

    @Override
    public Optional<byte[]> tryGet(String key) {
        return ask(TRY_GET, key, 10_000, out -> {});
    }

    @Override
    public void put(String key, byte[] value) {
        Optional<byte[]> nothing = ask(PUT, key, 10_000, out -> {
            out.writeInt(value.length);
            out.write(value);
        });
        if (nothing.isPresent()) {
            throw new IllegalStateException("the key-value store at " + server + " answered a put with a value");
        }
    }
}

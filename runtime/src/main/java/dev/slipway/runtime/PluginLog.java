// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Native;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Where plugins' chatter goes. Plugins write to file descriptor 2 from threads of their own, so it is redirected for the whole
 * process: to a file, while Java's {@code System.err} goes on to where it went before. Child processes that inherit standard error
 * write to the file as well.
 *
 * {@snippet :
 * PluginLog log = PluginLog.capture();   // before the first plugin is loaded
 * ...
 * System.err.println(log.text());        // when somebody asks
 * }
 */
public final class PluginLog implements AutoCloseable {

    private static final int STDERR = 2;
    private static final MemorySegment DUP = Native.libc("dup");
    private static final MemorySegment DUP2 = Native.libc("dup2");
    private static final MemorySegment CREAT = Native.libc("creat");
    private static final MemorySegment MKSTEMP = Native.libc("mkstemp");
    private static final MemorySegment CLOSE = Native.libc("close");
    private static final MemorySegment WRITE = Native.libc("write");

    private final Path file;
    private final boolean temporary;
    private final Descriptor saved;
    private final PrintStream before = System.err;

    private PluginLog(Path file, boolean temporary, Descriptor saved) {
        this.file = file;
        this.temporary = temporary;
        this.saved = saved;
    }

    /**
     * Captures to a temporary file, {@code slipway-plugins-PID-} and six characters, which is deleted when this is closed or the
     * JVM ends in good order: where a plugin ends the process, what it last printed is there.
     */
    public static PluginLog capture() {
        try (Arena arena = Arena.ofConfined()) {
            // C's own, which fills the six places in; Java's begins by loading its source of random numbers.
            MemorySegment name = arena.allocateFrom(
                    System.getProperty("java.io.tmpdir") + "/slipway-plugins-" + Native.pid() + "-XXXXXX");
            int log = (int) Native.call(MKSTEMP, name.address());
            Path file = Path.of(name.getString(0));
            file.toFile().deleteOnExit();
            return capture(log, file, true);
        }
    }

    /** Captures to {@code file}, which is created or emptied, and stays. */
    public static PluginLog capture(Path file) {
        try (Arena arena = Arena.ofConfined()) {
            int log =
                    (int) Native.call(CREAT, arena.allocateFrom(file.toString()).address(), 0600, 0);
            return capture(log, file, false);
        }
    }

    private static PluginLog capture(int log, Path file, boolean temporary) {
        System.err.flush();
        try (Descriptor target = Descriptor.of(log, "cannot write the plugins' log " + file)) {
            Descriptor saved =
                    Descriptor.of((int) Native.call(DUP, STDERR), "cannot redirect standard error to " + file);
            try {
                target.becomeStandardError();
            } catch (IOException e) {
                saved.close();
                throw e;
            }
            PluginLog captured = new PluginLog(file, temporary, saved);
            System.setErr(new PrintStream(saved, true, System.err.charset()));
            return captured;
        } catch (IOException e) {
            if (temporary) {
                file.toFile().delete();
            }
            throw new UncheckedIOException(e);
        }
    }

    /** The file. */
    public Path file() {
        return file;
    }

    /** Writes a line among what plugins print, for who reads it after a plugin has ended the process. */
    public void note(String line) {
        byte[] bytes = (line + '\n').getBytes(StandardCharsets.UTF_8);
        try {
            Descriptor.write(STDERR, bytes, 0, bytes.length);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** All that was written so far. */
    public String text() {
        try {
            return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Gives standard error back; a file that was asked for stays.
     *
     * @throws UsageException.Closed if closed already
     */
    @Override
    public synchronized void close() {
        if (saved.closed) {
            throw new UsageException.Closed("this log is closed already");
        }
        System.err.flush();
        try (saved) {
            saved.becomeStandardError();
            System.setErr(before);
            if (temporary) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Writes to a descriptor itself: opening {@code /dev/fd/N} anew would truncate a file and fail for a socket. */
    private static final class Descriptor extends OutputStream {
        private final int descriptor;

        /** The number may be another file's by then. */
        private volatile boolean closed;

        private Descriptor(int descriptor) {
            this.descriptor = descriptor;
        }

        /** What a function of C's gave; below 0 it is none. */
        static Descriptor of(int descriptor, String failure) throws IOException {
            if (descriptor < 0) {
                throw new IOException(failure);
            }
            return new Descriptor(descriptor);
        }

        void becomeStandardError() throws IOException {
            if ((int) Native.call(DUP2, descriptor, STDERR, 0) < 0) {
                throw new IOException("standard error cannot be redirected");
            }
        }

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            if (closed) {
                throw new IOException("standard error was given back");
            }
            write(descriptor, bytes, offset, length);
        }

        static void write(int descriptor, byte[] bytes, int offset, int length) throws IOException {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment copy = arena.allocate(Math.max(1, length));
                MemorySegment.copy(bytes, offset, copy, ValueLayout.JAVA_BYTE, 0, length);
                long done = 0;
                while (done < length) {
                    long written = Native.call(WRITE, descriptor, copy.address() + done, length - done);
                    if (written <= 0) {
                        throw new IOException("standard error is gone");
                    }
                    done += written;
                }
            }
        }

        @Override
        public void close() {
            closed = true;
            Native.call(CLOSE, descriptor); // which frees it whatever it answers
        }
    }
}

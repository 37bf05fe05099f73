// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import dev.slipway.runtime.internal.Native;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
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
    private static final MethodHandle DUP =
            Native.libc("dup", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
    private static final MethodHandle DUP2 = Native.libc(
            "dup2", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
    private static final MethodHandle OPEN = Native.libc(
            "creat", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
    private static final MethodHandle CLOSE =
            Native.libc("close", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
    private static final MethodHandle WRITE = Native.libc(
            "write",
            FunctionDescriptor.of(
                    ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_LONG));

    private final Path file;
    private final int saved;
    private final PrintStream before;

    private PluginLog(Path file, int saved, PrintStream before) {
        this.file = file;
        this.saved = saved;
        this.before = before;
    }

    /** Captures to a temporary file that is deleted when the JVM ends in good order. */
    public static PluginLog capture() {
        try {
            Path file = Files.createTempFile("slipway-plugins-", ".log");
            file.toFile().deleteOnExit();
            return capture(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Captures to {@code file}, which is created or emptied. */
    public static PluginLog capture(Path file) {
        System.err.flush();
        try (Arena arena = Arena.ofConfined()) {
            int log = (int) OPEN.invokeExact(arena.allocateFrom(file.toString()), 0600);
            if (log < 0) {
                throw new UncheckedIOException(new IOException("cannot write the plugins' log " + file));
            }
            int saved = (int) DUP.invokeExact(STDERR);
            if (saved < 0 || (int) DUP2.invokeExact(log, STDERR) < 0) {
                throw new UncheckedIOException(new IOException("cannot redirect standard error to " + file));
            }
            check((int) CLOSE.invokeExact(log));
            PluginLog captured = new PluginLog(file, saved, System.err);
            System.setErr(new PrintStream(new Descriptor(saved), true, System.err.charset()));
            return captured;
        } catch (Throwable e) {
            throw Native.unchecked(e);
        }
    }

    /** The file. */
    public Path file() {
        return file;
    }

    /** All that was written so far. */
    public String text() {
        try {
            return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Gives standard error back; the file stays. */
    @Override
    public void close() {
        System.err.flush();
        try {
            check((int) DUP2.invokeExact(saved, STDERR));
            check((int) CLOSE.invokeExact(saved));
        } catch (Throwable e) {
            throw Native.unchecked(e);
        }
        System.setErr(before);
    }

    private static void check(int result) throws IOException {
        if (result < 0) {
            throw new IOException("a file descriptor could not be closed or copied");
        }
    }

    /** Writes to a descriptor itself: opening {@code /dev/fd/N} anew would truncate a file and fail for a socket. */
    private static final class Descriptor extends OutputStream {
        private final int descriptor;

        Descriptor(int descriptor) {
            this.descriptor = descriptor;
        }

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment copy = arena.allocate(Math.max(1, length));
                MemorySegment.copy(bytes, offset, copy, ValueLayout.JAVA_BYTE, 0, length);
                long done = 0;
                while (done < length) {
                    long written = (long) WRITE.invokeExact(descriptor, copy.asSlice(done), length - done);
                    if (written <= 0) {
                        throw new IOException("standard error is gone");
                    }
                    done += written;
                }
            } catch (IOException e) {
                throw e;
            } catch (Throwable e) {
                throw Native.unchecked(e);
            }
        }
    }
}

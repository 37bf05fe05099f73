// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import dev.slipway.checkpoint.CheckpointException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Reads little-endian values from a mapped file, each checked against the file's end before anything is allocated. */
final class Cursor {
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final Path file;
    private final MemorySegment data;
    private long position;

    Cursor(Path file, MemorySegment data) {
        this.file = file;
        this.data = data;
    }

    /** The whole file, read-only, until the arena closes. */
    static MemorySegment map(Path file, Arena arena) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            return channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
        } catch (IOException e) {
            throw Loader.unreadable(file, e);
        }
    }

    long position() {
        return position;
    }

    long remaining() {
        return data.byteSize() - position;
    }

    /** Moves past {@code bytes} and returns where they begin. */
    long skip(long bytes, String what) {
        if (bytes < 0 || bytes > remaining()) {
            throw truncated(what, bytes);
        }
        long start = position;
        position += bytes;
        return start;
    }

    int u8(String what) {
        return Byte.toUnsignedInt(data.get(ValueLayout.JAVA_BYTE, skip(1, what)));
    }

    short i16(String what) {
        return data.get(SHORT, skip(2, what));
    }

    int i32(String what) {
        return data.get(INT, skip(4, what));
    }

    long i64(String what) {
        return data.get(LONG, skip(8, what));
    }

    /** A count of things that take at least {@code each} bytes in what remains of the file. */
    long count(String what, int each) {
        long start = position;
        long count = i64(what);
        if (count < 0 || count > remaining() / each) {
            throw bad("%s at byte %d is %s, but the %d bytes that follow hold at most %d"
                    .formatted(what, start, Long.toUnsignedString(count), remaining(), remaining() / each));
        }
        return count;
    }

    /** A string with its length as 64 bits before it. */
    String string(String what) {
        int length = Math.toIntExact(Math.min(count("the length of " + what, 1), Integer.MAX_VALUE));
        return text(length, what);
    }

    /** {@code length} bytes as UTF-8. */
    String text(int length, String what) {
        long start = skip(length, what);
        byte[] bytes = data.asSlice(start, length).toArray(ValueLayout.JAVA_BYTE);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    CheckpointException bad(String what) {
        return new CheckpointException("%s: %s; the file is cut off or damaged, get it again".formatted(file, what));
    }

    private CheckpointException truncated(String what, long bytes) {
        return new CheckpointException(
                "%s: ends at byte %d, but %s at byte %d needs %s bytes; the file is cut off or damaged, get it again"
                        .formatted(file, data.byteSize(), what, position, Long.toUnsignedString(bytes)));
    }
}

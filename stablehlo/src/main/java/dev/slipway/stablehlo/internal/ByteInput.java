// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.BytecodeException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Bytes that are read in MLIR's encodings; no read goes past the end, and no length is believed before it is checked. */
final class ByteInput {
    final byte[] data;
    private final int start;
    private final int end;
    private int at;

    ByteInput(byte[] data, int start, int end) {
        this.data = data;
        this.start = start;
        this.at = start;
        this.end = end;
    }

    boolean isEmpty() {
        return at >= end;
    }

    int remaining() {
        return end - at;
    }

    int position() {
        return at;
    }

    int offset() {
        return at - start;
    }

    BytecodeException error(String message) {
        return new BytecodeException("at byte " + at + ": " + message);
    }

    int byteValue() {
        if (at >= end) {
            throw error("the bytes end early");
        }
        return data[at++] & 0xFF;
    }

    /** An integer of which the trailing zeros of the first byte say how many bytes follow. */
    long varint() {
        int first = byteValue();
        if ((first & 1) != 0) {
            return first >> 1;
        }
        int extra = first == 0 ? 8 : Integer.numberOfTrailingZeros(first);
        long value = first == 0 ? 0 : first;
        for (int i = 0; i < extra; i++) {
            value |= (long) byteValue() << (first == 0 ? 8 * i : 8 * (i + 1));
        }
        return first == 0 ? value : value >>> (extra + 1);
    }

    long signedVarint() {
        long value = varint();
        return (value >>> 1) ^ -(value & 1);
    }

    /** A number of things that take at least so many bytes each, and so must fit into what is left. */
    int count(int bytesEach) {
        long count = varint();
        if (count < 0 || count > (bytesEach == 0 ? Integer.MAX_VALUE >>> 4 : remaining() / bytesEach)) {
            throw error(
                    "a count of " + Long.toUnsignedString(count) + " is more than the bytes that are left can hold");
        }
        return (int) count;
    }

    /** An index below a limit. */
    int index(int limit, String what) {
        return checkIndex(varint(), limit, what);
    }

    int checkIndex(long index, int limit, String what) {
        if (index < 0 || index >= limit) {
            throw error(what + " " + Long.toUnsignedString(index) + " is out of range, there are " + limit);
        }
        return (int) index;
    }

    byte[] bytes(int count) {
        if (count < 0 || count > remaining()) {
            throw error(count + " bytes are wanted, but " + remaining() + " are left");
        }
        byte[] copy = Arrays.copyOfRange(data, at, at + count);
        at += count;
        return copy;
    }

    ByteInput sub(int count) {
        if (count < 0 || count > remaining()) {
            throw error(count + " bytes are wanted, but " + remaining() + " are left");
        }
        ByteInput sub = new ByteInput(data, at, at + count);
        at += count;
        return sub;
    }

    void align(long alignment) {
        if (alignment < 1 || alignment > 1 << 20 || Long.bitCount(alignment) != 1) {
            throw error("an alignment of " + alignment + " is no power of two");
        }
        while (at % alignment != 0) {
            byteValue();
        }
    }

    String nullTerminated() {
        int from = at;
        while (byteValue() != 0) {
            // The loop looks for the end.
        }
        return new String(data, from, at - 1 - from, StandardCharsets.UTF_8);
    }

    String string(int count) {
        return new String(bytes(count), StandardCharsets.UTF_8);
    }
}

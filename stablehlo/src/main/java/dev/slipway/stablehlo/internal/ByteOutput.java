// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Bytes that are written in MLIR's encodings. */
final class ByteOutput {
    private byte[] data;
    private int size;

    ByteOutput() {
        this(256);
    }

    ByteOutput(int capacity) {
        data = new byte[capacity];
    }

    int size() {
        return size;
    }

    private void reserve(int more) {
        if (size + more > data.length) {
            data = Arrays.copyOf(data, Math.max(size + more, data.length * 2));
        }
    }

    ByteOutput byteValue(int value) {
        reserve(1);
        data[size++] = (byte) value;
        return this;
    }

    ByteOutput varint(long value) {
        if (value >>> 7 == 0) {
            return byteValue((int) (value << 1 | 1));
        }
        reserve(9);
        int bytes = 2;
        while (bytes < 9 && value >>> (7 * bytes) != 0) {
            bytes++;
        }
        if (bytes == 9) {
            data[size++] = 0;
            for (int i = 0; i < 8; i++) {
                data[size++] = (byte) (value >>> (8 * i));
            }
            return this;
        }
        long encoded = (value << 1 | 1) << (bytes - 1);
        for (int i = 0; i < bytes; i++) {
            data[size++] = (byte) (encoded >>> (8 * i));
        }
        return this;
    }

    ByteOutput signedVarint(long value) {
        return varint((value << 1) ^ (value >> 63));
    }

    ByteOutput flagged(long value, boolean flag) {
        return varint(value << 1 | (flag ? 1 : 0));
    }

    ByteOutput bytes(byte[] bytes) {
        return bytes(bytes, bytes.length);
    }

    private ByteOutput bytes(byte[] bytes, int count) {
        reserve(count);
        System.arraycopy(bytes, 0, data, size, count);
        size += count;
        return this;
    }

    ByteOutput append(ByteOutput other) {
        return bytes(other.data, other.size);
    }

    ByteOutput nullTerminated(String text) {
        return bytes(text.getBytes(StandardCharsets.UTF_8)).byteValue(0);
    }

    ByteOutput section(int id, ByteOutput content) {
        return byteValue(id).varint(content.size).append(content);
    }

    byte[] toBytes() {
        return Arrays.copyOf(data, size);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Writes small GGUF files. */
final class GgufWriter {
    private final Map<String, Object> metadata = new LinkedHashMap<>();
    private final Map<String, Tensor> tensors = new LinkedHashMap<>();

    @SuppressWarnings("ArrayRecordComponent") // nobody compares or keeps them
    private record Tensor(int type, int[] shape, byte[] bytes) {}

    /** A string, integer, float, boolean or list of one of these. */
    GgufWriter with(String key, Object value) {
        metadata.put(key, value);
        return this;
    }

    /** A float32 tensor, shape slowest dimension first. */
    GgufWriter tensor(String name, float[] values, int... shape) {
        ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(values);
        return tensor(name, 0, bytes.array(), shape);
    }

    /** A tensor of any type. */
    GgufWriter tensor(String name, int type, byte[] bytes, int... shape) {
        tensors.put(name, new Tensor(type, shape, bytes));
        return this;
    }

    byte[] bytes() {
        Out out = new Out();
        out.i32(0x46554747);
        out.i32(3);
        out.i64(tensors.size());
        out.i64(metadata.size());
        metadata.forEach((key, value) -> {
            out.string(key);
            out.i32(type(value));
            out.value(value);
        });
        long offset = 0;
        for (Map.Entry<String, Tensor> entry : tensors.entrySet()) {
            Tensor tensor = entry.getValue();
            out.string(entry.getKey());
            out.i32(tensor.shape.length);
            for (int i = tensor.shape.length - 1; i >= 0; i--) {
                out.i64(tensor.shape[i]);
            }
            out.i32(tensor.type);
            out.i64(offset);
            offset += (tensor.bytes.length + 31) / 32 * 32L;
        }
        out.pad();
        for (Tensor tensor : tensors.values()) {
            out.writeBytes(tensor.bytes);
            out.pad();
        }
        return out.toByteArray();
    }

    Path write(Path file) {
        try {
            return Files.write(file, bytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static int type(Object value) {
        return switch (value) {
            case Byte _ -> 1;
            case Short _ -> 3;
            case Integer _ -> 5;
            case Float _ -> 6;
            case Boolean _ -> 7;
            case String _ -> 8;
            case List<?> _ -> 9;
            case Long _ -> 11;
            case Double _ -> 12;
            default -> throw new IllegalArgumentException(value.toString());
        };
    }

    private static final class Out extends ByteArrayOutputStream {
        void i32(int value) {
            writeBytes(ByteBuffer.allocate(4)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putInt(value)
                    .array());
        }

        void i64(long value) {
            writeBytes(ByteBuffer.allocate(8)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putLong(value)
                    .array());
        }

        void string(String text) {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            i64(bytes.length);
            writeBytes(bytes);
        }

        void value(Object value) {
            switch (value) {
                case Byte b -> write(b);
                case Short s -> {
                    write(s);
                    write(s >> 8);
                }
                case Integer i -> i32(i);
                case Float f -> i32(Float.floatToIntBits(f));
                case Boolean b -> write(b ? 1 : 0);
                case String s -> string(s);
                case Long l -> i64(l);
                case Double d -> i64(Double.doubleToLongBits(d));
                case List<?> list -> {
                    i32(list.isEmpty() ? 5 : type(list.getFirst()));
                    i64(list.size());
                    list.forEach(this::value);
                }
                default -> throw new IllegalArgumentException(value.toString());
            }
        }

        void pad() {
            while (size() % 32 != 0) {
                write(0);
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableMap;
import dev.slipway.checkpoint.CheckpointException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The metadata of a GGUF file, read by type.
 *
 * @param values {@link Long}, {@link Double}, {@link Boolean}, {@link String} and {@link List}s of them, by key
 */
record GgufMetadata(Path file, ImmutableMap<String, Object> values) implements Fields {
    private static final int ARRAY = 9;

    /** Arrays of arrays are allowed by the format; nobody nests them deeper. */
    private static final int MAX_NESTING = 3;

    /** Reads {@code count} keys with their values. */
    static GgufMetadata read(Path file, Cursor in, long count) {
        Map<String, Object> values = new LinkedHashMap<>();
        for (long i = 0; i < count; i++) {
            String key = in.string("the key of metadata " + i);
            if (values.put(key, value(in, in.i32("the type of " + key), key, 0)) != null) {
                throw in.bad("metadata %s is there twice".formatted(key));
            }
        }
        return new GgufMetadata(file, ImmutableMap.copyOf(values));
    }

    private static Object value(Cursor in, int type, String key, int nesting) {
        return switch (type) {
            case 0 -> (long) in.u8(key);
            case 1 -> (long) (byte) in.u8(key);
            case 2 -> Short.toUnsignedLong(in.i16(key));
            case 3 -> (long) in.i16(key);
            case 4 -> Integer.toUnsignedLong(in.i32(key));
            case 5 -> (long) in.i32(key);
            case 6 -> (double) Float.intBitsToFloat(in.i32(key));
            case 7 -> in.u8(key) != 0;
            case 8 -> in.string(key);
            case ARRAY -> array(in, key, nesting);
            case 10, 11 -> in.i64(key);
            case 12 -> Double.longBitsToDouble(in.i64(key));
            default ->
                throw in.bad("metadata %s has the unknown type %s".formatted(key, Integer.toUnsignedString(type)));
        };
    }

    private static List<Object> array(Cursor in, String key, int nesting) {
        int type = in.i32("the element type of " + key);
        if (nesting == MAX_NESTING) {
            throw in.bad("metadata %s is nested deeper than %d arrays".formatted(key, MAX_NESTING));
        }
        int each = switch (type) {
            case 0, 1, 7 -> 1;
            case 2, 3 -> 2;
            case 4, 5, 6 -> 4;
            case ARRAY -> 12;
            default -> 8;
        };
        long count = in.count("the length of " + key, each);
        if (count > Integer.MAX_VALUE - 8) {
            throw in.bad("metadata %s has %d elements".formatted(key, count));
        }
        List<Object> values = new ArrayList<>((int) Math.min(count, 1 << 20));
        for (long i = 0; i < count; i++) {
            values.add(value(in, type, key, nesting + 1));
        }
        return values;
    }

    /** In steps of how many bytes the tensors lie. */
    long alignment(Cursor in) {
        Object value = values.getOrDefault("general.alignment", 32L);
        if (!(value instanceof Long alignment)
                || alignment < 1
                || alignment > 1 << 20
                || Long.bitCount(alignment) != 1) {
            throw in.bad("general.alignment is %s, a power of two up to a mebibyte is expected"
                    .formatted(Fields.brief(value)));
        }
        return alignment;
    }

    Optional<String> string(String key) {
        return get(key, String.class, "a string");
    }

    Optional<Boolean> flag(String key) {
        return get(key, Boolean.class, "true or false");
    }

    /** A number that fits an int; unsigned ones that do not are as wrong as negative ones where a size is expected. */
    @Override
    public Optional<Integer> integer(String key) {
        return get(key, Long.class, "an integer").map(value -> {
            if (value != value.intValue()) {
                throw wrong(key, value, "an integer of at most 31 bits");
            }
            return value.intValue();
        });
    }

    @Override
    public Optional<Double> number(String key) {
        return get(key, Number.class, "a number").map(Number::doubleValue).map(value -> {
            if (!Double.isFinite(value)) {
                throw wrong(key, value, "a number");
            }
            return value;
        });
    }

    <T> Optional<List<T>> list(String key, Class<T> element) {
        return get(key, List.class, "an array").map(values -> {
            List<T> typed = new ArrayList<>(values.size());
            for (Object value : values) {
                if (!element.isInstance(value)) {
                    throw wrong(key, value, "elements of type " + element.getSimpleName());
                }
                typed.add(element.cast(value));
            }
            return typed;
        });
    }

    <T> T required(Optional<T> value, String key) {
        return value.orElseThrow(() -> missing(key));
    }

    private <T> Optional<T> get(String key, Class<T> type, String expected) {
        Object value = values.get(key);
        if (value != null && !type.isInstance(value)) {
            throw wrong(key, value, expected);
        }
        return Optional.ofNullable(value).map(type::cast);
    }

    @Override
    public CheckpointException missing(String key) {
        return new CheckpointException(
                "%s has no metadata %s, which a model of its architecture has; convert it anew".formatted(file, key));
    }

    @Override
    public CheckpointException wrong(String key, @Nullable Object value, String expected) {
        return new CheckpointException("%s: metadata %s is %s, but %s is expected; convert it anew"
                .formatted(file, key, Fields.brief(value), expected));
    }
}

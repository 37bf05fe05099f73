// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import java.util.Arrays;
import java.util.List;

/**
 * A value of PJRT's named lists: create options on the way in, attributes and cost figures on the way out.
 *
 * {@snippet :
 * Map<String, NamedValue> options = Map.of("cpu_device_count", NamedValue.of(8));
 * }
 */
public sealed interface NamedValue {

    /** A string. */
    record Text(String value) implements NamedValue {}

    /** A 64-bit integer. */
    record Int64(long value) implements NamedValue {}

    /** A list of 64-bit integers. */
    record Int64List(List<Long> value) implements NamedValue {
        public Int64List {
            value = List.copyOf(value);
        }
    }

    /** A 32-bit float. */
    record Float32(float value) implements NamedValue {}

    /** A truth value. */
    record Bool(boolean value) implements NamedValue {}

    /** A {@link Text}. */
    static NamedValue of(String value) {
        return new Text(value);
    }

    /** An {@link Int64}. */
    static NamedValue of(long value) {
        return new Int64(value);
    }

    /** An {@link Int64List}. */
    static NamedValue of(long first, long second, long... rest) {
        long[] all = new long[rest.length + 2];
        all[0] = first;
        all[1] = second;
        System.arraycopy(rest, 0, all, 2, rest.length);
        return new Int64List(Arrays.stream(all).boxed().toList());
    }

    /** An {@link Int64List}. */
    static NamedValue of(List<Long> values) {
        return new Int64List(values);
    }

    /** A {@link Float32}. */
    static NamedValue of(float value) {
        return new Float32(value);
    }

    /** A {@link Bool}. */
    static NamedValue of(boolean value) {
        return new Bool(value);
    }

    /** The value as plain text, for tables. */
    default String text() {
        return switch (this) {
            case Text text -> text.value();
            case Int64 number -> Long.toString(number.value());
            case Int64List list -> list.value().toString();
            case Float32 number -> Float.toString(number.value());
            case Bool flag -> Boolean.toString(flag.value());
        };
    }
}

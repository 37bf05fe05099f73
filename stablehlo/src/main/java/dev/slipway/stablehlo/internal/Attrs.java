// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.Attribute.Dictionary;
import dev.slipway.stablehlo.CustomCallApiVersion;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.IntegerType;
import dev.slipway.stablehlo.IrException;
import dev.slipway.stablehlo.Operation;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What generated code calls: Java values to attributes and back. */
public final class Attrs {
    private static final IntegerType I1 = (IntegerType) ElementType.I1;

    private Attrs() {}

    /** Several lists as one. */
    @SafeVarargs
    public static List<Value> concat(List<? extends Value>... groups) {
        List<Value> all = new ArrayList<>();
        for (List<? extends Value> group : groups) {
            all.addAll(group);
        }
        return all;
    }

    /** Names and attributes in turn; what is null is left out. */
    public static Dictionary dictionary(@Nullable Object... entries) {
        if (entries.length == 2 && entries[1] instanceof Attribute value && entries[0] instanceof String name) {
            return Dictionary.of(name, value);
        }
        Map<String, Attribute> map = new TreeMap<>();
        for (int i = 0; i < entries.length; i += 2) {
            if (entries[i + 1] instanceof Attribute value && entries[i] instanceof String name) {
                map.put(name, value);
            }
        }
        return Dictionary.of(map);
    }

    /** A 64-bit integer. */
    public static @Nullable Attribute i64(@Nullable Long value) {
        return value == null ? null : Attribute.i64(value);
    }

    /** A 32-bit integer. */
    public static Attribute i32(int value) {
        return Attribute.i32(value);
    }

    /** A boolean. */
    public static @Nullable Attribute bool(@Nullable Boolean value) {
        return value == null ? null : Attribute.of(value);
    }

    /** The unit attribute, or none. */
    public static @Nullable Attribute unit(boolean value) {
        return value ? Attribute.Unit.INSTANCE : null;
    }

    /** A single. */
    public static Attribute f32(float value) {
        return Attribute.f32(value);
    }

    /** A string. */
    public static @Nullable Attribute string(@Nullable String value) {
        return value == null ? null : Attribute.of(value);
    }

    /** The name of a symbol. */
    public static Attribute symbol(String value) {
        return Attribute.SymbolRef.of(value);
    }

    /** An array of 64-bit integers. */
    public static @Nullable Attribute i64Array(long @Nullable [] values) {
        return values == null ? null : Attribute.i64Array(values);
    }

    /** An array of booleans. */
    public static @Nullable Attribute boolArray(boolean @Nullable [] values) {
        if (values == null) {
            return null;
        }
        ImmutableLongArray.Builder longs = ImmutableLongArray.builder(values.length);
        for (boolean value : values) {
            longs.add(value ? 1 : 0);
        }
        return new Attribute.IntArray(I1, longs.build());
    }

    /** A type. */
    public static Attribute type(Type value) {
        return new Attribute.TypeRef(value);
    }

    /** A list. */
    public static @Nullable Attribute array(@Nullable List<? extends Attribute> values) {
        return values == null ? null : Attribute.array(values);
    }

    /** A calling convention, as the integer that stands for it. */
    public static @Nullable Attribute apiVersion(@Nullable CustomCallApiVersion value) {
        return value == null ? null : Attribute.i32(value.value());
    }

    /** What is an attribute already. */
    public static @Nullable Attribute same(@Nullable Attribute value) {
        return value;
    }

    /** Refuses another operation than that of an id. */
    public static void expect(Operation operation, int id) {
        if (operation.definition().id() != id) {
            throw new IllegalArgumentException("expected " + Registry.get(id).name() + ", got " + operation.name());
        }
    }

    /** An attribute of a kind. */
    public static <A extends Attribute> A read(Operation operation, String name, Class<A> kind) {
        Attribute value = operation.attribute(name);
        if (kind.isInstance(value)) {
            return kind.cast(value);
        }
        throw new IrException(operation.name() + ": the attribute '" + name + "' should be a " + kind.getSimpleName()
                + " but is " + (value == null ? "absent" : value));
    }

    /** An attribute of a kind, or a default where it is absent. */
    public static <A extends Attribute> A read(Operation operation, String name, Class<A> kind, A absent) {
        return operation.attribute(name) == null ? absent : read(operation, name, kind);
    }

    /** An integer. */
    public static long readLong(Operation operation, String name) {
        return read(operation, name, Attribute.Int.class).value();
    }

    /** An integer, or a default where it is absent. */
    public static long readLong(Operation operation, String name, long absent) {
        return operation.attribute(name) == null ? absent : readLong(operation, name);
    }

    /** An integer. */
    public static int readInt(Operation operation, String name) {
        return Math.toIntExact(readLong(operation, name));
    }

    /** An integer, or a default where it is absent. */
    public static int readInt(Operation operation, String name, int absent) {
        return operation.attribute(name) == null ? absent : readInt(operation, name);
    }

    /** A boolean. */
    public static boolean readBool(Operation operation, String name) {
        return read(operation, name, Attribute.Int.class).isTrue();
    }

    /** A boolean, or a default where it is absent. */
    public static boolean readBool(Operation operation, String name, boolean absent) {
        return operation.attribute(name) == null ? absent : readBool(operation, name);
    }

    /** Whether a unit attribute is there. */
    public static boolean readUnit(Operation operation, String name) {
        return operation.attribute(name) != null;
    }

    /** A single. */
    public static float readFloat(Operation operation, String name) {
        return (float) read(operation, name, Attribute.Real.class).value();
    }

    /** A string. */
    public static String readString(Operation operation, String name) {
        return read(operation, name, Attribute.Text.class).value();
    }

    /** A string, or a default where it is absent. */
    public static String readString(Operation operation, String name, String absent) {
        return operation.attribute(name) == null ? absent : readString(operation, name);
    }

    /** The name of a symbol. */
    public static String readSymbol(Operation operation, String name) {
        return read(operation, name, Attribute.SymbolRef.class).root();
    }

    /** An array of integers. */
    public static ImmutableLongArray readInts(Operation operation, String name) {
        return read(operation, name, Attribute.IntArray.class).values();
    }

    /** A type. */
    public static Type readType(Operation operation, String name) {
        return read(operation, name, Attribute.TypeRef.class).type();
    }

    /** A list of attributes of one kind. */
    public static <A extends Attribute> List<A> readList(Operation operation, String name, Class<A> kind) {
        return read(operation, name, Attribute.Array.class).elements().stream()
                .map(kind::cast)
                .toList();
    }

    /** A calling convention. */
    public static CustomCallApiVersion readApiVersion(Operation operation, String name) {
        int value = readInt(operation, name, CustomCallApiVersion.API_VERSION_ORIGINAL.value());
        for (CustomCallApiVersion version : CustomCallApiVersion.values()) {
            if (version.value() == value) {
                return version;
            }
        }
        throw new IrException(operation.name() + ": no calling convention has the number " + value);
    }

    /** Sizes of the groups of operands or results, where an attribute gives them. */
    public static @Nullable ImmutableLongArray segments(Operation operation, String what) {
        return operation.attribute(what + "SegmentSizes") instanceof Attribute.IntArray sizes ? sizes.values() : null;
    }

    /** The values of one group; where several groups are variadic they have one size. */
    public static <V> List<V> group(
            List<V> values, int index, int count, boolean[] variadic, @Nullable ImmutableLongArray segments) {
        int from = 0;
        int variadics = 0;
        for (boolean each : variadic) {
            variadics += each ? 1 : 0;
        }
        int each = variadics == 0 ? 0 : Math.max(0, (values.size() - (count - variadics)) / variadics);
        for (int i = 0; i <= index; i++) {
            int size = segments != null && i < segments.length()
                    ? Math.toIntExact(segments.get(i))
                    : variadic[i] ? each : 1;
            if (i == index) {
                return values.subList(from, from + size);
            }
            from += size;
        }
        throw new IndexOutOfBoundsException(index);
    }
}

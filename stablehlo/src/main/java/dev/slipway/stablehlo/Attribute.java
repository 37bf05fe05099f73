// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import com.google.common.primitives.ImmutableDoubleArray;
import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.internal.AttributePrinter;
import dev.slipway.stablehlo.internal.Floats;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A constant that belongs to an {@link Operation}: MLIR's builtin attributes are nested here, those of StableHLO, CHLO
 * and Shardy are types of their own. All are immutable; its {@code toString} is MLIR's text.
 */
public sealed interface Attribute
        permits Attribute.Text,
                Attribute.Int,
                Attribute.Real,
                Attribute.Unit,
                Attribute.Array,
                Attribute.Dictionary,
                Attribute.SymbolRef,
                Attribute.TypeRef,
                Attribute.IntArray,
                Attribute.RealArray,
                Attribute.Resource,
                Attribute.Opaque,
                DenseElements,
                EnumAttribute,
                StructAttribute,
                Location {

    /** A string. */
    static Text of(String value) {
        return new Text(value);
    }

    /** A boolean. */
    static Int of(boolean value) {
        return new Int(value ? 1 : 0, (IntegerType) ElementType.I1);
    }

    /** A 64-bit integer. */
    static Int i64(long value) {
        return new Int(value, (IntegerType) ElementType.I64);
    }

    /** A 32-bit integer. */
    static Int i32(int value) {
        return new Int(value, (IntegerType) ElementType.I32);
    }

    /** A single-precision number. */
    static Real f32(float value) {
        return new Real(Float.floatToRawIntBits(value) & 0xFFFFFFFFL, FloatType.F32);
    }

    /** A double-precision number. */
    static Real f64(double value) {
        return new Real(Double.doubleToRawLongBits(value), FloatType.F64);
    }

    /** A list of attributes. */
    static Array array(List<? extends Attribute> elements) {
        return new Array(List.copyOf(elements));
    }

    /** A list of attributes. */
    static Array array(Attribute... elements) {
        return new Array(List.of(elements));
    }

    /** {@code array<i64: ...>}. */
    static IntArray i64Array(long... values) {
        return new IntArray((IntegerType) ElementType.I64, ImmutableLongArray.copyOf(values));
    }

    /** A string. */
    record Text(String value) implements Attribute {
        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /**
     * An integer; booleans are integers of type {@code i1}.
     *
     * @param value sign-extended for signless and signed types, zero-extended for unsigned ones and booleans
     * @param type an {@link IntegerType} of at most 64 bits, or {@link Type.Index}
     */
    record Int(long value, ElementType type) implements Attribute {
        /** Whether this is {@code true}. */
        public boolean isTrue() {
            return value != 0;
        }

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /**
     * A floating-point number.
     *
     * @param bits its bit pattern
     * @param type its type
     */
    record Real(long bits, FloatType type) implements Attribute {
        /** The number as a double; exact. */
        public double value() {
            return Floats.toDouble(bits, type);
        }

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** Something that is there or not. */
    record Unit() implements Attribute {
        /** The unit attribute. */
        public static final Unit INSTANCE = new Unit();

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** A list of attributes. */
    record Array(List<Attribute> elements) implements Attribute {
        public Array {
            elements = List.copyOf(elements);
        }

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** The name of a symbol, e.g. {@code @main} or, nested, {@code @a::@b}. */
    record SymbolRef(String root, List<String> nested) implements Attribute {
        public SymbolRef {
            nested = List.copyOf(nested);
        }

        /** A reference to a symbol of the module. */
        public static SymbolRef of(String name) {
            return new SymbolRef(name, List.of());
        }

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** A type as an attribute. */
    record TypeRef(Type type) implements Attribute {
        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** {@code array<i64: 1, 2>}; booleans have the type {@code i1}. */
    record IntArray(IntegerType type, ImmutableLongArray values) implements Attribute {
        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /** {@code array<f32: 1.0, 2.0>}. */
    record RealArray(FloatType type, ImmutableDoubleArray values) implements Attribute {
        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /**
     * A tensor whose elements are held elsewhere.
     *
     * @param key the name of the resource
     * @param type the type of the tensor
     */
    record Resource(String key, TensorType type) implements Attribute {
        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }

    /**
     * An attribute that is carried along as text: those of dialects that this library does not know.
     *
     * @param text all of it, e.g. {@code #mhlo.sharding<"...">}
     */
    record Opaque(String text) implements Attribute {
        @Override
        public String toString() {
            return text;
        }
    }

    /** Attributes by name, in the order of the names. */
    final class Dictionary implements Attribute {
        /** The dictionary of nothing. */
        public static final Dictionary EMPTY = new Dictionary(new String[0], new Attribute[0]);

        private final String[] names;
        private final Attribute[] values;

        private Dictionary(String[] names, Attribute[] values) {
            this.names = names;
            this.values = values;
        }

        /** A dictionary of one entry. */
        public static Dictionary of(String name, Attribute value) {
            return new Dictionary(new String[] {name}, new Attribute[] {value});
        }

        /**
         * A dictionary of two entries.
         *
         * @throws IllegalArgumentException if the names are equal
         */
        public static Dictionary of(String name, Attribute value, String name2, Attribute value2) {
            int order = name.compareTo(name2);
            if (order == 0) {
                throw new IllegalArgumentException("a dictionary has the name '" + name + "' twice");
            }
            return order < 0
                    ? new Dictionary(new String[] {name, name2}, new Attribute[] {value, value2})
                    : new Dictionary(new String[] {name2, name}, new Attribute[] {value2, value});
        }

        /** A dictionary of the entries of a map. */
        public static Dictionary of(Map<String, ? extends Attribute> entries) {
            if (entries.isEmpty()) {
                return EMPTY;
            }
            TreeMap<String, Attribute> sorted = new TreeMap<>(entries);
            return new Dictionary(
                    sorted.keySet().toArray(new String[0]), sorted.values().toArray(new Attribute[0]));
        }

        /** Number of entries. */
        public int size() {
            return names.length;
        }

        /** Whether there is no entry. */
        public boolean isEmpty() {
            return names.length == 0;
        }

        /** The name of the entry at an index. */
        public String name(int index) {
            return names[index];
        }

        /** The value of the entry at an index. */
        public Attribute value(int index) {
            return values[index];
        }

        /** The value of a name; null where there is none. */
        public @Nullable Attribute get(String name) {
            int at = indexOf(name);
            return at < 0 ? null : values[at];
        }

        private int indexOf(String name) {
            if (names.length > 8) {
                return Arrays.binarySearch(names, name);
            }
            for (int i = 0; i < names.length; i++) {
                if (names[i].equals(name)) {
                    return i;
                }
            }
            return -1;
        }

        /** Calls the action with every entry, in the order of the names. */
        public void forEach(BiConsumer<String, Attribute> action) {
            for (int i = 0; i < names.length; i++) {
                action.accept(names[i], values[i]);
            }
        }

        /** The entries as a map that the caller may change. */
        public Map<String, Attribute> toMap() {
            Map<String, Attribute> map = new TreeMap<>();
            forEach(map::put);
            return map;
        }

        /** This dictionary with an entry added or replaced. */
        public Dictionary with(String name, Attribute value) {
            int at = Arrays.binarySearch(names, name);
            if (at >= 0) {
                Attribute[] replaced = values.clone();
                replaced[at] = value;
                return new Dictionary(names, replaced);
            }
            int insert = -at - 1;
            String[] newNames = new String[names.length + 1];
            Attribute[] newValues = new Attribute[names.length + 1];
            System.arraycopy(names, 0, newNames, 0, insert);
            System.arraycopy(values, 0, newValues, 0, insert);
            newNames[insert] = name;
            newValues[insert] = value;
            System.arraycopy(names, insert, newNames, insert + 1, names.length - insert);
            System.arraycopy(values, insert, newValues, insert + 1, names.length - insert);
            return new Dictionary(newNames, newValues);
        }

        /** This dictionary without an entry. */
        public Dictionary without(String name) {
            if (get(name) == null) {
                return this;
            }
            Map<String, Attribute> map = toMap();
            map.remove(name);
            return of(map);
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Dictionary that
                    && Arrays.equals(names, that.names)
                    && Arrays.equals(values, that.values);
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(names) * 31 + Arrays.hashCode(values);
        }

        @Override
        public String toString() {
            return AttributePrinter.toText(this);
        }
    }
}

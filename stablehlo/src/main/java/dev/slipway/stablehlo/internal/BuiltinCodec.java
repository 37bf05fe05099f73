// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableDoubleArray;
import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.ComplexType;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.IntegerType;
import dev.slipway.stablehlo.Location;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** MLIR's own attributes and types in bytecode. */
final class BuiltinCodec {
    private static final int INTEGER = 0;
    private static final IntegerType.Signedness[] SIGNEDNESS = IntegerType.Signedness.values();

    private BuiltinCodec() {}

    // Reading.

    static Object readAttribute(ByteInput in, BytecodeReader reader) {
        int code = (int) in.varint();
        return switch (code) {
            case 0 -> Attribute.array(attributes(in, reader));
            case 1 -> readDictionary(in, reader);
            case 2 -> Attribute.of(reader.string(in));
            case 3 -> {
                String text = reader.string(in);
                reader.type(in);
                yield Attribute.of(text);
            }
            case 4 -> Attribute.SymbolRef.of(text(in, reader));
            case 5 -> {
                String root = text(in, reader);
                List<String> nested = new ArrayList<>();
                for (Attribute each : attributes(in, reader)) {
                    if (!(each instanceof Attribute.SymbolRef ref)) {
                        throw in.error("a nested symbol is no symbol");
                    }
                    nested.add(ref.root());
                }
                yield new Attribute.SymbolRef(root, nested);
            }
            case 6 -> new Attribute.TypeRef(reader.type(in));
            case 7 -> Attribute.Unit.INSTANCE;
            case 8 -> integer(in, reader.type(in));
            case 9 -> {
                if (!(reader.type(in) instanceof FloatType type)) {
                    throw in.error("a number has no floating-point type");
                }
                yield new Attribute.Real(knownWidth(in, type.width()), type);
            }
            case 10 -> {
                Location callee = reader.location(in);
                yield new Location.CallSite(callee, reader.location(in));
            }
            case 11 -> {
                String file = text(in, reader);
                int line = (int) in.varint();
                yield Location.File.of(file, line, (int) in.varint());
            }
            case 12 -> new Location.Fused(locations(in, reader), null);
            case 13 -> {
                List<Location> locations = locations(in, reader);
                yield new Location.Fused(locations, reader.attribute(in));
            }
            case 14 -> {
                String name = text(in, reader);
                yield new Location.Name(name, reader.location(in));
            }
            case 15 -> Location.UNKNOWN;
            case 17 -> denseArray(in, reader);
            case 18 -> {
                if (!(reader.type(in) instanceof TensorType type)) {
                    throw in.error("a constant has no ranked tensor type");
                }
                yield dense(type, in.bytes(in.count(1)));
            }
            case 22 -> fileRange(in, reader);
            default -> throw in.error("the builtin attribute with code " + code + " is not known");
        };
    }

    private static Location fileRange(ByteInput in, BytecodeReader reader) {
        String file = text(in, reader);
        int count = in.count(1);
        int[] numbers = new int[4];
        for (int i = 0; i < count; i++) {
            long number = in.varint();
            if (i < 4) {
                numbers[i] = (int) number;
            }
        }
        return switch (count) {
            case 0, 1, 2 -> Location.File.of(file, numbers[0], numbers[1]);
            case 3 -> new Location.File(file, numbers[0], numbers[1], numbers[0], numbers[2]);
            default -> new Location.File(file, numbers[0], numbers[1], numbers[2], numbers[3]);
        };
    }

    private static List<Attribute> attributes(ByteInput in, BytecodeReader reader) {
        int count = in.count(1);
        List<Attribute> elements = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            elements.add(reader.attribute(in));
        }
        return elements;
    }

    private static List<Location> locations(ByteInput in, BytecodeReader reader) {
        int count = in.count(1);
        List<Location> locations = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            locations.add(reader.location(in));
        }
        return locations;
    }

    private static String text(ByteInput in, BytecodeReader reader) {
        if (reader.attribute(in) instanceof Attribute.Text text) {
            return text.value();
        }
        throw in.error("expected a string");
    }

    /** A dictionary; values that are no attributes here (versioned calling conventions) are kept beside it. */
    private static Object readDictionary(ByteInput in, BytecodeReader reader) {
        int count = in.count(2);
        Map<String, Attribute> entries = new HashMap<>();
        Map<String, Object> others = new HashMap<>();
        for (int i = 0; i < count; i++) {
            String name = text(in, reader);
            Object value = reader.attributeObject(in);
            if (value instanceof Attribute attribute) {
                entries.put(name, attribute);
            } else {
                others.put(name, value);
            }
        }
        Attribute.Dictionary dictionary = Attribute.Dictionary.of(entries);
        if (!others.isEmpty()) {
            reader.rememberObjects(dictionary, others);
        }
        return dictionary;
    }

    /** The entries of a dictionary, with those that are no attributes. */
    static Map<String, Object> objects(Attribute.Dictionary dictionary, BytecodeReader reader) {
        Map<String, Object> entries = new LinkedHashMap<>();
        dictionary.forEach(entries::put);
        entries.putAll(reader.objectsOf(dictionary));
        return entries;
    }

    /** An integer, whose type came before it. */
    static Attribute.Int integer(ByteInput in, Type type) {
        if (!(type instanceof ElementType element && (type instanceof Type.Index || type instanceof IntegerType))
                || width(type) > 64) {
            throw in.error("an integer has the type " + type);
        }
        long bits = knownWidth(in, width(type));
        if (type instanceof IntegerType integer && !integer.isUnsigned() && integer.width() < 64) {
            bits = bits << (64 - integer.width()) >> (64 - integer.width());
        } else if (type instanceof IntegerType integer && integer.width() < 64) {
            bits &= (1L << integer.width()) - 1;
        }
        return new Attribute.Int(bits, element);
    }

    /** The bits of an integer or float whose width is known: one byte, or a signed integer. */
    static long knownWidth(ByteInput in, int width) {
        long bits = width <= 8 ? in.byteValue() : in.signedVarint();
        return width >= 64 ? bits : bits & ((1L << width) - 1);
    }

    static int width(Type type) {
        return switch (type) {
            case IntegerType integer -> integer.width();
            case FloatType floating -> floating.width();
            case Type.Index _ -> 64;
            default -> 0;
        };
    }

    private static Attribute denseArray(ByteInput in, BytecodeReader reader) {
        Type type = reader.type(in);
        long count = in.varint();
        byte[] raw = in.bytes(in.count(1));
        if (count < 0 || count > raw.length) {
            throw in.error("an array has " + count + " elements in " + raw.length + " bytes");
        }
        if (!(type instanceof IntegerType) && !(type instanceof FloatType)) {
            throw in.error("an array has elements of type " + type);
        }
        DenseElements elements = DenseElements.ofBytes(
                TensorType.of((ElementType) type, count), type.equals(ElementType.I1) ? booleans(raw) : raw);
        if (type instanceof IntegerType integer) {
            return new Attribute.IntArray(integer, ImmutableLongArray.copyOf(elements.toLongs()));
        }
        ImmutableDoubleArray.Builder reals = ImmutableDoubleArray.builder();
        for (int i = 0; i < count; i++) {
            reals.add(elements.doubleAt(i));
        }
        return new Attribute.RealArray((FloatType) type, reals.build());
    }

    /** Sizes of groups: a dense array, or from version 6 on a sparse one. */
    static Attribute segmentSizes(ByteInput in, BytecodeReader reader, int version) {
        if (version < 6) {
            return reader.attribute(in);
        }
        long header = in.varint();
        boolean sparse = (header & 1) != 0;
        long size = header >>> 1;
        if (size > 64) {
            throw in.error("an operation has " + size + " groups of values");
        }
        ImmutableLongArray.Builder values = ImmutableLongArray.builder();
        if (!sparse) {
            for (int i = 0; i < size; i++) {
                values.add(in.varint());
            }
            return new Attribute.IntArray((IntegerType) ElementType.I32, values.build());
        }
        int indexBits = (int) in.varint();
        if (indexBits < 0 || indexBits > 8) {
            throw in.error("the index of a group has " + indexBits + " bits");
        }
        // The number of groups is not told here; those that are not named are empty, and there are two in all.
        long[] groups = new long[2];
        for (int i = 0; i < size; i++) {
            long pair = in.varint();
            int index = (int) (pair & ((1L << indexBits) - 1));
            if (index >= groups.length) {
                throw in.error("a group has the index " + index);
            }
            groups[index] = pair >>> indexBits;
        }
        return new Attribute.IntArray((IntegerType) ElementType.I32, ImmutableLongArray.copyOf(groups));
    }

    /** A constant from its bytes, where booleans may be packed. */
    static DenseElements dense(TensorType type, byte[] raw) {
        if (!type.element().equals(ElementType.I1)) {
            return DenseElements.ofBytes(type, raw);
        }
        long count = type.elementCount();
        if (raw.length == 1 && (raw[0] & 0xFF) == 0xFF && count != 0) {
            return DenseElements.ofBytes(type, new byte[] {1});
        }
        if (raw.length == (count + 7) / 8 && raw.length != count) {
            byte[] unpacked = new byte[Math.toIntExact(count)];
            for (int i = 0; i < unpacked.length; i++) {
                unpacked[i] = (byte) (raw[i / 8] >> (i % 8) & 1);
            }
            return DenseElements.ofBytes(type, unpacked);
        }
        return DenseElements.ofBytes(type, booleans(raw));
    }

    /** Each byte as 0 or 1. */
    private static byte[] booleans(byte[] raw) {
        byte[] normal = raw.clone();
        for (int i = 0; i < normal.length; i++) {
            normal[i] = (byte) (normal[i] == 0 ? 0 : 1);
        }
        return normal;
    }

    /** The bytes of a constant, with booleans packed. */
    static byte[] rawBytes(DenseElements elements) {
        byte[] raw = new byte[elements.bytes().remaining()];
        elements.bytes().get(raw);
        if (!elements.type().element().equals(ElementType.I1)) {
            return raw;
        }
        if (elements.isSplat()) {
            return new byte[] {(byte) (raw[0] == 0 ? 0 : 0xFF)};
        }
        byte[] packed = new byte[(raw.length + 7) / 8];
        for (int i = 0; i < raw.length; i++) {
            packed[i / 8] |= (byte) (raw[i] << (i % 8));
        }
        return packed;
    }

    static Type readType(ByteInput in, BytecodeReader reader) {
        int code = (int) in.varint();
        return switch (code) {
            case INTEGER -> {
                long flags = in.varint();
                int signedness = (int) (flags & 3);
                if (signedness > 2 || flags >>> 2 < 1 || flags >>> 2 > IntegerType.MAX_WIDTH) {
                    throw in.error("an integer type has the width " + (flags >>> 2));
                }
                yield new IntegerType((int) (flags >>> 2), SIGNEDNESS[signedness]);
            }
            case 1 -> Type.Index.INSTANCE;
            case 2 -> {
                List<Type> inputs = types(in, reader);
                yield new Type.Function(inputs, types(in, reader));
            }
            case 3 -> FloatType.BF16;
            case 4 -> FloatType.F16;
            case 5 -> FloatType.F32;
            case 6 -> FloatType.F64;
            case 7 -> new Type.Opaque("f80");
            case 8 -> new Type.Opaque("f128");
            case 9 -> new ComplexType(element(in, reader));
            case 10 -> {
                ImmutableLongArray shape = shape(in);
                ElementType element = element(in, reader);
                reader.attribute(in);
                yield new Type.Buffer(TensorType.of(element, shape), null);
            }
            case 12 -> Type.None.INSTANCE;
            case 13 -> {
                ImmutableLongArray shape = shape(in);
                yield TensorType.of(element(in, reader), shape);
            }
            case 14 -> {
                Attribute encoding = reader.attribute(in);
                ImmutableLongArray shape = shape(in);
                yield bounded(in, new TensorType(element(in, reader), shape, encoding));
            }
            case 15 -> new Type.Tuple(types(in, reader));
            case 18 -> new Type.UnrankedTensor(element(in, reader));
            default -> throw in.error("the builtin type with code " + code + " is not known");
        };
    }

    /** The type, whose bounds must be those of its dimensions. */
    static TensorType bounded(ByteInput in, TensorType type) {
        String problem = Types.boundsProblem(type);
        if (!problem.isEmpty()) {
            throw in.error(problem);
        }
        return type;
    }

    static ElementType element(ByteInput in, BytecodeReader reader) {
        if (reader.type(in) instanceof ElementType element) {
            return element;
        }
        throw in.error("expected an element type");
    }

    static List<Type> types(ByteInput in, BytecodeReader reader) {
        int count = in.count(1);
        List<Type> types = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            types.add(reader.type(in));
        }
        return types;
    }

    /** Signed integers after their count. */
    static ImmutableLongArray shape(ByteInput in) {
        int count = in.count(1);
        ImmutableLongArray.Builder shape = ImmutableLongArray.builder(count);
        for (int i = 0; i < count; i++) {
            shape.add(in.signedVarint());
        }
        return shape.build();
    }

    // Writing.

    /** Whether an attribute has an encoding of its own; the others are written as text. */
    static boolean isEncoded(Object value) {
        return switch (value) {
            case Attribute.Text _,
                    Attribute.Int _,
                    Attribute.Real _,
                    Attribute.Unit _,
                    Attribute.Array _,
                    Attribute.Dictionary _,
                    Attribute.SymbolRef _,
                    Attribute.TypeRef _,
                    Attribute.IntArray _,
                    Attribute.RealArray _,
                    DenseElements _,
                    Location _,
                    IntegerType _,
                    Type.Index _,
                    Type.Function _,
                    ComplexType _,
                    Type.None _,
                    TensorType _,
                    Type.Tuple _,
                    Type.UnrankedTensor _ -> true;
            case FloatType floating ->
                floating == FloatType.BF16
                        || floating == FloatType.F16
                        || floating == FloatType.F32
                        || floating == FloatType.F64;
            default -> false;
        };
    }

    static void writeAttribute(ByteOutput out, Object value, BytecodeWriter writer) {
        switch (value) {
            case Attribute.Array array -> {
                out.varint(0).varint(array.elements().size());
                array.elements().forEach(element -> writer.builtin(out, element));
            }
            case Attribute.Dictionary dictionary -> {
                out.varint(1).varint(dictionary.size());
                dictionary.forEach((name, each) -> {
                    writer.builtin(out, Attribute.of(name));
                    writer.builtin(out, each);
                });
            }
            case Attribute.Text text -> {
                out.varint(2);
                writer.string(out, text.value());
            }
            case Attribute.SymbolRef symbol -> {
                out.varint(symbol.nested().isEmpty() ? 4 : 5);
                writer.builtin(out, Attribute.of(symbol.root()));
                if (!symbol.nested().isEmpty()) {
                    out.varint(symbol.nested().size());
                    symbol.nested().forEach(name -> writer.builtin(out, Attribute.SymbolRef.of(name)));
                }
            }
            case Attribute.TypeRef ref -> {
                out.varint(6);
                writer.builtinType(out, ref.type());
            }
            case Attribute.Unit _ -> out.varint(7);
            case Attribute.Int integer -> {
                out.varint(8);
                writer.builtinType(out, integer.type());
                knownWidth(out, integer.value(), width(integer.type()));
            }
            case Attribute.Real real -> {
                out.varint(9);
                writer.builtinType(out, real.type());
                knownWidth(out, real.bits(), real.type().width());
            }
            case Attribute.IntArray array -> {
                out.varint(17);
                writer.builtinType(out, array.type());
                DenseElements elements = DenseElements.ofLongs(
                        TensorType.of(array.type(), array.values().length()),
                        array.values().toArray());
                writeElements(out, elements, array.values().length());
            }
            case Attribute.RealArray array -> {
                out.varint(17);
                writer.builtinType(out, array.type());
                DenseElements elements = DenseElements.ofDoubles(
                        TensorType.of(array.type(), array.values().length()),
                        array.values().toArray());
                writeElements(out, elements, array.values().length());
            }
            case DenseElements elements -> {
                out.varint(18);
                writer.builtinType(out, elements.type());
                byte[] raw = rawBytes(elements);
                out.varint(raw.length).bytes(raw);
            }
            case Location location -> writeLocation(out, location, writer);
            default -> throw new IllegalStateException("no encoding for " + value);
        }
    }

    /** The elements of an array, of which a splat does not exist. */
    private static void writeElements(ByteOutput out, DenseElements elements, int count) {
        out.varint(count);
        byte[] stored = new byte[elements.bytes().remaining()];
        elements.bytes().get(stored);
        int size = count == 0 ? 0 : DenseElements.elementBytes(elements.type().element());
        out.varint((long) size * count);
        for (int i = 0; i < (elements.isSplat() ? count : count == 0 ? 0 : 1); i++) {
            out.bytes(stored);
        }
    }

    static void knownWidth(ByteOutput out, long bits, int width) {
        long masked = width >= 64 ? bits : bits & ((1L << width) - 1);
        if (width <= 8) {
            out.byteValue((int) masked);
        } else {
            out.signedVarint(masked);
        }
    }

    private static void writeLocation(ByteOutput out, Location location, BytecodeWriter writer) {
        switch (location) {
            case Location.CallSite call -> {
                out.varint(10);
                writer.builtin(out, call.callee());
                writer.builtin(out, call.caller());
            }
            case Location.File file -> {
                boolean oneLine = file.line() == file.endLine();
                boolean range = writer.hasRanges() && !(oneLine && file.column() == file.endColumn());
                out.varint(range ? 22 : 11);
                writer.builtin(out, Attribute.of(file.file()));
                if (range) {
                    out.varint(oneLine ? 3 : 4);
                }
                out.varint(file.line()).varint(file.column());
                if (range) {
                    if (!oneLine) {
                        out.varint(file.endLine());
                    }
                    out.varint(file.endColumn());
                }
            }
            case Location.Fused fused -> {
                Attribute metadata = fused.metadata();
                out.varint(metadata == null ? 12 : 13).varint(fused.locations().size());
                fused.locations().forEach(each -> writer.builtin(out, each));
                if (metadata != null) {
                    writer.builtin(out, metadata);
                }
            }
            case Location.Name name -> {
                out.varint(14);
                writer.builtin(out, Attribute.of(name.name()));
                writer.builtin(out, name.child());
            }
            case Location.Unknown _ -> out.varint(15);
        }
    }

    static void writeType(ByteOutput out, Type type, BytecodeWriter writer) {
        switch (type) {
            case IntegerType integer ->
                out.varint(INTEGER).varint((long) integer.width() << 2 | code(integer.signedness()));
            case Type.Index _ -> out.varint(1);
            case Type.Function function -> {
                out.varint(2).varint(function.inputs().size());
                function.inputs().forEach(each -> writer.builtinType(out, each));
                out.varint(function.results().size());
                function.results().forEach(each -> writer.builtinType(out, each));
            }
            case FloatType floating ->
                out.varint(
                        switch (floating) {
                            case BF16 -> 3;
                            case F16 -> 4;
                            case F32 -> 5;
                            default -> 6;
                        });
            case ComplexType complex -> {
                out.varint(9);
                writer.builtinType(out, complex.element());
            }
            case Type.None _ -> out.varint(12);
            case TensorType tensor -> {
                Attribute encoding = tensor.encoding();
                out.varint(encoding == null ? 13 : 14);
                if (encoding != null) {
                    writer.builtin(out, encoding);
                }
                writeShape(out, tensor.shape());
                writer.builtinType(out, tensor.element());
            }
            case Type.Tuple tuple -> {
                out.varint(15).varint(tuple.types().size());
                tuple.types().forEach(each -> writer.builtinType(out, each));
            }
            case Type.UnrankedTensor tensor -> {
                out.varint(18);
                writer.builtinType(out, tensor.element());
            }
            default -> throw new IllegalStateException("no encoding for " + type);
        }
    }

    private static int code(IntegerType.Signedness signedness) {
        return switch (signedness) {
            case SIGNLESS -> 0;
            case SIGNED -> 1;
            case UNSIGNED -> 2;
        };
    }

    static void writeShape(ByteOutput out, ImmutableLongArray shape) {
        out.varint(shape.length());
        for (int i = 0; i < shape.length(); i++) {
            out.signedVarint(shape.get(i));
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableDoubleArray;
import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.BytecodeException;
import dev.slipway.stablehlo.ChloComparisonDirection;
import dev.slipway.stablehlo.ChloComparisonType;
import dev.slipway.stablehlo.ChloPrecision;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ComparisonType;
import dev.slipway.stablehlo.ComplexType;
import dev.slipway.stablehlo.CustomCallApiVersion;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.DeviceMesh;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.FftType;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.IntegerType;
import dev.slipway.stablehlo.Location;
import dev.slipway.stablehlo.MeshReplicaGroups;
import dev.slipway.stablehlo.OutputOperandAlias;
import dev.slipway.stablehlo.Precision;
import dev.slipway.stablehlo.PropagationDirection;
import dev.slipway.stablehlo.QuantizedType;
import dev.slipway.stablehlo.ResultAccuracy;
import dev.slipway.stablehlo.ResultAccuracyMode;
import dev.slipway.stablehlo.RngAlgorithm;
import dev.slipway.stablehlo.RngDistribution;
import dev.slipway.stablehlo.Shardy;
import dev.slipway.stablehlo.TensorSharding;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Transpose;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.TypeExtensions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToIntFunction;

/** The versioned attributes and types of portable artifacts. */
final class VhloCodec {
    /** A part of an axis, which is an attribute of its own in artifacts. */
    record SubAxis(long preSize, long size) {}

    private static final Map<ElementType, Integer> ELEMENT_CODES = Map.ofEntries(
            Map.entry(ElementType.I1, 0),
            Map.entry(FloatType.BF16, 2),
            Map.entry(FloatType.F16, 3),
            Map.entry(FloatType.F32, 4),
            Map.entry(FloatType.F64, 5),
            Map.entry(FloatType.F8E4M3FN, 6),
            Map.entry(FloatType.F8E5M2, 7),
            Map.entry(Type.Index.INSTANCE, 9),
            Map.entry(ElementType.I4, 10),
            Map.entry(ElementType.I8, 11),
            Map.entry(ElementType.I16, 12),
            Map.entry(ElementType.I32, 13),
            Map.entry(ElementType.I64, 14),
            Map.entry(ElementType.UI4, 15),
            Map.entry(ElementType.UI8, 16),
            Map.entry(ElementType.UI16, 17),
            Map.entry(ElementType.UI32, 18),
            Map.entry(ElementType.UI64, 19),
            Map.entry(FloatType.F8E4M3FNUZ, 27),
            Map.entry(FloatType.F8E5M2FNUZ, 28),
            Map.entry(FloatType.F8E4M3B11FNUZ, 29),
            Map.entry(ElementType.I2, 31),
            Map.entry(ElementType.UI2, 32),
            Map.entry(FloatType.TF32, 34),
            Map.entry(FloatType.F8E4M3, 35),
            Map.entry(FloatType.F8E3M4, 36),
            Map.entry(FloatType.F4E2M1FN, 37),
            Map.entry(FloatType.F6E2M3FN, 38),
            Map.entry(FloatType.F6E3M2FN, 39),
            Map.entry(FloatType.F8E8M0FNU, 40));

    private static final Map<Integer, ElementType> ELEMENTS = new HashMap<>();

    static {
        ELEMENT_CODES.forEach((type, code) -> ELEMENTS.put(code, type));
    }

    private VhloCodec() {}

    // Reading.

    static Object readAttribute(ByteInput in, BytecodeReader reader) {
        int code = (int) in.varint();
        return switch (code) {
            case 1 -> readArray(in, reader);
            case 2 -> Attribute.of(in.varint() != 0);
            case 3 -> word(in, ComparisonDirection.values(), ComparisonDirection::value);
            case 4 -> word(in, ComparisonType.values(), ComparisonType::value);
            case 5 -> word(in, CustomCallApiVersion.values(), CustomCallApiVersion::value);
            case 6 -> readDictionary(in, reader);
            case 7 -> word(in, FftType.values(), FftType::value);
            case 8 -> {
                if (!(reader.type(in) instanceof FloatType type)) {
                    throw in.error("a number has no floating-point type");
                }
                yield new Attribute.Real(BuiltinCodec.knownWidth(in, type.width()), type);
            }
            case 9 -> BuiltinCodec.integer(in, reader.type(in));
            case 10 -> {
                ImmutableLongArray output = BuiltinCodec.shape(in);
                long operand = in.signedVarint();
                yield new OutputOperandAlias(output, operand, BuiltinCodec.shape(in));
            }
            case 11 -> word(in, Precision.values(), Precision::value);
            case 12 -> word(in, RngAlgorithm.values(), RngAlgorithm::value);
            case 13 -> word(in, RngDistribution.values(), RngDistribution::value);
            case 14 -> Attribute.of(reader.string(in));
            case 15 -> {
                if (!(reader.type(in) instanceof TensorType type)) {
                    throw in.error("a constant has no ranked tensor type");
                }
                yield BuiltinCodec.dense(type, in.bytes(in.count(1)));
            }
            case 16 -> word(in, Transpose.values(), Transpose::value);
            case 17 -> new Attribute.TypeRef(reader.type(in));
            case 18 -> new TypeExtensions(BuiltinCodec.shape(in));
            case 19 -> word(in, ResultAccuracyMode.values(), ResultAccuracyMode::value);
            case 20 -> {
                double atol = Double.longBitsToDouble(in.signedVarint());
                double rtol = Double.longBitsToDouble(in.signedVarint());
                long ulps = in.signedVarint();
                if (!(reader.attribute(in) instanceof ResultAccuracyMode mode)) {
                    throw in.error("expected a mode of accuracy");
                }
                yield new ResultAccuracy(atol, rtol, ulps, mode);
            }
            case 21 -> new SubAxis(in.signedVarint(), in.signedVarint());
            case 22 -> {
                String name = text(in, reader);
                if (in.varint() == 0) {
                    yield new MeshReplicaGroups.AxisRef(name, 0, 0);
                }
                if (!(reader.attributeObject(in) instanceof SubAxis part)) {
                    throw in.error("expected a part of an axis");
                }
                yield new MeshReplicaGroups.AxisRef(name, part.preSize(), part.size());
            }
            case 23 -> {
                Attribute mesh = reader.attribute(in);
                if (!(reader.attribute(in) instanceof Attribute.Array axes)) {
                    throw in.error("expected a list of axes");
                }
                yield new MeshReplicaGroups(
                        mesh instanceof Attribute.Text name ? Attribute.SymbolRef.of(name.value()) : mesh, axes);
            }
            case 24 -> new MeshReplicaGroups.Axis(text(in, reader), in.signedVarint());
            case 25 -> {
                if (!(reader.attribute(in) instanceof Attribute.Array array)) {
                    throw in.error("expected a list of axes");
                }
                List<MeshReplicaGroups.Axis> axes = new ArrayList<>();
                for (Attribute each : array.elements()) {
                    if (!(each instanceof MeshReplicaGroups.Axis axis)) {
                        throw in.error("expected an axis");
                    }
                    axes.add(axis);
                }
                yield new MeshReplicaGroups.Mesh(
                        axes, reader.optionalAttribute(in) instanceof DenseElements devices ? devices : null);
            }
            default -> throw in.error("the versioned attribute with code " + code + " is not known");
        };
    }

    private static <E> E word(ByteInput in, E[] values, ToIntFunction<E> number) {
        long code = in.varint();
        for (E value : values) {
            if (number.applyAsInt(value) == code) {
                return value;
            }
        }
        throw in.error("no " + values[0].getClass().getSimpleName() + " has the number " + code);
    }

    private static String text(ByteInput in, BytecodeReader reader) {
        if (reader.attribute(in) instanceof Attribute.Text text) {
            return text.value();
        }
        throw in.error("expected a string");
    }

    private static Object readArray(ByteInput in, BytecodeReader reader) {
        int count = in.count(1);
        List<Attribute> elements = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            elements.add(reader.attribute(in));
        }
        return Attribute.array(elements);
    }

    private static Object readDictionary(ByteInput in, BytecodeReader reader) {
        int count = in.count(2);
        Map<String, Attribute> entries = new HashMap<>();
        for (int i = 0; i < count; i++) {
            String name = text(in, reader);
            entries.put(name, reader.attribute(in));
        }
        return Attribute.Dictionary.of(entries);
    }

    static Type readType(ByteInput in, BytecodeReader reader) {
        int code = (int) in.varint();
        ElementType element = ELEMENTS.get(code);
        if (element != null) {
            return element;
        }
        return switch (code) {
            case 1 -> new ComplexType(BuiltinCodec.element(in, reader));
            case 8 -> {
                List<Type> inputs = BuiltinCodec.types(in, reader);
                yield new Type.Function(inputs, BuiltinCodec.types(in, reader));
            }
            case 20 -> {
                ImmutableLongArray shape = BuiltinCodec.shape(in);
                yield TensorType.of(BuiltinCodec.element(in, reader), shape);
            }
            case 21 -> {
                Attribute encoding = reader.attribute(in);
                ImmutableLongArray shape = BuiltinCodec.shape(in);
                yield BuiltinCodec.bounded(in, new TensorType(BuiltinCodec.element(in, reader), shape, encoding));
            }
            case 22 -> Type.Token.INSTANCE;
            case 23 -> new Type.Tuple(BuiltinCodec.types(in, reader));
            case 24 -> {
                boolean signed = (in.varint() & 1) != 0;
                IntegerType storage = storage(in, reader, signed);
                FloatType expressed = expressed(in, reader);
                double scale = Double.longBitsToDouble(in.signedVarint());
                long zero = in.signedVarint();
                long min = in.signedVarint();
                yield new QuantizedType(
                        storage,
                        expressed,
                        min,
                        in.signedVarint(),
                        ImmutableList.of(),
                        ImmutableLongArray.of(),
                        ImmutableLongArray.of(),
                        ImmutableDoubleArray.of(scale),
                        ImmutableLongArray.of(zero));
            }
            case 25 -> new Type.UnrankedTensor(BuiltinCodec.element(in, reader));
            case 26 -> new Type.Opaque("!shape.witness");
            case 30 -> perAxis(in, reader);
            case 33 -> Type.None.INSTANCE;
            case 41 -> {
                ImmutableLongArray shape = BuiltinCodec.shape(in);
                yield new Type.Buffer(TensorType.of(BuiltinCodec.element(in, reader), shape), null);
            }
            case 42 -> new Type.Future(BuiltinCodec.types(in, reader));
            default -> throw in.error("the versioned type with code " + code + " is not known");
        };
    }

    private static IntegerType storage(ByteInput in, BytecodeReader reader, boolean signed) {
        if (!(reader.type(in) instanceof IntegerType storage) || storage.width() > 32) {
            throw in.error("expected an integer storage type");
        }
        return signed ? storage : IntegerType.unsigned(storage.width());
    }

    private static FloatType expressed(ByteInput in, BytecodeReader reader) {
        if (reader.type(in) instanceof FloatType expressed) {
            return expressed;
        }
        throw in.error("expected a floating-point expressed type");
    }

    private static Type perAxis(ByteInput in, BytecodeReader reader) {
        boolean signed = (in.varint() & 1) != 0;
        IntegerType storage = storage(in, reader, signed);
        FloatType expressed = expressed(in, reader);
        int axis = in.count(0);
        long min = in.signedVarint();
        long max = in.signedVarint();
        int count = in.count(1);
        ImmutableDoubleArray.Builder scales = ImmutableDoubleArray.builder();
        for (int i = 0; i < count; i++) {
            scales.add(Double.longBitsToDouble(in.signedVarint()));
        }
        int zeros = in.count(1);
        if (zeros != count) {
            throw in.error("there are " + count + " scales, but " + zeros + " zero points");
        }
        ImmutableLongArray.Builder zeroPoints = ImmutableLongArray.builder();
        for (int i = 0; i < zeros; i++) {
            zeroPoints.add(in.signedVarint());
        }
        return new QuantizedType(
                storage,
                expressed,
                min,
                max,
                ImmutableList.of(axis),
                ImmutableLongArray.of(),
                ImmutableLongArray.of(),
                scales.build(),
                zeroPoints.build());
    }

    // Writing.

    /** Whether an attribute has a versioned form. */
    static boolean isVersioned(Object value) {
        return switch (value) {
            case Attribute.Unit _, Attribute.Resource _, Attribute.Opaque _, Attribute.RealArray _ -> false;
            case Attribute.SymbolRef _, Attribute.IntArray _ -> true;
            case Location _ -> false;
            case DeviceMesh _, TensorSharding _, Shardy _ -> false;
            case ChloPrecision _, ChloComparisonDirection _, ChloComparisonType _, PropagationDirection _ -> false;
            default -> true;
        };
    }

    static void writeAttribute(ByteOutput out, Object value, BytecodeWriter writer) {
        switch (value) {
            case Attribute.Array array -> {
                out.varint(1).varint(array.elements().size());
                array.elements().forEach(element -> writer.versioned(out, element));
            }
            case Attribute.Int integer
            when integer.type().equals(ElementType.I1) -> out.varint(2).varint(integer.isTrue() ? 1 : 0);
            case ComparisonDirection word -> out.varint(3).varint(word.value());
            case ComparisonType word -> out.varint(4).varint(word.value());
            case CustomCallApiVersion word -> out.varint(5).varint(word.value());
            case Attribute.Dictionary dictionary -> {
                out.varint(6).varint(dictionary.size());
                dictionary.forEach((name, each) -> {
                    writer.versioned(out, Attribute.of(name));
                    writer.versioned(out, each);
                });
            }
            case FftType word -> out.varint(7).varint(word.value());
            case Attribute.Real real -> {
                out.varint(8);
                writer.versionedType(out, real.type());
                BuiltinCodec.knownWidth(out, real.bits(), real.type().width());
            }
            case Attribute.Int integer -> {
                out.varint(9);
                writer.versionedType(out, integer.type());
                BuiltinCodec.knownWidth(out, integer.value(), BuiltinCodec.width(integer.type()));
            }
            case OutputOperandAlias alias -> {
                out.varint(10);
                BuiltinCodec.writeShape(out, alias.outputTupleIndices());
                out.signedVarint(alias.operandIndex());
                BuiltinCodec.writeShape(out, alias.operandTupleIndices());
            }
            case Precision word -> out.varint(11).varint(word.value());
            case RngAlgorithm word -> out.varint(12).varint(word.value());
            case RngDistribution word -> out.varint(13).varint(word.value());
            case Attribute.Text text -> {
                out.varint(14);
                writer.string(out, text.value());
            }
            case Attribute.SymbolRef symbol -> {
                out.varint(14);
                writer.string(out, symbol.root());
            }
            case DenseElements elements -> {
                out.varint(15);
                writer.versionedType(out, elements.type());
                byte[] raw = BuiltinCodec.rawBytes(elements);
                out.varint(raw.length).bytes(raw);
            }
            case Attribute.IntArray array -> writeAttribute(out, elements(array), writer);
            case Transpose word -> out.varint(16).varint(word.value());
            case Attribute.TypeRef ref -> {
                out.varint(17);
                writer.versionedType(out, ref.type());
            }
            case TypeExtensions extensions -> {
                out.varint(18);
                BuiltinCodec.writeShape(out, extensions.bounds());
            }
            case ResultAccuracyMode word -> out.varint(19).varint(word.value());
            case ResultAccuracy accuracy -> {
                out.varint(20)
                        .signedVarint(Double.doubleToRawLongBits(accuracy.atol()))
                        .signedVarint(Double.doubleToRawLongBits(accuracy.rtol()))
                        .signedVarint(accuracy.ulps());
                writer.versioned(out, accuracy.mode());
            }
            case SubAxis part -> out.varint(21).signedVarint(part.preSize()).signedVarint(part.size());
            case MeshReplicaGroups.AxisRef axis -> {
                out.varint(22);
                writer.versioned(out, Attribute.of(axis.name()));
                out.varint(axis.preSize() == 0 ? 0 : 1);
                if (axis.preSize() != 0) {
                    writer.versioned(out, new SubAxis(axis.preSize(), axis.size()));
                }
            }
            case MeshReplicaGroups groups -> {
                out.varint(23);
                writer.versioned(out, groups.mesh());
                writer.versioned(out, groups.axes());
            }
            case MeshReplicaGroups.Axis axis -> {
                out.varint(24);
                writer.versioned(out, Attribute.of(axis.name()));
                out.signedVarint(axis.size());
            }
            case MeshReplicaGroups.Mesh mesh -> {
                out.varint(25);
                writer.versioned(out, Attribute.array(mesh.axes()));
                writer.optionalVersioned(out, mesh.deviceIds());
            }
            default ->
                throw new BytecodeException("the attribute " + value
                        + " has no versioned form, so it cannot be part of a portable artifact");
        }
    }

    /** An array as the constant that stands for it. */
    static DenseElements elements(Attribute.IntArray array) {
        return DenseElements.ofLongs(
                TensorType.of(array.type(), array.values().length()),
                array.values().toArray());
    }

    static void writeType(ByteOutput out, Type type, BytecodeWriter writer) {
        Integer code = type instanceof ElementType element ? ELEMENT_CODES.get(element) : null;
        if (code != null) {
            out.varint(code);
            return;
        }
        switch (type) {
            case ComplexType complex -> {
                out.varint(1);
                writer.versionedType(out, complex.element());
            }
            case Type.Function function -> {
                out.varint(8);
                writeTypes(out, function.inputs(), writer);
                writeTypes(out, function.results(), writer);
            }
            case TensorType tensor -> {
                Attribute encoding = tensor.encoding();
                out.varint(encoding == null ? 20 : 21);
                if (encoding != null) {
                    writer.versioned(out, encoding);
                }
                BuiltinCodec.writeShape(out, tensor.shape());
                writer.versionedType(out, tensor.element());
            }
            case Type.Token _ -> out.varint(22);
            case Type.Tuple tuple -> {
                out.varint(23);
                writeTypes(out, tuple.types(), writer);
            }
            case QuantizedType quantized -> writeQuantized(out, quantized, writer);
            case Type.UnrankedTensor tensor -> {
                out.varint(25);
                writer.versionedType(out, tensor.element());
            }
            case Type.None _ -> out.varint(33);
            case Type.Buffer buffer
            when buffer.layout() == null -> {
                out.varint(41);
                BuiltinCodec.writeShape(out, buffer.tensor().shape());
                writer.versionedType(out, buffer.tensor().element());
            }
            case Type.Future future -> {
                out.varint(42);
                writeTypes(out, future.types(), writer);
            }
            case Type.Opaque opaque when opaque.text().equals("!shape.witness") -> out.varint(26);
            default ->
                throw new BytecodeException(
                        "the type " + type + " has no versioned form, so it cannot be part of a portable artifact");
        }
    }

    private static void writeQuantized(ByteOutput out, QuantizedType type, BytecodeWriter writer) {
        boolean signed = !type.storage().isUnsigned();
        if (!type.isPerTensor() && !type.isPerAxis()) {
            throw new BytecodeException("the type " + type + " has no versioned form");
        }
        out.varint(type.isPerTensor() ? 24 : 30).varint(signed ? 1 : 0);
        writer.versionedType(out, IntegerType.of(type.storage().width()));
        writer.versionedType(out, type.expressed());
        if (type.isPerTensor()) {
            out.signedVarint(Double.doubleToRawLongBits(type.scales().get(0)))
                    .signedVarint(type.zeroPoints().get(0))
                    .signedVarint(type.storageMin())
                    .signedVarint(type.storageMax());
            return;
        }
        out.varint(type.axes().getFirst()).signedVarint(type.storageMin()).signedVarint(type.storageMax());
        out.varint(type.scales().length());
        for (int i = 0; i < type.scales().length(); i++) {
            out.signedVarint(Double.doubleToRawLongBits(type.scales().get(i)));
        }
        BuiltinCodec.writeShape(out, type.zeroPoints());
    }

    private static void writeTypes(ByteOutput out, List<Type> types, BytecodeWriter writer) {
        out.varint(types.size());
        types.forEach(each -> writer.versionedType(out, each));
    }
}

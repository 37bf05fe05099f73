// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.ChannelHandle;
import dev.slipway.stablehlo.ChloComparisonDirection;
import dev.slipway.stablehlo.ChloComparisonType;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ComparisonType;
import dev.slipway.stablehlo.ConvDimensionNumbers;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.DotAlgorithm;
import dev.slipway.stablehlo.DotDimensionNumbers;
import dev.slipway.stablehlo.EnumAttribute;
import dev.slipway.stablehlo.FftType;
import dev.slipway.stablehlo.GatherDimensionNumbers;
import dev.slipway.stablehlo.MeshReplicaGroups;
import dev.slipway.stablehlo.OutputOperandAlias;
import dev.slipway.stablehlo.Precision;
import dev.slipway.stablehlo.ResultAccuracy;
import dev.slipway.stablehlo.ResultAccuracyMode;
import dev.slipway.stablehlo.RngAlgorithm;
import dev.slipway.stablehlo.RngDistribution;
import dev.slipway.stablehlo.ScatterDimensionNumbers;
import dev.slipway.stablehlo.Transpose;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.TypeExtensions;
import java.util.ArrayList;
import java.util.List;

/** The attributes and types of StableHLO and CHLO in plain bytecode, as their own dialects write them. */
final class StablehloCodec {
    private StablehloCodec() {}

    static Object readAttribute(ByteInput in, BytecodeReader reader) {
        int code = (int) in.varint();
        return switch (code) {
            case 1 -> new ChannelHandle(in.signedVarint(), in.signedVarint());
            case 2 -> word(in, ComparisonDirection.values());
            case 3 -> word(in, ComparisonType.values());
            case 4 -> {
                long batch = in.signedVarint();
                long feature = in.signedVarint();
                ImmutableLongArray spatial = BuiltinCodec.shape(in);
                long kernelIn = in.signedVarint();
                long kernelOut = in.signedVarint();
                ImmutableLongArray kernel = BuiltinCodec.shape(in);
                long outBatch = in.signedVarint();
                long outFeature = in.signedVarint();
                yield new ConvDimensionNumbers(
                        batch,
                        feature,
                        spatial,
                        kernelIn,
                        kernelOut,
                        kernel,
                        outBatch,
                        outFeature,
                        BuiltinCodec.shape(in));
            }
            case 5 -> {
                ImmutableLongArray lhsBatch = BuiltinCodec.shape(in);
                ImmutableLongArray rhsBatch = BuiltinCodec.shape(in);
                ImmutableLongArray lhs = BuiltinCodec.shape(in);
                yield new DotDimensionNumbers(lhsBatch, rhsBatch, lhs, BuiltinCodec.shape(in));
            }
            case 6 -> word(in, FftType.values());
            case 7 -> {
                ImmutableLongArray offset = BuiltinCodec.shape(in);
                ImmutableLongArray collapsed = BuiltinCodec.shape(in);
                ImmutableLongArray batch = BuiltinCodec.shape(in);
                ImmutableLongArray indicesBatch = BuiltinCodec.shape(in);
                ImmutableLongArray map = BuiltinCodec.shape(in);
                yield new GatherDimensionNumbers(offset, collapsed, batch, indicesBatch, map, in.signedVarint());
            }
            case 8 -> word(in, Precision.values());
            case 9 -> word(in, RngAlgorithm.values());
            case 10 -> word(in, RngDistribution.values());
            case 11 -> {
                ImmutableLongArray window = BuiltinCodec.shape(in);
                ImmutableLongArray inserted = BuiltinCodec.shape(in);
                ImmutableLongArray batch = BuiltinCodec.shape(in);
                ImmutableLongArray indicesBatch = BuiltinCodec.shape(in);
                ImmutableLongArray map = BuiltinCodec.shape(in);
                yield new ScatterDimensionNumbers(window, inserted, batch, indicesBatch, map, in.signedVarint());
            }
            case 12 -> word(in, Transpose.values());
            case 13 -> new TypeExtensions(BuiltinCodec.shape(in));
            case 14 -> {
                ImmutableLongArray output = BuiltinCodec.shape(in);
                long operand = in.signedVarint();
                yield new OutputOperandAlias(output, operand, BuiltinCodec.shape(in));
            }
            case 15 -> {
                Type lhs = reader.type(in);
                Type rhs = reader.type(in);
                Type sum = reader.type(in);
                long lhsCount = in.signedVarint();
                long rhsCount = in.signedVarint();
                long operations = in.signedVarint();
                yield new DotAlgorithm(lhs, rhs, sum, lhsCount, rhsCount, operations, in.byteValue() != 0);
            }
            case 16 -> word(in, ResultAccuracyMode.values());
            case 17 -> {
                double atol = Double.longBitsToDouble(in.signedVarint());
                double rtol = Double.longBitsToDouble(in.signedVarint());
                long ulps = in.signedVarint();
                if (!(reader.attribute(in) instanceof ResultAccuracyMode mode)) {
                    throw in.error("expected a mode of accuracy");
                }
                yield new ResultAccuracy(atol, rtol, ulps, mode);
            }
            case 18 -> {
                Attribute mesh = reader.attribute(in);
                if (!(reader.attribute(in) instanceof Attribute.Array axes)) {
                    throw in.error("expected a list of axes");
                }
                yield new MeshReplicaGroups(mesh, axes);
            }
            case 19 -> new VhloCodec.SubAxis(in.signedVarint(), in.signedVarint());
            case 20 -> {
                String name = reader.string(in);
                if (in.byteValue() == 0) {
                    yield new MeshReplicaGroups.AxisRef(name, 0, 0);
                }
                if (!(reader.attributeObject(in) instanceof VhloCodec.SubAxis part)) {
                    throw in.error("expected a part of an axis");
                }
                yield new MeshReplicaGroups.AxisRef(name, part.preSize(), part.size());
            }
            case 21 -> new MeshReplicaGroups.Axis(reader.string(in), in.signedVarint());
            case 22 -> {
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
                boolean devices = in.byteValue() != 0;
                yield new MeshReplicaGroups.Mesh(
                        axes, devices && reader.attribute(in) instanceof DenseElements ids ? ids : null);
            }
            default -> throw in.error("the StableHLO attribute with code " + code + " is not known");
        };
    }

    static Object readChloAttribute(ByteInput in, BytecodeReader reader) {
        int code = (int) in.varint();
        return switch (code) {
            case 0 -> word(in, ChloComparisonDirection.values());
            case 1 -> word(in, ChloComparisonType.values());
            default -> throw in.error("the CHLO attribute with code " + code + " is not known");
        };
    }

    private static <E extends EnumAttribute> E word(ByteInput in, E[] values) {
        long code = in.varint();
        for (E value : values) {
            if (value.value() == code) {
                return value;
            }
        }
        throw in.error("no " + values[0].mnemonic() + " has the number " + code);
    }

    static Type readType(ByteInput in, BytecodeReader reader) {
        int code = (int) in.varint();
        return switch (code) {
            case 0 -> Type.Token.INSTANCE;
            case 1 -> new Type.Future(BuiltinCodec.types(in, reader));
            default -> throw in.error("the StableHLO type with code " + code + " is not known");
        };
    }
}

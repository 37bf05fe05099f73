// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.ChannelHandle;
import dev.slipway.stablehlo.ChloComparisonDirection;
import dev.slipway.stablehlo.ChloComparisonType;
import dev.slipway.stablehlo.ChloPrecision;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ComparisonType;
import dev.slipway.stablehlo.ConvDimensionNumbers;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.DeviceMesh;
import dev.slipway.stablehlo.DotAlgorithm;
import dev.slipway.stablehlo.DotDimensionNumbers;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.FftType;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.GatherDimensionNumbers;
import dev.slipway.stablehlo.MeshReplicaGroups;
import dev.slipway.stablehlo.OutputOperandAlias;
import dev.slipway.stablehlo.Precision;
import dev.slipway.stablehlo.PropagationDirection;
import dev.slipway.stablehlo.RaggedDotDimensionNumbers;
import dev.slipway.stablehlo.ResultAccuracy;
import dev.slipway.stablehlo.ResultAccuracyMode;
import dev.slipway.stablehlo.RngAlgorithm;
import dev.slipway.stablehlo.RngDistribution;
import dev.slipway.stablehlo.ScatterDimensionNumbers;
import dev.slipway.stablehlo.Shardy;
import dev.slipway.stablehlo.TensorSharding;
import dev.slipway.stablehlo.Transpose;
import dev.slipway.stablehlo.Type;
import org.jspecify.annotations.Nullable;

/** What the table's kinds of attributes ask for. */
final class AttributeKinds {
    private AttributeKinds() {}

    /** What is wrong with a value for a kind; null where it fits. */
    static @Nullable String problem(String kind, Attribute value) {
        return switch (kind) {
            case "I64" -> isInt(value, ElementType.I64) ? null : "must be a 64-bit integer";
            case "I64>=0" ->
                isInt(value, ElementType.I64) && ((Attribute.Int) value).value() >= 0
                        ? null
                        : "must be a 64-bit integer that is not negative";
            case "I64>0" ->
                isInt(value, ElementType.I64) && ((Attribute.Int) value).value() > 0
                        ? null
                        : "must be a positive 64-bit integer";
            case "I32" -> isInt(value, ElementType.I32) ? null : "must be a 32-bit integer";
            case "I32>=0" ->
                isInt(value, ElementType.I32) && ((Attribute.Int) value).value() >= 0
                        ? null
                        : "must be a 32-bit integer that is not negative";
            case "I32>0" ->
                isInt(value, ElementType.I32) && ((Attribute.Int) value).value() > 0
                        ? null
                        : "must be a positive 32-bit integer";
            case "CustomCallApiVersion" ->
                isInt(value, ElementType.I32)
                                && ((Attribute.Int) value).value() >= 0
                                && ((Attribute.Int) value).value() <= 4
                        ? null
                        : "must be a calling convention, a 32-bit integer of 0 to 4";
            case "UI64" ->
                isInt(value, ElementType.UI64) || isInt(value, ElementType.I64) ? null : "must be a 64-bit integer";
            case "UI32" ->
                isInt(value, ElementType.UI32) || isInt(value, ElementType.I32) ? null : "must be a 32-bit integer";
            case "Bool" -> isInt(value, ElementType.I1) ? null : "must be a boolean";
            case "Unit" -> value instanceof Attribute.Unit ? null : "must be the unit attribute";
            case "F32" ->
                value instanceof Attribute.Real real && real.type() == FloatType.F32 ? null : "must be a 32-bit float";
            case "F64" ->
                value instanceof Attribute.Real real && real.type() == FloatType.F64 ? null : "must be a 64-bit float";
            case "String", "SymbolName" -> value instanceof Attribute.Text ? null : "must be a string";
            case "SymbolRef" ->
                value instanceof Attribute.SymbolRef ref && ref.nested().isEmpty() ? null : "must name a symbol";
            case "I64Array" -> isArray(value, 64) ? null : "must be an array of 64-bit integers";
            case "BoolArray" -> isArray(value, 1) ? null : "must be an array of booleans";
            case "I64Elements" ->
                value instanceof DenseElements dense && dense.type().element().equals(ElementType.I64)
                        ? null
                        : "must be a constant of 64-bit integers";
            case "Elements" ->
                value instanceof DenseElements
                                || value instanceof Attribute.Resource
                                || value instanceof Attribute.Opaque
                        ? null
                        : "must be a constant";
            case "Array" -> value instanceof Attribute.Array ? null : "must be an array";
            case "Dictionary" -> value instanceof Attribute.Dictionary ? null : "must be a dictionary";
            case "StringOrDictionary" ->
                value instanceof Attribute.Text || value instanceof Attribute.Dictionary
                        ? null
                        : "must be a string or a dictionary";
            case "Type" -> value instanceof Attribute.TypeRef ? null : "must be a type";
            case "Typed" ->
                value instanceof Attribute.Int
                                || value instanceof Attribute.Real
                                || value instanceof DenseElements
                                || value instanceof Attribute.Array
                        ? null
                        : "must be a typed constant";
            case "SymbolRefArray" -> all(value, Attribute.SymbolRef.class) ? null : "must be an array of symbol names";
            case "Layouts" ->
                isLayouts(value) ? null : "must be an array of layouts (1-dimensional constants of indices)";
            case "Tilings" ->
                value instanceof Attribute.Array array
                                && array.elements().stream().allMatch(AttributeKinds::isLayouts)
                        ? null
                        : "must be an array of arrays of tiles (1-dimensional constants of indices)";
            case "OutputOperandAliases" ->
                all(value, OutputOperandAlias.class) ? null : "must be an array of output_operand_alias";
            case "Precisions" -> all(value, Precision.class) ? null : "must be an array of precisions";
            case "ChloPrecisions" -> all(value, ChloPrecision.class) ? null : "must be an array of precisions";
            case "ReplicaGroups" ->
                value instanceof MeshReplicaGroups
                                || (value instanceof DenseElements dense
                                        && dense.type().element().equals(ElementType.I64))
                        ? null
                        : "must be a constant of 64-bit integers, or axes of a mesh";
            case "ResultAccuracy" ->
                !(value instanceof ResultAccuracy accuracy) ? "must be a result_accuracy" : accuracyProblem(accuracy);
            default -> structOf(kind).isInstance(value) ? null : "must be a " + kind;
        };
    }

    private static @Nullable String accuracyProblem(ResultAccuracy accuracy) {
        if (accuracy.atol() < 0 || accuracy.rtol() < 0 || accuracy.ulps() < 0) {
            return "must have no negative tolerance";
        }
        boolean zero = accuracy.atol() == 0 && accuracy.rtol() == 0 && accuracy.ulps() == 0;
        return zero || accuracy.mode() == ResultAccuracyMode.TOLERANCE
                ? null
                : "must have no tolerances in the mode " + accuracy.mode().name();
    }

    private static Class<? extends Attribute> structOf(String kind) {
        return switch (kind) {
            case "ComparisonDirection" -> ComparisonDirection.class;
            case "ComparisonType" -> ComparisonType.class;
            case "ChloComparisonDirection" -> ChloComparisonDirection.class;
            case "ChloComparisonType" -> ChloComparisonType.class;
            case "FftType" -> FftType.class;
            case "Transpose" -> Transpose.class;
            case "RngAlgorithm" -> RngAlgorithm.class;
            case "RngDistribution" -> RngDistribution.class;
            case "PropagationDirection" -> PropagationDirection.class;
            case "DotDimensionNumbers" -> DotDimensionNumbers.class;
            case "RaggedDotDimensionNumbers" -> RaggedDotDimensionNumbers.class;
            case "GatherDimensionNumbers" -> GatherDimensionNumbers.class;
            case "ScatterDimensionNumbers" -> ScatterDimensionNumbers.class;
            case "ConvDimensionNumbers" -> ConvDimensionNumbers.class;
            case "DotAlgorithm" -> DotAlgorithm.class;
            case "ChannelHandle" -> ChannelHandle.class;
            case "Mesh" -> DeviceMesh.class;
            case "Sharding" -> TensorSharding.class;
            case "Shardings" -> Shardy.PerValue.class;
            case "ManualAxes" -> Shardy.ManualAxes.class;
            case "Axes" -> Shardy.Axes.class;
            case "AxesPerDimension" -> Shardy.AxesPerDimension.class;
            case "AllToAllParams" -> Shardy.AllToAllParams.class;
            default -> throw new IllegalStateException("the op table has an unknown kind of attribute: " + kind);
        };
    }

    private static boolean isInt(Attribute value, ElementType type) {
        return value instanceof Attribute.Int integer && integer.type().equals(type);
    }

    private static boolean isArray(Attribute value, int width) {
        return value instanceof Attribute.IntArray array && array.type().width() == width;
    }

    private static boolean all(Attribute value, Class<? extends Attribute> kind) {
        return value instanceof Attribute.Array array
                && array.elements().stream().allMatch(kind::isInstance);
    }

    private static boolean isLayouts(Attribute value) {
        return value instanceof Attribute.Array array
                && array.elements().stream()
                        .allMatch(element -> element instanceof DenseElements dense
                                && dense.type().rank() == 1
                                && dense.type().element() instanceof Type.Index);
    }
}

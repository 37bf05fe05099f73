// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.ChannelHandle;
import dev.slipway.stablehlo.ComplexType;
import dev.slipway.stablehlo.ConvDimensionNumbers;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.DeviceMesh;
import dev.slipway.stablehlo.DotAlgorithm;
import dev.slipway.stablehlo.DotDimensionNumbers;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.EnumAttribute;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.GatherDimensionNumbers;
import dev.slipway.stablehlo.IntegerType;
import dev.slipway.stablehlo.Location;
import dev.slipway.stablehlo.MeshReplicaGroups;
import dev.slipway.stablehlo.Operation;
import dev.slipway.stablehlo.OutputOperandAlias;
import dev.slipway.stablehlo.QuantizedType;
import dev.slipway.stablehlo.RaggedDotDimensionNumbers;
import dev.slipway.stablehlo.ResultAccuracy;
import dev.slipway.stablehlo.ScatterDimensionNumbers;
import dev.slipway.stablehlo.Shardy;
import dev.slipway.stablehlo.StructAttribute;
import dev.slipway.stablehlo.TensorSharding;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.TypeExtensions;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** MLIR's text for types, attributes and locations. */
public final class AttributePrinter {
    /** Constants of more elements than this are printed in hexadecimal, as MLIR does. */
    private static final long MAX_DECIMAL_ELEMENTS = 100;

    private static final int MAX_LAYOUT = 64;

    private static final char[] HEX = "0123456789ABCDEF".toCharArray();

    private final StringBuilder out;
    private final long elideAbove;

    AttributePrinter(StringBuilder out, long elideAbove) {
        this.out = out;
        this.elideAbove = elideAbove;
    }

    /** The text of a type. */
    public static String toText(Type type) {
        StringBuilder out = new StringBuilder();
        new AttributePrinter(out, Long.MAX_VALUE).type(type);
        return out.toString();
    }

    /** The text of an attribute. */
    public static String toText(Attribute attribute) {
        StringBuilder out = new StringBuilder();
        new AttributePrinter(out, Long.MAX_VALUE).attribute(attribute);
        return out.toString();
    }

    /** The text of an operation by itself, in generic form. */
    public static String toText(Operation operation) {
        return Printer.fragment(operation);
    }

    void type(Type type) {
        switch (type) {
            case TensorType tensor -> {
                out.append("tensor<");
                shape(tensor.shape());
                type(tensor.element());
                Attribute encoding = tensor.encoding();
                if (encoding != null) {
                    out.append(", ");
                    attribute(encoding);
                }
                out.append('>');
            }
            case IntegerType integer -> {
                switch (integer.signedness()) {
                    case SIGNED -> out.append("si");
                    case UNSIGNED -> out.append("ui");
                    case SIGNLESS -> out.append('i');
                }
                out.append(integer.width());
            }
            case FloatType floating -> out.append(floating);
            case ComplexType complex -> {
                out.append("complex<");
                type(complex.element());
                out.append('>');
            }
            case QuantizedType quantized -> quantized(quantized);
            case Type.UnrankedTensor tensor -> {
                out.append("tensor<*x");
                type(tensor.element());
                out.append('>');
            }
            case Type.Tuple tuple -> {
                out.append("tuple<");
                types(tuple.types());
                out.append('>');
            }
            case Type.Token _ -> out.append("!stablehlo.token");
            case Type.Future future -> {
                out.append("!stablehlo.future<");
                types(future.types());
                out.append('>');
            }
            case Type.Function function -> function(function.inputs(), function.results());
            case Type.Buffer buffer -> {
                out.append("memref<");
                shape(buffer.tensor().shape());
                type(buffer.tensor().element());
                if (buffer.layout() != null) {
                    out.append(", ").append(buffer.layout());
                }
                out.append('>');
            }
            case Type.None _ -> out.append("none");
            case Type.Index _ -> out.append("index");
            case Type.Opaque opaque -> out.append(opaque.text());
        }
    }

    void types(List<? extends Type> types) {
        for (int i = 0; i < types.size(); i++) {
            if (i > 0) {
                out.append(", ");
            }
            type(types.get(i));
        }
    }

    void function(List<? extends Type> inputs, List<? extends Type> results) {
        out.append('(');
        types(inputs);
        out.append(") -> ");
        if (results.size() == 1 && !(results.getFirst() instanceof Type.Function)) {
            type(results.getFirst());
        } else {
            out.append('(');
            types(results);
            out.append(')');
        }
    }

    private void shape(ImmutableLongArray shape) {
        for (int i = 0; i < shape.length(); i++) {
            dimension(shape.get(i));
            out.append('x');
        }
    }

    private void dimension(long size) {
        if (size == TensorType.DYNAMIC) {
            out.append('?');
        } else {
            out.append(size);
        }
    }

    private void quantized(QuantizedType type) {
        out.append("!quant.uniform<");
        switch (type.storage().signedness()) {
            case UNSIGNED -> out.append('u');
            case SIGNED -> out.append("si");
            case SIGNLESS -> out.append('i');
        }
        out.append(type.storage().width());
        if (type.storageMin() != QuantizedType.defaultMin(type.storage())
                || type.storageMax() != QuantizedType.defaultMax(type.storage())) {
            out.append('<')
                    .append(type.storageMin())
                    .append(':')
                    .append(type.storageMax())
                    .append('>');
        }
        out.append(':').append(type.expressed());
        if (type.isPerTensor()) {
            out.append(", ");
            scale(type, 0);
        } else if (type.isPerAxis()) {
            out.append(':').append(type.axes().getFirst()).append(", {");
            for (int i = 0; i < type.scales().length(); i++) {
                if (i > 0) {
                    out.append(',');
                }
                scale(type, i);
            }
            out.append('}');
        } else {
            out.append(":{");
            for (int i = 0; i < type.axes().size(); i++) {
                out.append(i == 0 ? "" : ", ")
                        .append(type.axes().get(i))
                        .append(':')
                        .append(type.blockSizes().get(i));
            }
            out.append("}, ");
            blockScales(type, 0, new int[] {0});
        }
        out.append('>');
    }

    private void blockScales(QuantizedType type, int depth, int[] next) {
        if (depth == type.scaleShape().length()) {
            scale(type, next[0]++);
            return;
        }
        out.append('{');
        for (long i = 0; i < type.scaleShape().get(depth); i++) {
            if (i > 0) {
                out.append(", ");
            }
            blockScales(type, depth + 1, next);
        }
        out.append('}');
    }

    private void scale(QuantizedType type, int index) {
        Floats.print(out, Double.doubleToRawLongBits(type.scales().get(index)), FloatType.F64);
        if (type.zeroPoints().get(index) != 0) {
            out.append(':').append(type.zeroPoints().get(index));
        }
    }

    /** An attribute with its type. */
    void attribute(Attribute attribute) {
        attribute(attribute, false);
    }

    private void attribute(Attribute attribute, boolean elideUsualType) {
        switch (attribute) {
            case Attribute.Text text -> string(text.value());
            case Attribute.Int integer -> {
                integer(integer.value(), integer.type());
                if (!integer.type().equals(ElementType.I1)
                        && !(elideUsualType && integer.type().equals(ElementType.I64))) {
                    out.append(" : ");
                    type(integer.type());
                }
            }
            case Attribute.Real real -> {
                Floats.print(out, real.bits(), real.type());
                if (!(elideUsualType && real.type() == FloatType.F64)) {
                    out.append(" : ").append(real.type());
                }
            }
            case Attribute.Unit _ -> out.append("unit");
            case Attribute.Array array -> array(array.elements());
            case Attribute.Dictionary dictionary -> {
                out.append('{');
                entries(dictionary);
                out.append('}');
            }
            case Attribute.SymbolRef symbol -> {
                symbol(symbol.root());
                for (String nested : symbol.nested()) {
                    out.append("::");
                    symbol(nested);
                }
            }
            case Attribute.TypeRef ref -> type(ref.type());
            case Attribute.IntArray array -> {
                out.append("array<");
                type(array.type());
                for (int i = 0; i < array.values().length(); i++) {
                    out.append(i == 0 ? ": " : ", ");
                    integer(array.values().get(i), array.type());
                }
                out.append('>');
            }
            case Attribute.RealArray array -> {
                out.append("array<").append(array.type());
                for (int i = 0; i < array.values().length(); i++) {
                    out.append(i == 0 ? ": " : ", ");
                    Floats.print(out, Floats.fromDouble(array.values().get(i), array.type()), array.type());
                }
                out.append('>');
            }
            case DenseElements dense -> dense(dense);
            case Attribute.Resource resource -> {
                out.append("dense_resource<");
                keyword(resource.key());
                out.append("> : ");
                type(resource.type());
            }
            case Attribute.Opaque opaque -> out.append(opaque.text());
            case EnumAttribute word -> {
                String mnemonic = word.mnemonic();
                int dot = mnemonic.indexOf('.');
                if (mnemonic.endsWith("result_accuracy_mode")) {
                    out.append("#stablehlo.result_accuracy_mode<")
                            .append(word.name())
                            .append('>');
                } else if (dot < 0) {
                    out.append(word.value()).append(" : i32");
                } else {
                    out.append('#').append(mnemonic, 0, dot).append('<').append(mnemonic, dot + 1, mnemonic.length());
                    out.append(' ').append(word.name()).append('>');
                }
            }
            case StructAttribute struct -> {
                String prefix = prefix(struct);
                boolean wrapped = prefix.indexOf('<') >= 0;
                out.append(prefix);
                stripped(struct);
                if (wrapped) {
                    out.append('>');
                }
            }
            case Location location -> {
                out.append("loc(");
                location(location);
                out.append(')');
            }
        }
    }

    /** What stands before the angle bracket. */
    private static String prefix(StructAttribute struct) {
        return switch (struct) {
            case DotDimensionNumbers _ -> "#stablehlo.dot";
            case RaggedDotDimensionNumbers _ -> "#chlo.ragged_dot";
            case GatherDimensionNumbers _ -> "#stablehlo.gather";
            case ScatterDimensionNumbers _ -> "#stablehlo.scatter";
            case ConvDimensionNumbers _ -> "#stablehlo.conv";
            case DotAlgorithm _ -> "#stablehlo.dot_algorithm";
            case ChannelHandle _ -> "#stablehlo.channel_handle";
            case OutputOperandAlias _ -> "#stablehlo.output_operand_alias";
            case TypeExtensions _ -> "#stablehlo.";
            case ResultAccuracy _ -> "#stablehlo.result_accuracy";
            case MeshReplicaGroups _ -> "#stablehlo.replica_group_mesh_axes";
            case MeshReplicaGroups.Mesh _ -> "#stablehlo.mesh";
            case MeshReplicaGroups.Axis _ -> "#stablehlo.mesh_axis";
            case MeshReplicaGroups.AxisRef _ -> "#stablehlo.axis_ref";
            case DeviceMesh _ -> "#sdy.mesh";
            case TensorSharding _ -> "#sdy.sharding";
            case Shardy.PerValue _ -> "#sdy.sharding_per_value";
            case Shardy.ManualAxes _ -> "#sdy<manual_axes";
            case Shardy.Axes _ -> "#sdy<axis_ref_list";
            case Shardy.AxesPerDimension _ -> "#sdy<list_of_axis_ref_lists";
            case Shardy.AllToAllParams _ -> "#sdy<all_to_all_param_list";
        };
    }

    /** A struct without dialect and mnemonic. */
    void stripped(StructAttribute struct) {
        switch (struct) {
            case DotDimensionNumbers dims -> {
                Fields fields = new Fields();
                fields.dims("lhs_batching_dimensions", dims.lhsBatchingDimensions());
                fields.dims("rhs_batching_dimensions", dims.rhsBatchingDimensions());
                fields.dims("lhs_contracting_dimensions", dims.lhsContractingDimensions());
                fields.dims("rhs_contracting_dimensions", dims.rhsContractingDimensions());
                fields.close();
            }
            case RaggedDotDimensionNumbers dims -> {
                Fields fields = new Fields();
                fields.dims("lhs_batching_dimensions", dims.lhsBatchingDimensions());
                fields.dims("rhs_batching_dimensions", dims.rhsBatchingDimensions());
                fields.dims("lhs_contracting_dimensions", dims.lhsContractingDimensions());
                fields.dims("rhs_contracting_dimensions", dims.rhsContractingDimensions());
                fields.dims("lhs_ragged_dimensions", dims.lhsRaggedDimensions());
                fields.dims("rhs_group_dimensions", dims.rhsGroupDimensions());
                fields.close();
            }
            case GatherDimensionNumbers dims -> {
                Fields fields = new Fields();
                fields.dims("offset_dims", dims.offsetDims());
                fields.dims("collapsed_slice_dims", dims.collapsedSliceDims());
                fields.dims("operand_batching_dims", dims.operandBatchingDims());
                fields.dims("start_indices_batching_dims", dims.startIndicesBatchingDims());
                fields.dims("start_index_map", dims.startIndexMap());
                fields.number("index_vector_dim", dims.indexVectorDim());
                fields.close();
            }
            case ScatterDimensionNumbers dims -> {
                Fields fields = new Fields();
                fields.dims("update_window_dims", dims.updateWindowDims());
                fields.dims("inserted_window_dims", dims.insertedWindowDims());
                fields.dims("input_batching_dims", dims.inputBatchingDims());
                fields.dims("scatter_indices_batching_dims", dims.scatterIndicesBatchingDims());
                fields.dims("scatter_dims_to_operand_dims", dims.scatterDimsToOperandDims());
                fields.number("index_vector_dim", dims.indexVectorDim());
                fields.close();
            }
            case ConvDimensionNumbers dims -> {
                if (isLayout(dims)) {
                    out.append('<');
                    convolution(dims);
                    out.append('>');
                } else {
                    Fields fields = new Fields("<raw ");
                    fields.number("input_batch_dimension", dims.inputBatchDimension());
                    fields.number("input_feature_dimension", dims.inputFeatureDimension());
                    fields.dims("input_spatial_dimensions", dims.inputSpatialDimensions());
                    fields.number("kernel_input_feature_dimension", dims.kernelInputFeatureDimension());
                    fields.number("kernel_output_feature_dimension", dims.kernelOutputFeatureDimension());
                    fields.dims("kernel_spatial_dimensions", dims.kernelSpatialDimensions());
                    fields.number("output_batch_dimension", dims.outputBatchDimension());
                    fields.number("output_feature_dimension", dims.outputFeatureDimension());
                    fields.dims("output_spatial_dimensions", dims.outputSpatialDimensions());
                    fields.close();
                }
            }
            case DotAlgorithm algorithm -> {
                out.append("<lhs_precision_type = ");
                type(algorithm.lhsPrecisionType());
                out.append(", rhs_precision_type = ");
                type(algorithm.rhsPrecisionType());
                out.append(", accumulation_type = ");
                type(algorithm.accumulationType());
                out.append(", lhs_component_count = ").append(algorithm.lhsComponentCount());
                out.append(", rhs_component_count = ").append(algorithm.rhsComponentCount());
                out.append(", num_primitive_operations = ").append(algorithm.numPrimitiveOperations());
                out.append(", allow_imprecise_accumulation = ")
                        .append(algorithm.allowImpreciseAccumulation())
                        .append('>');
            }
            case ChannelHandle channel ->
                out.append("<handle = ")
                        .append(channel.handle())
                        .append(", type = ")
                        .append(channel.type())
                        .append('>');
            case OutputOperandAlias alias -> {
                out.append("<output_tuple_indices = ");
                dims(alias.outputTupleIndices());
                out.append(", operand_index = ").append(alias.operandIndex());
                out.append(", operand_tuple_indices = ");
                dims(alias.operandTupleIndices());
                out.append('>');
            }
            case TypeExtensions extensions -> {
                out.append("bounds<");
                for (int i = 0; i < extensions.bounds().length(); i++) {
                    out.append(i == 0 ? "" : ", ");
                    dimension(extensions.bounds().get(i));
                }
                out.append('>');
            }
            case ResultAccuracy accuracy -> {
                out.append('<');
                if (accuracy.atol() != 0) {
                    out.append("atol = ");
                    Floats.print(out, Double.doubleToRawLongBits(accuracy.atol()), FloatType.F64);
                    out.append(", ");
                }
                if (accuracy.rtol() != 0) {
                    out.append("rtol = ");
                    Floats.print(out, Double.doubleToRawLongBits(accuracy.rtol()), FloatType.F64);
                    out.append(", ");
                }
                if (accuracy.ulps() != 0) {
                    out.append("ulps = ").append(accuracy.ulps()).append(", ");
                }
                out.append("mode = ");
                attribute(accuracy.mode());
                out.append('>');
            }
            case MeshReplicaGroups groups -> {
                out.append("<mesh = ");
                attribute(groups.mesh());
                out.append(", axes = ");
                attribute(groups.axes());
                out.append('>');
            }
            case MeshReplicaGroups.Mesh mesh -> {
                out.append("<axes=[");
                for (int i = 0; i < mesh.axes().size(); i++) {
                    out.append(i == 0 ? "" : ", ");
                    stripped(mesh.axes().get(i));
                }
                out.append(']');
                if (mesh.deviceIds() != null) {
                    out.append(", device_ids=");
                    attribute(mesh.deviceIds());
                }
                out.append('>');
            }
            case MeshReplicaGroups.Axis axis -> {
                out.append("<name = ");
                string(axis.name());
                out.append(", size = ").append(axis.size()).append('>');
            }
            case MeshReplicaGroups.AxisRef axis -> {
                out.append("<name = ");
                string(axis.name());
                if (axis.preSize() != 0) {
                    out.append(", sub_axis_info = (")
                            .append(axis.preSize())
                            .append(')')
                            .append(axis.size());
                }
                out.append('>');
            }
            case DeviceMesh mesh -> {
                out.append("<[");
                for (int i = 0; i < mesh.axes().size(); i++) {
                    out.append(i == 0 ? "" : ", ");
                    string(mesh.axes().get(i).name());
                    out.append('=').append(mesh.axes().get(i).size());
                }
                out.append(']');
                if (!mesh.deviceIds().isEmpty()) {
                    out.append(", device_ids=");
                    dims(mesh.deviceIds());
                }
                out.append('>');
            }
            case TensorSharding sharding -> sharding(sharding);
            case Shardy.PerValue values -> {
                out.append('<');
                perValue(values);
                out.append('>');
            }
            case Shardy.ManualAxes axes -> manualAxes(axes);
            case Shardy.Axes axes -> axes(axes.axes());
            case Shardy.AxesPerDimension axes -> {
                out.append('[');
                for (int i = 0; i < axes.dimensions().size(); i++) {
                    out.append(i == 0 ? "" : ", ");
                    axes(axes.dimensions().get(i));
                }
                out.append(']');
            }
            case Shardy.AllToAllParams params -> {
                out.append('[');
                for (int i = 0; i < params.moves().size(); i++) {
                    Shardy.AllToAllParams.Move move = params.moves().get(i);
                    out.append(i == 0 ? "" : ", ");
                    axes(move.axes());
                    out.append(": ").append(move.sourceDimension()).append("->").append(move.targetDimension());
                }
                out.append(']');
            }
        }
    }

    void perValue(Shardy.PerValue values) {
        out.append('[');
        for (int i = 0; i < values.shardings().size(); i++) {
            out.append(i == 0 ? "" : ", ");
            sharding(values.shardings().get(i));
        }
        out.append(']');
    }

    void manualAxes(Shardy.ManualAxes axes) {
        out.append('{');
        for (int i = 0; i < axes.names().size(); i++) {
            out.append(i == 0 ? "" : ", ");
            string(axes.names().get(i));
        }
        out.append('}');
    }

    private void sharding(TensorSharding sharding) {
        out.append('<');
        if (sharding.mesh() instanceof DeviceMesh mesh) {
            out.append("mesh");
            stripped(mesh);
        } else {
            attribute(sharding.mesh());
        }
        out.append(", [");
        for (int i = 0; i < sharding.dimensions().size(); i++) {
            TensorSharding.Dimension dimension = sharding.dimensions().get(i);
            out.append(i == 0 ? "{" : ", {");
            axisList(dimension.axes());
            if (!dimension.closed()) {
                out.append(dimension.axes().isEmpty() ? "?" : ", ?");
            }
            out.append('}');
            if (dimension.priority() >= 0) {
                out.append('p').append(dimension.priority());
            }
        }
        out.append(']');
        if (!sharding.replicated().isEmpty()) {
            out.append(", replicated=");
            axes(sharding.replicated());
        }
        if (!sharding.unreduced().isEmpty()) {
            out.append(", unreduced=");
            axes(sharding.unreduced());
        }
        out.append('>');
    }

    private void axes(List<TensorSharding.Axis> axes) {
        out.append('{');
        axisList(axes);
        out.append('}');
    }

    private void axisList(List<TensorSharding.Axis> axes) {
        for (int i = 0; i < axes.size(); i++) {
            TensorSharding.Axis axis = axes.get(i);
            out.append(i == 0 ? "" : ", ");
            string(axis.name());
            if (axis.isPart()) {
                out.append(":(").append(axis.preSize()).append(')').append(axis.size());
            }
        }
    }

    /** Whether the form by letters can say it: each dimension is one thing only, and has a place that is not absurd. */
    static boolean isLayout(ConvDimensionNumbers dims) {
        return isLayout(dims.inputSpatialDimensions(), dims.inputBatchDimension(), dims.inputFeatureDimension())
                && isLayout(
                        dims.kernelSpatialDimensions(),
                        dims.kernelInputFeatureDimension(),
                        dims.kernelOutputFeatureDimension())
                && isLayout(dims.outputSpatialDimensions(), dims.outputBatchDimension(), dims.outputFeatureDimension());
    }

    private static boolean isLayout(ImmutableLongArray spatial, long first, long second) {
        return LongStream.concat(LongStream.of(first, second), spatial.stream())
                        .filter(place -> place >= 0 && place < MAX_LAYOUT)
                        .distinct()
                        .count()
                == spatial.length() + 2L;
    }

    /** {@code [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]}. */
    void convolution(ConvDimensionNumbers dims) {
        layout(dims.inputSpatialDimensions(), dims.inputBatchDimension(), 'b', dims.inputFeatureDimension(), 'f');
        out.append('x');
        layout(
                dims.kernelSpatialDimensions(),
                dims.kernelInputFeatureDimension(),
                'i',
                dims.kernelOutputFeatureDimension(),
                'o');
        out.append("->");
        layout(dims.outputSpatialDimensions(), dims.outputBatchDimension(), 'b', dims.outputFeatureDimension(), 'f');
    }

    private void layout(ImmutableLongArray spatial, long first, char firstName, long second, char secondName) {
        long rank = Math.max(first, second) + 1;
        for (int i = 0; i < spatial.length(); i++) {
            rank = Math.max(rank, spatial.get(i) + 1);
        }
        out.append('[');
        for (long d = 0; d < rank; d++) {
            out.append(d == 0 ? "" : ", ");
            int at = spatial.indexOf(d);
            if (d == first) {
                out.append(firstName);
            } else if (d == second) {
                out.append(secondName);
            } else if (at >= 0) {
                out.append(at);
            } else {
                out.append('?');
            }
        }
        out.append(']');
    }

    /** Fields of a struct, where empty ones are left out. */
    private final class Fields {
        private final String open;
        private boolean first = true;

        Fields() {
            this("<");
        }

        Fields(String open) {
            this.open = open;
        }

        private void name(String name) {
            out.append(first ? open : ", ").append(name).append(" = ");
            first = false;
        }

        void dims(String name, ImmutableLongArray dims) {
            if (!dims.isEmpty()) {
                name(name);
                AttributePrinter.this.dims(dims);
            }
        }

        void number(String name, long value) {
            if (value != 0) {
                name(name);
                out.append(value);
            }
        }

        void close() {
            out.append(first ? open : "").append('>');
        }
    }

    void dims(ImmutableLongArray dims) {
        out.append('[');
        for (int i = 0; i < dims.length(); i++) {
            out.append(i == 0 ? "" : ", ");
            dimension(dims.get(i));
        }
        out.append(']');
    }

    private void array(List<Attribute> elements) {
        out.append('[');
        for (int i = 0; i < elements.size(); i++) {
            out.append(i == 0 ? "" : ", ");
            attribute(elements.get(i), true);
        }
        out.append(']');
    }

    void integer(long value, ElementType type) {
        if (type.equals(ElementType.I1)) {
            out.append(value != 0);
        } else if (type instanceof IntegerType integer && integer.isUnsigned() && value < 0) {
            out.append(Long.toUnsignedString(value));
        } else {
            out.append(value);
        }
    }

    void entries(Attribute.Dictionary dictionary) {
        for (int i = 0; i < dictionary.size(); i++) {
            out.append(i == 0 ? "" : ", ");
            entry(dictionary.name(i), dictionary.value(i));
        }
    }

    void entry(String name, Attribute value) {
        keyword(name);
        if (!(value instanceof Attribute.Unit)) {
            out.append(" = ");
            attribute(value);
        }
    }

    private void dense(DenseElements dense) {
        if (dense.size() > elideAbove && !dense.isSplat()) {
            out.append("dense_resource<__elided__> : ");
            type(dense.type());
            return;
        }
        out.append("dense<");
        if (dense.size() == 0) {
            out.append("> : ");
            type(dense.type());
            return;
        }
        if (dense.isSplat()) {
            element(dense, 0);
        } else if (dense.size() > MAX_DECIMAL_ELEMENTS) {
            hex(dense.bytes());
        } else {
            nested(dense, 0, new long[1]);
        }
        out.append("> : ");
        type(dense.type());
    }

    private void hex(ByteBuffer bytes) {
        out.ensureCapacity(out.length() + 2 * bytes.remaining() + 16);
        out.append("\"0x");
        char[] chunk = new char[512];
        while (bytes.hasRemaining()) {
            int count = Math.min(chunk.length / 2, bytes.remaining());
            for (int i = 0; i < count; i++) {
                byte value = bytes.get();
                chunk[2 * i] = HEX[value >> 4 & 15];
                chunk[2 * i + 1] = HEX[value & 15];
            }
            out.append(chunk, 0, 2 * count);
        }
        out.append('"');
    }

    private void nested(DenseElements dense, int depth, long[] next) {
        ImmutableLongArray shape = dense.type().shape();
        if (depth == shape.length()) {
            element(dense, next[0]++);
            return;
        }
        out.append('[');
        for (long i = 0; i < shape.get(depth); i++) {
            out.append(i == 0 ? "" : ", ");
            nested(dense, depth + 1, next);
        }
        out.append(']');
    }

    private void element(DenseElements dense, long index) {
        switch (dense.type().element()) {
            case FloatType floating -> Floats.print(out, dense.bits(index, 0), floating);
            case ComplexType complex -> {
                out.append('(');
                part(complex.element(), dense.bits(index, 0));
                out.append(',');
                part(complex.element(), dense.bits(index, 1));
                out.append(')');
            }
            default -> integer(dense.longAt(index), dense.type().element());
        }
    }

    private void part(ElementType element, long bits) {
        if (element instanceof FloatType floating) {
            Floats.print(out, bits, floating);
        } else {
            int shift = element instanceof IntegerType integer ? 64 - Math.min(64, integer.width()) : 0;
            boolean unsigned = element instanceof IntegerType integer && integer.isUnsigned();
            integer(unsigned ? bits : bits << shift >> shift, element);
        }
    }

    void symbol(String name) {
        out.append('@');
        keyword(name);
    }

    /** A name, in quotes where it is not an identifier. */
    void keyword(String name) {
        if (isIdentifier(name)) {
            out.append(name);
        } else {
            string(name);
        }
    }

    private static boolean isIdentifier(String name) {
        if (name.isEmpty()) {
            return false;
        }
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            boolean letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
            if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '$' || c == '.'))) {
                return false;
            }
        }
        return true;
    }

    /** A string in quotes; bytes that are not printable as two hexadecimal digits. */
    void string(String value) {
        out.append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c >= 0x80) {
                int end = i + (Character.isHighSurrogate(c) && i + 1 < value.length() ? 2 : 1);
                for (byte b : value.substring(i, end).getBytes(StandardCharsets.UTF_8)) {
                    escape(b & 0xFF);
                }
                i = end - 1;
            } else if (c == '\\') {
                out.append("\\\\");
            } else if (c == '"' || c < 0x20 || c == 0x7F) {
                escape(c);
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }

    private void escape(int value) {
        out.append('\\').append(HEX[value >> 4]).append(HEX[value & 15]);
    }

    void location(Location location) {
        switch (location) {
            case Location.Unknown _ -> out.append("unknown");
            case Location.File file -> {
                string(file.file());
                out.append(':').append(file.line()).append(':').append(file.column());
                if (file.endLine() != file.line()) {
                    out.append(" to ").append(file.endLine()).append(':').append(file.endColumn());
                } else if (file.endColumn() != file.column()) {
                    out.append(" to :").append(file.endColumn());
                }
            }
            case Location.Name name -> {
                string(name.name());
                if (!(name.child() instanceof Location.Unknown)) {
                    out.append('(');
                    location(name.child());
                    out.append(')');
                }
            }
            case Location.CallSite call -> {
                out.append("callsite(");
                location(call.callee());
                out.append(" at ");
                location(call.caller());
                out.append(')');
            }
            case Location.Fused fused -> {
                out.append("fused");
                @Nullable Attribute metadata = fused.metadata();
                if (metadata != null) {
                    out.append('<');
                    attribute(metadata);
                    out.append('>');
                }
                out.append('[');
                for (int i = 0; i < fused.locations().size(); i++) {
                    out.append(i == 0 ? "" : ", ");
                    location(fused.locations().get(i));
                }
                out.append(']');
            }
        }
    }
}

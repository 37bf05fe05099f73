// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.ChannelHandle;
import dev.slipway.stablehlo.ConvDimensionNumbers;
import dev.slipway.stablehlo.DeviceMesh;
import dev.slipway.stablehlo.DotAlgorithm;
import dev.slipway.stablehlo.DotDimensionNumbers;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.GatherDimensionNumbers;
import dev.slipway.stablehlo.MeshReplicaGroups;
import dev.slipway.stablehlo.OutputOperandAlias;
import dev.slipway.stablehlo.RaggedDotDimensionNumbers;
import dev.slipway.stablehlo.ResultAccuracy;
import dev.slipway.stablehlo.ScatterDimensionNumbers;
import dev.slipway.stablehlo.Shardy;
import dev.slipway.stablehlo.StructAttribute;
import dev.slipway.stablehlo.TensorSharding;
import dev.slipway.stablehlo.TypeExtensions;
import java.util.List;
import java.util.stream.LongStream;

/** The attributes of StableHLO, CHLO and Shardy as text. */
final class StructPrinter {
    private static final int MAX_LAYOUT = 64;

    private final AttributePrinter attributes;
    private final StringBuilder out;

    StructPrinter(AttributePrinter attributes, StringBuilder out) {
        this.attributes = attributes;
        this.out = out;
    }

    /** A struct as an attribute by itself. */
    void whole(StructAttribute struct) {
        String prefix = prefix(struct);
        out.append(prefix);
        stripped(struct);
        if (prefix.indexOf('<') >= 0) {
            out.append('>');
        }
    }

    /** What stands before the struct's own angle bracket. */
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
                attributes.type(algorithm.lhsPrecisionType());
                out.append(", rhs_precision_type = ");
                attributes.type(algorithm.rhsPrecisionType());
                out.append(", accumulation_type = ");
                attributes.type(algorithm.accumulationType());
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
                attributes.dims(alias.outputTupleIndices());
                out.append(", operand_index = ").append(alias.operandIndex());
                out.append(", operand_tuple_indices = ");
                attributes.dims(alias.operandTupleIndices());
                out.append('>');
            }
            case TypeExtensions extensions -> {
                out.append("bounds<");
                for (int i = 0; i < extensions.bounds().length(); i++) {
                    out.append(i == 0 ? "" : ", ");
                    attributes.dimension(extensions.bounds().get(i));
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
                attributes.attribute(accuracy.mode());
                out.append('>');
            }
            case MeshReplicaGroups groups -> {
                out.append("<mesh = ");
                attributes.attribute(groups.mesh());
                out.append(", axes = ");
                attributes.attribute(groups.axes());
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
                    attributes.attribute(mesh.deviceIds());
                }
                out.append('>');
            }
            case MeshReplicaGroups.Axis axis -> {
                out.append("<name = ");
                attributes.string(axis.name());
                out.append(", size = ").append(axis.size()).append('>');
            }
            case MeshReplicaGroups.AxisRef axis -> {
                out.append("<name = ");
                attributes.string(axis.name());
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
                    attributes.string(mesh.axes().get(i).name());
                    out.append('=').append(mesh.axes().get(i).size());
                }
                out.append(']');
                if (!mesh.deviceIds().isEmpty()) {
                    out.append(", device_ids=");
                    attributes.dims(mesh.deviceIds());
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
            attributes.string(axes.names().get(i));
        }
        out.append('}');
    }

    private void sharding(TensorSharding sharding) {
        out.append('<');
        if (sharding.mesh() instanceof DeviceMesh mesh) {
            out.append("mesh");
            stripped(mesh);
        } else {
            attributes.attribute(sharding.mesh());
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
            attributes.string(axis.name());
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
                attributes.dims(dims);
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
}

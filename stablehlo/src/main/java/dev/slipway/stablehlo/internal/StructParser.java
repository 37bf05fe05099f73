// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
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
import dev.slipway.stablehlo.EnumAttribute;
import dev.slipway.stablehlo.FftType;
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
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Transpose;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.TypeExtensions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The attributes of StableHLO, CHLO and Shardy from text. */
final class StructParser {
    private static final Map<String, EnumAttribute[]> ENUMS = new HashMap<>();

    static {
        for (EnumAttribute[] values : new EnumAttribute[][] {
            Precision.values(),
            ComparisonDirection.values(),
            ComparisonType.values(),
            FftType.values(),
            Transpose.values(),
            RngDistribution.values(),
            RngAlgorithm.values(),
            ResultAccuracyMode.values(),
            ChloPrecision.values(),
            ChloComparisonDirection.values(),
            ChloComparisonType.values()
        }) {
            ENUMS.put(values[0].mnemonic(), values);
        }
    }

    private final AttributeParser attributes;
    private final Scanner in;

    StructParser(AttributeParser attributes) {
        this.attributes = attributes;
        this.in = attributes.in;
    }

    /**
     * The attribute after {@code #name}; null where it is not one of those known here.
     *
     * @param name the dialect, or the dialect and the mnemonic
     */
    @Nullable
    Attribute parse(String name, int start) {
        if (name.equals("stablehlo") || name.equals("chlo") || name.equals("sdy")) {
            in.expect('<');
            String mnemonic = in.expectWord("the name of an attribute");
            Attribute attribute;
            EnumAttribute[] values = ENUMS.get(name + "." + mnemonic);
            if (values != null) {
                boolean nested = in.accept('<');
                attribute = word(values);
                if (nested) {
                    in.expect('>');
                }
            } else {
                attribute = struct(name + "." + mnemonic);
            }
            if (attribute == null) {
                throw in.errorAt("the dialect " + name + " has no attribute " + mnemonic, start);
            }
            in.expect('>');
            return attribute;
        }
        EnumAttribute[] values = ENUMS.get(name);
        if (values != null) {
            in.expect('<');
            EnumAttribute word = word(values);
            in.expect('>');
            return word;
        }
        Attribute attribute = struct(name);
        if (attribute == null && (name.startsWith("stablehlo.") || name.startsWith("chlo."))) {
            throw in.errorAt("no attribute is called #" + name, start);
        }
        return attribute;
    }

    /** One of the words of an enum. */
    <E extends EnumAttribute> E word(E[] values) {
        in.skip();
        int start = in.at;
        String word = in.word();
        for (E value : values) {
            if (value.name().equals(word)) {
                return value;
            }
        }
        throw in.errorAt(
                "expected one of "
                        + String.join(
                                ", ",
                                Arrays.stream(values).map(EnumAttribute::name).toList()) + ", got '"
                        + word + "'",
                start);
    }

    /** What stands in the place of an attribute of a kind in a pretty form. */
    Attribute ofKind(String kind) {
        return switch (kind) {
            case "ComparisonDirection" -> word(ComparisonDirection.values());
            case "ComparisonType" -> word(ComparisonType.values());
            case "FftType" -> word(FftType.values());
            case "Transpose" -> word(Transpose.values());
            case "RngDistribution" -> word(RngDistribution.values());
            case "RngAlgorithm" -> word(RngAlgorithm.values());
            case "PropagationDirection" -> word(PropagationDirection.values());
            case "Precision" -> word(Precision.values());
            case "Mesh" -> mesh();
            case "Sharding" -> sharding();
            case "Axes" -> new Shardy.Axes(axes());
            case "AxesPerDimension" -> new Shardy.AxesPerDimension(axesPerDimension());
            case "AllToAllParams" -> allToAllParams();
            case "ManualAxes" -> manualAxes();
            default -> attributes.attribute();
        };
    }

    private @Nullable Attribute struct(String name) {
        return switch (name) {
            case "stablehlo.dot" -> dot();
            case "chlo.ragged_dot" -> raggedDot();
            case "stablehlo.gather" -> gather();
            case "stablehlo.scatter" -> scatter();
            case "stablehlo.conv" -> {
                in.expect('<');
                if (in.acceptWord("raw")) {
                    yield convolutionFields();
                }
                Attribute conv = convolution();
                in.expect('>');
                yield conv;
            }
            case "stablehlo.dot_algorithm" -> dotAlgorithm();
            case "stablehlo.channel_handle" -> {
                Fields fields = fields("handle", "type");
                yield new ChannelHandle(fields.number("handle"), fields.number("type"));
            }
            case "stablehlo.output_operand_alias" -> {
                Fields fields = fields("output_tuple_indices", "operand_index", "operand_tuple_indices");
                yield new OutputOperandAlias(
                        fields.dims("output_tuple_indices"),
                        fields.number("operand_index"),
                        fields.dims("operand_tuple_indices"));
            }
            case "stablehlo.type_extensions" ->
                new TypeExtensions(fields("bounds").dims("bounds"));
            case "stablehlo.bounds" -> bounds();
            case "stablehlo.result_accuracy" -> resultAccuracy();
            case "stablehlo.replica_group_mesh_axes" -> {
                Fields fields = fields("mesh", "axes");
                if (!(fields.attribute("axes") instanceof Attribute.Array axes)) {
                    throw in.error("the axes of replica groups are a list");
                }
                yield new MeshReplicaGroups(fields.attribute("mesh"), axes);
            }
            case "stablehlo.mesh" -> stablehloMesh();
            case "stablehlo.mesh_axis" -> meshAxis();
            case "stablehlo.axis_ref" -> axisRef();
            case "sdy.mesh" -> mesh();
            case "sdy.sharding" -> sharding();
            case "sdy.sharding_per_value" -> {
                in.expect('<');
                Attribute values = perValue();
                in.expect('>');
                yield values;
            }
            case "sdy.manual_axes" -> manualAxes();
            case "sdy.axis_ref_list" -> new Shardy.Axes(axes());
            case "sdy.list_of_axis_ref_lists" -> new Shardy.AxesPerDimension(axesPerDimension());
            case "sdy.all_to_all_param_list" -> allToAllParams();
            default -> null;
        };
    }

    /** Fields by name, in any order. */
    private final class Fields {
        private final Map<String, Object> values = new HashMap<>();

        ImmutableLongArray dims(String name) {
            return values.get(name) instanceof ImmutableLongArray dims ? dims : ImmutableLongArray.of();
        }

        long number(String name) {
            return values.get(name) instanceof Long number ? number : 0;
        }

        Attribute attribute(String name) {
            if (values.get(name) instanceof Attribute attribute) {
                return attribute;
            }
            throw in.error("the field '" + name + "' is missing");
        }
    }

    private Fields fields(String... names) {
        in.expect('<');
        return openFields(names);
    }

    /** Fields after the opening bracket. */
    private Fields openFields(String... names) {
        Fields fields = new Fields();
        List<String> known = List.of(names);
        if (in.accept('>')) {
            return fields;
        }
        do {
            in.skip();
            int start = in.at;
            String name = in.expectWord("the name of a field");
            if (!known.contains(name)) {
                throw in.errorAt("expected one of " + String.join(", ", names) + ", got '" + name + "'", start);
            }
            in.expect('=');
            char c = in.peek();
            boolean isAttribute = name.equals("mesh") || name.equals("axes");
            Object value = isAttribute ? attributes.attribute() : c == '[' ? dims() : (Object) in.integer();
            if (fields.values.put(name, value) != null) {
                throw in.errorAt("the field '" + name + "' is given twice", start);
            }
            // A comma may also stand before the closing bracket.
        } while (in.accept(',') && in.peek() != '>');
        in.expect('>');
        return fields;
    }

    /** {@code [0, ?]}. */
    ImmutableLongArray dims() {
        in.expect('[');
        ImmutableLongArray.Builder dims = ImmutableLongArray.builder();
        if (!in.accept(']')) {
            do {
                dims.add(in.accept('?') ? TensorType.DYNAMIC : in.integer());
            } while (in.accept(','));
            in.expect(']');
        }
        return dims.build();
    }

    private Attribute dot() {
        Fields fields = fields(
                "lhs_batching_dimensions",
                "rhs_batching_dimensions",
                "lhs_contracting_dimensions",
                "rhs_contracting_dimensions");
        return new DotDimensionNumbers(
                fields.dims("lhs_batching_dimensions"),
                fields.dims("rhs_batching_dimensions"),
                fields.dims("lhs_contracting_dimensions"),
                fields.dims("rhs_contracting_dimensions"));
    }

    private Attribute raggedDot() {
        Fields fields = fields(
                "lhs_batching_dimensions",
                "rhs_batching_dimensions",
                "lhs_contracting_dimensions",
                "rhs_contracting_dimensions",
                "lhs_ragged_dimensions",
                "rhs_group_dimensions");
        return new RaggedDotDimensionNumbers(
                fields.dims("lhs_batching_dimensions"),
                fields.dims("rhs_batching_dimensions"),
                fields.dims("lhs_contracting_dimensions"),
                fields.dims("rhs_contracting_dimensions"),
                fields.dims("lhs_ragged_dimensions"),
                fields.dims("rhs_group_dimensions"));
    }

    private Attribute gather() {
        Fields fields = fields(
                "offset_dims",
                "collapsed_slice_dims",
                "operand_batching_dims",
                "start_indices_batching_dims",
                "start_index_map",
                "index_vector_dim");
        return new GatherDimensionNumbers(
                fields.dims("offset_dims"),
                fields.dims("collapsed_slice_dims"),
                fields.dims("operand_batching_dims"),
                fields.dims("start_indices_batching_dims"),
                fields.dims("start_index_map"),
                fields.number("index_vector_dim"));
    }

    private Attribute scatter() {
        Fields fields = fields(
                "update_window_dims",
                "inserted_window_dims",
                "input_batching_dims",
                "scatter_indices_batching_dims",
                "scatter_dims_to_operand_dims",
                "index_vector_dim");
        return new ScatterDimensionNumbers(
                fields.dims("update_window_dims"),
                fields.dims("inserted_window_dims"),
                fields.dims("input_batching_dims"),
                fields.dims("scatter_indices_batching_dims"),
                fields.dims("scatter_dims_to_operand_dims"),
                fields.number("index_vector_dim"));
    }

    /** The form with a field for each dimension. */
    private Attribute convolutionFields() {
        Fields fields = openFields(
                "input_batch_dimension",
                "input_feature_dimension",
                "input_spatial_dimensions",
                "kernel_input_feature_dimension",
                "kernel_output_feature_dimension",
                "kernel_spatial_dimensions",
                "output_batch_dimension",
                "output_feature_dimension",
                "output_spatial_dimensions");
        return new ConvDimensionNumbers(
                fields.number("input_batch_dimension"),
                fields.number("input_feature_dimension"),
                fields.dims("input_spatial_dimensions"),
                fields.number("kernel_input_feature_dimension"),
                fields.number("kernel_output_feature_dimension"),
                fields.dims("kernel_spatial_dimensions"),
                fields.number("output_batch_dimension"),
                fields.number("output_feature_dimension"),
                fields.dims("output_spatial_dimensions"));
    }

    /** {@code [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]}. */
    ConvDimensionNumbers convolution() {
        long[] input = new long[2];
        ImmutableLongArray inputSpatial = layout(input, 'b', 'f');
        in.expect('x');
        long[] kernel = new long[2];
        ImmutableLongArray kernelSpatial = layout(kernel, 'i', 'o');
        in.expect("->");
        long[] output = new long[2];
        ImmutableLongArray outputSpatial = layout(output, 'b', 'f');
        return new ConvDimensionNumbers(
                input[0],
                input[1],
                inputSpatial,
                kernel[0],
                kernel[1],
                kernelSpatial,
                output[0],
                output[1],
                outputSpatial);
    }

    private ImmutableLongArray layout(long[] named, char first, char second) {
        in.expect('[');
        int start = in.at;
        List<Long> spatial = new ArrayList<>();
        named[0] = -1;
        named[1] = -1;
        int dimension = 0;
        if (!in.accept(']')) {
            do {
                char c = in.peek();
                if (c == first || c == second) {
                    int which = c == first ? 0 : 1;
                    if (named[which] >= 0) {
                        throw in.error("the dimension '" + c + "' is given twice");
                    }
                    named[which] = dimension;
                    in.at++;
                } else if (c == '?') {
                    in.at++;
                } else {
                    long index = in.integer();
                    if (index < 0 || index > 64) {
                        throw in.error("a spatial dimension cannot have the number " + index);
                    }
                    while (spatial.size() <= index) {
                        spatial.add(-1L);
                    }
                    if (spatial.get((int) index) >= 0) {
                        throw in.error("the spatial dimension " + index + " is given twice");
                    }
                    spatial.set((int) index, (long) dimension);
                }
                dimension++;
            } while (in.accept(','));
            in.expect(']');
        }
        for (int i = 0; i < spatial.size(); i++) {
            if (spatial.get(i) < 0) {
                throw in.errorAt("the spatial dimension " + i + " is missing", start);
            }
        }
        if (named[0] < 0 || named[1] < 0) {
            throw in.errorAt("the dimension '" + (named[0] < 0 ? first : second) + "' is missing", start);
        }
        return ImmutableLongArray.copyOf(spatial);
    }

    private Attribute bounds() {
        in.expect('<');
        ImmutableLongArray.Builder bounds = ImmutableLongArray.builder();
        if (!in.accept('>')) {
            do {
                bounds.add(in.accept('?') ? TensorType.DYNAMIC : in.integer());
            } while (in.accept(','));
            in.expect('>');
        }
        return new TypeExtensions(bounds.build());
    }

    DotAlgorithm dotAlgorithm() {
        in.expect('<');
        Type lhs = typeField("lhs_precision_type");
        in.expect(',');
        Type rhs = typeField("rhs_precision_type");
        in.expect(',');
        Type accumulation = typeField("accumulation_type");
        in.expect(',');
        long lhsCount = numberField("lhs_component_count");
        in.expect(',');
        long rhsCount = numberField("rhs_component_count");
        in.expect(',');
        long operations = numberField("num_primitive_operations");
        in.expect(',');
        in.expectWord("allow_imprecise_accumulation", true);
        in.expect('=');
        boolean imprecise = bool();
        in.expect('>');
        return new DotAlgorithm(lhs, rhs, accumulation, lhsCount, rhsCount, operations, imprecise);
    }

    private boolean bool() {
        if (in.acceptWord("true")) {
            return true;
        }
        in.expectWord("false", true);
        return false;
    }

    private Type typeField(String name) {
        in.expectWord(name, true);
        in.expect('=');
        return attributes.types().type();
    }

    private long numberField(String name) {
        in.expectWord(name, true);
        in.expect('=');
        return in.integer();
    }

    private Attribute resultAccuracy() {
        in.expect('<');
        double atol = 0;
        double rtol = 0;
        long ulps = 0;
        if (in.acceptWord("atol")) {
            in.expect('=');
            atol = attributes.real();
            in.expect(',');
        }
        if (in.acceptWord("rtol")) {
            in.expect('=');
            rtol = attributes.real();
            in.expect(',');
        }
        if (in.acceptWord("ulps")) {
            in.expect('=');
            ulps = in.integer();
            in.expect(',');
        }
        in.expectWord("mode", true);
        in.expect('=');
        int start = in.at;
        if (!(attributes.attribute() instanceof ResultAccuracyMode mode)) {
            throw in.errorAt("expected a result_accuracy_mode", start);
        }
        in.expect('>');
        return new ResultAccuracy(atol, rtol, ulps, mode);
    }

    private Attribute stablehloMesh() {
        in.expect('<');
        in.expectWord("axes", true);
        in.expect('=');
        in.expect('[');
        List<MeshReplicaGroups.Axis> axes = new ArrayList<>();
        if (!in.accept(']')) {
            do {
                int start = in.at;
                if (in.peek() == '#') {
                    if (!(attributes.attribute() instanceof MeshReplicaGroups.Axis axis)) {
                        throw in.errorAt("expected a mesh_axis", start);
                    }
                    axes.add(axis);
                } else {
                    axes.add(meshAxis());
                }
            } while (in.accept(','));
            in.expect(']');
        }
        DenseElements devices = null;
        if (in.accept(',')) {
            in.expectWord("device_ids", true);
            in.expect('=');
            int start = in.at;
            if (!(attributes.attribute() instanceof DenseElements dense)) {
                throw in.errorAt("expected a constant of device ids", start);
            }
            devices = dense;
        }
        in.expect('>');
        return new MeshReplicaGroups.Mesh(axes, devices);
    }

    private MeshReplicaGroups.Axis meshAxis() {
        in.expect('<');
        in.expectWord("name", true);
        in.expect('=');
        String name = in.string();
        in.expect(',');
        in.expectWord("size", true);
        in.expect('=');
        long size = in.integer();
        in.expect('>');
        return new MeshReplicaGroups.Axis(name, size);
    }

    private Attribute axisRef() {
        in.expect('<');
        in.expectWord("name", true);
        in.expect('=');
        String name = in.string();
        long preSize = 0;
        long size = 0;
        if (in.accept(',')) {
            in.expectWord("sub_axis_info", true);
            in.expect('=');
            if (in.peek() == '#') {
                in.at++;
                in.suffix();
                boolean wrapped = in.accept('<');
                in.expect('(');
                preSize = in.integer();
                in.expect(')');
                size = in.integer();
                if (wrapped) {
                    in.expect('>');
                }
            } else {
                in.expect('(');
                preSize = in.integer();
                in.expect(')');
                size = in.integer();
            }
        }
        in.expect('>');
        return new MeshReplicaGroups.AxisRef(name, preSize, size);
    }

    private DeviceMesh mesh() {
        in.expect('<');
        in.expect('[');
        List<DeviceMesh.Axis> axes = new ArrayList<>();
        if (!in.accept(']')) {
            do {
                String name = in.string();
                in.expect('=');
                axes.add(new DeviceMesh.Axis(name, in.integer()));
            } while (in.accept(','));
            in.expect(']');
        }
        ImmutableLongArray devices = ImmutableLongArray.of();
        if (in.accept(',')) {
            in.expectWord("device_ids", true);
            in.expect('=');
            devices = dims();
        }
        in.expect('>');
        return new DeviceMesh(axes, devices);
    }

    private TensorSharding sharding() {
        in.expect('<');
        Attribute mesh;
        if (in.acceptWord("mesh")) {
            mesh = mesh();
        } else {
            mesh = Attribute.SymbolRef.of(attributes.symbolName());
        }
        in.expect(',');
        in.expect('[');
        List<TensorSharding.Dimension> dimensions = new ArrayList<>();
        if (!in.accept(']')) {
            do {
                dimensions.add(dimension());
            } while (in.accept(','));
            in.expect(']');
        }
        List<TensorSharding.Axis> replicated = List.of();
        List<TensorSharding.Axis> unreduced = List.of();
        while (in.accept(',')) {
            if (in.acceptWord("replicated")) {
                in.expect('=');
                replicated = axes();
            } else {
                in.expectWord("unreduced", true);
                in.expect('=');
                unreduced = axes();
            }
        }
        in.expect('>');
        return new TensorSharding(mesh, dimensions, replicated, unreduced);
    }

    private TensorSharding.Dimension dimension() {
        in.expect('{');
        List<TensorSharding.Axis> axes = new ArrayList<>();
        boolean closed = true;
        if (!in.accept('}')) {
            do {
                if (in.accept('?')) {
                    closed = false;
                    break;
                }
                axes.add(axis());
            } while (in.accept(','));
            in.expect('}');
        }
        long priority = -1;
        if (in.here() == 'p' && in.at + 1 < in.text.length && Scanner.isDigit(in.text[in.at + 1])) {
            in.at++;
            priority = in.integer();
        }
        return new TensorSharding.Dimension(axes, closed, priority);
    }

    private TensorSharding.Axis axis() {
        String name = in.string();
        if (!in.accept(':')) {
            return new TensorSharding.Axis(name, 0, 0);
        }
        in.expect('(');
        long preSize = in.integer();
        in.expect(')');
        return new TensorSharding.Axis(name, preSize, in.integer());
    }

    private List<TensorSharding.Axis> axes() {
        in.expect('{');
        List<TensorSharding.Axis> axes = new ArrayList<>();
        if (!in.accept('}')) {
            do {
                axes.add(axis());
            } while (in.accept(','));
            in.expect('}');
        }
        return axes;
    }

    private List<List<TensorSharding.Axis>> axesPerDimension() {
        in.expect('[');
        List<List<TensorSharding.Axis>> dimensions = new ArrayList<>();
        if (!in.accept(']')) {
            do {
                dimensions.add(axes());
            } while (in.accept(','));
            in.expect(']');
        }
        return dimensions;
    }

    private Shardy.AllToAllParams allToAllParams() {
        in.expect('[');
        List<Shardy.AllToAllParams.Move> moves = new ArrayList<>();
        if (!in.accept(']')) {
            do {
                List<TensorSharding.Axis> axes = axes();
                in.expect(':');
                long source = in.integer();
                in.expect("->");
                moves.add(new Shardy.AllToAllParams.Move(axes, source, in.integer()));
            } while (in.accept(','));
            in.expect(']');
        }
        return new Shardy.AllToAllParams(moves);
    }

    Shardy.PerValue perValue() {
        in.expect('[');
        List<TensorSharding> shardings = new ArrayList<>();
        if (!in.accept(']')) {
            do {
                shardings.add(sharding());
            } while (in.accept(','));
            in.expect(']');
        }
        return new Shardy.PerValue(shardings);
    }

    Shardy.ManualAxes manualAxes() {
        in.expect('{');
        List<String> names = new ArrayList<>();
        if (!in.accept('}')) {
            do {
                names.add(in.string());
            } while (in.accept(','));
            in.expect('}');
        }
        return new Shardy.ManualAxes(names);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.BytecodeException;
import dev.slipway.stablehlo.ChannelHandle;
import dev.slipway.stablehlo.ComparisonType;
import dev.slipway.stablehlo.ConvDimensionNumbers;
import dev.slipway.stablehlo.CustomCallApiVersion;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.DotAlgorithm;
import dev.slipway.stablehlo.DotDimensionNumbers;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.GatherDimensionNumbers;
import dev.slipway.stablehlo.IntegerType;
import dev.slipway.stablehlo.OpDefinition;
import dev.slipway.stablehlo.OpDefinition.AttributeDefinition;
import dev.slipway.stablehlo.Operation;
import dev.slipway.stablehlo.Precision;
import dev.slipway.stablehlo.ResultAccuracy;
import dev.slipway.stablehlo.ScatterDimensionNumbers;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Versioned operations to those of StableHLO and back. */
final class VhloOps {
    /** One version of an operation. */
    record Row(String name, Version first, @Nullable Version last, List<String> attributes) {
        boolean isIn(Version version) {
            return first.compareTo(version) <= 0 && (last == null || version.compareTo(last) <= 0);
        }
    }

    private static final Map<String, Row> ROWS = new HashMap<>();
    private static final Map<String, List<Row>> BY_OPERATION = new HashMap<>();
    private static final Set<String> DOT_ALGORITHM = Set.of(
            "lhs_precision_type",
            "rhs_precision_type",
            "accumulation_type",
            "lhs_component_count",
            "rhs_component_count",
            "num_primitive_operations",
            "allow_imprecise_accumulation");

    static {
        VhloTable.forEach((name, text) -> {
            int colon = text.indexOf(": ");
            String versions = colon < 0 ? text : text.substring(0, colon);
            int dots = versions.indexOf("..");
            String last = versions.substring(dots + 2);
            Row row = new Row(
                    name,
                    Version.parse(versions.substring(0, dots)),
                    last.isEmpty() ? null : Version.parse(last),
                    colon < 0 ? List.of() : List.of(text.substring(colon + 2).split(", ", -1)));
            ROWS.put(name, row);
            BY_OPERATION.computeIfAbsent(base(name), _ -> new ArrayList<>()).add(row);
        });
    }

    private VhloOps() {}

    private static String base(String name) {
        int version = name.lastIndexOf("_v");
        return version < 0 ? name : name.substring(0, version);
    }

    private static Row row(String name) {
        Row row = ROWS.get(name);
        if (row == null) {
            throw new BytecodeException("the operation vhlo." + name + " is not known; operations of StableHLO "
                    + Version.OLDEST + " to " + Version.CURRENT + " are");
        }
        return row;
    }

    /** The attributes of a versioned operation, in the order of their names. */
    static List<String> attributes(String name) {
        return row(name).attributes;
    }

    /** What a versioned operation stands for; {@code return} is up to the operation that it ends. */
    static OpDefinition definition(String name, String parent) {
        row(name);
        String base = base(name);
        String full = switch (base) {
            case "func", "call" -> "func." + base;
            case "return" ->
                parent.startsWith("vhlo.func") || parent.equals("func.func") ? "func.return" : "stablehlo.return";
            case "cross-replica-sum" -> "stablehlo.cross-replica-sum";
            default -> "stablehlo." + base;
        };
        OpDefinition definition = OpDefinition.of(full);
        if (!definition.isKnown()) {
            throw new BytecodeException("the operation vhlo." + name + " stands for nothing that is known");
        }
        return definition;
    }

    /** The version of an operation that a target has; null where the operation is of another dialect. */
    static @Nullable Row rowFor(Operation operation, Version target) {
        String name = operation.name();
        String base = switch (name) {
            case "func.func", "func.call", "func.return" -> name.substring(5);
            case "stablehlo.cross-replica-sum" -> "cross-replica-sum";
            default -> name.startsWith("stablehlo.") ? name.substring(10) : "";
        };
        List<Row> rows = BY_OPERATION.get(base);
        if (base.isEmpty() || rows == null) {
            return null;
        }
        for (Row row : rows) {
            if (row.isIn(target)) {
                return row;
            }
        }
        throw new BytecodeException(
                name + " cannot be written for StableHLO " + target + ": it is there since " + rows.getFirst().first);
    }

    // From versioned attributes.

    static Attribute.Dictionary fromVhlo(String name, OpDefinition definition, Map<String, Object> values) {
        Row row = row(name);
        Map<String, Attribute> result = new TreeMap<>();
        Map<String, Object> inherent = new LinkedHashMap<>();
        values.forEach((key, value) -> {
            if (row.attributes.contains(key)) {
                inherent.put(key, value);
            } else if (value instanceof Attribute attribute) {
                result.put(key, attribute);
            }
        });
        structs(definition, inherent, result);
        // An empty list of layouts counts where the other one is not empty.
        boolean layouts = Defaults.hasElements(inherent.get("operand_layouts"))
                || Defaults.hasElements(inherent.get("result_layouts"));
        for (AttributeDefinition attribute : definition.attributes()) {
            Object value = inherent.remove(attribute.name());
            if (value == null) {
                continue;
            }
            Attribute converted = convert(attribute, value);
            boolean kept = layouts && attribute.kind().equals("Layouts");
            if (converted != null && (kept || !Defaults.isDefault(attribute, converted))) {
                result.put(attribute.name(), converted);
            }
        }
        if (!inherent.isEmpty()) {
            throw new BytecodeException(
                    "vhlo." + name + ": the attributes " + inherent.keySet() + " stand for nothing that is known");
        }
        return Attribute.Dictionary.of(result);
    }

    private static long integer(Map<String, Object> from, String name) {
        if (from.remove(name) instanceof Attribute.Int value) {
            return value.value();
        }
        throw new BytecodeException("the attribute '" + name + "' should be an integer");
    }

    private static ImmutableLongArray ints(Map<String, Object> from, String name) {
        Object value = from.remove(name);
        return switch (value) {
            case null -> ImmutableLongArray.of();
            case DenseElements elements -> ImmutableLongArray.copyOf(elements.toLongs());
            default -> throw new BytecodeException("the attribute '" + name + "' should be integers");
        };
    }

    private static void structs(OpDefinition definition, Map<String, Object> from, Map<String, Attribute> to) {
        switch (definition.id()) {
            case OpTable.STABLEHLO_DOT_GENERAL -> {
                to.put(
                        "dot_dimension_numbers",
                        new DotDimensionNumbers(
                                ints(from, "lhs_batching_dimensions"),
                                ints(from, "rhs_batching_dimensions"),
                                ints(from, "lhs_contracting_dimensions"),
                                ints(from, "rhs_contracting_dimensions")));
                algorithm(from, to);
            }
            case OpTable.STABLEHLO_GATHER, OpTable.STABLEHLO_DYNAMIC_GATHER ->
                to.put(
                        "dimension_numbers",
                        new GatherDimensionNumbers(
                                ints(from, "offset_dims"),
                                ints(from, "collapsed_slice_dims"),
                                ints(from, "operand_batching_dims"),
                                ints(from, "start_indices_batching_dims"),
                                ints(from, "start_index_map"),
                                integer(from, "index_vector_dim")));
            case OpTable.STABLEHLO_SCATTER ->
                to.put(
                        "scatter_dimension_numbers",
                        new ScatterDimensionNumbers(
                                ints(from, "update_window_dims"),
                                ints(from, "inserted_window_dims"),
                                ints(from, "input_batching_dims"),
                                ints(from, "scatter_indices_batching_dims"),
                                ints(from, "scatter_dims_to_operand_dims"),
                                integer(from, "index_vector_dim")));
            case OpTable.STABLEHLO_CONVOLUTION, OpTable.STABLEHLO_DYNAMIC_CONV ->
                to.put(
                        "dimension_numbers",
                        new ConvDimensionNumbers(
                                integer(from, "input_batch_dimension"),
                                integer(from, "input_feature_dimension"),
                                ints(from, "input_spatial_dimensions"),
                                integer(from, "kernel_input_feature_dimension"),
                                integer(from, "kernel_output_feature_dimension"),
                                ints(from, "kernel_spatial_dimensions"),
                                integer(from, "output_batch_dimension"),
                                integer(from, "output_feature_dimension"),
                                ints(from, "output_spatial_dimensions")));
            default -> {}
        }
        if (from.containsKey("channel_id")) {
            long id = integer(from, "channel_id");
            boolean typed = from.containsKey("channel_type");
            long type = typed ? integer(from, "channel_type") : 0;
            if (typed || id != 0) {
                to.put("channel_handle", new ChannelHandle(id, type));
            }
        }
        if (definition.id() == OpTable.STABLEHLO_DYNAMIC_CONV) {
            // Versions before 0.20 had a padding attribute beside the operand.
            from.remove("padding");
        }
    }

    private static void algorithm(Map<String, Object> from, Map<String, Attribute> to) {
        Object lhs = from.get("lhs_precision_type");
        if (!(lhs instanceof Attribute.TypeRef lhsType) || lhsType.type() instanceof Type.None) {
            from.keySet().removeAll(DOT_ALGORITHM);
            return;
        }
        to.put(
                "algorithm",
                new DotAlgorithm(
                        type(from, "lhs_precision_type"),
                        type(from, "rhs_precision_type"),
                        type(from, "accumulation_type"),
                        integer(from, "lhs_component_count"),
                        integer(from, "rhs_component_count"),
                        integer(from, "num_primitive_operations"),
                        integer(from, "allow_imprecise_accumulation") != 0));
    }

    private static Type type(Map<String, Object> from, String name) {
        if (from.remove(name) instanceof Attribute.TypeRef ref) {
            return ref.type();
        }
        throw new BytecodeException("the attribute '" + name + "' should be a type");
    }

    private static @Nullable Attribute convert(AttributeDefinition attribute, Object value) {
        return switch (attribute.kind()) {
            case "Unit" -> value instanceof Attribute.Int flag && !flag.isTrue() ? null : Attribute.Unit.INSTANCE;
            case "SymbolRef" ->
                value instanceof Attribute.Text text ? Attribute.SymbolRef.of(text.value()) : plain(attribute, value);
            case "SymbolRefArray" -> {
                List<Attribute> names = new ArrayList<>();
                if (value instanceof Attribute.Array array) {
                    for (Attribute each : array.elements()) {
                        names.add(each instanceof Attribute.Text text ? Attribute.SymbolRef.of(text.value()) : each);
                    }
                }
                yield Attribute.array(names);
            }
            case "I64Array" -> array(attribute, value, (IntegerType) ElementType.I64);
            case "BoolArray" -> array(attribute, value, (IntegerType) ElementType.I1);
            case "I32", "I32>=0", "I32>0" ->
                value instanceof Attribute.Int integer ? Attribute.i32((int) integer.value()) : plain(attribute, value);
            case "CustomCallApiVersion" ->
                value instanceof CustomCallApiVersion version
                        ? Attribute.i32(version.value())
                        : plain(attribute, value);
            default -> plain(attribute, value);
        };
    }

    private static Attribute array(AttributeDefinition attribute, Object value, IntegerType type) {
        return value instanceof DenseElements elements
                ? new Attribute.IntArray(type, ImmutableLongArray.copyOf(elements.toLongs()))
                : plain(attribute, value);
    }

    private static Attribute plain(AttributeDefinition attribute, Object value) {
        if (value instanceof Attribute plain) {
            return plain;
        }
        throw new BytecodeException("the attribute '" + attribute.name() + "' is of a kind that is not expected");
    }

    // To versioned attributes.

    /** The attributes of an operation in the form of a version, those of the version and others. */
    static Map<String, Object> toVhlo(Operation operation, Row row, Version target) {
        Map<String, Object> result = new TreeMap<>();
        Map<String, Attribute> left = new HashMap<>(operation.attributes().toMap());
        Map<String, Object> parts = new HashMap<>();
        split(operation, left, parts);
        for (String name : row.attributes) {
            Attribute given = left.remove(name);
            Object value = parts.containsKey(name) ? parts.remove(name) : given;
            result.put(name, value == null ? absent(operation, name) : normal(operation, name, value));
        }
        for (Map.Entry<String, Object> part : parts.entrySet()) {
            if (!isNothing(part.getValue())) {
                throw tooNew(operation, part.getKey(), target);
            }
        }
        for (Map.Entry<String, Attribute> entry : left.entrySet()) {
            // What func has and the versioned form has not, such as no_inline, is carried along.
            if (operation.definition().hasAttribute(entry.getKey())
                    && !operation.name().startsWith("func.")) {
                if (!isAbsent(operation, entry.getKey(), entry.getValue())) {
                    throw tooNew(operation, entry.getKey(), target);
                }
            } else {
                result.put(entry.getKey(), entry.getValue());
            }
        }
        return result;
    }

    private static BytecodeException tooNew(Operation operation, String attribute, Version target) {
        return new BytecodeException(
                operation.name() + " with the attribute '" + attribute + "' cannot be written for StableHLO " + target);
    }

    private static boolean isNothing(Object part) {
        return switch (part) {
            case DenseElements elements -> elements.size() == 0;
            case Attribute.Int integer -> integer.value() == 0;
            case Attribute.TypeRef ref -> ref.type() instanceof Type.None;
            default -> false;
        };
    }

    private static boolean isAbsent(Operation operation, String name, Attribute value) {
        for (AttributeDefinition attribute : operation.definition().attributes()) {
            if (attribute.name().equals(name)) {
                return Defaults.isDefault(attribute, value);
            }
        }
        return false;
    }

    private static DenseElements dense(ImmutableLongArray values) {
        return DenseElements.ofLongs(TensorType.of(ElementType.I64, values.length()), values.toArray());
    }

    private static void split(Operation operation, Map<String, Attribute> from, Map<String, Object> to) {
        String name = operation.is("stablehlo.dot_general")
                ? "dot_dimension_numbers"
                : operation.is("stablehlo.scatter") ? "scatter_dimension_numbers" : "dimension_numbers";
        switch (from.remove(name)) {
            case DotDimensionNumbers dims -> {
                to.put("lhs_batching_dimensions", dense(dims.lhsBatchingDimensions()));
                to.put("rhs_batching_dimensions", dense(dims.rhsBatchingDimensions()));
                to.put("lhs_contracting_dimensions", dense(dims.lhsContractingDimensions()));
                to.put("rhs_contracting_dimensions", dense(dims.rhsContractingDimensions()));
                splitAlgorithm(from.remove("algorithm"), to);
            }
            case GatherDimensionNumbers dims -> {
                to.put("offset_dims", dense(dims.offsetDims()));
                to.put("collapsed_slice_dims", dense(dims.collapsedSliceDims()));
                to.put("operand_batching_dims", dense(dims.operandBatchingDims()));
                to.put("start_indices_batching_dims", dense(dims.startIndicesBatchingDims()));
                to.put("start_index_map", dense(dims.startIndexMap()));
                to.put("index_vector_dim", Attribute.i64(dims.indexVectorDim()));
            }
            case ScatterDimensionNumbers dims -> {
                to.put("update_window_dims", dense(dims.updateWindowDims()));
                to.put("inserted_window_dims", dense(dims.insertedWindowDims()));
                to.put("input_batching_dims", dense(dims.inputBatchingDims()));
                to.put("scatter_indices_batching_dims", dense(dims.scatterIndicesBatchingDims()));
                to.put("scatter_dims_to_operand_dims", dense(dims.scatterDimsToOperandDims()));
                to.put("index_vector_dim", Attribute.i64(dims.indexVectorDim()));
            }
            case ConvDimensionNumbers dims -> {
                to.put("input_batch_dimension", Attribute.i64(dims.inputBatchDimension()));
                to.put("input_feature_dimension", Attribute.i64(dims.inputFeatureDimension()));
                to.put("input_spatial_dimensions", dense(dims.inputSpatialDimensions()));
                to.put("kernel_input_feature_dimension", Attribute.i64(dims.kernelInputFeatureDimension()));
                to.put("kernel_output_feature_dimension", Attribute.i64(dims.kernelOutputFeatureDimension()));
                to.put("kernel_spatial_dimensions", dense(dims.kernelSpatialDimensions()));
                to.put("output_batch_dimension", Attribute.i64(dims.outputBatchDimension()));
                to.put("output_feature_dimension", Attribute.i64(dims.outputFeatureDimension()));
                to.put("output_spatial_dimensions", dense(dims.outputSpatialDimensions()));
            }
            case null, default -> {}
        }
        if (operation.definition().hasAttribute("channel_handle")) {
            boolean typed = operation.is("stablehlo.send") || operation.is("stablehlo.recv");
            ChannelHandle channel =
                    from.remove("channel_handle") instanceof ChannelHandle given ? given : new ChannelHandle(0, 0);
            to.put("channel_id", Attribute.i64(channel.handle()));
            if (typed) {
                to.put("channel_type", Attribute.i64(channel.type()));
            }
        }
    }

    private static void splitAlgorithm(@Nullable Attribute given, Map<String, Object> to) {
        if (!(given instanceof DotAlgorithm algorithm)) {
            DOT_ALGORITHM.forEach(name -> to.put(name, new Attribute.TypeRef(Type.None.INSTANCE)));
            return;
        }
        to.put("lhs_precision_type", new Attribute.TypeRef(algorithm.lhsPrecisionType()));
        to.put("rhs_precision_type", new Attribute.TypeRef(algorithm.rhsPrecisionType()));
        to.put("accumulation_type", new Attribute.TypeRef(algorithm.accumulationType()));
        to.put("lhs_component_count", Attribute.i64(algorithm.lhsComponentCount()));
        to.put("rhs_component_count", Attribute.i64(algorithm.rhsComponentCount()));
        to.put("num_primitive_operations", Attribute.i64(algorithm.numPrimitiveOperations()));
        to.put("allow_imprecise_accumulation", Attribute.of(algorithm.allowImpreciseAccumulation()));
    }

    private static Object normal(Operation operation, String name, Object value) {
        return switch (value) {
            case Attribute.Unit _ -> Attribute.of(true);
            case Attribute.Int version
            when name.equals("api_version") ->
                Arrays.stream(CustomCallApiVersion.values())
                        .filter(word -> word.value() == version.value())
                        .findFirst()
                        .orElseThrow(() -> new BytecodeException(
                                operation.name() + ": no calling convention has the number " + version.value()));
            case Attribute.IntArray array -> VhloCodec.elements(array);
            default -> value;
        };
    }

    /** What stands for an attribute that is not there. */
    private static Object absent(Operation operation, String name) {
        AttributeDefinition definition = null;
        for (AttributeDefinition attribute : operation.definition().attributes()) {
            if (attribute.name().equals(name)) {
                definition = attribute;
            }
        }
        Attribute value = definition == null ? null : Defaults.of(definition);
        if (value != null) {
            return name.equals("api_version") ? CustomCallApiVersion.API_VERSION_ORIGINAL : value;
        }
        return switch (name) {
            case "precision_config" -> Attribute.array(Precision.DEFAULT, Precision.DEFAULT);
            case "compare_type" -> ComparisonType.NOTYPE;
            case "result_accuracy" -> ResultAccuracy.DEFAULT;
            case "use_global_device_ids", "has_dynamic_root" -> Attribute.of(false);
            case "sym_visibility" -> Attribute.of("");
            case "backend_config" ->
                operation.attribute("api_version") instanceof Attribute.Int version && version.value() == 4
                        ? Attribute.Dictionary.EMPTY
                        : Attribute.of("");
            case "layout", "operand_layouts", "result_layouts", "result_tilings", "arg_attrs", "res_attrs" ->
                Attribute.array();
            case "known_expanding_dimensions", "known_nonexpanding_dimensions", "source_target_pairs" ->
                dense(ImmutableLongArray.of());
            case "window_strides", "lhs_dilation", "rhs_dilation", "base_dilations", "window_dilations" ->
                dense(Builds.ones(windowRank(operation)));
            case "window_reversal" ->
                DenseElements.ofLongs(
                        TensorType.of(ElementType.I1, windowRank(operation)), new long[windowRank(operation)]);
            case "padding" ->
                DenseElements.ofLongs(
                        TensorType.of(ElementType.I64, windowRank(operation), 2), new long[2 * windowRank(operation)]);
            default -> throw new BytecodeException(operation.name() + ": the attribute '" + name + "' is missing");
        };
    }

    private static int windowRank(Operation operation) {
        return switch (operation.attribute("window_dimensions")) {
            case Attribute.IntArray sizes -> sizes.values().length();
            case null, default ->
                operation.attribute("dimension_numbers") instanceof ConvDimensionNumbers dims
                        ? dims.inputSpatialDimensions().length()
                        : 0;
        };
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.internal.Attrs;
import dev.slipway.stablehlo.internal.Builds;
import dev.slipway.stablehlo.internal.OpTable;
import dev.slipway.stablehlo.internal.Registry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Builds the operations of a block, in order: a function's body, a loop's body, a comparator. It is good only within the
 * lambda it is passed to, and each operation is verified as it is built.
 *
 * <p>Beside a method for every operation of the table there are forms here that infer more, build regions, or stand for
 * several operations ({@link #reduceSum}).
 */
public sealed class OpBuilder extends StablehloOps permits FunctionBuilder {
    private final ModuleBuilder module;
    private final Scope scope;
    private final List<Operation> operations = new ArrayList<>();
    private Location location = Location.UNKNOWN;
    private boolean ended;

    /** Builds a block from its arguments. */
    @FunctionalInterface
    public interface Body {
        /** Gives the values that the block ends with. */
        List<? extends Value> build(OpBuilder builder, List<Value> arguments);
    }

    /** Builds a block that ends with one value. */
    @FunctionalInterface
    public interface ScalarBody {
        /** Gives the value that the block ends with. */
        Value build(OpBuilder builder, List<Value> arguments);
    }

    /** Builds an operation of two operands. */
    @FunctionalInterface
    public interface Combiner {
        /** Gives the result. */
        Value combine(OpBuilder builder, Value left, Value right);
    }

    OpBuilder(ModuleBuilder module, @Nullable Scope parent) {
        this.module = module;
        this.scope = new Scope(parent);
    }

    /** The module that this block is part of, for functions that a block needs. */
    public ModuleBuilder module() {
        return module;
    }

    /** The CHLO operations. */
    public ChloOps chlo() {
        return new ChloOps(this);
    }

    /** The Shardy operations. */
    public SdyOps sdy() {
        return new SdyOps(this);
    }

    /** Gives the operations that follow a location. */
    public void location(Location newLocation) {
        this.location = newLocation;
    }

    List<Operation> operations() {
        return operations;
    }

    void checkOpen() {
        if (!scope.open || ended) {
            throw new IrException("the block has ended; a builder is good only within the lambda it is passed to,"
                    + " and before the block's last operation");
        }
    }

    void close() {
        scope.open = false;
    }

    /** Adds an operation that is known to be good. */
    void append(Operation operation) {
        operation.scope = scope;
        operations.add(operation);
    }

    Scope scope() {
        return scope;
    }

    void adopt(BlockArgument argument) {
        argument.scope = scope;
    }

    private void checkVisible(String name, List<? extends Value> operands) {
        for (int i = 0; i < operands.size(); i++) {
            Scope defined = switch (operands.get(i)) {
                case BlockArgument argument -> argument.scope;
                case OpResult result -> result.owner().scope;
            };
            if (defined == null || !scope.sees(defined)) {
                throw new VerificationException(List.of(new Diagnostic(
                        name,
                        location,
                        "operand " + i + " is a value of another function or of a block that has ended")));
            }
        }
    }

    @Override
    Operation build(
            int op, List<Value> operands, Attribute.Dictionary attributes, @Nullable List<? extends Type> resultTypes) {
        return build(Registry.get(op), operands, attributes, List.of(), resultTypes);
    }

    /**
     * Builds any operation.
     *
     * @param definition which
     * @param operands its operands
     * @param attributes its attributes
     * @param regions its regions
     * @param resultTypes the types of its results, or null to infer them
     * @throws VerificationException if a rule of the operation is broken, or the types cannot be inferred
     */
    public Operation build(
            OpDefinition definition,
            List<? extends Value> operands,
            Attribute.Dictionary attributes,
            List<Region> regions,
            @Nullable List<? extends Type> resultTypes) {
        checkOpen();
        checkVisible(definition.name(), operands);
        Operation operation = Builds.checked(definition, operands, attributes, regions, resultTypes, location);
        operation.scope = scope;
        operations.add(operation);
        return operation;
    }

    void end(int terminator, List<? extends Value> values) {
        build(Registry.get(terminator), values, Attribute.Dictionary.EMPTY, List.of(), List.of());
        ended = true;
    }

    /** A region of one block, which ends with the dialect's return. */
    public Region region(List<? extends Type> argumentTypes, Body body) {
        return region(OpTable.STABLEHLO_RETURN, argumentTypes, body);
    }

    private Region region(int terminator, List<? extends Type> argumentTypes, Body body) {
        checkOpen();
        OpBuilder inner = new OpBuilder(module, scope);
        inner.location = location;
        List<BlockArgument> arguments = new ArrayList<>();
        for (Type type : argumentTypes) {
            BlockArgument argument = new BlockArgument(arguments.size(), type, Location.UNKNOWN);
            inner.adopt(argument);
            arguments.add(argument);
        }
        inner.end(terminator, body.build(inner, List.copyOf(arguments)));
        inner.close();
        return Region.of(new Block(arguments, inner.operations));
    }

    private List<Value> buildRegions(
            int op,
            List<? extends Value> operands,
            Attribute.Dictionary attributes,
            List<Region> regions,
            @Nullable List<? extends Type> resultTypes) {
        return List.copyOf(build(Registry.get(op), operands, attributes, regions, resultTypes)
                .results());
    }

    private static List<Type> types(List<? extends Value> values) {
        return values.stream().map(Value::type).toList();
    }

    private static List<Type> scalars(List<? extends Value> values) {
        List<Type> types = new ArrayList<>();
        for (Value value : values) {
            types.add(TensorType.of(value.tensorType().element()));
        }
        return types;
    }

    private static <T> List<T> twice(List<T> list) {
        List<T> both = new ArrayList<>(list);
        both.addAll(list);
        return both;
    }

    // Constants.

    /** {@code stablehlo.constant}: these elements. */
    public Value constant(DenseElements elements) {
        return build(
                        OpTable.STABLEHLO_CONSTANT,
                        List.of(),
                        Attribute.Dictionary.of("value", elements),
                        List.of(elements.type()))
                .result();
    }

    /** A constant of one number, rounded to the element type; a splat where the type has dimensions. */
    public Value constant(TensorType type, double value) {
        return constant(DenseElements.splat(type, value));
    }

    /** A constant of one integer; a splat where the type has dimensions. */
    public Value constant(TensorType type, long value) {
        return constant(DenseElements.splat(type, value));
    }

    /** A scalar constant, rounded to the element type. */
    public Value scalar(ElementType element, double value) {
        return constant(TensorType.of(element), value);
    }

    /** A scalar constant. */
    public Value scalar(ElementType element, long value) {
        return constant(TensorType.of(element), value);
    }

    /** A 1-dimensional constant of 64-bit integers. */
    public Value constant(long... values) {
        return constant(DenseElements.ofLongs(TensorType.of(ElementType.I64, values.length), values));
    }

    /** A 1-dimensional constant of 32-bit integers. */
    public Value constant(int... values) {
        return constant(DenseElements.ofLongs(
                TensorType.of(ElementType.I32, values.length),
                Arrays.stream(values).asLongStream().toArray()));
    }

    /** A 1-dimensional constant of singles. */
    public Value constant(float... values) {
        return constant(DenseElements.ofFloats(TensorType.of(ElementType.F32, values.length), values));
    }

    // Forms that infer more than the generated ones.

    /** {@code stablehlo.convert}, to an element type; the value itself where it has that type already. */
    public Value convert(Value operand, ElementType element) {
        TensorType type = operand.tensorType();
        return type.element().equals(element) ? operand : convert(operand, type.withElement(element));
    }

    /** {@code stablehlo.bitcast_convert}, to an element type: the last dimension goes or comes where widths differ. */
    public Value bitcastConvert(Value operand, ElementType element) {
        return bitcastConvert(operand, Builds.bitcastType(operand.tensorType(), element));
    }

    /** {@code stablehlo.reshape}, to a shape; the value itself where it has that shape already. */
    public Value reshape(Value operand, long... shape) {
        TensorType type = operand.tensorType();
        return type.shape().equals(ImmutableLongArray.copyOf(shape))
                ? operand
                : reshape(operand, type.withShape(shape));
    }

    /**
     * {@code stablehlo.broadcast_in_dim}, to a shape.
     *
     * @param operand what is broadcast
     * @param shape the shape of the result
     * @param dimensions for each dimension of the operand, which dimension of the result it becomes
     */
    public Value broadcastInDim(Value operand, long[] shape, long... dimensions) {
        return broadcastInDim(operand, dimensions, operand.tensorType().withShape(shape));
    }

    /** Repeats a scalar to a shape. */
    public Value fill(Value scalar, long... shape) {
        return broadcastInDim(scalar, shape);
    }

    /** {@code stablehlo.iota}: counts up along a dimension. */
    public Value iota(ElementType element, long dimension, long... shape) {
        return iota(dimension, TensorType.of(element, shape));
    }

    /** {@code stablehlo.slice}, with strides of 1. */
    public Value slice(Value operand, long[] starts, long[] limits) {
        long[] strides = new long[starts.length];
        Arrays.fill(strides, 1);
        return slice(operand, starts, limits, strides);
    }

    /** {@code stablehlo.slice} of one dimension only. */
    public Value sliceDim(Value operand, int dimension, long start, long limit) {
        long[] limits = operand.tensorType().shape().toArray();
        long[] starts = new long[limits.length];
        starts[dimension] = start;
        limits[dimension] = limit;
        return slice(operand, starts, limits);
    }

    /** {@code stablehlo.concatenate}. */
    public Value concatenate(int dimension, Value... inputs) {
        return concatenate(List.of(inputs), dimension);
    }

    /** {@code stablehlo.dot_general} with a result of an element type. */
    public Value dotGeneral(Value lhs, Value rhs, DotDimensionNumbers numbers, ElementType result) {
        return dotGeneral(lhs, rhs, numbers, List.of(), result);
    }

    /** {@code stablehlo.dot_general} with precisions for the operands and a result of an element type. */
    public Value dotGeneral(
            Value lhs, Value rhs, DotDimensionNumbers numbers, List<Precision> precision, ElementType result) {
        TensorType type = Builds.dotType(lhs, rhs, numbers, result);
        return dotGeneral(lhs, rhs, numbers, precision.isEmpty() ? null : precision, null, type);
    }

    /** {@code stablehlo.rng_bit_generator}: the new state and random bits. */
    public List<Value> rngBitGenerator(RngAlgorithm algorithm, Value state, TensorType type) {
        return rngBitGenerator(state, algorithm, List.of(state.type(), type));
    }

    /** {@code stablehlo.optimization_barrier} of one value. */
    public Value optimizationBarrier(Value operand) {
        return optimizationBarrier(List.of(operand)).getFirst();
    }

    /** {@code func.call}. */
    public List<Value> call(Function.Ref function, Value... operands) {
        return call(function, List.of(operands));
    }

    /** {@code func.call}. */
    public List<Value> call(Function.Ref function, List<? extends Value> operands) {
        Builds.checkCall(function, operands);
        return buildRegions(
                OpTable.FUNC_CALL,
                operands,
                Attribute.Dictionary.of("callee", Attribute.SymbolRef.of(function.name())),
                List.of(),
                function.type().results());
    }

    // Operations with regions.

    /**
     * {@code stablehlo.while}.
     *
     * @param initial the values that the loop starts with
     * @param condition gives a boolean scalar from the values
     * @param body gives the next values, of the same types
     */
    public List<Value> whileLoop(List<? extends Value> initial, ScalarBody condition, Body body) {
        return buildRegions(
                OpTable.STABLEHLO_WHILE,
                initial,
                Attribute.Dictionary.EMPTY,
                List.of(
                        region(types(initial), (b, arguments) -> List.of(condition.build(b, arguments))),
                        region(types(initial), body)),
                null);
    }

    /** {@code stablehlo.if}: the branches take no arguments, and may use all values seen here. */
    public List<Value> ifThenElse(Value condition, Body whenTrue, Body whenFalse) {
        return buildRegions(
                OpTable.STABLEHLO_IF,
                List.of(condition),
                Attribute.Dictionary.EMPTY,
                List.of(region(List.of(), whenTrue), region(List.of(), whenFalse)),
                null);
    }

    /** {@code stablehlo.case}: the branches take no arguments, and may use all values seen here. */
    public List<Value> caseOf(Value index, List<Body> branches) {
        return buildRegions(
                OpTable.STABLEHLO_CASE,
                List.of(index),
                Attribute.Dictionary.EMPTY,
                branches.stream().map(branch -> region(List.of(), branch)).toList(),
                null);
    }

    /**
     * {@code stablehlo.reduce} of several inputs at once.
     *
     * @param inputs tensors of one shape
     * @param initial a scalar for each
     * @param dimensions those that go
     * @param body takes an accumulator for each input, then an element of each, and gives the accumulators
     */
    public List<Value> reduce(
            List<? extends Value> inputs, List<? extends Value> initial, long[] dimensions, Body body) {
        return buildRegions(
                OpTable.STABLEHLO_REDUCE,
                Attrs.concat(inputs, initial),
                Attribute.Dictionary.of("dimensions", Attribute.i64Array(dimensions)),
                List.of(region(twice(types(initial)), body)),
                null);
    }

    /** {@code stablehlo.reduce} of one input. */
    public Value reduce(Value input, Value initial, Combiner combiner, long... dimensions) {
        return reduce(
                        List.of(input),
                        List.of(initial),
                        dimensions,
                        (b, arguments) -> List.of(combiner.combine(b, arguments.get(0), arguments.get(1))))
                .getFirst();
    }

    /** The sum along dimensions; for booleans whether any is true. */
    public Value reduceSum(Value input, long... dimensions) {
        return reduce(input, scalar(element(input), 0L), (b, x, y) -> b.add(x, y), dimensions);
    }

    /** The product along dimensions; for booleans whether all are true. */
    public Value reduceProduct(Value input, long... dimensions) {
        return reduce(input, scalar(element(input), 1L), (b, x, y) -> b.multiply(x, y), dimensions);
    }

    /** The greatest element along dimensions; minus infinity, or the least integer, of none. */
    public Value reduceMax(Value input, long... dimensions) {
        return reduce(input, constant(Builds.least(element(input))), (b, x, y) -> b.maximum(x, y), dimensions);
    }

    /** The least element along dimensions; infinity, or the greatest integer, of none. */
    public Value reduceMin(Value input, long... dimensions) {
        return reduce(input, constant(Builds.greatest(element(input))), (b, x, y) -> b.minimum(x, y), dimensions);
    }

    private static ElementType element(Value value) {
        return value.tensorType().element();
    }

    /**
     * {@code stablehlo.reduce_window} without dilation.
     *
     * @param inputs tensors of one shape
     * @param initial a scalar for each
     * @param window the window's size in each dimension
     * @param strides its steps
     * @param padding low and high for each dimension
     * @param body takes an accumulator for each input, then an element of each, and gives the accumulators
     */
    public List<Value> reduceWindow(
            List<? extends Value> inputs,
            List<? extends Value> initial,
            long[] window,
            long[] strides,
            long[][] padding,
            Body body) {
        return buildRegions(
                OpTable.STABLEHLO_REDUCE_WINDOW,
                Attrs.concat(inputs, initial),
                Attrs.dictionary(
                        "window_dimensions", Attribute.i64Array(window),
                        "window_strides", Attribute.i64Array(strides),
                        "padding", Builds.padding(padding)),
                List.of(region(twice(types(initial)), body)),
                null);
    }

    /**
     * {@code stablehlo.sort}.
     *
     * @param inputs tensors of one shape, sorted together
     * @param dimension along which; negative from the last
     * @param stable whether equal elements keep their order
     * @param comparator takes two elements of each input, and says whether the first comes before the second
     */
    public List<Value> sort(List<? extends Value> inputs, long dimension, boolean stable, ScalarBody comparator) {
        List<Type> arguments = new ArrayList<>();
        for (Type type : scalars(inputs)) {
            arguments.add(type);
            arguments.add(type);
        }
        return buildRegions(
                OpTable.STABLEHLO_SORT,
                inputs,
                Attribute.Dictionary.of("dimension", Attribute.i64(dimension), "is_stable", Attribute.of(stable)),
                List.of(region(arguments, (b, values) -> List.of(comparator.build(b, values)))),
                null);
    }

    /**
     * {@code stablehlo.scatter} of several inputs at once.
     *
     * @param inputs tensors of one shape
     * @param indices where the updates go
     * @param updates one for each input
     * @param numbers how the indices are read
     * @param indicesAreSorted a promise that they are
     * @param uniqueIndices a promise that no place is updated twice
     * @param body takes the present value of each input, then an update of each, and gives the new values
     */
    public List<Value> scatter(
            List<? extends Value> inputs,
            Value indices,
            List<? extends Value> updates,
            ScatterDimensionNumbers numbers,
            boolean indicesAreSorted,
            boolean uniqueIndices,
            Body body) {
        return buildRegions(
                OpTable.STABLEHLO_SCATTER,
                Attrs.concat(inputs, List.of(indices), updates),
                Attrs.dictionary(
                        "scatter_dimension_numbers", numbers,
                        "indices_are_sorted", Attribute.of(indicesAreSorted),
                        "unique_indices", Attribute.of(uniqueIndices)),
                List.of(region(twice(scalars(inputs)), body)),
                null);
    }

    /** {@code stablehlo.map}. */
    public Value map(List<? extends Value> inputs, ScalarBody computation) {
        long[] dimensions = new long[inputs.getFirst().tensorType().rank()];
        Arrays.setAll(dimensions, i -> i);
        return buildRegions(
                        OpTable.STABLEHLO_MAP,
                        inputs,
                        Attribute.Dictionary.of("dimensions", Attribute.i64Array(dimensions)),
                        List.of(region(scalars(inputs), (b, values) -> List.of(computation.build(b, values)))),
                        null)
                .getFirst();
    }

    /** {@code stablehlo.select_and_scatter}: select compares two scalars, scatter combines two. */
    public Value selectAndScatter(
            Value operand,
            Value source,
            Value initial,
            long[] window,
            long[] strides,
            long[][] padding,
            ScalarBody select,
            ScalarBody scatter) {
        List<Type> scalar = scalars(List.of(operand));
        return buildRegions(
                        OpTable.STABLEHLO_SELECT_AND_SCATTER,
                        List.of(operand, source, initial),
                        Attrs.dictionary(
                                "window_dimensions", Attribute.i64Array(window),
                                "window_strides", Attribute.i64Array(strides),
                                "padding", Builds.padding(padding)),
                        List.of(
                                region(twice(scalar), (b, values) -> List.of(select.build(b, values))),
                                region(twice(scalar), (b, values) -> List.of(scatter.build(b, values)))),
                        null)
                .getFirst();
    }

    /**
     * {@code stablehlo.all_reduce}.
     *
     * @param operands what is reduced
     * @param replicaGroups a 2-dimensional constant of process ids, or {@link MeshReplicaGroups}
     * @param channel the channel, or null
     * @param useGlobalDeviceIds whether the ids are those of devices
     * @param computation combines two scalars
     */
    public List<Value> allReduce(
            List<? extends Value> operands,
            Attribute replicaGroups,
            @Nullable ChannelHandle channel,
            boolean useGlobalDeviceIds,
            ScalarBody computation) {
        return buildRegions(
                OpTable.STABLEHLO_ALL_REDUCE,
                operands,
                Attrs.dictionary(
                        "replica_groups", replicaGroups,
                        "channel_handle", channel,
                        "use_global_device_ids", Attrs.unit(useGlobalDeviceIds)),
                List.of(region(
                        twice(scalars(operands.subList(0, 1))), (b, values) -> List.of(computation.build(b, values)))),
                null);
    }

    /** {@code stablehlo.reduce_scatter}. */
    public Value reduceScatter(
            Value operand,
            long scatterDimension,
            Attribute replicaGroups,
            @Nullable ChannelHandle channel,
            boolean useGlobalDeviceIds,
            ScalarBody computation,
            TensorType resultType) {
        return buildRegions(
                        OpTable.STABLEHLO_REDUCE_SCATTER,
                        List.of(operand),
                        Attrs.dictionary(
                                "scatter_dimension",
                                Attribute.i64(scatterDimension),
                                "replica_groups",
                                replicaGroups,
                                "channel_handle",
                                channel,
                                "use_global_device_ids",
                                Attrs.unit(useGlobalDeviceIds)),
                        List.of(region(
                                twice(scalars(List.of(operand))),
                                (b, values) -> List.of(computation.build(b, values)))),
                        List.of(resultType))
                .getFirst();
    }

    /**
     * {@code stablehlo.composite}: an operation by name whose meaning is a function of the module.
     *
     * @param name the operation, e.g. {@code my.gelu}
     * @param inputs its operands
     * @param attributes its own attributes
     * @param decomposition the function that means the same
     * @param version the version of the operation
     */
    public List<Value> composite(
            String name,
            List<? extends Value> inputs,
            Attribute.Dictionary attributes,
            Function.Ref decomposition,
            int version) {
        return buildRegions(
                OpTable.STABLEHLO_COMPOSITE,
                inputs,
                Attrs.dictionary(
                        "name",
                        Attribute.of(name),
                        "composite_attributes",
                        attributes.isEmpty() ? null : attributes,
                        "decomposition",
                        Attribute.SymbolRef.of(decomposition.name()),
                        "version",
                        version == 0 ? null : Attribute.i32(version)),
                List.of(),
                decomposition.type().results());
    }

    /** {@code sdy.manual_computation}: the body computes with shards along the manual axes. */
    public List<Value> manualComputation(
            List<? extends Value> tensors,
            List<TensorSharding> inShardings,
            List<TensorSharding> outShardings,
            List<String> manualAxes,
            List<? extends Type> localTypes,
            List<? extends Type> resultTypes,
            Body body) {
        return buildRegions(
                OpTable.SDY_MANUAL_COMPUTATION,
                tensors,
                Attrs.dictionary(
                        "in_shardings", new Shardy.PerValue(inShardings),
                        "out_shardings", new Shardy.PerValue(outShardings),
                        "manual_axes", new Shardy.ManualAxes(manualAxes)),
                List.of(region(OpTable.SDY_RETURN, localTypes, body)),
                resultTypes);
    }

    /** Copies an operation of another module or block, with its operands replaced. */
    public List<Value> clone(Operation operation, Map<Value, Value> replacements) {
        Map<Value, Value> values = new HashMap<>(replacements);
        Operation copy = Builds.copy(operation, values);
        return List.copyOf(
                build(copy.definition(), copy.operands(), copy.attributes(), copy.regions(), types(copy.results()))
                        .results());
    }
}

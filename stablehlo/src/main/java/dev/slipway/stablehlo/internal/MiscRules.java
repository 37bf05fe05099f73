// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.Block;
import dev.slipway.stablehlo.ComplexType;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.FftType;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.Operation;
import dev.slipway.stablehlo.OutputOperandAlias;
import dev.slipway.stablehlo.QuantizedType;
import dev.slipway.stablehlo.RngDistribution;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Transpose;
import dev.slipway.stablehlo.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Rules of operations that are like no other: batch norms, solvers, transforms, tuples, calls. */
final class MiscRules {
    private static final long DYNAMIC = TensorType.DYNAMIC;
    private static final Pattern NAMESPACED = Pattern.compile("[a-zA-Z][a-zA-Z0-9_]*([.][a-zA-Z0-9_$]+)+");
    private static final Set<String> ASYNCHRONOUS = Set.of(
            "stablehlo.all_gather",
            "stablehlo.all_reduce",
            "stablehlo.all_to_all",
            "stablehlo.collective_broadcast",
            "stablehlo.collective_permute",
            "stablehlo.collective_reduce",
            "stablehlo.dynamic_slice",
            "stablehlo.dynamic_update_slice",
            "stablehlo.reduce_scatter",
            "stablehlo.slice");

    private MiscRules() {}

    /** Batch norms: operands of the full shape at these places, of the features' size at the others. */
    static List<Type> batchNorm(Draft draft, List<Integer> full, boolean withStatistics) {
        TensorType operand = draft.tensor(full.getFirst());
        TensorType vector = null;
        for (int i = 0; i < draft.operands().size(); i++) {
            if (full.contains(i)) {
                Violation.check(
                        Types.compatibleShapes(operand, draft.type(i)),
                        "multi-dimensional operands must have compatible shapes, got %s and %s",
                        operand,
                        draft.type(i));
            } else {
                vector = vector == null ? draft.tensor(i) : vector;
                Violation.check(
                        Types.compatibleShapes(vector, draft.type(i)),
                        "1-dimensional operands must have compatible shapes, got %s and %s",
                        vector,
                        draft.type(i));
            }
        }
        int feature = Math.toIntExact(draft.integer("feature_index"));
        Violation.check(
                feature < operand.rank(),
                "feature_index %s must be less than the operand's rank %s",
                feature,
                operand.rank());
        Violation.check(
                vector == null || Types.compatibleSizes(vector.dim(0), operand.dim(feature)),
                "1-dimensional operands must have the size of the features, got %s for %s",
                vector,
                operand);
        if (!withStatistics) {
            return List.of(operand);
        }
        TensorType statistics = Types.tensor(
                operand.element(),
                new long[] {operand.dim(feature)},
                new long[] {operand.bound(feature)},
                operand.encoding());
        return List.of(operand, statistics, statistics);
    }

    static List<Type> cholesky(Draft draft) {
        TensorType a = draft.tensor(0);
        Violation.check(a.rank() >= 2, "operand 0 (a) must have 2 dimensions at least, got %s", a);
        Violation.check(
                Types.compatibleSizes(a.dim(a.rank() - 2), a.dim(a.rank() - 1)),
                "the last two dimensions must have one size, got %s",
                a);
        return List.of(a);
    }

    static List<Type> triangularSolve(Draft draft) {
        TensorType a = draft.tensor(0);
        TensorType b = draft.tensor(1);
        int rank = a.rank();
        Violation.check(rank >= 2, "operand 0 (a) must have 2 dimensions at least, got %s", a);
        Violation.check(
                Types.compatibleSizes(a.dim(rank - 2), a.dim(rank - 1)),
                "the last two dimensions of a must have one size, got %s",
                a);
        Violation.check(b.rank() == rank, "operands must have one rank, got %s and %s", a, b);
        boolean left = draft.flag("left_side", false);
        Violation.check(
                Types.compatibleSizes(a.dim(rank - 1), b.dim(rank - (left ? 2 : 1))),
                "the shared dimension of a and b must have one size, got %s and %s",
                a,
                b);
        for (int d = 0; d < rank - 2; d++) {
            Violation.check(
                    Types.compatibleSizes(a.dim(d), b.dim(d)),
                    "batch dimensions must have one size, got %s and %s",
                    a,
                    b);
        }
        Violation.check(
                draft.attribute("transpose_a", Transpose.class) != Transpose.TRANSPOSE_INVALID,
                "transpose_a must not be TRANSPOSE_INVALID");
        return List.of(b);
    }

    static List<Type> fft(Draft draft) {
        TensorType operand = draft.tensor(0);
        ImmutableLongArray lengths = draft.ints("fft_length");
        FftType type = draft.attribute("fft_type", FftType.class);
        int count = lengths.length();
        Violation.check(count >= 1 && count <= 3, "fft_length must have 1 to 3 entries, got %s", lengths);
        boolean forwardReal = type == FftType.RFFT;
        boolean inverseReal = type == FftType.IRFFT;
        if (forwardReal) {
            Violation.check(
                    operand.element() == FloatType.F32 || operand.element() == FloatType.F64,
                    "RFFT takes elements of type f32 or f64, got %s",
                    operand);
        } else {
            Violation.check(
                    operand.element() instanceof ComplexType,
                    "%s takes complex elements, got %s",
                    type.name(),
                    operand);
        }
        Violation.check(
                operand.rank() >= count,
                "the operand must have as many dimensions as fft_length, got %s and %s",
                operand,
                lengths);
        ElementType element = operand.element();
        long[] shape = operand.shape().toArray();
        long[] bounds = new long[shape.length];
        for (int d = 0; d < shape.length; d++) {
            bounds[d] = operand.bound(d);
        }
        int last = shape.length - 1;
        long lastLength = lengths.get(count - 1);
        if (forwardReal || inverseReal) {
            for (int i = 0; i < count - (inverseReal ? 1 : 0); i++) {
                Violation.check(
                        Types.compatibleSizes(shape[shape.length - count + i], lengths.get(i)),
                        "the innermost dimensions must be those of fft_length, got %s and %s",
                        operand,
                        lengths);
            }
            bounds[last] = DYNAMIC;
        }
        if (forwardReal) {
            element = new ComplexType(element);
            shape[last] = lastLength == 0 ? shape[last] : lastLength / 2 + 1;
        } else if (inverseReal) {
            boolean empty = Types.compatibleSizes(shape[last], 0) && lastLength == 0;
            Violation.check(
                    empty || Types.compatibleSizes(shape[last], lastLength / 2 + 1),
                    "the last dimension must have the size %s for fft_length %s, got %s",
                    lastLength / 2 + 1,
                    lengths,
                    operand);
            element = ((ComplexType) element).element();
            shape[last] = lastLength;
        }
        return List.of(Types.tensor(element, shape, bounds, operand.encoding()));
    }

    static List<Type> getTupleElement(Draft draft) {
        Type.Tuple tuple = (Type.Tuple) draft.type(0);
        long index = draft.integer("index");
        Violation.check(
                index < tuple.types().size(),
                "index %s is out of bounds of a tuple of %s",
                index,
                tuple.types().size());
        return List.of(tuple.types().get((int) index));
    }

    static List<Type> map(Draft draft) {
        Violation.check(!draft.operands().isEmpty(), "needs at least one input");
        List<Type> arguments = RegionRules.arguments(draft.regions().getFirst());
        Violation.check(
                arguments.size() == draft.operands().size(),
                "the computation must take %s arguments, but takes %s",
                draft.operands().size(),
                arguments.size());
        for (int i = 0; i < arguments.size(); i++) {
            Violation.check(
                    arguments.get(i).equals(TensorType.of(draft.tensor(i).element())),
                    "argument %s of the computation must be a scalar of the input's type %s, got %s",
                    i,
                    draft.tensor(i).element(),
                    arguments.get(i));
        }
        List<Type> results = RegionRules.returned(draft.regions().getFirst());
        Violation.check(
                results.size() == 1 && results.getFirst() instanceof TensorType scalar && scalar.rank() == 0,
                "the computation must return one scalar, got %s",
                results);
        ImmutableLongArray dimensions = draft.ints("dimensions");
        for (int i = 0; i < dimensions.length(); i++) {
            Violation.check(dimensions.get(i) == i, "dimensions must be 0, 1, 2 ..., got %s", dimensions);
        }
        TensorType shape = draft.tensor(draft.operands().size() - 1);
        for (int i = 0; i < draft.operands().size(); i++) {
            Violation.check(
                    dimensions.length() == draft.tensor(i).rank(),
                    "dimensions must be all of the inputs', got %s for %s",
                    dimensions,
                    draft.type(i));
        }
        return List.of(TensorType.of(((TensorType) results.getFirst()).element(), shape.shape()));
    }

    static List<Type> rng(Draft draft) {
        if (draft.attribute("rng_distribution", RngDistribution.class) == RngDistribution.NORMAL) {
            Violation.check(
                    draft.tensor(0).element() instanceof FloatType
                            && draft.tensor(1).element() instanceof FloatType,
                    "a normal distribution has floating-point parameters, got %s and %s",
                    draft.type(0),
                    draft.type(1));
        }
        DenseElements shape = draft.constant(2);
        long[] sizes;
        if (shape == null) {
            sizes = new long[Math.toIntExact(draft.tensor(2).dim(0))];
            Arrays.fill(sizes, DYNAMIC);
        } else {
            sizes = shape.toLongs();
        }
        Violation.check(
                Arrays.stream(sizes).allMatch(size -> size >= 0 || size == DYNAMIC),
                "the shape cannot be negative, got %s",
                Arrays.toString(sizes));
        return List.of(TensorType.of(draft.tensor(1).element(), sizes));
    }

    static List<Type> setDimensionSize(Draft draft) {
        TensorType operand = draft.tensor(0);
        Violation.check(draft.tensor(1).rank() == 0, "size must be a scalar, got %s", draft.type(1));
        int dimension = Math.toIntExact(draft.integer("dimension"));
        ShapeRules.checkDimension(dimension, operand.rank(), "dimension");
        long[] shape = operand.shape().toArray();
        long[] bounds = new long[shape.length];
        for (int d = 0; d < shape.length; d++) {
            bounds[d] = operand.bound(d);
        }
        if (shape[dimension] != DYNAMIC) {
            bounds[dimension] = shape[dimension];
        }
        shape[dimension] = DYNAMIC;
        DenseElements size = draft.constant(1);
        if (size != null && size.longAt(0) == bounds[dimension]) {
            shape[dimension] = size.longAt(0);
            bounds[dimension] = DYNAMIC;
        }
        return List.of(Types.tensor(operand.element(), shape, bounds, null));
    }

    static List<Type> broadcast(Draft draft) {
        TensorType operand = draft.tensor(0);
        ImmutableLongArray sizes = draft.ints("broadcast_sizes");
        ImmutableLongArray.Builder shape = ImmutableLongArray.builder();
        for (int i = 0; i < sizes.length(); i++) {
            Violation.check(sizes.get(i) >= 0, "broadcast sizes cannot be negative, got %s", sizes);
            shape.add(sizes.get(i));
        }
        return List.of(
                TensorType.of(operand.element(), shape.addAll(operand.shape()).build()));
    }

    static List<Type> uniformDequantize(Draft draft) {
        TensorType operand = draft.tensor(0);
        return List.of(TensorType.of(Types.expressed(operand.element()), operand.shape()));
    }

    static @Nullable List<Type> uniformQuantize(Draft draft) {
        ElementType meant = Types.expressed(draft.tensor(0).element());
        if (draft.resultTensor().element() instanceof QuantizedType quantized) {
            Violation.check(
                    quantized.expressed().equals(meant),
                    "the result must express %s, got %s",
                    meant,
                    draft.resultTensor());
        }
        return null;
    }

    static @Nullable List<Type> composite(Draft draft) {
        String name = draft.attribute("name", Attribute.Text.class).value();
        Violation.check(
                NAMESPACED.matcher(name).matches(),
                "name must be a name with a namespace such as my_namespace.my_op, got \"%s\"",
                name);
        if (!draft.hasSymbols()) {
            return null;
        }
        String decomposition =
                draft.attribute("decomposition", Attribute.SymbolRef.class).root();
        Type.Function type = function(draft, decomposition);
        checkCall(draft, decomposition, type);
        return null;
    }

    static @Nullable List<Type> call(Draft draft) {
        if (!draft.hasSymbols()) {
            return null;
        }
        String callee = draft.attribute("callee", Attribute.SymbolRef.class).root();
        checkCall(draft, callee, function(draft, callee));
        return null;
    }

    private static Type.Function function(Draft draft, String name) {
        Operation function = draft.symbols().apply(name);
        if (function == null
                || function.definition().id() != OpTable.FUNC_FUNC
                || !(function.attribute("function_type") instanceof Attribute.TypeRef(Type.Function type))) {
            throw new Violation("@" + name + " is no function of the module");
        }
        return type;
    }

    private static void checkCall(Draft draft, String name, Type.Function type) {
        Violation.check(
                Rules.types(draft).equals(type.inputs()),
                "@%s takes %s, got %s",
                name,
                type.inputs(),
                Rules.types(draft));
        Violation.check(
                draft.results() == null || draft.results().equals(type.results()),
                "@%s gives %s, but the results are %s",
                name,
                type.results(),
                draft.results());
    }

    static List<Type> asyncStart(Draft draft) {
        Block block = draft.regions().getFirst().block();
        Violation.check(
                block.operations().size() == 2,
                "the body must have one operation and a return, got %s operations",
                block.operations().size());
        String name = block.operations().getFirst().name();
        Violation.check(
                ASYNCHRONOUS.contains(name), "the body must have a collective or a slice operation, got %s", name);
        Violation.check(
                RegionRules.arguments(draft.regions().getFirst()).equals(Rules.types(draft)),
                "the body must take the operands' types %s, got %s",
                Rules.types(draft),
                RegionRules.arguments(draft.regions().getFirst()));
        List<Type> results = RegionRules.returned(draft.regions().getFirst());
        Violation.check(results.size() == 1, "the body must return one value, got %s", results);
        return List.of(new Type.Future(results));
    }

    static List<Type> asyncDone(Draft draft) {
        Type.Future future = (Type.Future) draft.type(0);
        Violation.check(future.types().size() == 1, "the future must have one value, got %s", future);
        return List.of(future.types().getFirst());
    }

    static @Nullable List<Type> customCall(Draft draft) {
        boolean operandLayouts = draft.has("operand_layouts");
        Violation.check(
                operandLayouts == draft.has("result_layouts"),
                "layouts must be given for both operands and results, or for neither");
        List<? extends Type> results = draft.results();
        if (results == null) {
            return null;
        }
        if (operandLayouts) {
            layouts("operand", Rules.types(draft), draft.attribute("operand_layouts", Attribute.Array.class));
            List<? extends Type> flat =
                    results.size() == 1 && results.getFirst() instanceof Type.Tuple tuple ? tuple.types() : results;
            layouts("result", flat, draft.attribute("result_layouts", Attribute.Array.class));
        }
        if (draft.attribute("output_operand_aliases") instanceof Attribute.Array aliases) {
            for (Attribute alias : aliases.elements()) {
                alias(draft, (OutputOperandAlias) alias, results);
            }
        }
        backendConfig(draft);
        bufferCalls(draft, results);
        return null;
    }

    private static void backendConfig(Draft draft) {
        Attribute config = draft.attribute("backend_config");
        if (config == null) {
            return;
        }
        boolean typed = draft.has("api_version") && draft.integer("api_version") == 4;
        Violation.check(
                typed == config instanceof Attribute.Dictionary,
                typed
                        ? "backend_config must be a dictionary for the typed FFI, got " + config
                        : "backend_config must be a string unless api_version is 4, got " + config);
    }

    private static void layouts(String what, List<? extends Type> types, Attribute.Array layouts) {
        Violation.check(
                types.size() == layouts.elements().size(),
                "needs a layout for each of %s %ss, got %s",
                types.size(),
                what,
                layouts.elements().size());
        for (int i = 0; i < types.size(); i++) {
            long[] layout = ((DenseElements) layouts.elements().get(i)).toLongs();
            switch (types.get(i)) {
                case Type.Tuple _ -> throw new Violation("tuples cannot have layouts");
                case TensorType tensor -> {
                    long[] sorted = layout.clone();
                    Arrays.sort(sorted);
                    boolean permutation = sorted.length == tensor.rank();
                    for (int d = 0; permutation && d < sorted.length; d++) {
                        permutation = sorted[d] == d;
                    }
                    Violation.check(
                            permutation,
                            "the layout %s is no permutation of the dimensions of %s",
                            Arrays.toString(layout),
                            tensor);
                }
                case Type.UnrankedTensor _, Type.Buffer _ -> {}
                default ->
                    Violation.check(layout.length == 0, "%s %s of type %s cannot have a layout", what, i, types.get(i));
            }
        }
    }

    private static void alias(Draft draft, OutputOperandAlias alias, List<? extends Type> results) {
        Violation.check(
                alias.operandIndex() >= 0
                        && alias.operandIndex() < draft.operands().size(),
                "an alias names operand %s, there are %s",
                alias.operandIndex(),
                draft.operands().size());
        Type operand = part(draft.type((int) alias.operandIndex()), alias.operandTupleIndices(), "operand");
        Type whole = results.size() == 1 ? results.getFirst() : new Type.Tuple(new ArrayList<>(results));
        Type result = part(whole, alias.outputTupleIndices(), "output");
        Violation.check(
                operand.equals(result),
                "an alias joins an operand of type %s with a result of type %s",
                operand,
                result);
    }

    private static Type part(Type type, ImmutableLongArray way, String what) {
        Type part = type;
        for (int i = 0; i < way.length(); i++) {
            long index = way.get(i);
            if (!(part instanceof Type.Tuple tuple)
                    || index < 0
                    || index >= tuple.types().size()) {
                throw new Violation("the " + what + " indices " + way + " of an alias do not fit " + type);
            }
            part = tuple.types().get((int) index);
        }
        return part;
    }

    /** The calls that make, pin and unpin buffers; others must tie each buffer they give to one they take. */
    private static void bufferCalls(Draft draft, List<? extends Type> results) {
        String target =
                draft.attribute("call_target_name", Attribute.Text.class).value();
        List<Type> operands = Rules.types(draft);
        switch (target) {
            case "CreateBuffer" ->
                Violation.check(
                        operands.isEmpty() && results.size() == 1 && results.getFirst() instanceof Type.Buffer,
                        "CreateBuffer takes nothing and gives a memref, got %s and %s",
                        operands,
                        results);
            case "Pin" ->
                Violation.check(
                        operands.size() == 1
                                && results.size() == 1
                                && operands.getFirst() instanceof TensorType
                                && results.getFirst() instanceof Type.Buffer
                                && Types.compatible(operands.getFirst(), results.getFirst()),
                        "Pin takes a tensor and gives a memref of its type, got %s and %s",
                        operands,
                        results);
            case "Unpin" ->
                Violation.check(
                        operands.size() == 1
                                && results.size() == 1
                                && operands.getFirst() instanceof Type.Buffer
                                && results.getFirst() instanceof TensorType
                                && Types.compatible(operands.getFirst(), results.getFirst()),
                        "Unpin takes a memref and gives a tensor of its type, got %s and %s",
                        operands,
                        results);
            default -> buffersAreAliased(draft, operands, results);
        }
    }

    private static void buffersAreAliased(Draft draft, List<Type> operands, List<? extends Type> results) {
        List<Part> outputs = new ArrayList<>();
        if (results.size() == 1) {
            addBuffers(outputs, -1, results.getFirst(), List.of());
        } else {
            for (int i = 0; i < results.size(); i++) {
                addBuffers(outputs, -1, results.get(i), List.of((long) i));
            }
        }
        List<Part> inputs = new ArrayList<>();
        for (int i = 0; i < operands.size(); i++) {
            addBuffers(inputs, i, operands.get(i), List.of());
        }
        List<Part> usedOutputs = new ArrayList<>();
        List<Part> usedInputs = new ArrayList<>();
        if (draft.attribute("output_operand_aliases") instanceof Attribute.Array array) {
            for (Attribute each : array.elements()) {
                OutputOperandAlias alias = (OutputOperandAlias) each;
                usedOutputs.add(new Part(-1, alias.outputTupleIndices().asList()));
                usedInputs.add(new Part(
                        (int) alias.operandIndex(), alias.operandTupleIndices().asList()));
            }
        }
        for (Part output : outputs) {
            long count = usedOutputs.stream().filter(output::equals).count();
            Violation.check(
                    count == 1, "the memref %s of the results must be in one alias, is in %s", output.way, count);
        }
        for (Part input : inputs) {
            long count = usedInputs.stream().filter(input::equals).count();
            Violation.check(
                    count <= 1,
                    "the memref %s of operand %s must be in one alias at most, is in %s",
                    input.way,
                    input.value,
                    count);
        }
    }

    /** A value, and the way into it where it is a tuple. */
    private record Part(int value, List<Long> way) {}

    private static void addBuffers(List<Part> to, int value, Type type, List<Long> way) {
        if (type instanceof Type.Buffer) {
            to.add(new Part(value, way));
        } else if (type instanceof Type.Tuple tuple) {
            for (int i = 0; i < tuple.types().size(); i++) {
                List<Long> longer = new ArrayList<>(way);
                longer.add((long) i);
                addBuffers(to, value, tuple.types().get(i), longer);
            }
        }
    }

    static @Nullable List<Type> runParallel(Draft draft) {
        Attribute.Array programs = draft.attribute("programs", Attribute.Array.class);
        Violation.check(!programs.elements().isEmpty(), "programs cannot be empty");
        int width = -1;
        long inputs = 0;
        long results = 0;
        for (Attribute row : programs.elements()) {
            Violation.check(
                    row instanceof Attribute.Array names
                            && !names.elements().isEmpty()
                            && names.elements().stream().allMatch(Attribute.SymbolRef.class::isInstance),
                    "programs must be an array of arrays of function names, got %s",
                    programs);
            List<Attribute> names = ((Attribute.Array) row).elements();
            Violation.check(
                    width < 0 || names.size() == width,
                    "the rows of programs must have one length, got %s and %s",
                    width,
                    names.size());
            width = names.size();
            for (Attribute name : names) {
                Type.Function type = draft.hasSymbols() ? function(draft, ((Attribute.SymbolRef) name).root()) : null;
                inputs += type == null ? 0 : type.inputs().size();
                results += type == null ? 0 : type.results().size();
            }
        }
        if (draft.hasSymbols()) {
            Violation.check(
                    inputs == draft.operands().size(),
                    "the programs take %s inputs, got %s",
                    inputs,
                    draft.operands().size());
            Violation.check(
                    draft.results() == null || results == draft.results().size(),
                    "the programs give %s results, got %s",
                    results,
                    draft.results());
        }
        if (draft.attribute("infeed") instanceof Attribute.Array queue) {
            Violation.check(!queue.elements().isEmpty(), "infeed cannot be empty");
            for (Attribute name : queue.elements()) {
                if (draft.hasSymbols()) {
                    Type.Function type = function(draft, ((Attribute.SymbolRef) name).root());
                    Violation.check(
                            type.results().size() == 1 && type.results().getFirst() instanceof TensorType,
                            "an infeed function gives one tensor, got %s",
                            type);
                }
            }
        }
        return null;
    }

    // Operations whose shapes are given at run time.

    /** Refuses a result that a constant shape does not fit. */
    private static void shapeFits(Draft draft, int shapeOperand, TensorType result) {
        DenseElements shape = draft.constant(shapeOperand);
        if (shape == null) {
            return;
        }
        long[] sizes = shape.toLongs();
        Violation.check(
                Arrays.stream(sizes).allMatch(size -> size >= 0)
                        && Types.compatibleShapes(TensorType.of(result.element(), sizes), result),
                "the output shape %s is incompatible with the result type %s",
                Arrays.toString(sizes),
                result);
    }

    static @Nullable List<Type> dynamicIota(Draft draft) {
        TensorType result = draft.resultTensor();
        ShapeRules.checkDimension(draft.integer("iota_dimension"), result.rank(), "iota_dimension");
        shapeFits(draft, 0, result);
        return null;
    }

    static @Nullable List<Type> dynamicReshape(Draft draft) {
        TensorType operand = draft.tensor(0);
        TensorType shape = draft.tensor(1);
        TensorType result = draft.resultTensor();
        Violation.check(
                operand.element() instanceof QuantizedType
                        || result.element() instanceof QuantizedType
                        || operand.element().equals(result.element()),
                "operand and result must have compatible element types, got %s and %s",
                operand,
                result);
        ShapeRules.reshapeFits(operand, result);
        shapeFits(draft, 1, result);
        Violation.check(
                shape.dim(0) == result.rank(),
                "the result must have a dimension for each element of the output shape, got %s and %s",
                shape,
                result);
        DenseElements sizes = draft.constant(1);
        if (sizes != null && operand.isStatic()) {
            long count = Arrays.stream(sizes.toLongs()).reduce(1, (a, b) -> a * b);
            Violation.check(
                    count == operand.elementCount(),
                    "the output shape has %s elements, but the operand %s",
                    count,
                    operand.elementCount());
        }
        return null;
    }

    static @Nullable List<Type> dynamicBroadcastInDim(Draft draft) {
        TensorType operand = draft.tensor(0);
        TensorType result = draft.resultTensor();
        ImmutableLongArray dimensions = draft.ints("broadcast_dimensions");
        Violation.check(
                operand.element() instanceof QuantizedType
                        || result.element() instanceof QuantizedType
                        || operand.element().equals(result.element()),
                "operand and result must have compatible element types, got %s and %s",
                operand,
                result);
        Violation.check(
                result.rank() >= operand.rank(),
                "the result must have the operand's rank at least, got %s and %s",
                operand,
                result);
        ShapeRules.checkBroadcast(operand, result, dimensions);
        shapeFits(draft, 1, result);
        ImmutableLongArray expanding = draft.optionalInts("known_expanding_dimensions");
        ImmutableLongArray nonexpanding = draft.optionalInts("known_nonexpanding_dimensions");
        ShapeRules.checkUnique(
                ImmutableLongArray.builder()
                        .addAll(expanding == null ? ImmutableLongArray.of() : expanding)
                        .addAll(nonexpanding == null ? ImmutableLongArray.of() : nonexpanding)
                        .build(),
                operand.rank(),
                "known expanding and nonexpanding dimensions");
        DenseElements shape = draft.constant(1);
        if (shape != null && operand.isStatic()) {
            for (int i = 0; i < operand.rank(); i++) {
                long size = shape.longAt(dimensions.get(i));
                Violation.check(
                        operand.dim(i) == 1 || operand.dim(i) == size,
                        "operand dimension %s of size %s must be 1 or %s",
                        i,
                        operand.dim(i),
                        size);
            }
        }
        return null;
    }

    static @Nullable List<Type> dynamicPad(Draft draft) {
        TensorType operand = draft.tensor(0);
        TensorType result = draft.resultTensor();
        Violation.check(
                draft.tensor(2).dim(0) == operand.rank(),
                "padding must have an entry for each of the operand's %s dimensions, got %s",
                operand.rank(),
                draft.type(2));
        DenseElements low = draft.constant(2);
        DenseElements high = draft.constant(3);
        DenseElements interior = draft.constant(4);
        if (interior != null) {
            Violation.check(
                    Arrays.stream(interior.toLongs()).allMatch(size -> size >= 0),
                    "interior padding cannot be negative, got %s",
                    interior);
        }
        if (low == null || high == null || interior == null || !operand.isStatic() || !result.isStatic()) {
            return null;
        }
        for (int i = 0; i < operand.rank(); i++) {
            long size = operand.dim(i)
                    + low.longAt(i)
                    + Math.max(operand.dim(i) - 1, 0) * interior.longAt(i)
                    + high.longAt(i);
            Violation.check(
                    size == result.dim(i), "dimension %s of the result must have the size %s, got %s", i, size, result);
        }
        return null;
    }

    static @Nullable List<Type> realDynamicSlice(Draft draft) {
        int rank = draft.tensor(0).rank();
        for (int i = 1; i < 4; i++) {
            TensorType indices = draft.tensor(i);
            Violation.check(
                    Types.compatibleSizes(indices.dim(0), rank),
                    "%s must have an entry for each of the operand's %s dimensions, got %s",
                    draft.name(i),
                    rank,
                    indices);
        }
        return null;
    }

    static List<Type> dynamicGather(Draft draft) {
        DenseElements sizes = draft.constant(2);
        long[] values;
        if (sizes == null) {
            values = new long[Math.toIntExact(draft.tensor(2).dim(0))];
            Arrays.fill(values, DYNAMIC);
        } else {
            values = sizes.toLongs();
        }
        return IndexRules.gather(draft, ImmutableLongArray.copyOf(values));
    }

    static @Nullable List<Type> einsum(Draft draft) {
        String config = draft.attribute("einsum_config", Attribute.Text.class).value();
        Violation.check(config.contains("->"), "einsum_config must have an arrow, got \"%s\"", config);
        return null;
    }
}

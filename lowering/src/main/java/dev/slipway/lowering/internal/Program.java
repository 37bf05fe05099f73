// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import com.google.common.math.LongMath;
import dev.slipway.lowering.Blocks;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.LoweringException;
import dev.slipway.lowering.ParameterLayout;
import dev.slipway.lowering.Parameters;
import dev.slipway.lowering.Parameters.Weight;
import dev.slipway.lowering.ShardingRules;
import dev.slipway.lowering.TensorSpec;
import dev.slipway.mesh.AxisPart;
import dev.slipway.mesh.Mesh;
import dev.slipway.mesh.NamedSharding;
import dev.slipway.mesh.PartitionSpec;
import dev.slipway.stablehlo.Module;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** What all programs of a model have in common: arguments with shardings, one function {@code main}, a mesh. */
public final class Program {
    private static final String PARAMS = "params/";

    private final DecoderConfig config;
    private final Form form;
    private final Mesh mesh;
    private final ShardingRules rules;
    private final Map<String, Integer> axes = new LinkedHashMap<>();
    private final Set<String> notes = new LinkedHashSet<>();
    private final List<TensorSpec> arguments = new ArrayList<>();
    private final List<TensorSpec> results = new ArrayList<>();
    private final ParameterLayout layout;
    private final int parameters;
    private final boolean byHeads;

    Program(DecoderConfig config, Form form, Mesh mesh, ShardingRules rules, ParameterLayout layout) {
        this.config = config;
        this.layout = layout;
        this.form = form;
        this.mesh = mesh;
        this.rules = rules;
        for (int i = 0; i < mesh.axes().size(); i++) {
            axes.put(mesh.axes().get(i), mesh.shape().get(i));
        }
        switch (layout) {
            case SLIPWAY -> addParameters();
            case AXLEARN -> addAxlearnParameters();
        }
        this.parameters = arguments.size();
        this.byHeads = attendsByHeads();
    }

    /** The parameters that a model's programs take. */
    public static ImmutableList<TensorSpec> parameters(
            DecoderConfig config, Form form, Mesh mesh, ShardingRules rules, ParameterLayout layout) {
        return ImmutableList.copyOf(new Program(config, form, mesh, rules, layout).arguments);
    }

    /** A program without parameters. */
    Program withoutParameters() {
        return new Program(this);
    }

    private Program(Program from) {
        this.config = from.config;
        this.form = from.form;
        this.mesh = from.mesh;
        this.rules = from.rules;
        this.layout = from.layout;
        this.axes.putAll(from.axes);
        this.parameters = 0;
        this.byHeads = from.byHeads;
    }

    /** How many parts the batch is cut into where it divides. */
    long batchParts() {
        return parts(rules.batch());
    }

    /**
     * How many columns of prompts are read in one pass: the fewest that divide the prefix and give each matrix the tokens
     * that the form asks for.
     */
    long columnsPerPass(Exchange exchange, long rows, long width) {
        if (form.tokensPerPass() == 0) {
            return width;
        }
        long meeting = rows / parts(exchange.apart());
        long columns = LongStream.rangeClosed(1, width)
                .filter(count -> width % count == 0 && count * meeting >= form.tokensPerPass())
                .findFirst()
                .orElse(width);
        if (columns < width) {
            note("prompts are read " + columns + " of " + width + " columns at a time");
        }
        return columns;
    }

    private long parts(List<String> cut) {
        return cut.stream().mapToLong(axis -> axes.getOrDefault(axis, 1)).reduce(1, (a, b) -> a * b);
    }

    private void addParameters() {
        addWeights("", Parameters.outside(config), List.of());
        ImmutableMap<String, Weight> layer = Parameters.ofLayer(config);
        if (form.layers() == Form.Layers.SCANNED) {
            addWeights("layers/", layer, List.of((long) config.depth()));
        } else {
            for (int i = 0; i < config.depth(); i++) {
                addWeights("layers/" + i + "/", layer, List.of());
            }
        }
    }

    private void addAxlearnParameters() {
        AxlearnParameters.of(config)
                .forEach((path, stored) -> arguments.add(new TensorSpec(
                        PARAMS + path,
                        TensorType.of(form.weights(), longs(stored.shape())),
                        assign(path, stored.shape(), stored.axes()),
                        false)));
    }

    private void addWeights(String prefix, ImmutableMap<String, Weight> weights, List<Long> leading) {
        long layer = weights.values().stream().mapToLong(Weight::numbers).sum();
        for (Weight weight : weights.values()) {
            if (BlockMatrices.holds(form, weight)) {
                addBlocks(prefix, weight.name().substring(0, weight.name().lastIndexOf('/')), weights, leading);
            } else {
                addWeight(prefix + weight.name(), weight, leading, prefix.isEmpty() ? weight.numbers() : layer);
            }
        }
    }

    private void addBlocks(String prefix, String matrix, ImmutableMap<String, Weight> weights, List<Long> leading) {
        if (mesh.size() > 1) {
            throw new LoweringException(
                    "matrices in blocks lie on one device, and this mesh has %d; lower them output-major"
                            .formatted(mesh.size()));
        }
        ImmutableList<String> joined = BlockMatrices.joined(matrix, weights);
        if (!joined.getFirst().equals(matrix)) {
            return;
        }
        List<Weight> parts = joined.stream()
                .map(name -> Objects.requireNonNull(weights.get(name + "/weight")))
                .toList();
        long out = parts.stream().mapToLong(Weight::out).sum();
        int bits = switch (form.matrices()) {
            case OUTPUT_MAJOR -> throw new IllegalStateException("output-major matrices are in no blocks");
            case BLOCKS -> 8;
            case HALF_BLOCKS -> prefix.isEmpty() ? 8 : 4;
            case PAIRS -> 16;
            case INPUT_MAJOR -> 32;
        };
        for (Blocks.Part part : Blocks.parts(form.matrices())) {
            TensorType type = BlockMatrices.type(part, bits, parts.getFirst().in(), out);
            List<Long> shape = new ArrayList<>(leading);
            shape.addAll(list(type.shape().toArray()));
            arguments.add(new TensorSpec(
                    PARAMS + new Blocks(prefix, joined, part).name(),
                    TensorType.of(type.element(), longs(shape)),
                    PartitionSpec.replicated(),
                    false));
        }
    }

    /**
     * Adds a weight.
     *
     * @param together how many numbers are read where it is, those of its layer's other weights included
     */
    private void addWeight(String name, Weight weight, List<Long> leading, long together) {
        List<Long> shape = new ArrayList<>(leading);
        List<List<String>> wished = new ArrayList<>();
        leading.forEach(_ -> wished.add(List.of()));
        // Rows meet a norm's scale whole: cut, it would be gathered anew in each layer of each step.
        boolean scale = weight.axes().equals(List.of(Parameters.Axis.WIDTH));
        for (int i = 0; i < weight.shape().size(); i++) {
            shape.add((long) weight.shape().get(i));
            wished.add(scale ? List.of() : worthCutting(weight, weight.axes().get(i), together));
        }
        // Outputs before the residual stream: a product's parts are then products, not parts of sums.
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < leading.size(); i++) {
            order.add(i);
        }
        IntStream.range(0, weight.axes().size())
                .boxed()
                .sorted(Comparator.comparing(i -> weight.axes().get(i) == Parameters.Axis.WIDTH))
                .forEach(i -> order.add(leading.size() + i));
        // Layers alike are noted once: the name without the layer's number.
        PartitionSpec spec = new PartitionSpec(ShardingRules.assign(weight.name(), shape, wished, order, axes, notes));
        arguments.add(new TensorSpec(PARAMS + name, TensorType.of(form.weights(), longs(shape)), spec, false));
    }

    /** Those of a dimension's mesh axes along which cutting a weight saves more time than the exchanges take. */
    private List<String> worthCutting(Weight weight, Parameters.Axis axis, long together) {
        List<String> wished = rules.of(axis);
        if (weight.numbers() < form.wholeBelow()) {
            // Cut, it would need one exchange more: what meets it is whole on these devices, or what comes of it is to
            // be.
            wished = wished.stream()
                    .filter(name -> rules.batch().contains(name) || cutsWithoutExchange(weight, axis, name))
                    .toList();
        }
        if (together >= form.wholeBelow()) {
            return wished;
        }
        for (String name : wished) {
            if (rules.batch().contains(name) && axes.getOrDefault(name, 1) > 1) {
                notes.add("weights of " + together + " numbers are whole along " + name
                        + ": reading them takes less time than exchanging rows");
            }
        }
        return Exchange.without(wished, rules.batch());
    }

    private boolean cutsWithoutExchange(Weight weight, Parameters.Axis axis, String name) {
        int heads = config.attention().heads();
        int size = axes.getOrDefault(name, 1);
        return switch (axis) {
            case WIDTH -> false;
            case ATTENDED -> {
                if (heads % size != 0) {
                    notes.add(weight.name() + ": " + heads + " heads do not divide by " + name + "=" + size
                            + ", left whole");
                }
                yield heads % size == 0;
            }
            default -> true;
        };
    }

    /** The first spelling of a sharding that divides; what does not is noted. */
    private PartitionSpec assign(String what, List<Long> shape, List<? extends List<String>> wished) {
        return new PartitionSpec(ShardingRules.assign(what, shape, wished, axes, notes));
    }

    /** How rows meet matrices that are cut along the batch's mesh axes. */
    Exchange exchange(PartitionSpec rows) {
        Map<String, PartitionSpec> matrices = switch (layout) {
            case SLIPWAY -> matrices();
            case AXLEARN -> AxlearnParameters.matrices(this::partition);
        };
        return new Exchange(
                ImmutableList.copyOf(rows.axes(0)),
                ImmutableMap.copyOf(Maps.filterValues(matrices, this::sharesAxes)),
                byHeads);
    }

    /**
     * Whether the cache lies by heads, and attention stays where the matrices of heads are: where these cut heads, all
     * alike, and nothing else. Four exchanges in a layer fewer than by rows.
     */
    private boolean attendsByHeads() {
        if (mesh.size() == 1 || layout == ParameterLayout.AXLEARN) {
            return false;
        }
        Map<String, PartitionSpec> matrices = matrices();
        List<String> heads = cut(matrices, "k").getFirst();
        return !heads.isEmpty()
                && Stream.of("q", "k", "v")
                        .allMatch(name -> cut(matrices, name).equals(List.of(heads, List.of(), List.of())))
                && cut(matrices, "o").equals(List.of(List.of(), heads));
    }

    private static List<List<String>> cut(Map<String, PartitionSpec> matrices, String matrix) {
        return Objects.requireNonNull(matrices.get(matrix + "/weight"), matrix).dimensions();
    }

    private boolean sharesAxes(PartitionSpec cut) {
        return cut.dimensions().stream().anyMatch(axes -> !Collections.disjoint(axes, rules.batch()));
    }

    private PartitionSpec partition(String parameter) {
        return arguments.stream()
                .filter(spec -> spec.path().equals(PARAMS + parameter))
                .findFirst()
                .orElseThrow()
                .partition();
    }

    /** How matrices lie, by name as a layer has it; without the dimension of layers. */
    private Map<String, PartitionSpec> matrices() {
        boolean scanned = form.layers() == Form.Layers.SCANNED;
        String layers = scanned ? "layers/" : "layers/0/";
        Map<String, PartitionSpec> matrices = new LinkedHashMap<>();
        for (TensorSpec spec : arguments.subList(0, parameters)) {
            String path = spec.path().substring(PARAMS.length());
            boolean layer = path.startsWith(layers);
            List<List<String>> cut = spec.partition().dimensions();
            matrices.put(
                    layer ? path.substring(layers.length()) : path,
                    layer && scanned && !cut.isEmpty()
                            ? new PartitionSpec(cut.subList(1, cut.size()))
                            : spec.partition());
        }
        return matrices;
    }

    /** Sharding of a tensor whose dimension {@code at} is the batch and whose others are whole. */
    PartitionSpec batchSpec(String what, int at, long... shape) {
        List<List<String>> wished = new ArrayList<>();
        for (int i = 0; i < shape.length; i++) {
            wished.add(i == at ? rules.batch() : List.of());
        }
        return assign(what, list(shape), wished);
    }

    /**
     * Sharding of a cache tensor: its rows as the batch, its heads as the KV heads, which come first where attention is by heads.
     * Fewer KV heads than devices are cut along the part of a mesh axis that divides them, as the query heads that read them.
     */
    PartitionSpec cacheSpec(int rowDimension, long... shape) {
        Map<String, Integer> sizes = new LinkedHashMap<>(axes);
        List<String> heads = new ArrayList<>();
        long left = shape[rowDimension + 1];
        for (String axis : rules.of(Parameters.Axis.KV_HEADS)) {
            int size = axes.getOrDefault(axis, 1);
            int common = (int) LongMath.gcd(left, size);
            boolean inPart = common > 1 && common < size && !rules.batch().contains(axis);
            String taken = inPart ? AxisPart.first(axis, common).toString() : axis;
            sizes.putIfAbsent(taken, common);
            heads.add(taken);
            left = inPart || common == size ? left / common : left;
        }
        List<List<String>> wished = new ArrayList<>(Collections.nCopies(shape.length, List.of()));
        wished.set(rowDimension, rules.batch());
        wished.set(rowDimension + 1, heads);
        List<Integer> order =
                new ArrayList<>(IntStream.range(0, shape.length).boxed().toList());
        if (byHeads) {
            Collections.swap(order, rowDimension, rowDimension + 1);
        }
        return new PartitionSpec(ShardingRules.assign("cache", list(shape), wished, order, sizes, notes));
    }

    /** Adds an argument after the parameters. */
    void argument(String path, TensorType type, PartitionSpec spec) {
        addArgument(new TensorSpec(path, type, spec, false));
    }

    /** Adds a replicated argument after the parameters. */
    void argument(String path, TensorType type) {
        argument(path, type, PartitionSpec.replicated());
    }

    /** Adds an argument after the parameters whose buffer is given up to the result of the same path. */
    void donated(String path, TensorType type, PartitionSpec spec) {
        addArgument(new TensorSpec(path, type, spec, true));
    }

    private void addArgument(TensorSpec spec) {
        NamedSharding.of(mesh, spec.partition())
                .shardShape(list(spec.type().shape().toArray()));
        arguments.add(spec);
    }

    /** Adds a result. */
    void result(String path, TensorType type, PartitionSpec spec) {
        results.add(new TensorSpec(path, type, spec, false));
    }

    void note(String note) {
        notes.add(note);
    }

    /** Emits the function's body. */
    interface Body {
        /**
         * Emits the results, in the order in which they were added.
         *
         * @param weights the parameters
         * @param inputs the other arguments by path
         */
        List<Value> emit(Ops o, ModelWeights weights, Values inputs);
    }

    /** The finished program. */
    InferenceProgram build(String method, Body body) {
        Module module = Modules.module(method, mesh, arguments, results, (o, values) -> {
            Map<String, Value> weights = new LinkedHashMap<>();
            Map<String, Value> inputs = new LinkedHashMap<>();
            for (int i = 0; i < values.size(); i++) {
                String path = arguments.get(i).path();
                if (i < parameters) {
                    weights.put(path.substring(PARAMS.length()), values.get(i));
                } else {
                    inputs.put(path, values.get(i));
                }
            }
            Values named = Values.of(weights);
            return body.emit(
                    o,
                    switch (layout) {
                        case SLIPWAY -> named;
                        case AXLEARN -> new AxlearnParameters(config, named);
                    },
                    Values.of(inputs));
        });
        return new InferenceProgram(
                method,
                module,
                mesh,
                ImmutableList.copyOf(arguments),
                ImmutableList.copyOf(results),
                parameters,
                ImmutableList.copyOf(notes));
    }

    private static List<Long> list(long... shape) {
        List<Long> list = new ArrayList<>();
        for (long size : shape) {
            list.add(size);
        }
        return list;
    }

    private static long[] longs(List<Long> shape) {
        return shape.stream().mapToLong(Long::longValue).toArray();
    }
}

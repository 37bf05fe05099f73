// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import dev.slipway.lowering.Blocks;
import dev.slipway.lowering.Blocks.Part;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.Parameters;
import dev.slipway.lowering.Parameters.Weight;
import dev.slipway.stablehlo.DotDimensionNumbers;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Matrices in {@link Blocks}, and products with them.
 *
 * <p>The products are written for XLA:CPU. Its own matrix-vector products take float32 only at full speed; what it makes
 * one good loop of is a sum of at most 32 products over a dimension that is not the innermost: the sum is unrolled, the
 * outputs are vectorised, the numbers are taken out of their words in registers. A longer sum is rewritten to a tree whose leaves
 * are stored first, and two sums in a row are joined to a scalar loop; hence the sum over blocks is a matrix product with
 * ones, which is left alone. Words rather than bytes, since a loop over bytes reads 16 or 32 rows of the matrix at a time, a quarter of a
 * cache line of each: for 49,152 outputs, whose rows begin 12 pages apart, words are twice as fast. docs/performance.md has the
 * measurements.
 */
final class BlockMatrices {
    /** Up to how many rows a product is written without the matrix in float32. */
    private static final long FEW_ROWS = 4;

    private static final List<ImmutableList<String>> JOINED =
            List.of(ImmutableList.of("q", "k", "v"), ImmutableList.of("gate", "up"));

    private BlockMatrices() {}

    /** Whether a weight lies in blocks. */
    static boolean holds(Form form, Weight weight) {
        boolean matrix = weight.outputs() > 0 && weight.in() % Blocks.SIZE == 0;
        return switch (form.matrices()) {
            case OUTPUT_MAJOR -> false;
            case BLOCKS, HALF_BLOCKS, PAIRS -> matrix;
            // A head is stacked over no layers, and may be the embedding.
            case INPUT_MAJOR -> matrix && weight.axes().getFirst() != Parameters.Axis.VOCABULARY;
        };
    }

    /** The matrices that lie together with this one, of those that a layer has. */
    static ImmutableList<String> joined(String matrix, ImmutableMap<String, Weight> present) {
        return JOINED.stream()
                .filter(names -> names.contains(matrix)
                        && names.stream().allMatch(name -> present.containsKey(name + "/weight")))
                .findFirst()
                .orElse(ImmutableList.of(matrix));
    }

    /**
     * Type of a part of a matrix.
     *
     * @param bits of a number in the words: 4 to 32
     */
    static TensorType type(Part part, int bits, long in, long out) {
        return switch (part) {
            case STEPS, PAIRS -> TensorType.of(ElementType.I32, in / Blocks.SIZE, bits, out);
            case NUMBERS -> TensorType.of(ElementType.F32, in / Blocks.SIZE, Blocks.SIZE, out);
            case STEP, OFFSET -> TensorType.of(ElementType.F32, in / Blocks.SIZE, out);
        };
    }

    private static List<Value> parts(Form form, DecoderEmitter.Weights weights, List<String> names) {
        ImmutableList<String> joined = ImmutableList.copyOf(names);
        return Blocks.parts(form.matrices()).stream()
                .map(part -> weights.get(new Blocks("", joined, part).name()))
                .toList();
    }

    /** What a matrix has for some of its outputs, {@code i32[batch, length]}: {@code f32[batch, length, in]}. */
    static Value rows(Ops o, Form form, DecoderEmitter.Weights weights, String name, Value outputs) {
        List<Value> parts = parts(form, weights, List.of(name)).stream()
                .map(part -> o.takeLast(part, outputs))
                .toList();
        Value words = parts.getFirst();
        Value rows = scaled(o, o.b().concatenate(numbers(o, words, o.size(words, 3)), 3), Scale.of(parts), 0, 1, 2);
        return o.b().reshape(rows, o.size(rows, 0), o.size(rows, 1), o.size(rows, 2) * Blocks.SIZE);
    }

    /** {@code x [rows, in]} times joined matrices: {@code f32[rows, out]}. */
    static Value product(Ops o, Form form, DecoderEmitter.Weights weights, List<String> names, Value x) {
        List<Value> parts = parts(form, weights, names);
        @Nullable Scale scale = Scale.of(parts);
        // What made x would otherwise be computed again for each number of the matrix.
        Value x32 = o.b().optimizationBarrier(List.of(o.convert(x, ElementType.F32)))
                .getFirst();
        return o.size(x, 0) <= FEW_ROWS
                ? sums(o, x32, parts.getFirst(), scale)
                : dense(o, x32, parts.getFirst(), scale);
    }

    /** What the numbers of each block are multiples of, and from where: {@code f32[in / 32, out]} each. */
    private record Scale(Value step, Value offset) {
        /** That of a matrix's parts; null where these are the numbers themselves. */
        static @Nullable Scale of(List<Value> parts) {
            return parts.size() == 1 ? null : new Scale(parts.get(1), parts.get(2));
        }
    }

    /** Numbers from steps, of which {@code dimensions} are the scale's. */
    private static Value scaled(Ops o, Value steps, @Nullable Scale scale, long... dimensions) {
        if (scale == null) {
            return steps;
        }
        long[] shape = o.shape(steps);
        return o.add(
                o.multiply(steps, o.broadcast(scale.step(), shape, dimensions)),
                o.broadcast(scale.offset(), shape, dimensions));
    }

    /** The sums of each block by themselves, then over the blocks. */
    private static Value sums(Ops o, Value x, Value words, @Nullable Scale scale) {
        long rows = o.size(x, 0);
        long blocks = o.size(words, 0);
        long out = o.size(words, 2);
        Value inputs = o.transpose(o.b().reshape(x, rows, blocks, Blocks.SIZE), 1, 2, 0);
        List<Value> numbers = numbers(o, words, o.size(words, 1));
        long each = Blocks.SIZE / numbers.size();
        long[] shape = {blocks, each, rows, out};
        Value terms = null;
        for (int i = 0; i < numbers.size(); i++) {
            Value part = o.multiply(
                    o.broadcast(o.sliceAxis(inputs, 1, i * each, (i + 1) * each), shape, 0, 1, 2),
                    o.broadcast(numbers.get(i), shape, 0, 1, 3));
            terms = terms == null ? part : o.add(terms, part);
        }
        Value sums = o.sum(Objects.requireNonNull(terms), 1);
        long[] perBlock = {blocks, rows, out};
        Value scaled = scale == null
                ? sums
                : o.add(
                        o.multiply(sums, o.broadcast(scale.step(), perBlock, 0, 2)),
                        o.multiply(
                                o.broadcast(o.sum(inputs, 1), perBlock, 0, 1),
                                o.broadcast(scale.offset(), perBlock, 0, 2)));
        Value ones = o.constant(ElementType.F32, 1, blocks);
        return o.b().dotGeneral(
                        ones,
                        scaled,
                        DotDimensionNumbers.of(new long[] {}, new long[] {}, new long[] {0}, new long[] {0}),
                        ElementType.F32);
    }

    /**
     * The numbers, or how many steps each is from its block's offset, by their place in the words: {@code f32} in the shape
     * of the words each.
     */
    private static List<Value> numbers(Ops o, Value words, long bits) {
        TensorType type = words.tensorType();
        if (type.element().equals(ElementType.F32)) {
            return List.of(words);
        }
        List<Value> numbers = new ArrayList<>();
        for (long low = 0; low < Integer.SIZE; low += bits) {
            numbers.add(numbers(o, words, o.b().constant(type, low), bits));
        }
        return numbers;
    }

    /** The numbers of {@code bits} that begin at the bits {@code low} of the words. */
    private static Value numbers(Ops o, Value words, Value low, long bits) {
        TensorType type = words.tensorType();
        if (bits == 16) {
            Value high = o.b().shiftLeft(o.b().shiftRightLogical(words, low), o.b().constant(type, bits));
            return o.b().bitcastConvert(
                            high, TensorType.of(ElementType.F32, type.shape().toArray()));
        }
        Value unused = o.b().constant(type, Integer.SIZE - bits);
        return o.convert(
                bits == 8
                        ? o.b().shiftRightArithmetic(o.b().shiftLeft(words, o.b().subtract(unused, low)), unused)
                        : o.b().and(o.b().shiftRightLogical(words, low), o.b().constant(type, (1L << bits) - 1)),
                ElementType.F32);
    }

    /** The matrix in float32 first: worth it once many rows share it. */
    private static Value dense(Ops o, Value x, Value words, @Nullable Scale scale) {
        long blocks = o.size(words, 0);
        long bits = o.size(words, 1);
        long out = o.size(words, 2);
        if (words.tensorType().element().equals(ElementType.F32)) {
            return o.dot(x, o.b().reshape(words, blocks * Blocks.SIZE, out), 1, 0, ElementType.F32);
        }
        long[] shape = {blocks, Integer.SIZE / bits, bits, out};
        Value each = o.broadcast(words, shape, 0, 2, 3);
        Value low = o.multiply(o.b().iota(1, each.tensorType()), o.b().constant(each.tensorType(), bits));
        Value matrix = scaled(o, numbers(o, each, low, bits), scale, 0, 3);
        return o.dot(x, o.b().reshape(matrix, blocks * Blocks.SIZE, out), 1, 0, ElementType.F32);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.DotDimensionNumbers;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.GatherDimensionNumbers;
import dev.slipway.stablehlo.OpBuilder;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** The vocabulary in which decoders are written: StableHLO's operations, with the shapes that go without saying left out. */
record Ops(OpBuilder b) {
    /** Builds a loop's condition or body. */
    @FunctionalInterface
    interface Step<T> {
        T build(Ops o, List<Value> carried);
    }

    static long[] range(int count) {
        return LongStream.range(0, count).toArray();
    }

    /** The least multiple of {@code step} that is at least {@code value}. */
    static long roundUp(long value, long step) {
        return (value + step - 1) / step * step;
    }

    // Shapes.

    long[] shape(Value x) {
        return x.tensorType().shape().toArray();
    }

    long size(Value x, int dimension) {
        return x.tensorType().dim(dimension);
    }

    int rank(Value x) {
        return x.tensorType().rank();
    }

    private static ElementType element(Value x) {
        return x.tensorType().element();
    }

    // Constants.

    Value scalar(ElementType type, double value) {
        return b.scalar(type, value);
    }

    Value constant(ElementType type, double value, long... shape) {
        return b.constant(TensorType.of(type, shape), value);
    }

    /** An {@code i32} of one value in a shape. */
    Value int32(long value, long... shape) {
        return b.constant(TensorType.of(ElementType.I32, shape), value);
    }

    Value zeros(ElementType type, long... shape) {
        return constant(type, 0, shape);
    }

    /** {@code value} in the shape and type of {@code like}. */
    Value splat(double value, Value like) {
        return b.constant(like.tensorType(), value);
    }

    /** A vector of float32 numbers. */
    Value constants(double... values) {
        float[] floats = new float[values.length];
        for (int i = 0; i < values.length; i++) {
            floats[i] = (float) values[i];
        }
        return b.constant(floats);
    }

    Value iota(ElementType type, int dimension, long... shape) {
        return b.iota(type, dimension, shape);
    }

    // Elementwise, with numbers.

    Value add(Value x, Value y) {
        return b.add(x, y);
    }

    Value add(Value x, double y) {
        return b.add(x, splat(y, x));
    }

    /** Adds to {@code i32}. */
    Value plus(Value x, long y) {
        return b.add(x, int32(y, shape(x)));
    }

    Value multiply(Value x, Value y) {
        return b.multiply(x, y);
    }

    Value multiply(Value x, double y) {
        return y == 1 ? x : b.multiply(x, splat(y, x));
    }

    /** The remainder of {@code i32} in {@code [0, y)}, {@code x} at least {@code -y}. */
    Value modulo(Value x, long y) {
        return b.remainder(plus(x, y), int32(y, shape(x)));
    }

    Value maximum(Value x, double y) {
        return b.maximum(x, splat(y, x));
    }

    Value compare(Value x, Value y, ComparisonDirection direction) {
        return b.compare(x, y, direction);
    }

    Value convert(Value x, ElementType type) {
        return b.convert(x, type);
    }

    /** {@code cap * tanh(x / cap)}. */
    Value cap(Value x, double cap) {
        return multiply(b.tanh(multiply(x, 1 / cap)), cap);
    }

    Value erf(Value x) {
        return b.chlo().erf(x);
    }

    // Shapes of values.

    /** Broadcasts: dimension {@code i} of {@code x} becomes dimension {@code dimensions[i]}. */
    Value broadcast(Value x, long[] shape, long... dimensions) {
        return b.broadcastInDim(x, shape, dimensions);
    }

    /** Adds {@code y}, whose dimensions are {@code dimensions} of {@code x}, to {@code x}. */
    Value addAlong(Value x, Value y, long... dimensions) {
        return b.add(x, broadcast(convert(y, element(x)), shape(x), dimensions));
    }

    Value sliceAxis(Value x, int dimension, long start, long limit) {
        return start == 0 && limit == size(x, dimension) ? x : b.sliceDim(x, dimension, start, limit);
    }

    Value transpose(Value x, long... permutation) {
        return Arrays.equals(permutation, range(permutation.length)) ? x : b.transpose(x, permutation);
    }

    /** Entry {@code index} of the first dimension, which goes. */
    Value at(Value x, Value index) {
        long[] shape = shape(x);
        Value zero = scalar(ElementType.I32, 0);
        List<Value> starts = LongStream.range(0, shape.length)
                .mapToObj(i -> i == 0 ? index : zero)
                .toList();
        long[] sizes = shape.clone();
        sizes[0] = 1;
        long[] rest = LongStream.range(1, shape.length).map(i -> shape[(int) i]).toArray();
        return b.reshape(b.dynamicSlice(x, starts, sizes), rest);
    }

    /**
     * A window of the last two dimensions of {@code x [a, b, c, d]}, or of one layer of {@code x [layers, a, b, c, d]}, in one
     * slice.
     *
     * @param layer {@code i32[]}, null where there are no layers
     * @param from where it begins
     */
    Value window(Value x, @Nullable Value layer, long[] from, long rows, long columns) {
        long[] sizes = {size(x, rank(x) - 4), size(x, rank(x) - 3), rows, columns};
        if (layer == null) {
            long[] limits = LongStream.range(0, 4)
                    .map(i -> from[(int) i] + sizes[(int) i])
                    .toArray();
            return b.slice(x, from, limits);
        }
        List<Value> starts = new ArrayList<>(List.of(layer));
        LongStream.of(from).mapToObj(at -> int32(at)).forEach(starts::add);
        return b.reshape(
                b.dynamicSlice(
                        x,
                        starts,
                        LongStream.concat(LongStream.of(1), LongStream.of(sizes))
                                .toArray()),
                sizes);
    }

    /** Cuts columns off a matrix, or adds zeros, until it has {@code columns}. */
    Value padColumns(Value x, long columns) {
        long given = size(x, 1);
        if (given >= columns) {
            return sliceAxis(x, 1, 0, columns);
        }
        return b.pad(x, scalar(element(x), 0), new long[] {0, 0}, new long[] {0, columns - given}, new long[] {0, 0});
    }

    // Reductions.

    Value sum(Value x, int dimension) {
        return b.reduceSum(x, dimension);
    }

    Value max(Value x, int dimension) {
        return b.reduceMax(x, dimension);
    }

    /** Whether all of a dimension are true. */
    Value all(Value x, long dimension) {
        return b.reduce(x, b.constant(TensorType.of(ElementType.I1), 1L), (c, l, r) -> c.and(l, r), dimension);
    }

    /** Whether any of a dimension is true. */
    Value any(Value x, int... dimensions) {
        return b.reduce(
                x,
                b.constant(TensorType.of(ElementType.I1), 0L),
                (c, l, r) -> c.or(l, r),
                Arrays.stream(dimensions).asLongStream().toArray());
    }

    /** Softmax over the last dimension. */
    Value softmax(Value x) {
        int last = rank(x) - 1;
        long[] outer = range(last);
        Value e = b.exponential(b.subtract(x, broadcast(max(x, last), shape(x), outer)));
        return b.divide(e, broadcast(sum(e, last), shape(x), outer));
    }

    /** Logarithm of the softmax over the last dimension. */
    Value logSoftmax(Value x) {
        int last = rank(x) - 1;
        long[] outer = range(last);
        Value shifted = b.subtract(x, broadcast(max(x, last), shape(x), outer));
        Value logSum = b.log(sum(b.exponential(shifted), last));
        return b.subtract(shifted, broadcast(logSum, shape(x), outer));
    }

    /** Where the greatest value of a dimension is, {@code i32}; the lowest index where several are, NaN above all. */
    Value argMax(Value x, int dimension) {
        return best(x, dimension, List.of()).getFirst();
    }

    /**
     * Where the greatest value of a dimension is, as {@link #argMax} says, and what stands there in other tensors of the
     * same shape: in one pass, where looking it up would be another over all of them.
     */
    List<Value> best(Value x, int dimension, List<Value> others) {
        List<Value> all = new ArrayList<>(List.of(x, iota(ElementType.I32, dimension, shape(x))));
        List<Value> start =
                new ArrayList<>(List.of(scalar(element(x), Double.NEGATIVE_INFINITY), scalar(ElementType.I32, 0)));
        for (Value other : others) {
            all.add(other);
            start.add(scalar(element(other), 0));
        }
        int count = all.size();
        List<Value> found = b.reduce(all, start, new long[] {dimension}, (c, it) -> {
            Value left = it.get(0);
            Value right = it.get(count);
            Value leftWins =
                    c.or(c.compare(left, right, ComparisonDirection.GT), c.compare(left, left, ComparisonDirection.NE));
            Value tie = c.and(
                    c.compare(left, right, ComparisonDirection.EQ),
                    c.compare(it.get(1), it.get(count + 1), ComparisonDirection.LT));
            Value leftStays = c.or(leftWins, tie);
            List<Value> results = new ArrayList<>();
            results.add(c.select(leftWins, left, right));
            for (int i = 1; i < count; i++) {
                results.add(c.select(leftStays, it.get(i), it.get(count + i)));
            }
            return results;
        });
        return found.subList(1, count);
    }

    /** Keeps the {@code count} greatest of the last dimension and zeroes the others; ties at the edge all stay. */
    Value keepTop(Value x, int count) {
        int last = rank(x) - 1;
        Value best = b.chlo().topK(x, count).getFirst();
        Value edge = sliceAxis(best, last, count - 1, count);
        Value least = broadcast(edge, shape(x), range(rank(x)));
        return b.select(compare(x, least, ComparisonDirection.GE), x, splat(0, x));
    }

    // Lookups.

    /** Rows of a matrix {@code [rows, width]} by {@code i32[batch, length]}: {@code [batch, length, width]}. */
    Value rows(Value matrix, Value ids) {
        long width = size(matrix, 1);
        return b.gather(
                matrix, ids, GatherDimensionNumbers.of(new long[] {2}, new long[] {0}, new long[] {0}, 2), new long[] {
                    1, width
                });
    }

    /** {@code x[..., ids[i, j]]} at {@code [i, j, ...]}, for {@code i32} ids {@code [i, j]}. */
    Value takeLast(Value x, Value ids) {
        int last = rank(x) - 1;
        long[] sizes = shape(x);
        sizes[last] = 1;
        long[] offsets = LongStream.range(2, last + 2L).toArray();
        return b.gather(x, ids, GatherDimensionNumbers.of(offsets, new long[] {last}, new long[] {last}, 2), sizes);
    }

    /** {@code x[row, columns[row, j], ...]} for {@code x [rows, from, ...]} and {@code i32} columns {@code [rows, to]}. */
    Value takeAlongRows(Value x, Value columns) {
        long[] shape = shape(columns);
        long[] sizes = shape(x);
        sizes[0] = 1;
        sizes[1] = 1;
        Value row = iota(ElementType.I32, 0, shape[0], shape[1], 1);
        Value column = b.reshape(columns, shape[0], shape[1], 1);
        return b.gather(
                x,
                b.concatenate(2, row, column),
                GatherDimensionNumbers.of(
                        LongStream.range(2, sizes.length).toArray(), new long[] {0, 1}, new long[] {0, 1}, 2),
                sizes);
    }

    /** {@code x[..., index[...]]} over the last dimension, by comparing: no gather, so it stays sharded as it is. */
    Value pick(Value x, Value index) {
        int last = rank(x) - 1;
        Value here = compare(
                iota(ElementType.I32, last, shape(x)), broadcast(index, shape(x), range(last)), ComparisonDirection.EQ);
        return sum(b.select(here, x, splat(0, x)), last);
    }

    /** Entries of one dimension by {@code i32[n]}. */
    Value take(Value x, int dimension, Value indices) {
        long[] sizes = shape(x);
        sizes[dimension] = 1;
        long[] kept =
                LongStream.range(0, sizes.length).filter(i -> i != dimension).toArray();
        return b.gather(
                x, indices, GatherDimensionNumbers.of(kept, new long[] {dimension}, new long[] {dimension}, 1), sizes);
    }

    // Matrix products.

    /** Contracts one dimension of each; the rest of {@code x}, then the rest of {@code y}. */
    Value dot(Value x, Value y, int xDimension, int yDimension, ElementType result) {
        return contract(x, y, new long[] {xDimension}, new long[] {yDimension}, result);
    }

    /** Contracts several dimensions of each; the rest of {@code x}, then the rest of {@code y}. */
    Value contract(Value x, Value y, long[] xDimensions, long[] yDimensions, ElementType result) {
        return b.dotGeneral(
                x,
                convert(y, element(x)),
                DotDimensionNumbers.of(new long[] {}, new long[] {}, xDimensions, yDimensions),
                result);
    }

    /** Contracts one dimension of each, with dimensions 0 and 1 as the batch. */
    Value batchDot(Value x, Value y, int xDimension, int yDimension, ElementType result) {
        return b.dotGeneral(
                x,
                y,
                DotDimensionNumbers.of(
                        new long[] {0, 1}, new long[] {0, 1}, new long[] {xDimension}, new long[] {yDimension}),
                result);
    }

    // Control.

    /** Builds a value with what is known outside. */
    @FunctionalInterface
    interface Branch {
        Value build(Ops o);
    }

    /** What one of some branches gives, the one that {@code i32[]} says. */
    Value choose(Value index, List<Branch> branches) {
        if (branches.size() == 1) {
            return branches.getFirst().build(this);
        }
        return b.caseOf(
                        index,
                        branches.stream()
                                .map(each -> (OpBuilder.Body) (c, _) -> List.of(each.build(new Ops(c))))
                                .toList())
                .getFirst();
    }

    /** A {@code while} loop. */
    List<Value> loop(List<Value> start, Step<Value> condition, Step<List<Value>> body) {
        return b.whileLoop(start, (c, it) -> condition.build(new Ops(c), it), (c, it) -> body.build(new Ops(c), it));
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.Form;
import dev.slipway.lowering.internal.DecoderEmitter.InCache;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.LongFunction;
import java.util.stream.LongStream;

/**
 * Attention of one position as sums that read keys and values where they lie in the cache, in {@link
 * Form.CacheOrder#KEYS_TIME_LAST}.
 *
 * <p>Written for XLA:CPU, which copies a layer's keys and values out of a stacked cache before it multiplies them as matrices. A
 * multiplication and a sum are one loop with the slice that feeds them, and nothing is copied, if the sum is over a dimension that
 * is not the innermost and over at most {@value #TERMS} products: those are unrolled, and the innermost dimension is
 * vectorised. The products come as parts of at most {@value #ROWS} rows, each its own slice of the whole cache: slices of a
 * slice become a function that is called for each product, and LLVM vectorises no loop with such calls. Barriers keep sums
 * apart, since two in a row would be one scalar loop.
 *
 * <p>Most of a long cache is empty most of the time. So a step takes the shortest of some {@link #extents} in which all is that it
 * sees; each is a branch, with sizes of its own.
 */
final class ColumnSums {
    /** Columns are summed in so many chunks, or in as many as there are. */
    private static final long CHUNKS = 32;

    /** How many products LLVM unrolls in one sum; with 96 a step was three times slower. */
    private static final long TERMS = 64;

    /** How many products of a sum a part has; with 32, a step was five times slower. */
    private static final long ROWS = 8;

    /** Half of fewer columns costs as much as all of them. */
    private static final long SHORTEST = 256;

    private ColumnSums() {}

    /**
     * Whether attention of one position is written as sums. XLA:CPU does not vectorise sums over bfloat16, which take
     * four and a half times as long as products.
     */
    static boolean suit(Form form) {
        return form.cacheOrder() == Form.CacheOrder.KEYS_TIME_LAST
                && form.compute().equals(ElementType.F32)
                && form.cache().equals(ElementType.F32);
    }

    /** How many columns a cache has for rows of so many: whole parts of whole chunks. */
    static long columns(long length) {
        return Ops.roundUp(length, length < CHUNKS ? ROWS : CHUNKS);
    }

    /** The numbers of columns that a step may choose from, out of so many in all. */
    static List<Long> extents(long columns) {
        List<Long> extents = new ArrayList<>(LongStream.iterate(SHORTEST, each -> each < columns, each -> 2 * each)
                .boxed()
                .toList());
        extents.add(columns);
        return extents;
    }

    /**
     * Which of the extents holds all columns that some row sees, {@code i32[]}.
     *
     * @param positions of the columns, {@code i32[rows, columns]}; negative for a column that holds nothing
     */
    static Value extent(Ops o, Value positions) {
        long[] shape = o.shape(positions);
        Value column = o.iota(ElementType.I32, 1, shape);
        Value holds = o.compare(positions, o.splat(0, positions), ComparisonDirection.GE);
        Value last = o.max(o.max(o.b().select(holds, column, o.splat(0, column)), 1), 0);
        Value extent = o.int32(0);
        List<Long> extents = extents(shape[1]);
        for (long each : extents.subList(0, extents.size() - 1)) {
            Value beyond = o.compare(last, o.int32(each), ComparisonDirection.GE);
            extent = o.add(extent, o.convert(beyond, ElementType.I32));
        }
        return extent;
    }

    /** What becomes of scores {@code f32[batch, kv_heads, group, columns]} before the softmax. */
    @FunctionalInterface
    interface Mask {
        /**
         * Scores that are masked.
         *
         * @param visible which columns are seen, {@code i1[batch, 1, columns]}
         */
        Value apply(Ops o, Value scores, Value visible);
    }

    /**
     * Values weighted by the softmax of scores.
     *
     * @param q queries {@code [batch, kv_heads, group, head_dim]}
     * @param visible which columns are seen, {@code i1[batch, 1, columns]}
     * @return {@code f32[batch, kv_heads, group, head_dim]}
     */
    static Value attend(Ops o, Value q, InCache seen, Value visible, Mask mask) {
        // What made q would otherwise be computed again for each column.
        Value queries = barrier(o, o.convert(q, ElementType.F32));
        List<Ops.Branch> branches = extents(o.size(visible, 2)).stream()
                .map(columns -> (Ops.Branch) c -> {
                    Value scores = scores(c, queries, seen, columns);
                    Value hidden = mask.apply(c, scores, c.sliceAxis(visible, 2, 0, columns));
                    return mix(c, barrier(c, hidden), seen);
                })
                .toList();
        return o.choose(seen.extent(), branches);
    }

    /** Queries times keys: {@code f32[batch, kv_heads, group, columns]}. */
    private static Value scores(Ops o, Value q, InCache seen, long columns) {
        long[] shape = o.shape(q);
        long head = shape[3];
        Value scores = null;
        for (long first = 0; first < head; first += TERMS) {
            long from = first;
            long count = Math.min(TERMS, head - first);
            long rows = gcd(count, ROWS);
            long[] terms = {shape[0], shape[1], shape[2], rows, columns};
            Value sum = sum(o, count / rows, 3, part -> {
                long at = from + part * rows;
                Value keys = seen.keys(o, at, rows, columns);
                return o.multiply(
                        o.broadcast(o.sliceAxis(q, 3, at, at + rows), terms, 0, 1, 2, 3),
                        o.broadcast(keys, terms, 0, 1, 3, 4));
            });
            scores = scores == null ? sum : o.add(barrier(o, scores), barrier(o, sum));
        }
        return Objects.requireNonNull(scores);
    }

    /** The softmax of scores times values, divided by the softmax's sum at the end, where there is less to divide. */
    private static Value mix(Ops o, Value scores, InCache seen) {
        long[] shape = o.shape(scores);
        long count = Math.min(shape[3], CHUNKS);
        long each = shape[3] / count;
        long[] chunks = {shape[0], shape[1], shape[2], count, each};
        Value most = o.max(barrier(o, o.max(o.b().reshape(scores, chunks), 3)), 3);
        Value weights = barrier(o, o.b().exponential(o.b().subtract(scores, o.broadcast(most, shape, 0, 1, 2))));
        Value total = o.sum(barrier(o, o.sum(o.b().reshape(weights, chunks), 3)), 3);
        long head = seen.headDim(o);
        long[] terms = {shape[0], shape[1], each, shape[2], ROWS, head};
        Value sums = sum(o, count / ROWS, 4, part -> {
            long at = part * ROWS * each;
            Value some = o.sliceAxis(weights, 3, at, at + ROWS * each);
            Value values = seen.values(o, at, ROWS * each);
            return o.multiply(
                    o.broadcast(o.b().reshape(some, shape[0], shape[1], shape[2], ROWS, each), terms, 0, 1, 3, 4, 2),
                    o.broadcast(o.b().reshape(values, shape[0], shape[1], ROWS, each, head), terms, 0, 1, 4, 2, 5));
        });
        Value mixed = o.sum(barrier(o, sums), 2);
        return o.b().divide(mixed, o.broadcast(total, o.shape(mixed), 0, 1, 2));
    }

    /** The sum over a dimension of parts that are added up first. */
    private static Value sum(Ops o, long parts, int dimension, LongFunction<Value> part) {
        return o.sum(LongStream.range(0, parts).mapToObj(part).reduce(o::add).orElseThrow(), dimension);
    }

    private static Value barrier(Ops o, Value x) {
        return o.b().optimizationBarrier(List.of(x)).getFirst();
    }

    private static long gcd(long a, long b) {
        return b == 0 ? a : gcd(b, a % b);
    }
}

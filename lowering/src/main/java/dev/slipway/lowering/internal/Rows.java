// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Rows of tokens while they grow: each row's tokens in columns of its own, the prompts apart from what is generated. */
final class Rows {
    private Rows() {}

    /** Repeats each row {@code times} times: the repeats of a row stand side by side. */
    static Value repeat(Ops o, Value x, int dimension, int times) {
        if (times == 1) {
            return x;
        }
        long[] shape = o.shape(x);
        long[] wide = new long[shape.length + 1];
        long[] kept = new long[shape.length];
        for (int i = 0; i < shape.length; i++) {
            kept[i] = i <= dimension ? i : i + 1;
            wide[i <= dimension ? i : i + 1] = shape[i];
        }
        wide[dimension + 1] = times;
        long[] flat = shape.clone();
        flat[dimension] *= times;
        return o.b().reshape(o.broadcast(x, wide, kept), flat);
    }

    /** Adds rows of one value until there are {@code count}. */
    static Value fill(Ops o, Value x, long count, double value) {
        long missing = count - o.size(x, 0);
        if (missing == 0) {
            return x;
        }
        long[] none = new long[o.rank(x)];
        long[] high = none.clone();
        high[0] = missing;
        return o.b().pad(x, o.scalar(x.tensorType().element(), value), none, high, none);
    }

    /** {@code values [rows, ...]} where a row goes on, {@code otherwise} where it has ended. */
    static Value keep(Ops o, Value ended, Value values, double otherwise) {
        Value rows = o.rank(values) == 1 ? ended : o.broadcast(ended, o.shape(values), 0);
        return o.b().select(rows, o.splat(otherwise, values), values);
    }

    /**
     * Prompts {@code i32[rows, width]} as they are read: an empty one as the start token. A pad that is a token stands for
     * itself where others follow it; a negative one is none, and is read as the start token wherever it is.
     */
    static Value started(Ops o, Value prompts, int padId, int startId) {
        if (startId == padId) {
            return prompts;
        }
        long[] shape = o.shape(prompts);
        Value pads = o.compare(prompts, o.int32(padId, shape), ComparisonDirection.EQ);
        Value none = padId < 0 ? pads : o.broadcast(o.all(pads, 1), shape, 0);
        return o.b().select(none, o.int32(startId, shape), prompts);
    }

    /** Writes {@code column [rows, ...]} into {@code buffer [rows, columns, ...]}. */
    static Value writeColumn(Ops o, Value buffer, Value column, Value at) {
        Value zero = o.scalar(ElementType.I32, 0);
        long[] one = o.shape(buffer);
        one[1] = 1;
        List<Value> starts = new ArrayList<>(Collections.nCopies(one.length, zero));
        starts.set(1, at);
        return o.b().dynamicUpdateSlice(buffer, o.b().reshape(column, one), starts);
    }

    /**
     * Lays what was generated behind each row's prompt.
     *
     * @param prompts {@code [rows, width]}, null to leave {@code otherwise} on the prompts
     * @param lengths of the prompts, {@code i32[rows]}
     * @param generated {@code [rows, columns, ...]}, the first generated token in column 0
     * @param cut how many tokens at the beginning of each row are left out
     * @return as {@code generated}
     */
    static Value behindPrompts(
            Ops o, @Nullable Value prompts, double otherwise, Value lengths, Value generated, int cut) {
        long[] shape = {o.size(generated, 0), o.size(generated, 1)};
        Value token = o.plus(o.iota(ElementType.I32, 1, shape), cut);
        Value length = o.broadcast(lengths, shape, 0);
        Value moved = o.takeAlongRows(generated, o.maximum(o.b().subtract(token, length), 0));
        Value inPrompt = o.compare(token, length, ComparisonDirection.LT);
        Value prompt = prompts == null
                ? o.splat(otherwise, generated)
                : o.padColumns(o.sliceAxis(prompts, 1, cut, o.size(prompts, 1)), shape[1]);
        return o.b().select(o.broadcast(inPrompt, o.shape(generated), 0, 1), prompt, moved);
    }

    /**
     * The last tokens of each row, {@code i32[rows, count]}; -1 before its beginning.
     *
     * @param prompts {@code i32[rows, width]}
     * @param lengths of the prompts, {@code i32[rows]}
     */
    static Value recent(Ops o, Value prompts, Value lengths, long count) {
        long[] shape = {o.size(prompts, 0), count};
        Value column = o.add(o.plus(o.iota(ElementType.I32, 1, shape), -count), o.broadcast(lengths, shape, 0));
        Value token = o.takeAlongRows(prompts, o.maximum(column, 0));
        return o.b().select(o.compare(column, o.int32(0, shape), ComparisonDirection.GE), token, o.int32(-1, shape));
    }

    /** {@code recent} with one more token {@code i32[rows]}. */
    static Value append(Ops o, Value recent, Value token) {
        long rows = o.size(recent, 0);
        Value last = o.b().reshape(token, rows, 1);
        long count = o.size(recent, 1);
        return count == 1 ? last : o.b().concatenate(1, o.sliceAxis(recent, 1, 1, count), last);
    }

    /**
     * Whether a row's last tokens are one of several sequences, {@code i1[rows]}.
     *
     * @param recent {@code i32[rows, count]}
     * @param sequences {@code i32[rows, sequences, count]}, -1 before the beginning of a shorter one; one that is -1
     *     throughout matches nothing
     */
    static Value endsWith(Ops o, Value recent, Value sequences) {
        long[] shape = o.shape(sequences);
        Value last = o.b().reshape(o.sliceAxis(sequences, 2, shape[2] - 1, shape[2]), shape[0], shape[1]);
        Value real = o.compare(last, o.int32(0, shape[0], shape[1]), ComparisonDirection.GE);
        return o.any(o.b().and(fits(o, recent, sequences), real), 1);
    }

    /**
     * Which of several sequences a row's last tokens are, {@code i1[rows, sequences]}.
     *
     * @param recent {@code i32[rows, count]}
     * @param sequences {@code i32[rows, sequences, count]}; -1 fits any token
     */
    static Value fits(Ops o, Value recent, Value sequences) {
        long[] shape = o.shape(sequences);
        Value any = o.int32(-1, shape);
        Value fits = o.b().or(
                        o.compare(o.broadcast(recent, shape, 0, 2), sequences, ComparisonDirection.EQ),
                        o.compare(sequences, any, ComparisonDirection.EQ));
        return o.b().not(o.any(o.b().not(fits), 2));
    }
}

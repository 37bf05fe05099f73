// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.Value;
import java.util.List;

/**
 * Merges the beams of a row that say the same once blanks and repeats are left out. What prompts say is not compared:
 * it is the same for all beams of a row.
 */
final class PrefixMerger {
    private final int blankId;
    private final double never;
    private final long batch;
    private final long beams;
    private final long columns;
    private final long[] perBeam;
    private final long[] perLabel;

    /**
     * @param never the score of a beam that is not there
     * @param columns how many labels a beam may have
     */
    PrefixMerger(int blankId, double never, long batch, long beams, long columns) {
        this.blankId = blankId;
        this.never = never;
        this.batch = batch;
        this.beams = beams;
        this.columns = columns;
        this.perBeam = new long[] {batch, beams};
        this.perLabel = new long[] {batch, beams, columns};
    }

    /**
     * What beams say.
     *
     * @param labels tokens without blanks and repeats, -1 behind them, {@code i32[batch, beams, columns]}
     * @param count how many, {@code i32[batch, beams]}
     * @param last the last token, label or not, {@code i32[batch, beams]}
     */
    record State(Value labels, Value count, Value last) {
        static State of(List<Value> tensors) {
            return new State(tensors.get(0), tensors.get(1), tensors.get(2));
        }

        List<Value> tensors() {
            return List.of(labels, count, last);
        }
    }

    /** Beams that have said nothing behind their prompts' last tokens. */
    State start(Ops o, Value last) {
        return new State(o.int32(-1, perLabel), o.int32(0, perBeam), last);
    }

    /**
     * What beams say with a token more.
     *
     * @param parents which beams of all rows go on, {@code i32[batch * beams]}
     * @param tokens what they say next, {@code i32[batch, beams]}
     */
    State feed(Ops o, State state, Value parents, Value tokens) {
        Value labels =
                o.b().reshape(o.take(o.b().reshape(state.labels(), batch * beams, columns), 0, parents), perLabel);
        Value count = chosen(o, state.count(), parents);
        Value last = chosen(o, state.last(), parents);
        Value silent = o.b().or(
                        o.compare(tokens, last, ComparisonDirection.EQ),
                        o.compare(tokens, o.int32(blankId, perBeam), ComparisonDirection.EQ));
        Value here = o.compare(
                o.iota(ElementType.I32, 2, perLabel), o.broadcast(count, perLabel, 0, 1), ComparisonDirection.EQ);
        Value written = o.b().and(here, o.broadcast(o.b().not(silent), perLabel, 0, 1));
        return new State(
                o.b().select(written, o.broadcast(tokens, perLabel, 0, 1), labels),
                o.b().select(silent, count, o.plus(count, 1)),
                tokens);
    }

    private Value chosen(Ops o, Value x, Value parents) {
        return o.b().reshape(o.take(o.b().reshape(x, batch * beams), 0, parents), perBeam);
    }

    /** Scores {@code f32[batch, beams]} with those of beams that say the same given to the first of them. */
    Value merge(Ops o, State state, Value scores) {
        long[] pairs = {batch, beams, beams};
        long[] pairLabels = {batch, beams, beams, columns};
        Value equal = o.all(
                o.compare(
                        o.broadcast(state.labels(), pairLabels, 0, 1, 3),
                        o.broadcast(state.labels(), pairLabels, 0, 2, 3),
                        ComparisonDirection.EQ),
                3);
        Value to = o.iota(ElementType.I32, 1, pairs);
        Value first = o.b().reduceMin(o.b().select(equal, to, o.int32(beams, pairs)), 1);
        Value takes = o.compare(to, o.broadcast(first, pairs, 0, 2), ComparisonDirection.EQ);
        Value given = o.b().select(takes, o.broadcast(scores, pairs, 0, 2), o.constant(ElementType.F32, never, pairs));
        Value most = o.max(given, 2);
        Value shares = o.b().exponential(o.b().subtract(given, o.broadcast(most, pairs, 0, 1)));
        return o.add(o.b().log(o.sum(shares, 2)), most);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.ProgramPaths;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.List;

/** Lowers {@code score}: how likely each token of given texts is after those before it. */
public final class ScoreLowerer {
    /** How many columns the logits are computed of at once: those of all would be as large as texts are long. */
    private static final long COLUMNS = 64;

    private final Signature signature;
    private final DecodeOptions options;
    private final long batch;
    private final long width;

    /** How many columns a block has. */
    private final long columns;

    /** How many columns all blocks have together. */
    private final long padded;

    public ScoreLowerer(Signature signature) {
        this.signature = signature;
        this.options = signature.options;
        this.batch = signature.batch;
        this.width = signature.width;
        this.columns = Math.min(COLUMNS, width);
        this.padded = Ops.roundUp(width, columns);
    }

    /** The program. */
    public InferenceProgram lower() {
        signature.prefixArgument();
        signature.program.result("token_scores", TensorType.of(ElementType.F32, batch, width), signature.rows);
        signature.topResults(batch, width);
        return signature.program.build("score", (o, weights, inputs) -> {
            Value prefix = inputs.get(ProgramPaths.PREFIX);
            Decoding decoding = signature.decoding(o, weights, batch);
            Decoding.Prefilled read = decoding.prefillWhole(o, prefix);
            Value first = o.b().subtract(o.int32(width, batch), read.lengths());
            Value targets = targets(o, prefix, first);
            List<Value> scores = inBlocks(o, decoding, padded(o, read.activations()), targets);
            return toTheLeft(o, scores, first, read.lengths());
        });
    }

    /**
     * The tokens that the activations of each column are asked about, {@code i32[batch, padded]}: prompts stand at the right,
     * and column {@code c} says how likely column {@code c + 1} is.
     *
     * @param first columns in which the texts begin, {@code i32[batch]}
     */
    private Value targets(Ops o, Value prefix, Value first) {
        long[] shape = {batch, width};
        Value next = o.plus(o.b().subtract(o.iota(ElementType.I32, 1, shape), o.broadcast(first, shape, 0)), 1);
        Value given = o.takeAlongRows(signature.started(o, prefix), o.b().clamp(o.int32(0), next, o.int32(width - 1)));
        return o.padColumns(given, padded);
    }

    private Value padded(Ops o, Value x) {
        return o.b().pad(
                        x,
                        o.scalar(x.tensorType().element(), 0),
                        new long[] {0, 0, 0},
                        new long[] {0, padded - width, 0},
                        new long[] {0, 0, 0});
    }

    /** Scores {@code f32[batch, padded]} and, where they are asked for, the likeliest tokens and their scores. */
    private List<Value> inBlocks(Ops o, Decoding decoding, Value activations, Value targets) {
        Value zero = o.scalar(ElementType.I32, 0);
        Transcript empty = Transcript.empty(o, options, batch, padded);
        List<Value> start = new ArrayList<>(List.of(zero));
        start.addAll(empty.tensors().subList(1, empty.tensors().size()));
        List<Value> end =
                o.loop(start, (c, it) -> c.compare(it.get(0), c.int32(padded), ComparisonDirection.LT), (c, it) -> {
                    Value column = it.get(0);
                    int wide = signature.config.width();
                    Value some = c.b().dynamicSlice(
                                    activations, List.of(zero, column, zero), new long[] {batch, columns, wide});
                    Value logits = decoding.logits(c, c.b().reshape(some, batch * columns, wide));
                    Value logProbabilities = c.logSoftmax(logits);
                    Value target = c.b().dynamicSlice(targets, List.of(zero, column), new long[] {batch, columns});
                    Value score = c.pick(logProbabilities, c.b().reshape(target, batch * columns));
                    List<Value> carried = new ArrayList<>();
                    carried.add(c.plus(column, columns));
                    carried.add(c.b().dynamicUpdateSlice(
                                    it.get(1), c.b().reshape(score, batch, columns), List.of(zero, column)));
                    if (options.topLogProbs() > 0) {
                        List<Value> best = c.b().chlo().topK(logProbabilities, options.topLogProbs());
                        long[] block = {batch, columns, options.topLogProbs()};
                        List<Value> at = List.of(zero, column, zero);
                        carried.add(c.b().dynamicUpdateSlice(it.get(2), c.b().reshape(best.get(1), block), at));
                        carried.add(c.b().dynamicUpdateSlice(it.get(3), c.b().reshape(best.get(0), block), at));
                    }
                    return carried;
                });
        return end.subList(1, end.size());
    }

    /** Moves scores back to where the texts stand in the prefix: token {@code j}'s stands one column before it. */
    private List<Value> toTheLeft(Ops o, List<Value> scores, Value first, Value lengths) {
        long[] shape = {batch, width};
        Value token = o.iota(ElementType.I32, 1, shape);
        Value column = o.maximum(o.plus(o.add(token, o.broadcast(first, shape, 0)), -1), 0);
        Value inside = o.b().and(
                        o.compare(token, o.splat(0, token), ComparisonDirection.GT),
                        o.compare(token, o.broadcast(lengths, shape, 0), ComparisonDirection.LT));
        List<Value> results = new ArrayList<>();
        for (int i = 0; i < scores.size(); i++) {
            Value moved = o.takeAlongRows(scores.get(i), o.b().minimum(column, o.int32(width - 1, shape)));
            Value outside = o.splat(i == 1 ? options.padId() : 0, moved);
            results.add(o.b().select(o.broadcast(inside, o.shape(moved), 0, 1), moved, outside));
        }
        return results;
    }
}

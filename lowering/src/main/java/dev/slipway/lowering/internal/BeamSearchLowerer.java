// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.BeamSearch;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.ProgramPaths;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Lowers AXLearn's {@code beam_search_decode} as it is: each step keeps the best K of all continuations alive, and sets
 * each live hypothesis with EOS behind it beside the K best finished ones. A hypothesis that fills its row repeats its
 * last prompt token; rows are compared with each other in the loop's condition.
 */
public final class BeamSearchLowerer {
    private static final double NEVER = -1e7;

    private final Reference reference;

    public BeamSearchLowerer(Reference reference) {
        this.reference = reference;
    }

    /** The program with everything written into it. */
    public InferenceProgram beamSearchDecode(BeamSearch options) {
        return beamSearchDecode(options, reference.startId(options.padId()));
    }

    /** The program that is told the penalty, the maximum length and the number of rows that count when it runs. */
    public InferenceProgram beamSearchCases(BeamSearch options) {
        reference.program.argument(ProgramPaths.PENALTY, TensorType.of(ElementType.F32, 3));
        reference.program.argument(ProgramPaths.LIMIT, TensorType.of(ElementType.I32));
        reference.program.argument(ProgramPaths.ROWS, TensorType.of(ElementType.I32));
        return beamSearchDecode(options);
    }

    /** The program with everything written into it, an empty prompt read as a token. */
    public InferenceProgram beamSearchDecode(BeamSearch options, int startId) {
        int beams = options.numDecodes();
        long width = reference.width;
        reference.keyResult();
        reference.result("sequences", ElementType.I32, beams, width);
        reference.result("scores", ElementType.F32, beams);
        reference.result("live_sequences", ElementType.I32, beams, width);
        reference.result("live_scores", ElementType.F32, beams);
        return reference.program.build(
                "beam_search_decode", (o, weights, inputs) -> new Search(o, options, startId, weights, inputs).emit());
    }

    /** Hypotheses of all rows: {@code i32[batch, beams, width + 1]} with {@code f32[batch, beams]}. */
    private record Beams(Value sequences, Value scores) {}

    /** What a step chose; {@code parents i32[batch, beams]} are the beams that go on, {@code tokens} their next ones. */
    private record Chosen(Beams live, Beams finished, Value tokens, Value parents) {}

    /**
     * What the loop carries from step to step, in this order.
     *
     * @param step counts from -1
     * @param labels what live beams say; null where they are not merged
     * @param cache see {@link LayerStack}
     */
    private record Turn(Value step, Chosen chosen, PrefixMerger.@Nullable State labels, List<Value> cache) {
        List<Value> values() {
            List<Value> values = new ArrayList<>(List.of(
                    step,
                    chosen.live().sequences(),
                    chosen.live().scores(),
                    chosen.finished().sequences(),
                    chosen.finished().scores(),
                    chosen.tokens(),
                    chosen.parents()));
            if (labels != null) {
                values.addAll(labels.tensors());
            }
            values.addAll(cache);
            return values;
        }

        /** This turn with other values, as the loop gives them. */
        Turn with(List<Value> values) {
            int at = 7;
            PrefixMerger.@Nullable State said = null;
            if (labels != null) {
                int end = at + labels.tensors().size();
                said = PrefixMerger.State.of(values.subList(at, end));
                at = end;
            }
            return new Turn(
                    values.get(0),
                    new Chosen(
                            new Beams(values.get(1), values.get(2)),
                            new Beams(values.get(3), values.get(4)),
                            values.get(5),
                            values.get(6)),
                    said,
                    values.subList(at, values.size()));
        }
    }

    private final class Search {
        private final BeamSearch options;
        private final int startId;
        private final ModelWeights weights;
        private final Ops outer;
        private final Value key;
        private final Value prefix;
        private final long batch = reference.batch;
        private final long width = reference.width;
        private final long columns = width + 1;
        private final long beams;
        private final Value limit;
        private final Value counted;
        private final Value penalty;
        private final long[] perBeam;
        private final long[] sequenceShape;
        private final @Nullable PrefixMerger merger;

        Search(Ops o, BeamSearch options, int startId, ModelWeights weights, Values inputs) {
            this.outer = o;
            this.options = options;
            this.startId = startId;
            this.weights = weights;
            this.key = inputs.get(ProgramPaths.KEY);
            this.prefix = inputs.get(ProgramPaths.PREFIX);
            this.beams = options.numDecodes();
            Value given = inputs.find(ProgramPaths.LIMIT);
            this.limit = given == null ? o.int32(width) : given;
            this.counted = given == null ? o.int32(batch) : inputs.get(ProgramPaths.ROWS);
            this.penalty =
                    given == null ? o.b().constant(options.penalty().arguments()) : inputs.get(ProgramPaths.PENALTY);
            this.perBeam = new long[] {batch, beams};
            this.sequenceShape = new long[] {batch, beams, columns};
            this.merger = options.merge() == null
                    ? null
                    : new PrefixMerger(options.merge().blankId(), NEVER, batch, beams, columns);
        }

        List<Value> emit() {
            Ops o = outer;
            Decoding decoding = reference.decoding(o, weights, options.padId(), startId);
            Decoding.Prefilled read = reference.read(o, decoding, prefix);
            Value lengths = Rows.repeat(o, read.lengths(), 0, (int) beams);
            Turn begin = begin(o, decoding, read);
            Turn end = begin.with(o.loop(
                    begin.values(),
                    (c, it) -> {
                        Turn now = begin.with(it);
                        return goesOn(c, column(c, read, now), now.chosen());
                    },
                    (c, it) -> next(c, decoding, read, lengths, begin.with(it)).values()));
            Chosen chosen = end.chosen();
            return List.of(
                    reference.prng.split(o, key, 2).get(0),
                    o.sliceAxis(chosen.finished().sequences(), 2, 1, columns),
                    chosen.finished().scores(),
                    o.sliceAxis(chosen.live().sequences(), 2, 1, columns),
                    chosen.live().scores());
        }

        private Turn begin(Ops o, Decoding decoding, Decoding.Prefilled read) {
            Value padded = o.b().pad(
                            prefix, o.int32(options.padId()), new long[] {0, 0}, new long[] {0, 1}, new long[] {0, 0});
            Beams live = new Beams(o.broadcast(padded, sequenceShape, 0, 2), firstAlive(o));
            Beams finished = new Beams(o.int32(0, sequenceShape), o.constant(ElementType.F32, NEVER, perBeam));
            // As in the reference, the first step feeds the prompts' last tokens once more: what follows is then read
            // from the cache and in its type, and choosing stands once in the program.
            Value last = lastTokens(o, o.plus(read.lengths(), -1));
            PrefixMerger.@Nullable State labels = merger == null ? null : merger.start(o, last);
            Chosen beginning = new Chosen(live, finished, last, o.iota(ElementType.I32, 1, perBeam));
            return new Turn(
                    o.scalar(ElementType.I32, -1), beginning, labels, Reference.repeat(o, decoding, read.cache(), (int)
                            beams));
        }

        /** Column of each row's last token, {@code i32[batch]}. */
        private Value column(Ops o, Decoding.Prefilled read, Turn now) {
            return o.add(read.lengths(), o.broadcast(now.step(), new long[] {batch}));
        }

        private Turn next(Ops o, Decoding decoding, Decoding.Prefilled read, Value lengths, Turn now) {
            Chosen chosen = now.chosen();
            Value parents = ofAllRows(o, chosen.parents(), beams);
            List<Value> cache = now.cache().stream()
                    .map(tensor -> o.take(tensor, decoding.layers().cacheRowDimension(), parents))
                    .toList();
            Value tokens = o.b().reshape(asRead(o, chosen.tokens()), batch * beams);
            List<Value> fed = decoding.stepBehind(o, now.step(), width, lengths, tokens, cache);
            PrefixMerger.@Nullable State said = merger == null || now.labels() == null
                    ? null
                    : merger.feed(o, now.labels(), parents, chosen.tokens());
            Chosen next = choose(
                    o,
                    o.b().reshape(fed.getFirst(), batch, beams, reference.config.vocabulary()),
                    chosen.live(),
                    merged(o, said, chosen.live().scores()),
                    chosen.finished(),
                    column(o, read, now));
            return new Turn(o.add(now.step(), 1), next, said, fed.subList(1, fed.size()));
        }

        private Value merged(Ops o, PrefixMerger.@Nullable State labels, Value scores) {
            return merger == null || labels == null ? scores : merger.merge(o, labels, scores);
        }

        /** The prompts' last tokens, {@code i32[batch, beams]}. */
        private Value lastTokens(Ops o, Value last) {
            Value prompts = options.padId() < 0 ? prefix : Rows.started(o, prefix, options.padId(), startId);
            Value tokens = o.takeAlongRows(prompts, o.b().reshape(last, batch, 1));
            return o.broadcast(o.b().reshape(tokens, batch), perBeam, 0);
        }

        /** Tokens as they are read: a negative pad, which is an empty prompt's, is none. */
        private Value asRead(Ops o, Value tokens) {
            return options.padId() < 0 ? Rows.started(o, tokens, options.padId(), startId) : tokens;
        }

        /** 0 for the first beam, never for the others. */
        private Value firstAlive(Ops o) {
            Value first = o.compare(o.iota(ElementType.I32, 1, perBeam), o.int32(0, perBeam), ComparisonDirection.EQ);
            return o.b().select(first, o.zeros(ElementType.F32, perBeam), o.constant(ElementType.F32, NEVER, perBeam));
        }

        /** Whether some row is not at its end and some row, not necessarily the same, could still improve. */
        private Value goesOn(Ops o, Value current, Chosen chosen) {
            long[] rows = {batch};
            Value end = o.broadcast(limit, rows);
            Value counts =
                    o.compare(o.iota(ElementType.I32, 0, rows), o.broadcast(counted, rows), ComparisonDirection.LT);
            Value notAtEnd = o.b().and(counts, o.compare(current, end, ComparisonDirection.LT));
            Value best = penalised(o, o.plus(end, 1), o.max(chosen.live().scores(), 1));
            Value worst = o.b().reduceMin(chosen.finished().scores(), 1);
            Value improves = o.b().and(counts, o.compare(worst, best, ComparisonDirection.LE));
            return o.b().and(o.any(notAtEnd, 0), o.any(improves, 0));
        }

        /** A score {@code f32[batch, ...]} after a number of tokens {@code i32[batch]}. */
        private Value penalised(Ops o, Value length, Value score) {
            Value tokens = o.convert(length, ElementType.F32);
            long[] shape = o.shape(tokens);
            Value base = o.b().divide(o.add(tokens, part(o, 0, shape)), part(o, 1, shape));
            Value divisor = o.b().power(base, part(o, 2, shape));
            return o.b().divide(score, o.broadcast(divisor, o.shape(score), 0));
        }

        private Value part(Ops o, int index, long[] shape) {
            return o.broadcast(o.b().reshape(o.sliceAxis(penalty, 0, index, index + 1)), shape);
        }

        /**
         * One step.
         *
         * @param logits {@code f32[batch, beams, vocabulary]}
         * @param alive scores of the live beams to go on from
         * @param current column of the token that gave them, {@code i32[batch]}
         */
        private Chosen choose(Ops o, Value logits, Beams live, Value alive, Beams finished, Value current) {
            long vocabulary = reference.config.vocabulary();
            long[] shape = {batch, beams, vocabulary};
            Value next = o.plus(current, 1);
            Value total = o.add(o.logSoftmax(logits), o.broadcast(alive, shape, 0, 1));
            Value ended = o.b().reshape(o.sliceAxis(total, 2, options.eosId(), options.eosId() + 1L), perBeam);
            Value isEos = o.compare(
                    o.iota(ElementType.I32, 2, shape), o.int32(options.eosId(), shape), ComparisonDirection.EQ);
            Value going = o.b().select(isEos, o.add(total, NEVER), total);
            List<Value> best = o.b().chlo().topK(o.b().reshape(going, batch, beams * vocabulary), beams);
            Value parents = o.b().divide(best.get(1), o.int32(vocabulary, perBeam));
            Value tokens = o.b().remainder(best.get(1), o.int32(vocabulary, perBeam));

            // A token that the prefix has at this column is taken by all beams.
            Value end = o.broadcast(limit, new long[] {batch});
            Value column = o.b().minimum(next, o.plus(end, -1));
            Value given = o.b().reshape(o.takeAlongRows(prefix, o.b().reshape(column, batch, 1)), batch);
            Value free = o.compare(given, o.int32(options.padId(), batch), ComparisonDirection.EQ);
            Value freeBeams = o.broadcast(free, perBeam, 0);
            Value scores = o.b().select(freeBeams, best.get(0), firstAlive(o));
            tokens = o.b().select(freeBeams, tokens, o.broadcast(given, perBeam, 0));
            Value endedScores =
                    o.b().select(freeBeams, penalised(o, next, ended), o.constant(ElementType.F32, NEVER, perBeam));

            Beams nextLive = new Beams(
                    put(o, gather(o, live.sequences(), parents), next, o.broadcast(tokens, sequenceShape, 0, 1)),
                    scores);
            Beams candidates =
                    new Beams(put(o, live.sequences(), next, o.int32(options.eosId(), sequenceShape)), endedScores);
            Value all = o.b().concatenate(1, finished.scores(), candidates.scores());
            List<Value> bestFinished = o.b().chlo().topK(all, beams);
            Beams nextFinished = new Beams(
                    gather(o, o.b().concatenate(1, finished.sequences(), candidates.sequences()), bestFinished.get(1)),
                    bestFinished.get(0));

            Value frozen = o.compare(next, end, ComparisonDirection.GT);
            return new Chosen(
                    frozen(o, frozen, live, nextLive), frozen(o, frozen, finished, nextFinished), tokens, parents);
        }

        private Beams frozen(Ops o, Value frozen, Beams old, Beams fresh) {
            return new Beams(
                    o.b().select(o.broadcast(frozen, sequenceShape, 0), old.sequences(), fresh.sequences()),
                    o.b().select(o.broadcast(frozen, perBeam, 0), old.scores(), fresh.scores()));
        }

        /** {@code sequences} with {@code tokens} (of their shape) in one column of each row, if they have it. */
        private Value put(Ops o, Value sequences, Value column, Value tokens) {
            Value here = o.compare(
                    o.iota(ElementType.I32, 2, sequenceShape),
                    o.broadcast(column, sequenceShape, 0),
                    ComparisonDirection.EQ);
            return o.b().select(here, tokens, sequences);
        }

        /** Which of all rows' beams, {@code i32[batch * beams]}, for some of each row's {@code from}. */
        private Value ofAllRows(Ops o, Value which, long from) {
            Value first = o.b().multiply(o.iota(ElementType.I32, 0, perBeam), o.int32(from, perBeam));
            return o.b().reshape(o.add(which, first), batch * beams);
        }

        /** The sequences of some beams {@code i32[batch, beams]} of each row. */
        private Value gather(Ops o, Value sequences, Value which) {
            long from = o.size(sequences, 1);
            Value flat = ofAllRows(o, which, from);
            Value all = o.b().reshape(sequences, batch * from, columns);
            return o.b().reshape(o.take(all, 0, flat), sequenceShape);
        }
    }
}

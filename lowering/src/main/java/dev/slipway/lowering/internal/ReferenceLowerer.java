// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.CaseShape;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.ProgramPaths;
import dev.slipway.lowering.SampleDecode;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * Lowers AXLearn's {@code sample_decode} as it is, faults included: the first token of a row is drawn once for all its
 * decodes and never tested for a stop; rows run on together until each is full or stopped.
 */
public final class ReferenceLowerer {
    /** md5("sample_decode") modulo 2^31 - 1, which AXLearn folds into the key of the method. */
    private static final long METHOD = 893841010;

    // What the loop carries, in order; behind it the cache.
    private static final int STEP = 0;
    private static final int GOING = 1;
    private static final int KEY = 2;
    private static final int TOKEN = 3;
    private static final int STOPPED = 4;
    private static final int TOKENS = 5;
    private static final int SCORES = 6;
    private static final int RECENT = 7;

    private final Reference reference;

    public ReferenceLowerer(Reference reference) {
        this.reference = reference;
    }

    /** The program with everything written into it. */
    public InferenceProgram sampleDecode(SampleDecode options) {
        return sampleDecode(
                options.entry(),
                options.numDecodes(),
                options.padId(),
                _ -> new SampleBehaviour.Fixed(options.modifiers(), options.stop(), reference.width));
    }

    /** The program that is told modifiers, stops and the maximum length when it runs. */
    public InferenceProgram sampleDecode(CaseShape shape) {
        Program program = reference.program;
        program.argument(ProgramPaths.MODIFIER_KINDS, TensorType.of(ElementType.I32, shape.steps()));
        program.argument(ProgramPaths.MODIFIER_VALUES, TensorType.of(ElementType.F32, shape.steps()));
        program.argument(
                ProgramPaths.STOP_SEQUENCES, TensorType.of(ElementType.I32, shape.sequences(), shape.window()));
        program.argument(ProgramPaths.MAX_LENGTH, TensorType.of(ElementType.I32));
        program.argument(ProgramPaths.LIMIT, TensorType.of(ElementType.I32));
        return sampleDecode(
                shape.entry(),
                shape.numDecodes(),
                shape.padId(),
                inputs -> new SampleBehaviour.Given(
                        inputs.get(ProgramPaths.MODIFIER_KINDS),
                        inputs.get(ProgramPaths.MODIFIER_VALUES),
                        inputs.get(ProgramPaths.STOP_SEQUENCES),
                        inputs.get(ProgramPaths.MAX_LENGTH),
                        inputs.get(ProgramPaths.LIMIT)));
    }

    private InferenceProgram sampleDecode(
            SampleDecode.Entry entry, int decodes, int padId, Function<Values, SampleBehaviour> given) {
        long batch = reference.batch;
        long width = reference.width;
        long[] rowShape = {batch * decodes};
        boolean runner = entry == SampleDecode.Entry.RUNNER;
        if (runner) {
            reference.keyResult();
        }
        reference.result("sequences", ElementType.I32, decodes, width);
        reference.result("token_scores", ElementType.F32, decodes, width);
        return reference.program.build("sample_decode", (o, weights, inputs) -> {
            Prng prng = reference.prng;
            SampleBehaviour behaviour = given.apply(inputs);
            List<Value> results = new ArrayList<>();
            Value key = inputs.get(ProgramPaths.KEY);
            if (runner) {
                List<Value> split = prng.split(o, key, 2);
                results.add(split.get(0));
                key = split.get(1);
            }
            Value prefix = inputs.get(ProgramPaths.PREFIX);
            Decoding decoding = reference.decoding(o, weights, padId, reference.startId(padId));
            Decoding.Prefilled read = reference.read(o, decoding, prefix);
            Value prompts = Rows.repeat(o, prefix, 0, decodes);
            Value lengths = Rows.repeat(o, read.lengths(), 0, decodes);
            Value room = o.broadcast(behaviour.limit(o), rowShape);
            Turn turn = new Turn(
                    prng, behaviour, new long[] {batch, decodes, reference.config.vocabulary()}, padId, lengths, room);
            List<Value> start = new ArrayList<>(List.of(
                    o.scalar(ElementType.I32, 0),
                    o.constant(ElementType.I1, 1),
                    prng.foldIn(o, key, METHOD),
                    o.int32(padId, rowShape),
                    o.constant(ElementType.I1, 0, rowShape),
                    o.int32(padId, batch * decodes, width),
                    o.zeros(ElementType.F32, batch * decodes, width),
                    Rows.recent(o, prompts, lengths, behaviour.window())));
            Value last = decoding.last(o, read);
            List<Value> cache = Reference.repeat(o, decoding, read.cache(), decodes);
            int fixed = start.size();
            // As in the default program, head and draw stand once where the first token is drawn like the others.
            boolean once = decodes == 1;
            List<Value> begin = once ? start : turn.draw(o, decoding.logits(o, last), start);
            begin.addAll(cache);
            List<Value> end = o.loop(begin, (_, it) -> it.get(GOING), (c, it) -> {
                Value step = it.get(STEP);
                LayerStack.State fed = decoding.feedBehind(
                        c,
                        c.maximum(c.plus(step, -1), 0),
                        width,
                        lengths,
                        it.get(TOKEN),
                        it.subList(fixed, it.size()),
                        once
                                ? new Decoding.Beginning(c.compare(step, c.int32(0), ComparisonDirection.EQ), last)
                                : null);
                List<Value> drawn = turn.draw(c, decoding.logits(c, fed.x()), it);
                drawn.addAll(fed.cache());
                return drawn;
            });
            long[] shape = {batch, decodes, width};
            results.add(o.b().reshape(Rows.behindPrompts(o, prompts, 0, lengths, end.get(TOKENS), 1), shape));
            results.add(o.b().reshape(Rows.behindPrompts(o, null, 0, lengths, end.get(SCORES), 1), shape));
            return results;
        });
    }

    /** How a token is drawn for each row. */
    private record Turn(Prng prng, SampleBehaviour behaviour, long[] shape, int padId, Value lengths, Value room) {
        /**
         * The loop's state after a draw.
         *
         * @param logits {@code f32[rows, vocabulary]}, or {@code f32[batch, vocabulary]} for one draw for all decodes
         */
        List<Value> draw(Ops o, Value logits, List<Value> it) {
            Value step = it.get(STEP);
            Value stopped = it.get(STOPPED);
            long[] rows = o.shape(stopped);
            boolean apart = o.size(logits, 0) == rows[0];
            Value first = o.broadcast(o.compare(step, o.int32(0), ComparisonDirection.EQ), rows);

            Value modified = behaviour.modify(o, o.logSoftmax(apart ? o.b().reshape(logits, shape) : logits));
            List<Value> split = prng.split(o, it.get(KEY), 2);
            List<Value> drawn = prng.draw(o, split.get(0), modified);
            Value token = spread(o, drawn.get(0), apart, rows);
            Value score = spread(o, drawn.get(1), apart, rows);

            // A row without room keeps the score of a first token that it does not get.
            Value full = o.compare(lengths, room, ComparisonDirection.GE);
            token = Rows.keep(o, o.b().or(stopped, o.b().and(first, full)), token, padId);
            Value recent = Rows.append(o, it.get(RECENT), token);
            Value stops = o.b().and(behaviour.stops(o, recent, o.plus(step, -1)), o.b().not(first));
            Value ended = o.b().or(stopped, stops);
            Value nextStep = o.add(step, 1);
            Value hasRoom = o.compare(o.b().add(lengths, o.broadcast(step, rows)), room, ComparisonDirection.LT);
            return new ArrayList<>(List.of(
                    nextStep,
                    o.any(o.b().and(hasRoom, o.b().not(ended)), 0),
                    split.get(1),
                    token,
                    ended,
                    Rows.writeColumn(o, it.get(TOKENS), token, step),
                    Rows.writeColumn(o, it.get(SCORES), Rows.keep(o, stopped, score, 0), step),
                    recent));
        }

        private Value spread(Ops o, Value x, boolean apart, long[] rows) {
            return apart ? o.b().reshape(x, rows) : Rows.repeat(o, x, 0, (int) shape[1]);
        }
    }
}

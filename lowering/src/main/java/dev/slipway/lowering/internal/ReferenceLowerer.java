// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.CaseShape;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.lowering.ParameterLayout;
import dev.slipway.lowering.SampleDecode;
import dev.slipway.mesh.Mesh;
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

    private static final String KINDS = "options/modifier_kinds";
    private static final String VALUES = "options/modifier_values";
    private static final String SEQUENCES = "options/stop_sequences";
    private static final String MAX_LENGTH = "options/max_length";

    private final DecoderConfig config;
    private final Reference reference;

    public ReferenceLowerer(
            DecoderConfig config, Form form, Mesh mesh, ParameterLayout layout, InputBatchSpec.Input prefix) {
        this.config = config;
        this.reference = new Reference(config, form, mesh, layout, prefix);
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
        program.argument(KINDS, TensorType.of(ElementType.I32, shape.steps()));
        program.argument(VALUES, TensorType.of(ElementType.F32, shape.steps()));
        program.argument(SEQUENCES, TensorType.of(ElementType.I32, shape.sequences(), shape.window()));
        program.argument(MAX_LENGTH, TensorType.of(ElementType.I32));
        program.argument(Reference.LIMIT, TensorType.of(ElementType.I32));
        return sampleDecode(
                shape.entry(),
                shape.numDecodes(),
                shape.padId(),
                inputs -> new SampleBehaviour.Given(
                        inputs.get(KINDS),
                        inputs.get(VALUES),
                        inputs.get(SEQUENCES),
                        inputs.get(MAX_LENGTH),
                        inputs.get(Reference.LIMIT)));
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
            Value key = inputs.get(Reference.KEY);
            if (runner) {
                List<Value> split = prng.split(o, key, 2);
                results.add(split.get(0));
                key = split.get(1);
            }
            List<Value> keys = prng.split(o, prng.foldIn(o, key, METHOD), 2);

            Value prefix = inputs.get(Reference.PREFIX);
            Decoding decoding = reference.decoding(o, weights, padId);
            Decoding.Prefilled read = reference.read(o, decoding, prefix);
            Value modified = behaviour.modify(o, o.logSoftmax(decoding.lastLogits(o, read)));
            Value firstToken = prng.categorical(o, keys.get(0), modified);
            Value firstScore = o.pick(modified, firstToken);

            Value prompts = Rows.repeat(o, prefix, 0, decodes);
            Value lengths = Rows.repeat(o, read.lengths(), 0, decodes);
            Value room = o.broadcast(behaviour.limit(o), rowShape);
            // A row without room keeps the score of a token that it does not get.
            Value full = o.compare(lengths, room, ComparisonDirection.GE);
            Value token = Rows.keep(o, full, Rows.repeat(o, firstToken, 0, decodes), padId);
            Value score = Rows.repeat(o, firstScore, 0, decodes);
            Value zero = o.scalar(ElementType.I32, 0);
            List<Value> start = new ArrayList<>(List.of(
                    zero,
                    token,
                    o.constant(ElementType.I1, 0, rowShape),
                    keys.get(1),
                    Rows.writeColumn(o, o.int32(padId, batch * decodes, width), token, zero),
                    Rows.writeColumn(o, o.zeros(ElementType.F32, batch * decodes, width), score, zero),
                    Rows.append(o, Rows.recent(o, prompts, lengths, behaviour.window()), token)));
            int fixed = start.size();
            start.addAll(Reference.repeat(o, decoding, read.cache(), decodes));
            List<Value> end = o.loop(
                    start,
                    (c, it) -> {
                        Value current = c.b().add(lengths, c.broadcast(it.get(0), rowShape));
                        Value hasRoom = c.compare(current, room, ComparisonDirection.LT);
                        return c.any(c.b().and(hasRoom, c.b().not(it.get(2))), 0);
                    },
                    (c, it) -> {
                        Value step = it.get(0);
                        Value stopped = it.get(2);
                        List<Value> fed =
                                decoding.stepBehind(c, step, width, lengths, it.get(1), it.subList(fixed, it.size()));
                        Value logits = c.b().reshape(fed.getFirst(), batch, decodes, config.vocabulary());
                        Value stepModified = behaviour.modify(c, c.logSoftmax(logits));
                        List<Value> split = prng.split(c, it.get(3), 2);
                        Value drawn = prng.categorical(c, split.get(0), stepModified);
                        Value next = Rows.keep(c, stopped, c.b().reshape(drawn, rowShape), padId);
                        Value nextScore =
                                Rows.keep(c, stopped, c.b().reshape(c.pick(stepModified, drawn), rowShape), 0);
                        Value recent = Rows.append(c, it.get(6), next);
                        Value nextStep = c.add(step, 1);
                        List<Value> carried = new ArrayList<>(List.of(
                                nextStep,
                                next,
                                c.b().or(stopped, behaviour.stops(c, recent, step)),
                                split.get(1),
                                Rows.writeColumn(c, it.get(4), next, nextStep),
                                Rows.writeColumn(c, it.get(5), nextScore, nextStep),
                                recent));
                        carried.addAll(fed.subList(1, fed.size()));
                        return carried;
                    });
            long[] shape = {batch, decodes, width};
            results.add(o.b().reshape(Rows.behindPrompts(o, prompts, lengths, end.get(4), 1), shape));
            results.add(o.b().reshape(Rows.behindPrompts(o, null, lengths, end.get(5), 1), shape));
            return results;
        });
    }
}

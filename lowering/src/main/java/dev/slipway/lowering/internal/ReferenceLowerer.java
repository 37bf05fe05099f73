// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import com.google.common.primitives.ImmutableIntArray;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.lowering.LogitsModifier;
import dev.slipway.lowering.ParameterLayout;
import dev.slipway.lowering.SampleDecode;
import dev.slipway.lowering.StopCondition;
import dev.slipway.mesh.Mesh;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.List;

/**
 * Lowers AXLearn's {@code sample_decode} as it is, faults included: the first token of a row is drawn once for all its
 * decodes and never tested for a stop; rows run on together until each is full or stopped.
 */
public final class ReferenceLowerer {
    /** What a filter leaves of what it removes. */
    private static final double REMOVED = -1e7;

    /** md5("sample_decode") modulo 2^31 - 1, which AXLearn folds into the key of the method. */
    private static final long METHOD = 893841010;

    private final DecoderConfig config;
    private final Reference reference;

    public ReferenceLowerer(
            DecoderConfig config, Form form, Mesh mesh, ParameterLayout layout, InputBatchSpec.Input prefix) {
        this.config = config;
        this.reference = new Reference(config, form, mesh, layout, prefix);
    }

    /** The program. */
    public InferenceProgram sampleDecode(SampleDecode options) {
        int decodes = options.numDecodes();
        long batch = reference.batch;
        long width = reference.width;
        long[] rowShape = {batch * decodes};
        boolean runner = options.entry() == SampleDecode.Entry.RUNNER;
        if (runner) {
            reference.keyResult();
        }
        reference.result("sequences", ElementType.I32, decodes, width);
        reference.result("token_scores", ElementType.F32, decodes, width);
        return reference.program.build("sample_decode", (o, weights, inputs) -> {
            Prng prng = reference.prng;
            List<Value> results = new ArrayList<>();
            Value key = inputs.get(Reference.KEY);
            if (runner) {
                List<Value> split = prng.split(o, key, 2);
                results.add(split.get(0));
                key = split.get(1);
            }
            List<Value> keys = prng.split(o, prng.foldIn(o, key, METHOD), 2);

            Value prefix = inputs.get(Reference.PREFIX);
            Decoding decoding = reference.decoding(o, weights, options.padId());
            Decoding.Prefilled read = reference.read(o, decoding, prefix);
            Value modified = modify(o, options, o.logSoftmax(read.logits()));
            Value firstToken = prng.categorical(o, keys.get(0), modified);
            Value firstScore = o.pick(modified, firstToken);

            Value prompts = Rows.repeat(o, prefix, 0, decodes);
            Value lengths = Rows.repeat(o, read.lengths(), 0, decodes);
            Value room = o.int32(width, rowShape);
            // A row without room keeps the score of a token that it does not get.
            Value full = o.compare(lengths, room, ComparisonDirection.GE);
            Value token = Rows.keep(o, full, Rows.repeat(o, firstToken, 0, decodes), options.padId());
            Value score = Rows.repeat(o, firstScore, 0, decodes);
            long window = longest(options.stop());
            Value zero = o.scalar(ElementType.I32, 0);
            List<Value> start = new ArrayList<>(List.of(
                    zero,
                    token,
                    o.constant(ElementType.I1, 0, rowShape),
                    keys.get(1),
                    Rows.writeColumn(o, o.int32(options.padId(), batch * decodes, width), token, zero),
                    Rows.writeColumn(o, o.zeros(ElementType.F32, batch * decodes, width), score, zero),
                    Rows.append(o, Rows.recent(o, prompts, lengths, window), token)));
            int fixed = start.size();
            start.addAll(Reference.repeat(o, decoding, read.cache(), decodes));
            List<Value> end = o.loop(
                    start,
                    (c, it) -> {
                        Value end1 = c.b().add(lengths, c.broadcast(it.get(0), rowShape));
                        Value hasRoom = c.compare(end1, room, ComparisonDirection.LT);
                        return c.any(c.b().and(hasRoom, c.b().not(it.get(2))), 0);
                    },
                    (c, it) -> {
                        Value step = it.get(0);
                        Value stopped = it.get(2);
                        List<Value> fed =
                                decoding.step(c, step, width, lengths, it.get(1), it.subList(fixed, it.size()));
                        Value logits = c.b().reshape(fed.getFirst(), batch, decodes, config.vocabulary());
                        Value stepModified = modify(c, options, c.logSoftmax(logits));
                        List<Value> split = prng.split(c, it.get(3), 2);
                        Value drawn = prng.categorical(c, split.get(0), stepModified);
                        Value next = Rows.keep(c, stopped, c.b().reshape(drawn, rowShape), options.padId());
                        Value nextScore =
                                Rows.keep(c, stopped, c.b().reshape(c.pick(stepModified, drawn), rowShape), 0);
                        Value recent = Rows.append(c, it.get(6), next);
                        Value nextStep = c.add(step, 1);
                        List<Value> carried = new ArrayList<>(List.of(
                                nextStep,
                                next,
                                c.b().or(stopped, stops(c, options.stop(), recent, step)),
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

    /** Applies the modifiers to log-probabilities {@code f32[..., vocabulary]}. */
    private static Value modify(Ops o, SampleDecode options, Value x) {
        int last = o.rank(x) - 1;
        long[] outer = java.util.Arrays.copyOf(o.shape(x), last);
        Value removed = o.splat(REMOVED, x);
        for (LogitsModifier modifier : options.modifiers()) {
            x = switch (modifier) {
                case LogitsModifier.Temperature temperature -> o.b().divide(x, o.splat(temperature.value(), x));
                case LogitsModifier.TopK top -> o.b().select(Filters.topK(o, x, o.int32(top.k(), outer)), x, removed);
                case LogitsModifier.Greedy _ -> {
                    Value best = o.broadcast(o.argMax(x, last), o.shape(x), Ops.range(last));
                    Value here = o.compare(o.iota(ElementType.I32, last, o.shape(x)), best, ComparisonDirection.EQ);
                    yield o.b().select(here, x, removed);
                }
                case LogitsModifier.TopP top -> {
                    Value probabilities = o.softmax(x);
                    Value kept = Filters.topP(
                            o, probabilities, probabilities, o.constant(ElementType.F32, top.p(), outer));
                    yield o.b().select(kept, x, removed);
                }
            };
        }
        return x;
    }

    /**
     * Whether rows end.
     *
     * @param recent the rows' last tokens, {@code i32[rows, longest]}
     * @param step how many tokens were generated in the loop before the last one, {@code i32[]}
     */
    private static Value stops(Ops o, StopCondition stop, Value recent, Value step) {
        long rows = o.size(recent, 0);
        long window = o.size(recent, 1);
        return switch (stop) {
            case StopCondition.Subsequences any -> {
                int[] flat = new int[(int) (any.sequences().size() * window)];
                java.util.Arrays.fill(flat, -1);
                for (int i = 0; i < any.sequences().size(); i++) {
                    int[] sequence = any.sequences().get(i).toArray();
                    System.arraycopy(
                            sequence, 0, flat, (int) ((i + 1) * window) - sequence.length, sequence.length);
                }
                long[] shape = {rows, any.sequences().size(), window};
                Value table = o.b().reshape(o.b().constant(flat), shape[1], window);
                yield Rows.endsWith(o, recent, o.broadcast(table, shape, 1, 2));
            }
            case StopCondition.MaxLength max ->
                o.broadcast(
                        o.compare(step, o.int32(max.count()), ComparisonDirection.GE), new long[] {rows});
            case StopCondition.Any any ->
                any.conditions().stream()
                        .map(condition -> stops(o, condition, recent, step))
                        .reduce((l, r) -> o.b().or(l, r))
                        .orElseThrow();
        };
    }

    /** The longest stop sequence, at least 1. */
    private static int longest(StopCondition stop) {
        return switch (stop) {
            case StopCondition.Subsequences any ->
                any.sequences().stream().mapToInt(ImmutableIntArray::length).max().orElse(1);
            case StopCondition.MaxLength _ -> 1;
            case StopCondition.Any any ->
                any.conditions().stream()
                        .mapToInt(ReferenceLowerer::longest)
                        .max()
                        .orElse(1);
        };
    }
}

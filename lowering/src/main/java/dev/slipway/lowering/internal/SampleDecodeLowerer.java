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
import java.util.Map;

/** Lowers {@code sample_decode}: reads the prompts, then one loop draws tokens until every row has ended. */
public final class SampleDecodeLowerer {
    private static final int STEP = 0;
    private static final int GOING = 1;
    private static final int KEY = 2;

    private final Signature signature;
    private final DecodeOptions options;
    private final int decodes;

    /** How many rows are computed: a batch that does not divide is filled up with rows that have ended. */
    private final long filled;

    public SampleDecodeLowerer(Signature signature) {
        this.signature = signature;
        this.options = signature.options;
        this.decodes = options.numDecodes();
        long batch = signature.batch;
        this.filled = signature.rows.axes(0).isEmpty() ? Ops.roundUp(batch, signature.program.batchParts()) : batch;
    }

    /** The program. */
    public InferenceProgram lower() {
        Program program = signature.program;
        long batch = signature.batch;
        long length = options.maxLength();
        signature.promptArguments();
        signature.keyResult();
        program.result("sequences", TensorType.of(ElementType.I32, batch, decodes, length), signature.rows);
        program.result("token_scores", TensorType.of(ElementType.F32, batch, decodes, length), signature.rows);
        signature.topResults(batch, decodes, length);
        if (filled > batch) {
            program.note("batch of %d is computed as %d, rows of pads behind it, so that it divides"
                    .formatted(batch, filled));
        }
        return program.build("sample_decode", this::emit);
    }

    private List<Value> emit(Ops o, ModelWeights weights, Values inputs) {
        Value prefix = spread(o, Rows.fill(o, inputs.get(ProgramPaths.PREFIX), filled, options.padId()));
        Decoding decoding = signature.decoding(o, weights, filled);
        Sampler sampler = signature.sampler(o, inputs, filled);
        Decoding.Prefilled read = decoding.prefill(o, prefix);

        // Each decode draws its own first token from the same activations.
        Value last = Rows.repeat(o, decoding.last(o, read), 0, decodes);
        Value lengths = Rows.repeat(o, read.lengths(), 0, decodes);
        Value prompts = Rows.repeat(o, signature.started(o, prefix), 0, decodes);
        List<Value> cache = read.cache().stream()
                .map(tensor -> Rows.repeat(o, tensor, decoding.layers().cacheRowDimension(), decodes))
                .toList();
        Map<String, Value> rows = sampler.begin(o, prompts, lengths);
        endAddedRows(o, rows);
        Transcript empty = Transcript.empty(o, options, filled * decodes, options.maxLength());
        LoopState begin = new LoopState(
                List.of(o.scalar(ElementType.I32, 0), o.constant(ElementType.I1, 1), inputs.get(ProgramPaths.KEY)),
                rows,
                empty,
                cache);
        // Head and draw stand once in the program, behind the layers, which the first step passes over: the
        // vocabulary's matrix and the random numbers are much of what is compiled. Behind and not before them,
        // since libtpu keeps in on-chip memory what a loop's body uses at its beginning.
        LoopState end = begin.with(o.loop(
                begin.values(),
                (_, it) -> it.get(GOING),
                (c, it) -> step(c, decoding, sampler, last, begin.with(it)).values()));
        return results(o, end, prompts, lengths);
    }

    private LoopState step(Ops o, Decoding decoding, Sampler sampler, Value last, LoopState now) {
        Value step = now.head().get(STEP);
        LayerStack.State fed = decoding.feed(
                o,
                decoding.column(o, o.maximum(o.plus(step, -1), 0), signature.width),
                Sampler.get(now.rows(), Sampler.POSITIONS),
                Sampler.get(now.rows(), Sampler.TOKENS),
                now.cache(),
                new Decoding.Beginning(o.compare(step, o.int32(0), ComparisonDirection.EQ), last));
        Sampler.Choice choice =
                sampler.choose(o, decoding.logits(o, fed.x()), now.head().get(KEY), now.rows());
        Map<String, Value> rows = sampler.next(o, now.rows(), choice);
        Value going = o.any(o.b().not(Sampler.get(rows, Sampler.DONE)), 0);
        return new LoopState(
                List.of(o.add(step, 1), going, choice.key()),
                rows,
                now.transcript().put(o, sampler.given(o, now.rows(), choice), step),
                fed.cache());
    }

    /** Lays the transcript behind the prompts: {@code [batch, decodes, length, ...]}. */
    private List<Value> results(Ops o, LoopState end, Value prompts, Value lengths) {
        List<Value> results = new ArrayList<>();
        results.add(end.head().get(KEY));
        List<Value> tensors = end.transcript().tensors();
        for (int i = 0; i < tensors.size(); i++) {
            double otherwise = tensors.get(i).tensorType().element().equals(ElementType.I32) ? options.padId() : 0;
            Value laid = Rows.behindPrompts(o, i == 0 ? prompts : null, otherwise, lengths, tensors.get(i), 0);
            long[] shape = o.shape(laid);
            long[] split = new long[shape.length + 1];
            split[0] = filled;
            split[1] = decodes;
            System.arraycopy(shape, 1, split, 2, shape.length - 1);
            results.add(o.sliceAxis(o.b().reshape(laid, split), 0, 0, signature.batch));
        }
        return results;
    }

    /** Marks the rows that fill the batch up as ended. */
    private void endAddedRows(Ops o, Map<String, Value> rows) {
        if (filled > signature.batch) {
            long[] all = {filled * decodes};
            Value added = o.compare(
                    o.iota(ElementType.I32, 0, all), o.int32(signature.batch * decodes, all), ComparisonDirection.GE);
            rows.put(Sampler.DONE, o.b().or(Sampler.get(rows, Sampler.DONE), added));
        }
    }

    /** Cuts rows over the mesh where the argument, which does not divide, could not be cut. */
    private Value spread(Ops o, Value x) {
        return filled == signature.batch
                ? x
                : Modules.constrain(o, x, signature.program.batchSpec("batch", 0, o.shape(x)));
    }
}

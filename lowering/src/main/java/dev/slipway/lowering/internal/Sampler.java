// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.Control;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.ScatterDimensionNumbers;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Chooses tokens, and keeps for each row what that takes: the row's state, tensors by name whose first dimension is the
 * rows, so that a row is replaced by writing one slice of each.
 */
final class Sampler {
    /** The last token, {@code i32[rows]}: the next to be fed. */
    static final String TOKENS = "tokens";

    /** Its position, {@code i32[rows]}. */
    static final String POSITIONS = "positions";

    /** How many tokens were generated, {@code i32[rows]}. */
    static final String GENERATED = "generated";

    /** Whether the row has ended, {@code i1[rows]}. */
    static final String DONE = "done";

    /** The last generated tokens, {@code i32[rows, window]}; -1 before the first. */
    private static final String RECENT = "recent";

    /** Which tokens are in the prompt or were generated, {@code i1[rows, vocabulary]}. */
    private static final String SEEN = "seen";

    /** How often each token was generated, {@code i32[rows, vocabulary]}. */
    private static final String COUNTS = "counts";

    private final DecodeOptions options;
    private final int vocabulary;
    private final Values controls;
    private final Prng prng;

    /** @param controls by path, a row of each for each row of the state */
    Sampler(DecodeOptions options, int vocabulary, Values controls) {
        this.options = options;
        this.vocabulary = vocabulary;
        this.controls = controls;
        this.prng = new Prng(options.random());
    }

    private static boolean has(DecodeOptions options, Control control) {
        return options.controls().contains(control);
    }

    /** The tensors of the state, in order. */
    static Map<String, TensorType> state(DecodeOptions options, int vocabulary, long rows) {
        Map<String, TensorType> state = new LinkedHashMap<>();
        state.put(TOKENS, TensorType.of(ElementType.I32, rows));
        state.put(POSITIONS, TensorType.of(ElementType.I32, rows));
        state.put(GENERATED, TensorType.of(ElementType.I32, rows));
        state.put(DONE, TensorType.of(ElementType.I1, rows));
        if (has(options, Control.STOP_SEQUENCES)) {
            state.put(
                    RECENT,
                    TensorType.of(ElementType.I32, rows, options.stopSpace().window()));
        }
        if (has(options, Control.REPETITION_PENALTY)) {
            state.put(SEEN, TensorType.of(ElementType.I1, rows, vocabulary));
        }
        if (has(options, Control.PRESENCE_PENALTY) || has(options, Control.FREQUENCY_PENALTY)) {
            state.put(COUNTS, TensorType.of(ElementType.I32, rows, vocabulary));
        }
        return state;
    }

    /**
     * The state before the first token is chosen.
     *
     * @param prompts as they are read, {@code i32[rows, width]}
     * @param lengths {@code i32[rows]}
     */
    Map<String, Value> begin(Ops o, Value prompts, Value lengths) {
        long rows = o.size(prompts, 0);
        Map<String, Value> state = new LinkedHashMap<>();
        for (Map.Entry<String, TensorType> tensor :
                state(options, vocabulary, rows).entrySet()) {
            String name = tensor.getKey();
            long[] shape = tensor.getValue().shape().toArray();
            state.put(
                    name,
                    switch (name) {
                        case TOKENS -> o.int32(options.padId(), rows);
                        case POSITIONS -> o.plus(lengths, -1);
                        case DONE -> o.compare(lengths, o.int32(options.maxLength(), rows), ComparisonDirection.GE);
                        case RECENT -> o.int32(-1, shape);
                        case SEEN -> seen(o, prompts, lengths);
                        default -> o.int32(0, shape);
                    });
        }
        return state;
    }

    /** Which tokens each prompt has, {@code i1[rows, vocabulary]}. */
    private Value seen(Ops o, Value prompts, Value lengths) {
        long[] shape = o.shape(prompts);
        Value behind =
                o.compare(o.iota(ElementType.I32, 1, shape), o.broadcast(lengths, shape, 0), ComparisonDirection.GE);
        // A place outside is written nowhere.
        Value column = o.b().select(behind, o.int32(vocabulary, shape), prompts);
        Value row = o.iota(ElementType.I32, 0, shape[0], shape[1], 1);
        Value places = o.b().concatenate(2, row, o.b().reshape(column, shape[0], shape[1], 1));
        return o.b().scatter(
                        List.of(o.constant(ElementType.I1, 0, shape[0], vocabulary)),
                        places,
                        List.of(o.constant(ElementType.I1, 1, shape)),
                        ScatterDimensionNumbers.of(new long[] {}, new long[] {0, 1}, new long[] {0, 1}, 2),
                        false,
                        false,
                        (c, it) -> List.of(it.get(1)))
                .getFirst();
    }

    /**
     * A chosen token for each row.
     *
     * @param tokens {@code i32[rows]}
     * @param scores log-probabilities of the model, {@code f32[rows]}
     * @param key to carry on with
     * @param topTokens the likeliest tokens, {@code i32[rows, n]}, null where none are asked for
     * @param topScores their log-probabilities, {@code f32[rows, n]}
     */
    record Choice(
            Value tokens,
            Value scores,
            Value key,
            @Nullable Value topTokens,
            @Nullable Value topScores) {}

    /**
     * Chooses the next token of each row.
     * @param logits {@code f32[rows, vocabulary]}
     */
    Choice choose(Ops o, Value logits, Value key, Map<String, Value> state) {
        Value logProbabilities = o.logSoftmax(logits);
        Value scored = modify(o, logits, state);
        Value carry = key;
        if (options.sampling()) {
            List<Value> split = prng.split(o, key, 2);
            carry = split.get(0);
            long[] shape = o.shape(logits);
            Value temperature = wide(o, Control.TEMPERATURE, shape);
            Value greedy = o.compare(temperature, o.splat(0, temperature), ComparisonDirection.LE);
            Value scaled = o.b().divide(scored, o.b().select(greedy, o.splat(1, temperature), temperature));
            Value drawn = o.add(filter(o, scaled), prng.gumbel(o, split.get(1), shape));
            scored = o.b().select(greedy, scored, drawn);
        }
        List<Value> best = o.best(scored, 1, List.of(logProbabilities));
        Value tokens = best.get(0);
        Value topTokens = null;
        Value topScores = null;
        if (options.topLogProbs() > 0) {
            List<Value> top = o.b().chlo().topK(logProbabilities, options.topLogProbs());
            topScores = top.get(0);
            topTokens = top.get(1);
        }
        return new Choice(tokens, best.get(1), carry, topTokens, topScores);
    }

    /** Everything that acts on logits {@code f32[rows, vocabulary]} before the temperature. */
    private Value modify(Ops o, Value x, Map<String, Value> state) {
        long[] shape = o.shape(x);
        if (has(options, Control.REPETITION_PENALTY)) {
            Value penalty = wide(o, Control.REPETITION_PENALTY, shape);
            Value positive = o.compare(x, o.splat(0, x), ComparisonDirection.GT);
            Value punished = o.b().select(positive, o.b().divide(x, penalty), o.b().multiply(x, penalty));
            x = o.b().select(get(state, SEEN), punished, x);
        }
        if (has(options, Control.FREQUENCY_PENALTY)) {
            Value times = o.convert(get(state, COUNTS), ElementType.F32);
            x = o.b().subtract(x, o.b().multiply(wide(o, Control.FREQUENCY_PENALTY, shape), times));
        }
        if (has(options, Control.PRESENCE_PENALTY)) {
            Value present = o.compare(get(state, COUNTS), o.int32(0, shape), ComparisonDirection.GT);
            Value penalty = wide(o, Control.PRESENCE_PENALTY, shape);
            x = o.b().subtract(x, o.b().select(present, penalty, o.splat(0, penalty)));
        }
        if (has(options, Control.LOGIT_BIAS)) {
            x = o.add(x, controls.get(Control.LOGIT_BIAS.path()));
        }
        if (has(options, Control.ALLOWED_TOKENS)) {
            x = o.b().select(controls.get(Control.ALLOWED_TOKENS.path()), x, never(o, x));
        }
        if (has(options, Control.MIN_LENGTH) && !options.stopIds().isEmpty()) {
            Value early = o.broadcast(tooShort(o, get(state, GENERATED)), shape, 0);
            Value stop = stopIds(o, o.iota(ElementType.I32, 1, shape));
            Value others = o.b().select(o.b().and(early, stop), never(o, x), x);
            x = has(options, Control.ALLOWED_TOKENS) || has(options, Control.LOGIT_BIAS)
                    ? o.b().select(anyLeft(o, others), others, x)
                    : others;
        }
        return x;
    }

    /** Whether a row has a token that may come next, over the vocabulary. */
    private static Value anyLeft(Ops o, Value x) {
        Value most = o.max(x, 1);
        return o.broadcast(o.compare(most, never(o, most), ComparisonDirection.GT), o.shape(x), 0);
    }

    /** The filters, on logits that the temperature has divided. */
    private Value filter(Ops o, Value x) {
        long[] shape = o.shape(x);
        if (has(options, Control.TOP_K)) {
            Value k = controls.get(Control.TOP_K.path());
            Value all = o.compare(k, o.int32(0, shape[0]), ComparisonDirection.LE);
            Value kept = Filters.topK(o, x, o.b().select(all, o.int32(vocabulary, shape[0]), k));
            x = o.b().select(kept, x, never(o, x));
        }
        if (has(options, Control.TOP_P)) {
            Value probabilities = o.softmax(x);
            x = o.b().select(mass(o, Control.TOP_P, probabilities, probabilities), x, never(o, x));
        }
        if (has(options, Control.MIN_P)) {
            Value probabilities = o.softmax(x);
            Value least = o.b().multiply(o.max(probabilities, 1), controls.get(Control.MIN_P.path()));
            Value kept = o.compare(probabilities, o.broadcast(least, shape, 0), ComparisonDirection.GE);
            x = o.b().select(kept, x, never(o, x));
        }
        if (has(options, Control.TYPICAL_P)) {
            Value probabilities = o.softmax(x);
            Value logProbabilities = o.logSoftmax(x);
            Value possible = o.compare(probabilities, o.splat(0, x), ComparisonDirection.GT);
            Value weighted = o.b().select(possible, o.b().multiply(probabilities, logProbabilities), o.splat(0, x));
            Value entropy = o.b().negate(o.sum(weighted, 1));
            Value distance = o.b().abs(o.add(logProbabilities, o.broadcast(entropy, shape, 0)));
            Value nearness = o.b().select(possible, o.b().negate(distance), never(o, x));
            x = o.b().select(mass(o, Control.TYPICAL_P, nearness, probabilities), x, never(o, x));
        }
        return x;
    }

    /** What ranks highest and has a share {@code control} of the probability; all where that is 1 or more. */
    private Value mass(Ops o, Control control, Value rank, Value probabilities) {
        long[] shape = o.shape(rank);
        Value share = controls.get(control.path());
        Value all = o.compare(share, o.constant(ElementType.F32, 1, shape[0]), ComparisonDirection.GE);
        return o.b().or(Filters.topP(o, rank, probabilities, share), o.broadcast(all, shape, 0));
    }

    private static Value never(Ops o, Value x) {
        return o.splat(Double.NEGATIVE_INFINITY, x);
    }

    /** A number for each row, over the vocabulary. */
    private Value wide(Ops o, Control control, long[] shape) {
        return o.broadcast(controls.get(control.path()), shape, 0);
    }

    private Value tooShort(Ops o, Value generated) {
        return o.compare(generated, controls.get(Control.MIN_LENGTH.path()), ComparisonDirection.LT);
    }

    /** Whether tokens {@code i32[...]} are among those that end a row. */
    private Value stopIds(Ops o, Value tokens) {
        long[] shape = o.shape(tokens);
        Value stops = o.constant(ElementType.I1, 0, shape);
        for (int id : options.stopIds().toArray()) {
            stops = o.b().or(stops, o.compare(tokens, o.int32(id, shape), ComparisonDirection.EQ));
        }
        return stops;
    }

    /**
     * What rows get from a choice, nothing once they have ended: tokens and scores and, where they are asked for, the
     * likeliest tokens and their scores.
     */
    List<Value> given(Ops o, Map<String, Value> before, Choice choice) {
        Value ended = get(before, DONE);
        List<Value> given = new ArrayList<>();
        given.add(token(o, before, choice));
        given.add(Rows.keep(o, ended, choice.scores(), 0));
        if (choice.topTokens() != null && choice.topScores() != null) {
            given.add(Rows.keep(o, ended, choice.topTokens(), options.padId()));
            given.add(Rows.keep(o, ended, choice.topScores(), 0));
        }
        return given;
    }

    private Value token(Ops o, Map<String, Value> before, Choice choice) {
        return Rows.keep(o, get(before, DONE), choice.tokens(), options.padId());
    }

    /** The state after a choice. */
    Map<String, Value> next(Ops o, Map<String, Value> before, Choice choice) {
        Value ended = get(before, DONE);
        Value token = token(o, before, choice);
        long rows = o.size(token, 0);
        Value one = Rows.keep(o, ended, o.int32(1, rows), 0);
        Value position = o.add(get(before, POSITIONS), one);
        Value generated = o.add(get(before, GENERATED), one);
        Map<String, Value> after = new LinkedHashMap<>();
        Value stops = stopIds(o, token);
        if (has(options, Control.STOP_SEQUENCES)) {
            Value recent = Rows.append(o, get(before, RECENT), token);
            after.put(RECENT, recent);
            stops = o.b().or(stops, Rows.endsWith(o, recent, controls.get(Control.STOP_SEQUENCES.path())));
        }
        if (has(options, Control.MIN_LENGTH)) {
            stops = o.b().and(stops, o.b().not(tooShort(o, generated)));
        }
        Value full = o.compare(position, o.int32(options.maxLength() - 1L, rows), ComparisonDirection.GE);
        if (has(options, Control.MAX_LENGTH)) {
            full = o.b().or(
                            full,
                            o.compare(generated, controls.get(Control.MAX_LENGTH.path()), ComparisonDirection.GE));
        }
        after.put(TOKENS, token);
        after.put(POSITIONS, position);
        after.put(GENERATED, generated);
        after.put(DONE, o.b().or(ended, o.b().or(stops, full)));
        if (before.containsKey(SEEN) || before.containsKey(COUNTS)) {
            long[] shape = {rows, vocabulary};
            Value here =
                    o.compare(o.iota(ElementType.I32, 1, shape), o.broadcast(token, shape, 0), ComparisonDirection.EQ);
            here = o.b().and(here, o.broadcast(o.b().not(ended), shape, 0));
            if (before.containsKey(SEEN)) {
                after.put(SEEN, o.b().or(get(before, SEEN), here));
            }
            if (before.containsKey(COUNTS)) {
                after.put(COUNTS, o.add(get(before, COUNTS), o.convert(here, ElementType.I32)));
            }
        }
        Map<String, Value> ordered = new LinkedHashMap<>();
        before.keySet().forEach(name -> ordered.put(name, get(after, name)));
        return ordered;
    }

    static Value get(Map<String, Value> state, String name) {
        Value value = state.get(name);
        if (value == null) {
            throw new IllegalStateException("no " + name + " in the state " + state.keySet());
        }
        return value;
    }
}

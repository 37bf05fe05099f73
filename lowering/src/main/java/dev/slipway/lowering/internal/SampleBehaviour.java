// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import com.google.common.primitives.ImmutableIntArray;
import dev.slipway.lowering.LogitsModifier;
import dev.slipway.lowering.StopCondition;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.Value;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** What differs between AXLearn's sample decodes: written into the program, or given to it when it runs. */
sealed interface SampleBehaviour {
    /** The log-probability of a token that a filter has removed. */
    double REMOVED = -1e7;

    /** Log-probabilities {@code f32[..., vocabulary]} after the modifiers. */
    Value modify(Ops o, Value x);

    /**
     * Whether rows end, {@code i1[rows]}.
     *
     * @param recent the rows' last tokens, {@code i32[rows, window]}
     * @param step how many tokens were generated in the loop before the last one, {@code i32[]}
     */
    Value stops(Ops o, Value recent, Value step);

    /** How many of a row's last tokens {@link #stops} has to see. */
    long window();

    /** How long rows may grow, {@code i32[]}. */
    Value limit(Ops o);

    private static Value temperature(Ops o, Value x, Value value) {
        return o.b().divide(x, o.broadcast(value, o.shape(x)));
    }

    private static Value topK(Ops o, Value x, Value k) {
        return o.b().select(Filters.topK(o, x, o.broadcast(k, outer(o, x))), x, o.splat(REMOVED, x));
    }

    private static Value topP(Ops o, Value x, Value p) {
        Value probabilities = o.softmax(x);
        Value kept = Filters.topP(o, probabilities, probabilities, o.broadcast(p, outer(o, x)));
        return o.b().select(kept, x, o.splat(REMOVED, x));
    }

    private static Value greedy(Ops o, Value x) {
        int last = o.rank(x) - 1;
        Value best = o.broadcast(o.argMax(x, last), o.shape(x), Ops.range(last));
        Value here = o.compare(o.iota(ElementType.I32, last, o.shape(x)), best, ComparisonDirection.EQ);
        return o.b().select(here, x, o.splat(REMOVED, x));
    }

    private static long[] outer(Ops o, Value x) {
        return Arrays.copyOf(o.shape(x), o.rank(x) - 1);
    }

    private static Value endsWith(Ops o, Value recent, Value sequences) {
        long[] shape = {o.size(recent, 0), o.size(sequences, 0), o.size(sequences, 1)};
        return o.any(Rows.fits(o, recent, o.broadcast(sequences, shape, 1, 2)), 1);
    }

    private static Value after(Ops o, Value recent, Value step, Value count) {
        return o.broadcast(o.compare(step, count, ComparisonDirection.GE), new long[] {o.size(recent, 0)});
    }

    /**
     * Written into the program.
     *
     * @param width of the prefix, which is how long rows may grow
     */
    record Fixed(List<LogitsModifier> modifiers, StopCondition stop, long width) implements SampleBehaviour {
        @Override
        public Value modify(Ops o, Value x) {
            for (LogitsModifier modifier : modifiers) {
                x = switch (modifier) {
                    case LogitsModifier.Temperature step -> temperature(o, x, o.scalar(ElementType.F32, step.value()));
                    case LogitsModifier.TopK step -> topK(o, x, o.int32(step.k()));
                    case LogitsModifier.Greedy _ -> greedy(o, x);
                    case LogitsModifier.TopP step -> topP(o, x, o.scalar(ElementType.F32, step.p()));
                };
            }
            return x;
        }

        @Override
        public Value stops(Ops o, Value recent, Value step) {
            return stops(o, stop, recent, step);
        }

        private Value stops(Ops o, StopCondition condition, Value recent, Value step) {
            return switch (condition) {
                case StopCondition.Subsequences any ->
                    endsWith(
                            o,
                            recent,
                            o.b().reshape(
                                            o.b().constant(table(any.sequences(), window())),
                                            any.sequences().size(),
                                            window()));
                case StopCondition.MaxLength max -> after(o, recent, step, o.int32(max.count()));
                case StopCondition.Any any ->
                    any.conditions().stream()
                            .map(one -> stops(o, one, recent, step))
                            .reduce((l, r) -> o.b().or(l, r))
                            .orElseThrow();
            };
        }

        @Override
        public long window() {
            return longest(stop);
        }

        private static int longest(StopCondition stop) {
            return switch (stop) {
                case StopCondition.Subsequences any ->
                    any.sequences().stream()
                            .mapToInt(ImmutableIntArray::length)
                            .max()
                            .orElse(1);
                case StopCondition.MaxLength _ -> 1;
                case StopCondition.Any any ->
                    any.conditions().stream().mapToInt(Fixed::longest).max().orElse(1);
            };
        }

        @Override
        public Value limit(Ops o) {
            return o.int32(width);
        }
    }

    /** Sequences one behind the other, each filled up in front with -1 to {@code window} tokens. */
    private static int[] table(List<ImmutableIntArray> sequences, long window) {
        return sequences.stream()
                .flatMapToInt(sequence -> IntStream.concat(
                        IntStream.generate(() -> -1).limit(window - sequence.length()), sequence.stream()))
                .toArray();
    }

    /**
     * Given when it runs.
     *
     * @param kinds of the modifiers, {@code i32[steps]}: 0 none, 1 temperature, 2 top-k, 3 top-p, 4 greedy
     * @param values of the modifiers, {@code f32[steps]}
     * @param sequences {@code i32[count, window]}
     * @param maxLength {@code i32[]}
     * @param limit {@code i32[]}
     */
    record Given(Value kinds, Value values, Value sequences, Value maxLength, Value limit) implements SampleBehaviour {
        @Override
        public Value modify(Ops o, Value x) {
            for (int i = 0; i < o.size(kinds, 0); i++) {
                Value before = x;
                Value kind = o.b().reshape(o.sliceAxis(kinds, 0, i, i + 1));
                Value value = o.b().reshape(o.sliceAxis(values, 0, i, i + 1));
                x = o.b().caseOf(
                                kind,
                                List.of(
                                        (c, _) -> List.of(before),
                                        (c, _) -> List.of(temperature(new Ops(c), before, value)),
                                        (c, _) -> List.of(
                                                topK(new Ops(c), before, new Ops(c).convert(value, ElementType.I32))),
                                        (c, _) -> List.of(topP(new Ops(c), before, value)),
                                        (c, _) -> List.of(greedy(new Ops(c), before))))
                        .getFirst();
            }
            return x;
        }

        @Override
        public Value stops(Ops o, Value recent, Value step) {
            return o.b().or(endsWith(o, recent, sequences), after(o, recent, step, maxLength));
        }

        @Override
        public long window() {
            return sequences.tensorType().dim(1);
        }

        @Override
        public Value limit(Ops o) {
            return limit;
        }
    }
}

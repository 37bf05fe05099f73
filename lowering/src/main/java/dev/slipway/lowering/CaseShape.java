// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import com.google.common.primitives.ImmutableIntArray;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The size of a sample decode whose modifiers, stop condition and maximum length are given when it runs, so that one
 * program serves all that fit: {@link AxlearnPrograms#sampleDecode(CaseShape, InputBatchSpec)}.
 *
 * @param entry what is traced
 * @param numDecodes continuations of each prompt
 * @param steps how many modifiers there may be
 * @param sequences how many stop sequences there may be, at least 1
 * @param window how long a stop sequence may be, at least 1
 * @param padId pads
 */
public record CaseShape(SampleDecode.Entry entry, int numDecodes, int steps, int sequences, int window, int padId) {
    /** In front of a sequence that is shorter than others. */
    private static final int ANY_TOKEN = -1;

    /** In place of a sequence that a decode has not: no token, nor pad, is this. */
    private static final int NO_TOKEN = -2;

    /** The smallest that a decode fits. */
    public static CaseShape of(SampleDecode decode) {
        List<ImmutableIntArray> sequences = new ArrayList<>();
        collect(decode.stop(), sequences);
        return new CaseShape(
                decode.entry(),
                decode.numDecodes(),
                Math.max(1, decode.modifiers().size()),
                Math.max(1, sequences.size()),
                sequences.stream().mapToInt(ImmutableIntArray::length).max().orElse(1),
                decode.padId());
    }

    /** Whether the two differ in size alone. */
    public boolean like(CaseShape other) {
        return entry == other.entry && numDecodes == other.numDecodes && padId == other.padId;
    }

    /** The smallest that both fit. */
    public CaseShape with(CaseShape other) {
        return new CaseShape(
                entry,
                numDecodes,
                Math.max(steps, other.steps),
                Math.max(sequences, other.sequences),
                Math.max(window, other.window),
                padId);
    }

    /**
     * A decode's options as the program takes them.
     *
     * @param kinds {@code i32[steps]}: 0 none, 1 temperature, 2 top-k, 3 top-p, 4 greedy
     * @param values {@code f32[steps]}
     * @param stopSequences {@code i32[sequences, window]}, -1 in front of shorter ones, -2 for those that are none
     * @param maxLength {@code i32[]}
     */
    public record Arguments(int[] kinds, float[] values, int[] stopSequences, int maxLength) {}

    /**
     * The arguments of a decode.
     *
     * @param vocabulary of the model, which bounds top-k
     */
    public Arguments arguments(SampleDecode decode, int vocabulary) {
        int[] kinds = new int[steps];
        float[] values = new float[steps];
        for (int i = 0; i < decode.modifiers().size(); i++) {
            switch (decode.modifiers().get(i)) {
                case LogitsModifier.Temperature step -> {
                    kinds[i] = 1;
                    values[i] = step.value();
                }
                case LogitsModifier.TopK step -> {
                    kinds[i] = 2;
                    values[i] = Math.min(step.k(), vocabulary);
                }
                case LogitsModifier.TopP step -> {
                    kinds[i] = 3;
                    values[i] = step.p();
                }
                case LogitsModifier.Greedy _ -> kinds[i] = 4;
            }
        }
        List<ImmutableIntArray> given = new ArrayList<>();
        int maxLength = collect(decode.stop(), given);
        int[] table = new int[sequences * window];
        Arrays.fill(table, 0, given.size() * window, ANY_TOKEN);
        Arrays.fill(table, given.size() * window, table.length, NO_TOKEN);
        for (int i = 0; i < given.size(); i++) {
            int[] sequence = given.get(i).toArray();
            System.arraycopy(sequence, 0, table, (i + 1) * window - sequence.length, sequence.length);
        }
        return new Arguments(kinds, values, table, maxLength);
    }

    /** Collects all stop sequences; gives the least maximum length. */
    private static int collect(StopCondition stop, List<ImmutableIntArray> sequences) {
        return switch (stop) {
            case StopCondition.Subsequences any -> {
                sequences.addAll(any.sequences());
                yield Integer.MAX_VALUE;
            }
            case StopCondition.MaxLength max -> max.count();
            case StopCondition.Any any -> {
                int least = Integer.MAX_VALUE;
                for (StopCondition one : any.conditions()) {
                    least = Math.min(least, collect(one, sequences));
                }
                yield least;
            }
        };
    }
}

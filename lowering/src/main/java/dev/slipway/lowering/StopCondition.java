// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableIntArray;

/** When AXLearn ends a row. Source: {@code axlearn/common/decoding.py} at 34aed43c. */
public sealed interface StopCondition {
    /** Ends a row whose tokens end with one of these; the match may begin in the prompt. -1 is any token. */
    record Subsequences(ImmutableList<ImmutableIntArray> sequences) implements StopCondition {
        public Subsequences {
            if (sequences.isEmpty() || sequences.stream().anyMatch(ImmutableIntArray::isEmpty)) {
                throw new LoweringException(
                        "stop sequences %s; at least one is expected, and none of them empty".formatted(sequences));
            }
        }
    }

    /** Ends a row after {@code count} tokens, as AXLearn counts them: {@code count + 2} are generated. */
    record MaxLength(int count) implements StopCondition {
        public MaxLength {
            if (count < 0) {
                throw new LoweringException("a maximum length of %d; 0 or more is expected".formatted(count));
            }
        }
    }

    /** Ends a row when one of several conditions would. */
    record Any(ImmutableList<StopCondition> conditions) implements StopCondition {
        public Any {
            if (conditions.isEmpty()) {
                throw new LoweringException("no stop conditions to choose from; at least one is expected");
            }
        }
    }

    /** Ends a row at one token. */
    static StopCondition token(int id) {
        return new Subsequences(ImmutableList.of(ImmutableIntArray.of(id)));
    }
}

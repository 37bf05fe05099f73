// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.DecodeOptions;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * What rows have generated, one column per token: tokens {@code i32[rows, columns]}, their scores {@code f32[rows, columns]}
 * and, where the options ask for them, the likeliest tokens {@code i32[rows, columns, n]} and their scores.
 */
record Transcript(List<Value> tensors) {
    Transcript {
        tensors = List.copyOf(tensors);
    }

    static Transcript empty(Ops o, DecodeOptions options, long rows, long columns) {
        List<Value> tensors = new ArrayList<>();
        tensors.add(o.int32(options.padId(), rows, columns));
        tensors.add(o.zeros(ElementType.F32, rows, columns));
        if (options.topLogProbs() > 0) {
            tensors.add(o.int32(options.padId(), rows, columns, options.topLogProbs()));
            tensors.add(o.zeros(ElementType.F32, rows, columns, options.topLogProbs()));
        }
        return new Transcript(tensors);
    }

    /** This transcript with a choice written into one column. */
    Transcript put(Ops o, Sampler sampler, Map<String, Value> before, Sampler.Choice choice, Value column) {
        List<Value> all = new ArrayList<>();
        all.add(Rows.writeColumn(o, tensors.get(0), sampler.token(o, before, choice), column));
        all.add(Rows.writeColumn(o, tensors.get(1), sampler.score(o, before, choice), column));
        if (choice.topTokens() != null && choice.topScores() != null) {
            all.add(Rows.writeColumn(o, tensors.get(2), choice.topTokens(), column));
            all.add(Rows.writeColumn(o, tensors.get(3), choice.topScores(), column));
        }
        return new Transcript(all);
    }
}

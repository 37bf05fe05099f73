// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.lowering.DecodeOptions;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.List;

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

    /** This transcript with what {@link Sampler#given} has of each tensor written into one column. */
    Transcript put(Ops o, List<Value> given, Value column) {
        List<Value> all = new ArrayList<>();
        for (int i = 0; i < tensors.size(); i++) {
            all.add(Rows.writeColumn(o, tensors.get(i), given.get(i), column));
        }
        return new Transcript(all);
    }
}

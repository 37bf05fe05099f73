// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a decode loop carries from step to step, in this order.
 *
 * @param head what this loop alone has, such as its step and the key
 * @param rows the state of the rows, by name, as {@link Sampler} keeps it
 * @param transcript what the rows have generated so far
 * @param cache see {@link LayerStack}
 */
record LoopState(List<Value> head, Map<String, Value> rows, Transcript transcript, List<Value> cache) {
    /** Everything as the loop takes it. */
    List<Value> values() {
        List<Value> values = new ArrayList<>(head);
        values.addAll(rows.values());
        values.addAll(transcript.tensors());
        values.addAll(cache);
        return values;
    }

    /** This state with other values, as the loop gives them. */
    LoopState with(List<Value> values) {
        Map<String, Value> named = new LinkedHashMap<>();
        int at = head.size();
        for (String name : rows.keySet()) {
            named.put(name, values.get(at++));
        }
        int end = at + transcript.tensors().size();
        return new LoopState(
                values.subList(0, head.size()),
                named,
                new Transcript(values.subList(at, end)),
                values.subList(end, values.size()));
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering.internal;

import com.google.common.collect.ImmutableMap;
import dev.slipway.stablehlo.Value;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Values by name: a program's parameters or its other arguments. */
record Values(ImmutableMap<String, Value> byName) implements ModelWeights {
    static Values of(Map<String, Value> byName) {
        return new Values(ImmutableMap.copyOf(byName));
    }

    @Override
    public Value get(String name) {
        Value value = byName.get(name);
        if (value == null) {
            throw new IllegalStateException("nothing is called " + name + " among " + byName.keySet());
        }
        return value;
    }

    @Override
    public DecoderEmitter.Weights layer(Ops o, Value index) {
        return name -> o.at(get("layers/" + name), index);
    }

    /** The value of a name, null if there is none. */
    @Nullable
    Value find(String name) {
        return byName.get(name);
    }
}

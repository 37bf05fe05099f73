// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** A value for each row of the op table, made when it is first asked for: a program has few of the operations there are. */
final class OpMap<T> {
    private final AtomicReferenceArray<@Nullable T> values;
    private final IntFunction<T> make;

    OpMap(int size, IntFunction<T> make) {
        this.values = new AtomicReferenceArray<>(size);
        this.make = make;
    }

    /** The value of an id of {@link OpTable}: the same object each time. */
    T get(int id) {
        T known = values.get(id);
        if (known != null) {
            return known;
        }
        T made = make.apply(id);
        T other = values.compareAndExchange(id, null, made);
        return other != null ? other : made;
    }

    int size() {
        return values.length();
    }
}

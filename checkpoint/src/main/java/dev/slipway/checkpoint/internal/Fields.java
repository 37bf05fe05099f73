// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import dev.slipway.checkpoint.CheckpointException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Named numbers in a file, checked alike whatever its format; a refusal names file, key, value and what is expected. */
sealed interface Fields permits Json, GgufMetadata {
    /** An integer of at most 31 bits. */
    Optional<Integer> integer(String key);

    /** A number that is finite. */
    Optional<Double> number(String key);

    /** The refusal of a file without a field. */
    CheckpointException missing(String key);

    /** The refusal of a field's value. */
    CheckpointException wrong(String key, @Nullable Object value, String expected);

    /** An integer of which there must be one at least. */
    default Optional<Integer> size(String key) {
        return integer(key).map(value -> {
            if (value < 1) {
                throw wrong(key, value, "a positive integer");
            }
            return value;
        });
    }

    /** A number that is divided by, or of which the logarithm is taken. */
    default Optional<Double> positive(String key) {
        return number(key).map(value -> {
            if (!(value > 0)) {
                throw wrong(key, value, "a positive number");
            }
            return value;
        });
    }

    /** How many times longer a context becomes. */
    default Optional<Double> stretch(String key) {
        return positive(key).map(value -> {
            if (value < 1) {
                throw wrong(key, value, "a number of at least 1");
            }
            return value;
        });
    }

    default int requiredInteger(String key) {
        return integer(key).orElseThrow(() -> missing(key));
    }

    default int requiredSize(String key) {
        return size(key).orElseThrow(() -> missing(key));
    }

    default double requiredNumber(String key) {
        return number(key).orElseThrow(() -> missing(key));
    }

    default double requiredPositive(String key) {
        return positive(key).orElseThrow(() -> missing(key));
    }

    default double requiredStretch(String key) {
        return stretch(key).orElseThrow(() -> missing(key));
    }

    /** A value as a refusal shows it. */
    static String brief(@Nullable Object value) {
        String text = String.valueOf(value);
        return text.length() > 60 ? text.substring(0, 60) + "..." : text;
    }
}

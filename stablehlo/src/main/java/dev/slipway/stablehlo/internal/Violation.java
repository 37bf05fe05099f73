// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.base.Strings;
import org.jspecify.annotations.Nullable;

/** A rule is broken; caught where the operation is known. Carries no stack trace. */
final class Violation extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Violation(String message) {
        super(message, null, false, false);
    }

    /** Throws, unless the condition holds; for what is checked of every operation, as words cost more than the rule. */
    @SuppressWarnings("AnnotateFormatMethod") // The annotation would be one more module to require.
    static void check(boolean condition, String message, @Nullable Object... arguments) {
        if (!condition) {
            throw new Violation(Strings.lenientFormat(message, arguments));
        }
    }

    /** Throws, unless the condition holds. */
    static void check(boolean condition, String message) {
        if (!condition) {
            throw new Violation(message);
        }
    }
}

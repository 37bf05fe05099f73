// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

/** A rule is broken; caught where the operation is known. Carries no stack trace. */
final class Violation extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Violation(String message) {
        super(message, null, false, false);
    }

    /** Throws, unless the condition holds. */
    static void check(boolean condition, String message) {
        if (!condition) {
            throw new Violation(message);
        }
    }
}

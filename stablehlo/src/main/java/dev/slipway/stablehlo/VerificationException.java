// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import java.util.List;

/** An operation or a module breaks a rule of the dialect. */
public final class VerificationException extends IrException {
    private static final long serialVersionUID = 1L;

    private final transient List<Diagnostic> diagnostics;

    /** An exception for one or more findings, the first of which is the message. */
    public VerificationException(List<Diagnostic> diagnostics) {
        super(
                diagnostics.size() == 1
                        ? diagnostics.getFirst().toString()
                        : diagnostics.getFirst() + " (and " + (diagnostics.size() - 1) + " more)");
        this.diagnostics = List.copyOf(diagnostics);
    }

    /** All findings; empty after serialization. */
    public List<Diagnostic> diagnostics() {
        return diagnostics == null ? List.of() : diagnostics;
    }
}

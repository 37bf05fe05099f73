// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.ModuleChecker;
import java.util.List;

/** Checks modules that were not built here: parsed, read from bytes, or transformed. */
public final class Verifier {
    private Verifier() {}

    /** Everything that is wrong with a module; empty where nothing is. */
    public static List<Diagnostic> diagnose(Module module) {
        return ModuleChecker.diagnose(module.operation());
    }

    /**
     * Does nothing if nothing is wrong with a module.
     *
     * @throws VerificationException with all findings
     */
    public static void verify(Module module) {
        List<Diagnostic> diagnostics = diagnose(module);
        if (!diagnostics.isEmpty()) {
            throw new VerificationException(diagnostics);
        }
    }
}

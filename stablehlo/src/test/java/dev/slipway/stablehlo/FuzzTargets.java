// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

/** What is no module is refused with the typed exception; what is one can be printed, verified and written. */
final class FuzzTargets {
    private FuzzTargets() {}

    /** Any bytes as text. */
    static final class Text {
        private Text() {}

        /** Called by the fuzzer. */
        public static void fuzzerTestOneInput(byte[] input) {
            Module module;
            try {
                module = Module.parse(input, "fuzz.mlir");
            } catch (ParseException _) {
                return;
            }
            use(module);
        }
    }

    /** Any bytes as bytecode. */
    static final class Bytecode {
        private Bytecode() {}

        /** Called by the fuzzer. */
        public static void fuzzerTestOneInput(byte[] input) {
            Module module;
            try {
                module = Module.fromBytecode(input);
            } catch (BytecodeException _) {
                return;
            }
            use(module);
        }
    }

    private static void use(Module module) {
        String _ = module.toString();
        String _ = module.print(PrintOptions.genericForm());
        if (!Verifier.diagnose(module).isEmpty()) {
            return;
        }
        byte[] _ = module.toBytecode();
        try {
            byte[] _ = module.toPortableArtifact("1.0.0");
        } catch (BytecodeException _) {
            // What that version does not have.
        }
    }
}

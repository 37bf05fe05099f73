// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

/** What is no module is refused with the typed exception; what is one and without
 * faults is the same after it was printed or written. */
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
        String generic = module.print(PrintOptions.genericForm());
        String pretty = module.toString();
        if (!Verifier.diagnose(module).isEmpty()) {
            return;
        }
        expect(generic, Module.parse(generic).print(PrintOptions.genericForm()), "the generic form");
        expect(pretty, Module.parse(pretty).toString(), "the pretty form");
        byte[] bytecode = module.toBytecode();
        expect(generic, Module.fromBytecode(bytecode).print(PrintOptions.genericForm()), "bytecode");
        try {
            Module _ = Module.fromBytecode(module.toPortableArtifact("1.13.0"));
        } catch (BytecodeException _) {
            // What that version does not have, or no version.
        }
    }

    private static void expect(String expected, String actual, String what) {
        if (!expected.equals(actual)) {
            throw new AssertionError(what + " is read as another module:\n" + expected + "\n" + actual);
        }
    }
}

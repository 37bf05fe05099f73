// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench.conformance;

import dev.slipway.stablehlo.BytecodeException;
import dev.slipway.stablehlo.Diagnostic;
import dev.slipway.stablehlo.IrException;
import dev.slipway.stablehlo.Module;
import dev.slipway.stablehlo.PrintOptions;
import dev.slipway.stablehlo.Structure;
import dev.slipway.stablehlo.Verifier;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.UnaryOperator;

/** Whether a module survives each form that it can be written in. */
final class TextForms {
    private final Report report;

    TextForms(Report report) {
        this.report = report;
    }

    /** Parses a text, verifies the module, writes it in each form and reads it again. */
    void check(String name, String text) {
        Module module;
        try {
            module = Module.parse(text.getBytes(StandardCharsets.UTF_8), name);
            report.ok("parsed");
        } catch (IrException refused) {
            report.fail("parsed", name, String.valueOf(refused.getMessage()));
            return;
        }
        List<Diagnostic> found = Verifier.diagnose(module);
        if (found.isEmpty()) {
            report.ok("verified");
        } else {
            report.fail(
                    "verified",
                    name,
                    found.getFirst() + (found.size() > 1 ? " and " + (found.size() - 1) + " more" : ""));
        }
        again("pretty print", name, module, m -> Module.parse(m.print(PrintOptions.pretty())), false);
        again("generic print", name, module, m -> Module.parse(m.print(PrintOptions.genericForm())), false);
        again(
                "pretty print, locations",
                name,
                module,
                m -> Module.parse(m.print(PrintOptions.pretty().withLocations())),
                true);
        again(
                "generic print, locations",
                name,
                module,
                m -> Module.parse(m.print(PrintOptions.genericForm().withLocations())),
                true);
        again("bytecode", name, module, m -> Module.fromBytecode(m.toBytecode()), true);
        again("portable artifact", name, module, m -> Module.fromBytecode(m.toPortableArtifact(Module.VERSION)), false);
    }

    private void again(String form, String name, Module module, UnaryOperator<Module> through, boolean locations) {
        PrintOptions options = locations ? PrintOptions.pretty().withLocations() : PrintOptions.pretty();
        try {
            Module read = through.apply(module);
            if (!Structure.equal(module, read)) {
                report.fail(
                        form,
                        name,
                        "not equal: "
                                + Structure.diff(module, read).stream().limit(3).toList());
            } else if (locations && !read.print(options).equals(module.print(options))) {
                report.fail(
                        form,
                        name,
                        "equal, but printed otherwise: " + difference(module.print(options), read.print(options)));
            } else {
                report.ok(form);
            }
        } catch (BytecodeException refused) {
            // The format has no place for these.
            if (form.equals("portable artifact")
                    && String.valueOf(refused.getMessage()).contains("part of a portable artifact")) {
                report.other(form, name, String.valueOf(refused.getMessage()));
            } else {
                report.fail(form, name, String.valueOf(refused.getMessage()));
            }
        } catch (IrException refused) {
            report.fail(form, name, String.valueOf(refused.getMessage()));
        }
    }

    /** The first line in which two texts differ. */
    static String difference(String left, String right) {
        List<String> mine = left.lines().toList();
        List<String> others = right.lines().toList();
        for (int i = 0; i < Math.min(mine.size(), others.size()); i++) {
            if (!mine.get(i).equals(others.get(i))) {
                return "line " + (i + 1) + ": " + mine.get(i).strip() + " / "
                        + others.get(i).strip();
            }
        }
        return mine.size() + " lines / " + others.size() + " lines";
    }
}

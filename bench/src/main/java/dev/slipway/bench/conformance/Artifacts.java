// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench.conformance;

import dev.slipway.stablehlo.IrException;
import dev.slipway.stablehlo.Module;
import dev.slipway.stablehlo.Structure;
import dev.slipway.stablehlo.Verifier;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Whether portable artifacts that upstream wrote are read as what they stand for, and ours are written for older versions. */
final class Artifacts {
    private static final Pattern VERSION = Pattern.compile("\\.(\\d+)_(\\d+)_(\\d+)\\.mlir");

    private final Report report;

    Artifacts(Report report) {
        this.report = report;
    }

    /** Reads an artifact, compares it with its text, and writes that text for the artifact's version. */
    void checkArtifact(Path artifact) {
        String name = String.valueOf(artifact.getFileName());
        Path text = artifact.resolveSibling(name.replaceFirst("\\.bc$", ""));
        Matcher version = VERSION.matcher(name);
        boolean future = name.contains("future");
        try {
            Module read = Module.fromBytecode(Files.readAllBytes(artifact));
            if (future) {
                report.fail("artifact of a version to come, refused", name, "read all the same");
                return;
            }
            Module written = Module.parse(Files.readAllBytes(text), name);
            same("artifact read as its text", name, written, read);
            if (!Verifier.diagnose(read).isEmpty()) {
                report.fail(
                        "artifact verified",
                        name,
                        Verifier.diagnose(read).getFirst().toString());
            } else {
                report.ok("artifact verified");
            }
            if (version.find()) {
                String target = version.group(1) + "." + version.group(2) + "." + version.group(3);
                same(
                        "text written for that version",
                        name,
                        written,
                        Module.fromBytecode(written.toPortableArtifact(target)));
            }
        } catch (IrException refused) {
            if (future) {
                report.ok("artifact of a version to come, refused");
            } else {
                report.fail("artifact read as its text", name, String.valueOf(refused.getMessage()));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void same(String row, String name, Module wanted, Module got) {
        List<Structure.Difference> differences = Structure.diff(wanted, got);
        if (differences.isEmpty()) {
            report.ok(row);
        } else {
            report.fail(
                    row,
                    name,
                    differences.size() + " differences: "
                            + differences.stream().limit(5).toList());
        }
    }

    /** Writes each case of a file for the version in its {@code RUN} line, which is to fail where upstream fails. */
    void checkDowngrades(TestFile file, String target) {
        for (TestFile.Case one : file.cases()) {
            boolean fails = !one.expected().isEmpty()
                    || (!file.checksErrors() && file.path().toString().contains("invalid"));
            String row = fails ? "for an older version, refused" : "for an older version, written";
            Module module;
            try {
                module = Module.parse(one.text().getBytes(StandardCharsets.UTF_8), "-");
            } catch (IrException refused) {
                report.fail(row, one.toString(), "not parsed: " + refused.getMessage());
                continue;
            }
            try {
                Module read = Module.fromBytecode(module.toPortableArtifact(target));
                if (fails) {
                    report.fail(
                            row,
                            one + " for " + target,
                            "written; upstream: "
                                    + one.expected().stream()
                                            .map(TestFile.Expected::message)
                                            .toList());
                } else {
                    same(row, one + " for " + target, module, read);
                }
            } catch (IrException refused) {
                if (fails) {
                    report.ok(row);
                } else {
                    report.fail(row, one + " for " + target, String.valueOf(refused.getMessage()));
                }
            }
        }
    }
}

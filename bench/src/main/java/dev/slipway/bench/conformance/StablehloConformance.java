// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench.conformance;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** What {@code bench/stablehlo-conformance} starts. */
public final class StablehloConformance {
    private static final Set<String> PARTS = new LinkedHashSet<>(List.of("text", "refusals", "artifacts", "cpu", "run", "tpu", "cuda", "cpu-0.81"));

    private final PrintStream out = System.out;
    private boolean held = true;
    private final int sample;

    private StablehloConformance(int sample) {
        this.sample = sample;
    }

    /**
     * Measures, and prints tables.
     *
     * @param args the checkout of StableHLO, then the parts to measure; all where none is named
     * @return whether everything held
     */
    public static boolean run(String... args) throws IOException {
        List<String> parts = new ArrayList<>();
        List<Path> folders = new ArrayList<>();
        boolean messages = false;
        int sample = 25;
        for (String arg : args) {
            if (PARTS.contains(arg)) {
                parts.add(arg);
            } else if (arg.equals("--messages")) {
                messages = true;
            } else if (arg.startsWith("--every=")) {
                sample = Integer.parseInt(arg.substring("--every=".length()));
            } else {
                folders.add(Path.of(arg));
            }
        }
        if (folders.isEmpty() || !Files.isDirectory(folders.getFirst().resolve("stablehlo/testdata"))) {
            System.err.println(
                    "usage: stablehlo-conformance CHECKOUT [FOLDER ...] [" + String.join("|", PARTS)
                            + " ...] [--messages]\n"
                            + "CHECKOUT is a checkout of StableHLO, FOLDER one of more modules to round-trip; --messages prints each of our errors.");
            return false;
        }
        StablehloConformance measured = new StablehloConformance(sample);
        measured.measure(folders, parts.isEmpty() ? List.copyOf(PARTS) : parts, messages);
        return measured.held;
    }

    private void measure(List<Path> folders, List<String> parts, boolean messages) throws IOException {
        Path tests = folders.getFirst().resolve("stablehlo/tests");
        Path testdata = folders.getFirst().resolve("stablehlo/testdata");
        if (parts.contains("text")) {
            List<Path> all = new ArrayList<>(List.of(
                    testdata,
                    testdata.resolve("dynamic"),
                    testdata.resolve("quantized"),
                    tests.resolve("interpret"),
                    tests.resolve("interpret/chlo")));
            all.addAll(folders.subList(1, folders.size()));
            for (Path folder : all) {
                Report report = new Report();
                TextForms forms = new TextForms(report);
                TestFile.in(folder, ".mlir").stream()
                        .map(TestFile::read)
                        .flatMap(file -> file.cases().stream())
                        .filter(one -> one.expected().isEmpty())
                        .parallel()
                        .forEach(one -> forms.check(one.toString(), one.text()));
                print(report, folders.getFirst().relativize(folder).toString());
            }
        }
        if (parts.contains("refusals")) {
            Refusals refusals = new Refusals(out, messages);
            refusals.printHead();
            TestFile.in(tests, ".mlir").stream().map(TestFile::read).forEach(refusals::check);
            held &= refusals.finish();
        }
        if (parts.contains("artifacts")) {
            Report report = new Report();
            Artifacts artifacts = new Artifacts(report);
            TestFile.in(tests.resolve("vhlo"), ".mlir.bc").forEach(artifacts::checkArtifact);
            for (Path path : TestFile.in(tests.resolve("vhlo"), ".mlir")) {
                TestFile file = TestFile.read(path);
                if (path.getFileName().toString().contains("downgrade")) {
                    file.target().ifPresent(target -> artifacts.checkDowngrades(file, target));
                }
            }
            print(report, "artifacts");
        }
        for (String plugin : List.of("cpu", "tpu", "cuda", "cpu-0.81")) {
            if (parts.contains(plugin)) {
                accepted(plugin, testdata);
            }
        }
        if (parts.contains("run")) {
            run("testdata", TestFile.in(testdata, ".mlir"));
            List<Path> interpret = new ArrayList<>(TestFile.in(tests.resolve("interpret"), ".mlir"));
            interpret.addAll(TestFile.in(tests.resolve("interpret/chlo"), ".mlir"));
            run("tests/interpret", interpret);
        }
    }

    /** Whether a plugin takes what we write: both forms of every module for the CPU, bytecode of one in so many elsewhere. */
    private void accepted(String plugin, Path testdata) throws IOException {
        List<String> forms = switch (plugin) {
            case "cpu" -> List.of("pretty", "bytecode");
            case "cpu-0.81" -> List.of("1.13.0");
            default -> List.of("bytecode");
        };
        Report report = new Report();
        int every = plugin.equals("cpu") ? 1 : sample;
        List<Path> files = TestFile.in(testdata, ".mlir");
        try (PluginPart worker = new PluginPart(plugin)) {
            for (int i = 0; i < files.size(); i += every) {
                TestFile.Case one = TestFile.read(files.get(i)).cases().getFirst();
                for (String form : forms) {
                    String row = plugin + " takes " + form;
                    String answer = worker.ask(form, one);
                    if (answer.equals("ok")) {
                        report.ok(row);
                    } else if (!answer.startsWith("fault") && !worker.ask("upstream", one).equals("ok")) {
                        report.other(row, one.toString(), answer + " (as upstream's own text)");
                    } else {
                        report.fail(row, one.toString(), answer);
                    }
                }
            }
        }
        print(report, every == 1 ? "testdata" : "testdata, one in " + every);
    }

    private void run(String title, List<Path> files) throws IOException {
        Report report = new Report();
        try (PluginPart worker = new PluginPart("cpu")) {
            for (Path path : files) {
                for (TestFile.Case one : TestFile.read(path).cases()) {
                    String answer = worker.ask("run", one);
                    switch (answer.split(" ", 2)[0]) {
                        case "ok" -> report.ok("run on the CPU");
                        case "differs" -> report.fail("run on the CPU", one.toString(), answer);
                        default -> report.other("run on the CPU", one.toString(), answer);
                    }
                }
            }
        }
        print(report, title);
    }

    private void print(Report report, String title) {
        report.print(out, title);
        held &= report.allHeld();
    }
}

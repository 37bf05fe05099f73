// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench.conformance;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** What {@code bench/stablehlo-conformance} starts. */
public final class StablehloConformance {
    private static final List<String> QUICK = List.of("text", "refusals", "artifacts");
    private static final List<String> PLUGINS = List.of("cpu", "tpu", "cuda", "cpu-0.81");
    private static final String USAGE =
            "usage: stablehlo-conformance CHECKOUT [FOLDER ...] [text] [refusals] [artifacts]"
                    + " [cpu] [run] [tpu] [cuda] [cpu-0.81] [--every=N] [--messages]";

    private final PrintStream out = System.out;
    private final Path root;
    private final int every;
    private boolean held = true;

    private StablehloConformance(Path root, int every) {
        this.root = root;
        this.every = every;
    }

    /**
     * Measures, and prints tables.
     *
     * @param args as the script says
     * @return whether everything held
     */
    public static boolean run(String... args) throws IOException {
        List<String> parts = new ArrayList<>();
        List<Path> folders = new ArrayList<>();
        boolean messages = false;
        int every = 25;
        for (String arg : args) {
            if (QUICK.contains(arg) || PLUGINS.contains(arg) || arg.equals("run")) {
                parts.add(arg);
            } else if (arg.equals("--messages")) {
                messages = true;
            } else if (arg.startsWith("--every=")) {
                every = Integer.parseInt(arg.substring("--every=".length()));
            } else {
                folders.add(Path.of(arg));
            }
        }
        if (folders.isEmpty() || !Files.isDirectory(folders.getFirst().resolve("stablehlo/testdata"))) {
            System.err.println(USAGE + "\nCHECKOUT is the folder of a checkout of StableHLO.");
            return false;
        }
        StablehloConformance measured =
                new StablehloConformance(folders.getFirst().resolve("stablehlo"), every);
        for (String part : parts.isEmpty() ? QUICK : parts) {
            switch (part) {
                case "text" -> measured.text(folders.subList(1, folders.size()));
                case "refusals" -> measured.refusals(messages);
                case "artifacts" -> measured.artifacts();
                case "run" -> measured.runAll();
                default -> measured.accepted(part);
            }
        }
        return measured.held;
    }

    private void text(List<Path> others) {
        Stream<Path> own = Stream.of(
                        "testdata",
                        "testdata/dynamic",
                        "testdata/quantized",
                        "tests",
                        "tests/chlo",
                        "tests/interpret",
                        "tests/interpret/chlo",
                        "tests/math",
                        "tests/transforms")
                .map(root::resolve);
        Stream.concat(own, others.stream()).forEach(folder -> {
            Report report = new Report();
            TextForms forms = new TextForms(report);
            TestFile.in(folder, ".mlir").stream()
                    .flatMap(path -> TestFile.read(path).cases().stream())
                    .filter(one -> one.expected().isEmpty())
                    .parallel()
                    .forEach(one -> forms.check(one.toString(), one.text()));
            print(report, folder.startsWith(root) ? root.relativize(folder).toString() : folder.toString());
        });
    }

    private void refusals(boolean messages) {
        Refusals refusals = new Refusals(out, messages);
        refusals.printHead();
        TestFile.in(root.resolve("tests"), ".mlir").stream().map(TestFile::read).forEach(refusals::check);
        held &= refusals.finish();
    }

    private void artifacts() {
        Report report = new Report();
        Artifacts artifacts = new Artifacts(report);
        Path folder = root.resolve("tests/vhlo");
        TestFile.in(folder, ".mlir.bc").forEach(artifacts::checkArtifact);
        for (Path path : TestFile.in(folder, ".mlir")) {
            TestFile file = TestFile.read(path);
            if (path.getFileName().toString().contains("downgrade")) {
                file.target().ifPresent(target -> artifacts.checkDowngrades(file, target));
            }
        }
        print(report, "tests/vhlo");
    }

    /** Whether a plugin takes what we write: both forms of every module for the CPU, bytecode of one in so many elsewhere. */
    private void accepted(String plugin) throws IOException {
        List<String> forms = switch (plugin) {
            case "cpu" -> List.of("pretty", "bytecode");
            case "cpu-0.81" -> List.of("1.13.0");
            default -> List.of("bytecode");
        };
        Report report = new Report();
        int step = plugin.equals("cpu") ? 1 : every;
        List<Path> files = TestFile.in(root.resolve("testdata"), ".mlir");
        try (PluginPart worker = new PluginPart(plugin)) {
            for (int i = 0; i < files.size(); i += step) {
                progress(plugin, i, files.size());
                TestFile.Case one = TestFile.read(files.get(i)).cases().getFirst();
                for (String form : forms) {
                    String row = plugin + " takes " + form;
                    String answer = worker.ask(form, one);
                    if (answer.equals("ok")) {
                        report.ok(row);
                    } else if (!answer.startsWith("fault")
                            && !worker.ask("upstream", one).equals("ok")) {
                        report.other(row, one.toString(), answer + ", and upstream's own text too");
                    } else {
                        report.fail(row, one.toString(), answer);
                    }
                }
            }
        }
        print(report, step == 1 ? "testdata" : "testdata, one in " + step);
    }

    private void runAll() throws IOException {
        List<Path> interpret = new ArrayList<>(TestFile.in(root.resolve("tests/interpret"), ".mlir"));
        interpret.addAll(TestFile.in(root.resolve("tests/interpret/chlo"), ".mlir"));
        run("tests/interpret", interpret);
        run("testdata", TestFile.in(root.resolve("testdata"), ".mlir"));
    }

    private void run(String title, List<Path> files) throws IOException {
        Report report = new Report();
        try (PluginPart worker = new PluginPart("cpu")) {
            for (int i = 0; i < files.size(); i++) {
                progress(title, i, files.size());
                for (TestFile.Case one : TestFile.read(files.get(i)).cases()) {
                    String answer = worker.ask("run", one);
                    switch (answer.split(" ", 2)[0]) {
                        case "ok" -> report.ok("run, and as expected");
                        case "differs" -> report.fail("run, and as expected", one.toString(), answer);
                        default -> report.other("run, and as expected", one.toString(), answer);
                    }
                }
            }
        }
        print(report, title);
    }

    private static void progress(String what, int done, int all) {
        if (done % 100 == 0) {
            System.err.println(what + " " + done + " of " + all);
        }
    }

    private void print(Report report, String title) {
        report.print(out, title);
        held &= report.allHeld();
    }
}

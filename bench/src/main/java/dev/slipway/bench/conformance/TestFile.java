// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench.conformance;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A file of MLIR's tests: how it is run, and the cases that it is split into.
 *
 * @param path the file
 * @param run its {@code RUN} lines
 * @param cases its cases, in order; those of comments alone are left out
 */
record TestFile(Path path, List<String> run, List<Case> cases) {
    private static final Pattern RUN = Pattern.compile("//\\s*RUN:(.*)");
    private static final Pattern EXPECTED = Pattern.compile(
            "expected-error(-re)?\\s*(?:@\\s*([+-]\\s*\\d+|below|above|unknown))?\\s*(\\d+)?\\s*\\{\\{(.*?)}}(?!})");
    private static final Pattern TARGET = Pattern.compile("target=['\"]?(\\d+\\.\\d+\\.\\d+)");

    TestFile {
        run = List.copyOf(run);
        cases = List.copyOf(cases);
    }

    /**
     * One of the modules of a file.
     *
     * @param file its file
     * @param line the line of the file that it begins at, from 1
     * @param text its text
     * @param expected the errors that it is meant to give
     */
    record Case(Path file, int line, String text, List<Expected> expected) {
        Case {
            expected = List.copyOf(expected);
        }

        /** The place of a line of this case in its file. */
        String at(int lineOfCase) {
            return file.getFileName() + ":" + (line + lineOfCase - 1);
        }

        @Override
        public String toString() {
            return at(1);
        }
    }

    /**
     * An error that a case is meant to give.
     *
     * @param line the line of the case, from 1; 0 where it has none
     * @param message what upstream says
     */
    record Expected(int line, String message) {}

    /** Reads a file. */
    static TestFile read(Path path) {
        String text;
        try {
            text = Files.readString(path);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        List<String> run =
                RUN.matcher(text).results().map(match -> match.group(1).strip()).toList();
        boolean splits = run.stream().anyMatch(line -> line.contains("split-input-file"));
        List<Case> cases = new ArrayList<>();
        List<String> lines = text.lines().toList();
        int start = 0;
        for (int i = 0; i <= lines.size(); i++) {
            if (i == lines.size() || (splits && lines.get(i).startsWith("// -----"))) {
                List<String> part = lines.subList(start, i);
                if (part.stream()
                        .anyMatch(line -> !line.isBlank() && !line.strip().startsWith("//"))) {
                    cases.add(new Case(path, start + 1, String.join("\n", part) + "\n", expected(part)));
                }
                start = i + 1;
            }
        }
        return new TestFile(path, run, cases);
    }

    private static List<Expected> expected(List<String> lines) {
        List<Expected> expected = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            Matcher matcher = EXPECTED.matcher(lines.get(i));
            while (matcher.find()) {
                String where = matcher.group(2) == null ? "" : matcher.group(2).replace(" ", "");
                int line = switch (where) {
                    case "" -> i + 1;
                    case "below" -> i + 2;
                    case "above" -> i;
                    case "unknown" -> 0;
                    default -> i + 1 + Integer.parseInt(where);
                };
                int times = matcher.group(3) == null ? 1 : Integer.parseInt(matcher.group(3));
                for (int k = 0; k < times; k++) {
                    expected.add(new Expected(line, matcher.group(4)));
                }
            }
        }
        return expected;
    }

    /** Whether upstream itself checks the errors that the file says it expects. */
    boolean checksErrors() {
        return run.stream().anyMatch(line -> line.contains("verify-diagnostics"));
    }

    /** The version that the file is written for, where it is. */
    Optional<String> target() {
        return run.stream()
                .map(TARGET::matcher)
                .filter(Matcher::find)
                .map(matcher -> matcher.group(1))
                .findFirst();
    }

    /** The files of a folder with that ending, by name. */
    static List<Path> in(Path folder, String ending) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(Files::isRegularFile)
                    .filter(file -> file.getFileName().toString().endsWith(ending))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

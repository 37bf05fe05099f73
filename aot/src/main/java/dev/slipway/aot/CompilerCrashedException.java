// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;

/** A compiler aborted, and took its own process with it; this one goes on. */
public final class CompilerCrashedException extends AotException {
    private static final long serialVersionUID = 1L;
    private static final int TAIL = 40;

    /** Has a regular expression for XLA's fatal lines, which begin with F, month and day; the launcher has it, too. */
    private static final String FATAL_LINE = "fatal-line";

    private final int exit;
    private final String log;

    CompilerCrashedException(int exit, String log) {
        super(
                "the compiler's process ended with code %d without an answer%s; one of its options or something in the program makes this plugin abort: compile without the options that you gave, XLA_FLAGS and LIBTPU_INIT_ARGS, or another program"
                        .formatted(exit, reason(log)));
        this.exit = exit;
        this.log = log;
    }

    /** The process's exit code; 134 for an abort, 137 for a kill. */
    public int exit() {
        return exit;
    }

    /** What the compiler printed before it ended. */
    public String log() {
        return log;
    }

    /** The line that says why: a failed check's, if there is one. */
    private static String reason(String log) {
        List<String> lines = Arrays.stream(log.split("\n"))
                .map(String::strip)
                .filter(line -> !line.isEmpty())
                .toList();
        Pattern fatal = fatalLine();
        return lines.stream()
                .skip(Math.max(0, lines.size() - TAIL))
                .filter(line -> fatal.matcher(line).find())
                .findFirst()
                .map(line -> ": " + line)
                .orElse("");
    }

    private static Pattern fatalLine() {
        try (InputStream in =
                Objects.requireNonNull(CompilerCrashedException.class.getResourceAsStream(FATAL_LINE), FATAL_LINE)) {
            return Pattern.compile(new String(in.readAllBytes(), StandardCharsets.UTF_8).strip());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.io.PrintWriter;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/** Turns what went wrong into one clear line; a stack trace is for {@code -v} and for faults of our own. */
final class Failures {
    private Failures() {}

    /** Reports a failed command. */
    static int report(Exception failure, CommandLine command, ParseResult parsed) {
        Output output = Output.of(command);
        String message = message(failure);
        int code = command.getCommandSpec().exitCodeOnExecutionException();
        if (output.json()) {
            output.document(EndDocument.of(ErrorDocument.of(failure).error(), code));
        }
        PrintWriter err = command.getErr();
        err.println(output.terminal().red("slipway: ") + message);
        if (output.verbose()) {
            failure.printStackTrace(err);
        } else if (!expected(failure)) {
            err.println("         this is a fault of slipway's own; run again with -v for its trace");
        }
        return code;
    }

    /** Reports a command line that cannot be understood. */
    static int misuse(ParameterException failure, String[] arguments) {
        CommandLine command = failure.getCommandLine();
        Output output = Output.of(command);
        String message = message(failure);
        int code = command.getCommandSpec().exitCodeOnInvalidInput();
        // Options behind the one that is wrong were not read.
        if (output.json() || List.of(arguments).contains("--json")) {
            output.document(EndDocument.of(new ErrorDocument.Detail("BadUsage", message), code));
        }
        PrintWriter err = command.getErr();
        err.println(output.terminal().red("slipway: ") + message);
        if (!UnmatchedArgumentException.printSuggestions(failure, err)) {
            err.println("         see '" + command.getCommandSpec().qualifiedName() + " --help'");
        }
        return code;
    }

    /** What is said of a failure. */
    static String message(Exception failure) {
        return switch (failure) {
            case NoSuchFileException missing -> "no such file: " + missing.getFile();
            case FileSystemException file when file.getReason() != null -> file.getFile() + ": " + file.getReason();
            default -> failure.getMessage() == null ? failure.toString() : failure.getMessage();
        };
    }

    /** Whether the failure is one that a message of ours, or the file system's, explains. */
    static boolean expected(Exception failure) {
        return failure.getClass().getPackageName().startsWith("dev.slipway") || failure instanceof FileSystemException;
    }

    /** What JSON has in the place of a part that failed, where others did not. */
    record ErrorDocument(Detail error) {
        /** @param type the exception's name, or {@code BadUsage} */
        record Detail(String type, String message) {}

        static ErrorDocument of(Exception failure) {
            String message = message(failure);
            return new ErrorDocument(
                    new Detail(failure.getClass().getSimpleName(), message.isEmpty() ? failure.toString() : message));
        }
    }

    /** What {@code --json} prints for a failed command. */
    record EndDocument(End error) {
        record End(
                String type,
                String message,
                @JsonProperty("exit_code") int exitCode) {}

        static EndDocument of(ErrorDocument.Detail detail, int exitCode) {
            return new EndDocument(new End(detail.type(), detail.message(), exitCode));
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import java.io.PrintWriter;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
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
        if (output.json()) {
            output.document(document(failure));
        }
        PrintWriter err = command.getErr();
        err.println(output.terminal().red("slipway: ") + message);
        if (output.verbose()) {
            failure.printStackTrace(err);
        } else if (!expected(failure)) {
            err.println("         this is a fault of slipway's own; run again with -v for its trace");
        }
        return command.getCommandSpec().exitCodeOnExecutionException();
    }

    /** Reports a command line that cannot be understood. */
    static int misuse(ParameterException failure, String[] arguments) {
        CommandLine command = failure.getCommandLine();
        PrintWriter err = command.getErr();
        err.println(Output.of(command).terminal().red("slipway: ") + failure.getMessage());
        if (!UnmatchedArgumentException.printSuggestions(failure, err)) {
            err.println("         see '" + command.getCommandSpec().qualifiedName() + " --help'");
        }
        return command.getCommandSpec().exitCodeOnInvalidInput();
    }

    /** A failure as JSON has it. */
    static ErrorDocument document(Exception failure) {
        String message = message(failure);
        return new ErrorDocument(new ErrorDocument.Detail(
                failure.getClass().getSimpleName(), message.isEmpty() ? failure.toString() : message));
    }

    private static String message(Exception failure) {
        return switch (failure) {
            case NoSuchFileException missing -> "no such file: " + missing.getFile();
            case FileSystemException file when file.getReason() != null -> file.getFile() + ": " + file.getReason();
            default -> failure.getMessage() == null ? failure.toString() : failure.getMessage();
        };
    }

    /** Whether the failure is one that a message of ours, or the file system's, explains. */
    private static boolean expected(Exception failure) {
        return failure.getClass().getPackageName().startsWith("dev.slipway") || failure instanceof FileSystemException;
    }

    /** What {@code --json} prints for a failed command. */
    record ErrorDocument(Detail error) {
        record Detail(String type, String message) {}
    }
}

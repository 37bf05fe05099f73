// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Objects;

/** Files that commands write: whole or not at all, and refused before the work where that can be told. */
final class OutFile {
    private OutFile() {}

    /**
     * Refuses a file that cannot be written, before the work that would be lost.
     *
     * @throws NotWrittenException if it is a folder, or stands in none
     */
    static void refuse(Path file) {
        if (file.toString().isEmpty()) {
            throw new NotWrittenException("no file to write: its name is empty; give a path");
        }
        if (Files.isDirectory(file)) {
            throw new NotWrittenException("cannot write " + file + ": it is a folder; name a file in it");
        }
        Path folder = folder(file);
        if (!Files.isDirectory(folder)) {
            throw new NotWrittenException(
                    "cannot write " + file + ": there is no folder " + folder + "; make it, or name another file");
        }
        if (Files.exists(file) && !Files.isWritable(file)) {
            throw new NotWrittenException("cannot write " + file + ": it is write-protected; name another file");
        }
    }

    /**
     * Writes a file whole or not at all; a device or pipe as it is.
     *
     * @throws NotWrittenException if that fails; nothing is left behind then
     */
    static void write(Path file, byte[] bytes) {
        refuse(file);
        try {
            if (Files.exists(file) && !Files.isRegularFile(file)) {
                Files.write(file, bytes);
                return;
            }
            // Not a temporary file of Java's, which only its owner may read.
            Path part = folder(file)
                    .resolve("." + file.getFileName() + "."
                            + ProcessHandle.current().pid() + ".part");
            try {
                Files.write(part, bytes);
                Files.move(part, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            } finally {
                Files.deleteIfExists(part);
            }
        } catch (IOException e) {
            throw new NotWrittenException(
                    "cannot write " + file + " (" + bytes.length + " bytes): " + reason(e)
                            + "; name a file where there is room and leave to write",
                    e);
        }
    }

    private static String reason(IOException failure) {
        return switch (failure) {
            case NoSuchFileException _ -> "its folder takes no new files";
            case AccessDeniedException _ -> "permission denied";
            case FileSystemException file when file.getReason() != null -> file.getReason();
            default -> Objects.requireNonNullElse(failure.getMessage(), failure.toString());
        };
    }

    private static Path folder(Path file) {
        return Objects.requireNonNull(file.toAbsolutePath().getParent(), "a file stands in a folder");
    }

    /** A file that could not be written. */
    static final class NotWrittenException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        NotWrittenException(String message) {
            super(message);
        }

        NotWrittenException(String message, IOException cause) {
            super(message, cause);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Files that commands read. */
final class InFile {
    private InFile() {}

    /**
     * All of a file.
     *
     * @throws FileSystemException with the file and the reason if it is a folder, where Java names neither
     */
    static byte[] read(Path file) throws IOException {
        if (Files.isDirectory(file)) {
            throw new FileSystemException(file.toString(), null, "it is a folder; name a file in it");
        }
        return Files.readAllBytes(file);
    }
}

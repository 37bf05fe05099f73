// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Loads a shared library by a second name of its file that is taken away again, so that code in it does not find the file.
 *
 * <p>libtpu notes beside what it compiles from where it was called, and for that reads all names in its own file, 120 MB of
 * them, at the first compilation of a process: 0.15 s, as long as a program takes to lower. A file that it cannot open it
 * goes without. What it compiles is the same to the byte; its traces of aborts, and profilers, show addresses for names.
 */
public final class NamelessLibrary {
    private NamelessLibrary() {}

    /**
     * Loads a library for as long as the process lives.
     *
     * @throws IllegalArgumentException if it does not load
     */
    public static SymbolLookup load(Path library) {
        Path passing = library.resolveSibling(
                "." + library.getFileName() + "." + Native.pid() + "." + Long.toHexString(System.nanoTime()));
        try {
            Files.createLink(passing, library);
        } catch (IOException | UnsupportedOperationException notOurs) {
            // A folder or a file of somebody else's: it keeps its name, and only takes longer.
            return SymbolLookup.libraryLookup(library, Arena.global());
        }
        try {
            return SymbolLookup.libraryLookup(passing, Arena.global());
        } catch (IllegalArgumentException e) {
            // It says which file does not load: by the name that its owner knows.
            return SymbolLookup.libraryLookup(library, Arena.global());
        } finally {
            passing.toFile().delete();
        }
    }
}

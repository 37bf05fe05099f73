// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import java.io.Console;
import org.jspecify.annotations.Nullable;

/**
 * Restrained colour, only where a person looks.
 *
 * @param coloured whether escape sequences are written
 */
record Terminal(boolean coloured) {
    /** The terminal of this process; plain where stdout is no terminal or {@code NO_COLOR} is set. */
    static Terminal current() {
        return new Terminal(colours(System.console()));
    }

    static boolean colours(@Nullable Console console) {
        String dumb = System.getenv("TERM");
        return console != null
                && console.isTerminal()
                && System.getenv("NO_COLOR") == null
                && dumb != null
                && !dumb.equals("dumb");
    }

    String bold(String text) {
        return paint("1", text);
    }

    String dim(String text) {
        return paint("2", text);
    }

    String red(String text) {
        return paint("31", text);
    }

    String green(String text) {
        return paint("32", text);
    }

    String yellow(String text) {
        return paint("33", text);
    }

    String cyan(String text) {
        return paint("36", text);
    }

    private String paint(String code, String text) {
        return coloured ? "\033[" + code + "m" + text + "\033[0m" : text;
    }
}

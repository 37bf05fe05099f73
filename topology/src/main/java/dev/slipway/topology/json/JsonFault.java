// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology.json;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.databind.exc.MismatchedInputException;

/** What is wrong with a text that should be JSON, as Slipway says it of any file. */
public final class JsonFault {
    /** What the parser's messages have for those who can set its features. */
    private static final Pattern FOR_PROGRAMMERS =
            Pattern.compile(" \\(for \\w+ starting at \\[[^]]*]\\)|: enable `[^`]*` to allow|, from `[^`]*`");

    private JsonFault() {}

    /** Where the text stops being JSON, if it does at one place, and why: {@code line 3, column 7: it ends in the middle}. */
    public static String of(JacksonException fault) {
        @Nullable TokenStreamLocation where = fault.getLocation();
        String what = what(fault);
        return where == null ? what : "line %d, column %d: %s".formatted(where.getLineNr(), where.getColumnNr(), what);
    }

    private static String what(JacksonException fault) {
        String said = fault.getOriginalMessage();
        if (said.startsWith("Unexpected end-of-input")) {
            return "it ends in the middle";
        }
        return fault instanceof MismatchedInputException
                ? "more follows behind the value"
                : FOR_PROGRAMMERS.matcher(said).replaceAll("");
    }
}

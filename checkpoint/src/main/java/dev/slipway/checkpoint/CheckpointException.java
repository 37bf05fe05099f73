// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import org.jspecify.annotations.Nullable;

/**
 * A model file that cannot be used. The message is one line: the file, what was found where, what was expected, and a
 * remedy.
 */
public sealed class CheckpointException extends RuntimeException permits UnsupportedModelException {
    private static final long serialVersionUID = 1L;

    /** Names come from the files, so that a message could be of any length. */
    private static final int MAX_MESSAGE = 1000;

    public CheckpointException(String message) {
        this(message, null);
    }

    public CheckpointException(String message, @Nullable Throwable cause) {
        super(oneLine(message), cause);
    }

    private static String oneLine(String message) {
        String line = message.strip().replaceAll("\\p{Cntrl}+", " ");
        return line.length() <= MAX_MESSAGE ? line : line.substring(0, MAX_MESSAGE) + "...";
    }
}

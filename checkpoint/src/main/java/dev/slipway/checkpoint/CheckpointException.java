// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import org.jspecify.annotations.Nullable;

/**
 * A model file that cannot be used. The message is one line: the file, what was found where, what was expected, and a
 * remedy.
 */
public sealed class CheckpointException extends RuntimeException permits UnsupportedModelException {
    private static final long serialVersionUID = 1L;

    public CheckpointException(String message) {
        this(message, null);
    }

    public CheckpointException(String message, @Nullable Throwable cause) {
        super(message.lines().map(String::strip).reduce("", (a, b) -> a.isEmpty() ? b : a + " " + b), cause);
    }
}

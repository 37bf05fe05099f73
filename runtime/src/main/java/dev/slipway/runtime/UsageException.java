// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

/** A call that was refused in Java, because the plugin would answer it with an abort or a wild read. */
public abstract sealed class UsageException extends PjrtException {

    private static final long serialVersionUID = 1L;

    UsageException(String message) {
        super(message);
    }

    /** An argument that no plugin could take: the message names the value and what was expected. */
    public static final class BadArgument extends UsageException {
        private static final long serialVersionUID = 1L;

        public BadArgument(String message) {
            super(message);
        }
    }

    /** A handle that was closed (or, for a buffer, donated) is used or closed again. */
    public static final class Closed extends UsageException {
        private static final long serialVersionUID = 1L;

        public Closed(String message) {
            super(message);
        }
    }

    /** A handle of one client or plugin is given to another. */
    public static final class Foreign extends UsageException {
        private static final long serialVersionUID = 1L;

        public Foreign(String message) {
            super(message);
        }
    }

    /** The plugin has no such function or extension: it is older, or leaves that part out. */
    public static final class Unsupported extends UsageException {
        private static final long serialVersionUID = 1L;

        public Unsupported(String message) {
            super(message);
        }
    }
}

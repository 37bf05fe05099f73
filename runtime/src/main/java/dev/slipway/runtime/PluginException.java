// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

/** No plugin, or a library that is none. */
public abstract sealed class PluginException extends PjrtException {

    private static final long serialVersionUID = 1L;

    PluginException(String message) {
        super(message);
    }

    PluginException(String message, Throwable cause) {
        super(message, cause);
    }

    /** There is no such file, or no plugin of that name is installed. */
    public static final class Missing extends PluginException {
        private static final long serialVersionUID = 1L;

        public Missing(String message) {
            super(message);
        }
    }

    /** The library does not load, or has no {@code GetPjrtApi}. */
    public static final class NotAPlugin extends PluginException {
        private static final long serialVersionUID = 1L;

        public NotAPlugin(String message, Throwable cause) {
            super(message, cause);
        }

        public NotAPlugin(String message) {
            super(message);
        }
    }

    /** The plugin's version of the API is one that this module cannot talk to. */
    public static final class Incompatible extends PluginException {
        private static final long serialVersionUID = 1L;

        public Incompatible(String message) {
            super(message);
        }
    }
}

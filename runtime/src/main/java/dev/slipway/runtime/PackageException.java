// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

/** A package that could not be had; each message is one line that ends with the remedy. */
public abstract sealed class PackageException extends PjrtException {

    private static final long serialVersionUID = 1L;

    PackageException(String message) {
        super(message);
    }

    PackageException(String message, Throwable cause) {
        super(message, cause);
    }

    /** There is no pip to ask. */
    public static final class MissingPip extends PackageException {
        private static final long serialVersionUID = 1L;

        public MissingPip(String message) {
            super(message);
        }
    }

    /** What arrived is not what was pinned. */
    public static final class WrongHash extends PackageException {
        private static final long serialVersionUID = 1L;

        public WrongHash(String message) {
            super(message);
        }
    }

    /** A package file that ends too early, or that is no wheel. */
    public static final class Truncated extends PackageException {
        private static final long serialVersionUID = 1L;

        public Truncated(String message, Throwable cause) {
            super(message, cause);
        }
    }

    /** Pip cannot reach its index, or the index does not have the package. */
    public static final class Unreachable extends PackageException {
        private static final long serialVersionUID = 1L;

        public Unreachable(String message) {
            super(message);
        }
    }

    /** The cache folder cannot be written, or is locked for too long. */
    public static final class Store extends PackageException {
        private static final long serialVersionUID = 1L;

        public Store(String message) {
            super(message);
        }

        public Store(String message, Throwable cause) {
            super(message, cause);
        }
    }
}

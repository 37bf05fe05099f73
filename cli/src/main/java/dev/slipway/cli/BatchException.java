// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

/** A file of requests that is not one. */
final class BatchException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    BatchException(String message) {
        super(message);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

/** A request that cannot be compiled; the message names the value, what was expected and a remedy. */
public class AotException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    public AotException(String message) {
        super(message);
    }
}

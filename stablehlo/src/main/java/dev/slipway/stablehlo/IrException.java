// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

/**
 * Something about a module is wrong: an operand's shape, a missing attribute, a line of text, a byte. The message names
 * the operation, what was found and what was expected.
 */
public sealed class IrException extends RuntimeException
        permits ParseException, BytecodeException, VerificationException {
    private static final long serialVersionUID = 1L;

    /** An exception with a message for people. */
    public IrException(String message) {
        super(message);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

/** Bytes are not a module, or not one of a version that is understood. */
public final class BytecodeException extends IrException {
    private static final long serialVersionUID = 1L;

    /** An exception with a message for people. */
    public BytecodeException(String message) {
        super(message);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

/** A model, a mesh or an option that cannot be lowered; the message names the value, what was expected and a remedy. */
public class LoweringException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    public LoweringException(String message) {
        super(message);
    }
}

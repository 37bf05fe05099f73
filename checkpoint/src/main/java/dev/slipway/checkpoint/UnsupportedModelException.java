// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

/** A sound model file that asks for something that is not there: the message names it and lists what is. */
public final class UnsupportedModelException extends CheckpointException {
    private static final long serialVersionUID = 1L;

    public UnsupportedModelException(String message) {
        super(message);
    }
}

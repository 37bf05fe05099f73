// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology;

/** A machine could not be named or described; the message says which value was wrong and what was expected. */
public abstract sealed class TopologyException extends IllegalArgumentException
        permits UnknownTopologyException, InvalidTopologyException {
    private static final long serialVersionUID = 1L;

    TopologyException(String message) {
        super(message);
    }
}

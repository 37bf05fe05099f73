// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology;

/** A machine's description contradicts itself, such as a slice that its hosts do not tile. */
public final class InvalidTopologyException extends TopologyException {
    private static final long serialVersionUID = 1L;

    public InvalidTopologyException(String message) {
        super(message);
    }
}

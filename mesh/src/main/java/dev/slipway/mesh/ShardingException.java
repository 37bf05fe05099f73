// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

/** A partition spec does not fit its mesh, or a tensor's shape does not divide. */
public final class ShardingException extends MeshException {
    private static final long serialVersionUID = 1L;

    public ShardingException(String message) {
        super(message);
    }
}

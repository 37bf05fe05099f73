// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

/** A mesh or a sharding cannot be made; the message names the axis, its value and the count it does not fit. */
public abstract sealed class MeshException extends IllegalArgumentException
        permits MeshAxisException, MeshShapeException, DeviceLayoutException, ShardingException {
    private static final long serialVersionUID = 1L;

    MeshException(String message) {
        super(message);
    }
}

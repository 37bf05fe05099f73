// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

/** The shape is right, but the rule that was asked for has no layout for it. */
public final class DeviceLayoutException extends MeshException {
    private static final long serialVersionUID = 1L;

    public DeviceLayoutException(String message) {
        super(message);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

/** Axis names are missing, empty or double, or their number is not the shape's. */
public final class MeshAxisException extends MeshException {
    private static final long serialVersionUID = 1L;

    public MeshAxisException(String message) {
        super(message);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

/** Sizes do not multiply to the machine's devices, or a -1 cannot be inferred. */
public final class MeshShapeException extends MeshException {
    private static final long serialVersionUID = 1L;

    public MeshShapeException(String message) {
        super(message);
    }
}

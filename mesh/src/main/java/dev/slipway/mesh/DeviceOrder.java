// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

/** In which order a mesh takes the devices of a machine. */
public enum DeviceOrder {
    /**
     * As the device list comes, last axis fastest. This is what AXLearn's ahead-of-time compiler does ({@code
     * reshape_devices}), also for hybrid shapes, where it takes no account of the split into ICI and DCN: with ici (2, 2)
     * and dcn (1, 2) the boundary between the slices comes to lie on the first axis although the second was to cross it.
     * {@link Mesh#crossesSlicesWithinIci()} tells.
     */
    TOPOLOGY,

    /**
     * As JAX's {@code mesh_utils} and AXLearn lay a mesh where the hardware is: small slices by table, torus axes assigned
     * whole or split, AXLearn's rings for 64x4 and 32x8 on v5e-256 and v6e-256, and in a hybrid mesh the DCN part outermost
     * on every axis. A program that will run under JAX's order has to be compiled for it, so this is the default.
     */
    RUNTIME
}

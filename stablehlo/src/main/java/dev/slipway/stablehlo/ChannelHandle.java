// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import dev.slipway.stablehlo.internal.AttributePrinter;

/**
 * The channel of a collective or of a transfer.
 *
 * @param handle the channel's id
 * @param type its kind: 0 unset, 1 device to device, 2 device to host, 3 host to device
 */
public record ChannelHandle(long handle, long type) implements StructAttribute {
    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}

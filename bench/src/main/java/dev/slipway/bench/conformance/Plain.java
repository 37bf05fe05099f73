// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench.conformance;

import dev.slipway.runtime.ElementType;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.IrException;
import dev.slipway.stablehlo.TensorType;
import java.util.Arrays;

/** Constants of modules as the arrays that plugins take. */
final class Plain {
    private Plain() {}

    /** The type of a plugin's array. */
    static dev.slipway.runtime.TensorType type(TensorType type) {
        String element = type.element().toString();
        ElementType same = Arrays.stream(ElementType.values())
                .filter(each -> each.mlir().equals(element))
                .findFirst()
                .orElseThrow(() -> new IrException("plugins have no arrays of " + element));
        return dev.slipway.runtime.TensorType.of(same, type.shape().toArray());
    }

    /** All elements, those of a splat too. */
    static byte[] bytes(DenseElements elements) {
        byte[] held = new byte[elements.bytes().remaining()];
        elements.bytes().get(held);
        if (!elements.isSplat()) {
            return held;
        }
        byte[] all = new byte[Math.toIntExact(held.length * elements.size())];
        for (int i = 0; i < all.length; i++) {
            all[i] = held[i % held.length];
        }
        return all;
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.Diagnostic;
import dev.slipway.stablehlo.Location;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.VerificationException;
import java.util.List;

/** Small things that several parts need. */
public final class Ir {
    private Ir() {}

    /** A type as a ranked tensor. */
    public static TensorType tensor(Type type) {
        if (type instanceof TensorType tensor) {
            return tensor;
        }
        throw new VerificationException(
                List.of(new Diagnostic("value", Location.UNKNOWN, "expected a tensor of a known rank, got " + type)));
    }
}

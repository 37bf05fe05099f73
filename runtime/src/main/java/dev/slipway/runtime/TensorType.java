// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** An element type and dimensions, major to minor. */
public record TensorType(ElementType element, List<Long> dimensions) {

    public TensorType {
        dimensions = List.copyOf(dimensions);
        if (dimensions.stream().anyMatch(size -> size < 0)) {
            throw new UsageException.BadArgument("the dimensions " + dimensions + " must not be below 0");
        }
    }

    /** The type with these dimensions. */
    public static TensorType of(ElementType element, long... dimensions) {
        return new TensorType(element, Arrays.stream(dimensions).boxed().toList());
    }

    /**
     * The number of elements.
     *
     * @throws UsageException.BadArgument if it does not fit 63 bits
     */
    public long elements() {
        long count = 1;
        for (long size : dimensions) {
            try {
                count = Math.multiplyExact(count, size);
            } catch (ArithmeticException e) {
                throw new UsageException.BadArgument("a tensor of " + dimensions + " has more elements than 2^63");
            }
        }
        return count;
    }

    /**
     * Bytes of a dense array of this type in host memory.
     *
     * @throws UsageException.BadArgument if they do not fit 63 bits
     */
    public long hostBytes() {
        try {
            return Math.multiplyExact(elements(), element.hostBytes());
        } catch (ArithmeticException e) {
            throw new UsageException.BadArgument(
                    "a tensor of " + dimensions + " " + element + " has more bytes than 2^63");
        }
    }

    /** As StableHLO writes it: {@code tensor<2x3xf32>}. */
    @Override
    public String toString() {
        return dimensions.stream()
                .map(size -> size + "x")
                .collect(Collectors.joining("", "tensor<", element.mlir() + ">"));
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import com.google.common.collect.ImmutableMap;
import dev.slipway.mesh.PartitionSpec;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.TensorType;
import org.jspecify.annotations.Nullable;

/**
 * The input batch as a named tree, abstract: {@code {"prefix": int32[batch, width]}} and what a program takes besides.
 *
 * @param inputs by name; nested names are joined with {@code /}
 */
public record InputBatchSpec(ImmutableMap<String, Input> inputs) {
    /** The prompts. */
    public static final String PREFIX = "prefix";

    /**
     * One input.
     *
     * @param type its shape and element type
     * @param partition how it lies on the mesh; null for the batch axes on the first dimension, as far as they divide
     */
    public record Input(TensorType type, @Nullable PartitionSpec partition) {}

    /** {@code {"prefix": int32[batch, width]}}, the batch cut along the mesh's batch axes. */
    public static InputBatchSpec prefix(long batch, long width) {
        return new InputBatchSpec(
                ImmutableMap.of(PREFIX, new Input(TensorType.of(ElementType.I32, batch, width), null)));
    }

    /**
     * This tree with the prefix of another width.
     *
     * @throws LoweringException if there is no prefix, or the width is below 1
     */
    public InputBatchSpec withWidth(long width) {
        if (width < 1) {
            throw new LoweringException("a prefix %d wide; at least 1 is expected".formatted(width));
        }
        Input prefix = require(PREFIX, ElementType.I32, 2);
        ImmutableMap.Builder<String, Input> others =
                ImmutableMap.<String, Input>builder().putAll(inputs);
        others.put(
                PREFIX, new Input(TensorType.of(ElementType.I32, prefix.type().dim(0), width), prefix.partition()));
        return new InputBatchSpec(others.buildKeepingLast());
    }

    /** This tree with one more input. */
    public InputBatchSpec with(String name, TensorType type, @Nullable PartitionSpec partition) {
        return new InputBatchSpec(ImmutableMap.<String, Input>builder()
                .putAll(inputs)
                .put(name, new Input(type, partition))
                .buildOrThrow());
    }

    /**
     * The input of a name.
     *
     * @throws LoweringException if there is none, or it has another element type or rank
     */
    Input require(String name, ElementType element, int rank) {
        Input input = inputs.get(name);
        if (input == null) {
            throw new LoweringException("the input batch has %s but no \"%s\"; this program takes %s of rank %d"
                    .formatted(inputs.keySet(), name, element, rank));
        }
        if (!input.type().element().equals(element) || input.type().rank() != rank) {
            throw new LoweringException(
                    "input \"%s\" is %s; %s of rank %d is expected".formatted(name, input.type(), element, rank));
        }
        return input;
    }
}

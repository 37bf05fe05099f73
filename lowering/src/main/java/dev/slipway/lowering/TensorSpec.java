// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

import dev.slipway.mesh.PartitionSpec;
import dev.slipway.stablehlo.TensorType;

/**
 * A tensor that a program takes or gives: abstract, nothing is materialised.
 *
 * @param path its place in the argument or result tree, e.g. {@code "params/layers/q/weight"}
 * @param type shape and element type of the whole tensor, not of one device's shard
 * @param partition how it lies on the mesh
 * @param donated whether an argument's buffer is given up to the program, which may write the result into it
 */
public record TensorSpec(String path, TensorType type, PartitionSpec partition, boolean donated) {}

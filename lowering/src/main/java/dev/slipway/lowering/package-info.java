// SPDX-License-Identifier: Apache-2.0

/**
 * Decoder models as StableHLO programs: from a {@link dev.slipway.lowering.DecoderConfig} and a mesh to a module whose arguments
 * and results say how they lie on the devices. No weight is needed, and no plugin.
 *
 * {@snippet :
 * DecoderConfig model = DecoderConfig.llama(llama -> llama.vocabulary(49152)
 *         .width(576)
 *         .depth(30)
 *         .heads(9, 3, 64)
 *         .feedForward(1536)
 *         .maxPositions(8192)
 *         .rotary(DecoderConfig.Rotary.of(100_000, 64))
 *         .tiedHead());
 * Mesh mesh = Mesh.of(Topologies.resolve("v5e-16"), MeshSpec.of(List.of("data", "model"), 1, -1));
 * InferenceProgram program = DecodePrograms.of(
 *                 model,
 *                 Form.scanned(ElementType.BF16),
 *                 DecodeOptions.greedy(256),
 *                 mesh,
 *                 ShardingRules.standard())
 *         .sampleDecode(InputBatchSpec.prefix(16, 64));
 * String stablehlo = program.module().toString();
 * }
 *
 * <p>What a program takes and gives is in {@link dev.slipway.lowering.DecodePrograms}; which weights there are, and in which
 * shape, in {@link dev.slipway.lowering.Parameters}; which mesh axes cut them, in {@link
 * dev.slipway.lowering.ShardingRules}. A dimension that does not divide is left whole, and another one cut instead where there
 * is one; what stays whole along an axis the program's notes say. The cache of fewer KV heads than devices is cut along the
 * {@linkplain dev.slipway.mesh.AxisPart part} of the axis that divides them.
 *
 * <table><caption>What is fixed when a program is lowered, and where it is said</caption>
 * <tr><th>what</th><th>where</th></tr>
 * <tr><td>lengths, stops, number of decodes, which controls there are</td><td>{@link
 *     dev.slipway.lowering.DecodeOptions}</td></tr>
 * <tr><td>temperature, filters, penalties, biases, limits of each row</td><td>not at all: {@link
 *     dev.slipway.lowering.Control}s are inputs</td></tr>
 * <tr><td>random numbers</td><td>{@link dev.slipway.lowering.RandomSource}</td></tr>
 * <tr><td>scanned or unrolled layers, element types, how matrices lie</td><td>{@link dev.slipway.lowering.Form}</td></tr>
 * <tr><td>AXLearn's programs, reproduced with their oddities</td><td>{@link dev.slipway.lowering.AxlearnPrograms} of
 *     {@link dev.slipway.lowering.SampleDecode} and {@link dev.slipway.lowering.BeamSearch}</td></tr>
 * </table>
 *
 * <p>What cannot be lowered is a {@link dev.slipway.lowering.LoweringException}.
 */
package dev.slipway.lowering;

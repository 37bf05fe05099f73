// SPDX-License-Identifier: Apache-2.0
package dev.slipway.lowering;

/** Under which names and in which shapes a program takes its parameters. */
public enum ParameterLayout {
    /** As {@link Parameters} names them, shapes as the {@link Form} has them. */
    SLIPWAY,
    /**
     * AXLearn's tree for models of the fuji kind, layers stacked and scanned, with its partition specs: {@code
     * decoder/emb/token_emb/weight [V, D]}, {@code decoder/output_norm/scale [D]}, {@code decoder/lm_head/weight [V, D]} where
     * it is not tied, and under {@code decoder/transformer/repeat/layer/} with the layers first {@code
     * feed_forward/linear1_0/weight [L, D, F]}, {@code linear1_1}, {@code linear2/weight [L, F, D]}, {@code
     * feed_forward/norm/scale [L, D]}, {@code self_attention/attention/i_proj/i_proj/qkv_proj/weight [L, D, N + 2K, H]} ({@code
     * [L, 3, D, N, H]} where N = K), {@code self_attention/attention/o_proj/weight [L, D, N, H]} and {@code
     * self_attention/norm/scale [L, D]}.
     */
    AXLEARN
}

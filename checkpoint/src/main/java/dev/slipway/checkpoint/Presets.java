// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.DecoderConfig.Rotary;
import java.util.Optional;

/**
 * Configurations by name, without a file.
 *
 * <table><caption>Presets and where their figures are from</caption>
 * <tr><th>name</th><th>numbers</th><th>source</th></tr>
 * <tr><td>{@code llama-3-8b}</td><td>8,030,261,248</td><td>{@code config.json} of Meta-Llama-3-8B; Dubey et al. 2024,
 *     table 3</td></tr>
 * <tr><td>{@code llama-3-70b}</td><td>70,553,706,496</td><td>{@code config.json} of Meta-Llama-3-70B; the same
 *     table</td></tr>
 * <tr><td>{@code fuji-1b}</td><td>1,241,581,568</td><td>AXLearn's fuji-1B-v3</td></tr>
 * <tr><td>{@code fuji-7b}</td><td>6,610,489,344</td><td>AXLearn's fuji-7B-v2</td></tr>
 * <tr><td>{@code fuji-70b}</td><td>68,989,231,104</td><td>AXLearn's fuji-70B-v2</td></tr>
 * <tr><td>{@code tiny-llama}</td><td>90,432</td><td>the model of this project's AXLearn goldens, for tests</td></tr>
 * </table>
 */
public final class Presets {
    private static final ImmutableMap<String, DecoderConfig> PRESETS = ImmutableMap.<String, DecoderConfig>builder()
            .put("llama-3-8b", llama(128_256, 4096, 32, 32, 8, 128, 14_336, 8192, 500_000, false))
            .put("llama-3-70b", llama(128_256, 8192, 80, 64, 8, 128, 28_672, 8192, 500_000, false))
            .put("fuji-1b", llama(131_072, 2048, 16, 32, 8, 64, 8192, 8192, 500_000, true))
            .put("fuji-7b", llama(32_768, 4096, 32, 32, 32, 128, 11_008, 4096, 10_000, true))
            .put("fuji-70b", llama(32_768, 8192, 80, 64, 8, 128, 28_672, 4096, 10_000, false))
            .put("tiny-llama", llama(256, 64, 2, 4, 2, 16, 128, 2048, 10_000, true))
            .buildOrThrow();

    private Presets() {}

    /** The names. */
    public static ImmutableSet<String> names() {
        return PRESETS.keySet();
    }

    /** The configuration of that name, if there is one. */
    public static Optional<DecoderConfig> find(String name) {
        return Optional.ofNullable(PRESETS.get(name));
    }

    private static DecoderConfig llama(
            int vocabulary,
            int width,
            int depth,
            int heads,
            int kvHeads,
            int headDim,
            int feedForward,
            int maxPositions,
            double theta,
            boolean tiedHead) {
        return DecoderConfig.llama(llama -> llama.vocabulary(vocabulary)
                .width(width)
                .depth(depth)
                .heads(heads, kvHeads, headDim)
                .feedForward(feedForward)
                .maxPositions(maxPositions)
                .rotary(Rotary.of(theta, headDim))
                .tiedHead(tiedHead));
    }
}

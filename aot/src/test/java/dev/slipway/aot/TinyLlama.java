// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.lowering.DecoderConfig;

/** A Llama of two layers, 64 wide, over 256 tokens. */
final class TinyLlama {
    private TinyLlama() {}

    /** With so many heads of 16. */
    static DecoderConfig withHeads(int query, int keyValue) {
        return DecoderConfig.llama(llama -> llama.vocabulary(256)
                .width(64)
                .depth(2)
                .heads(query, keyValue, 16)
                .feedForward(128)
                .maxPositions(512)
                .tiedHead());
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import dev.slipway.checkpoint.Detokenizer;
import dev.slipway.checkpoint.internal.TextPipeline.Decoding.LeadingSpace;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Joins SentencePiece tokens. Bytes that stand next to each other are text if they are so as a whole, and else one
 * U+FFFD each; so they are held back until another token ends them.
 */
final class TextDetokenizer implements Detokenizer {
    private final Vocabulary vocabulary;
    private final boolean skipSpecials;
    private final TextPipeline.Decoding.Text rules;
    private final ByteArrayOutputStream held = new ByteArrayOutputStream();
    private boolean begun;

    TextDetokenizer(Vocabulary vocabulary, boolean skipSpecials, TextPipeline.Decoding.Text rules) {
        this.vocabulary = vocabulary;
        this.skipSpecials = skipSpecials;
        this.rules = rules;
    }

    @Override
    public String accept(int id) {
        if (skipSpecials && vocabulary.isSpecial(id)) {
            return "";
        }
        String token = vocabulary.text(id);
        if (rules.byteFallback() && token.length() == 6 && token.startsWith("<0x") && token.endsWith(">")) {
            try {
                held.write(Integer.parseInt(token, 3, 5, 16));
                return "";
            } catch (NumberFormatException e) {
                // a token that only looks like a byte
            }
        }
        String text = token.replace(TextPipeline.SPACE, " ");
        if (!begun && held.size() == 0 && rules.leading() == LeadingSpace.DROPPED_IN_FIRST_TOKEN) {
            text = token.replace(TextPipeline.SPACE, "");
            begun = true;
        }
        return begin(release() + text);
    }

    @Override
    public String finish() {
        String rest = begin(release());
        begun = false;
        return rest;
    }

    private String begin(String text) {
        if (begun || text.isEmpty()) {
            return text;
        }
        begun = true;
        return rules.leading() == LeadingSpace.ONE_DROPPED && text.startsWith(" ") ? text.substring(1) : text;
    }

    private String release() {
        byte[] bytes = held.toByteArray();
        held.reset();
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
        } catch (CharacterCodingException e) {
            return "\uFFFD".repeat(bytes.length);
        }
    }
}

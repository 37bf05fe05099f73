// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import dev.slipway.checkpoint.Detokenizer;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/** Joins the bytes of byte-level tokens into characters. */
final class ByteDetokenizer implements Detokenizer {
    private final Vocabulary vocabulary;
    private final boolean skipSpecials;
    private final CharsetDecoder decoder = StandardCharsets.UTF_8
            .newDecoder()
            .onMalformedInput(CodingErrorAction.REPLACE)
            .onUnmappableCharacter(CodingErrorAction.REPLACE);

    /** The beginning of a character, at most three bytes. */
    private byte[] held = {};

    ByteDetokenizer(Vocabulary vocabulary, boolean skipSpecials) {
        this.vocabulary = vocabulary;
        this.skipSpecials = skipSpecials;
    }

    @Override
    public String accept(int id) {
        if (skipSpecials && vocabulary.isSpecial(id)) {
            return "";
        }
        return decode(ByteAlphabet.read(vocabulary.token(id)), false);
    }

    @Override
    public String finish() {
        String rest = decode(new byte[0], true);
        decoder.reset();
        return rest;
    }

    private String decode(byte[] bytes, boolean end) {
        ByteBuffer in = ByteBuffer.allocate(held.length + bytes.length)
                .put(held)
                .put(bytes)
                .flip();
        CharBuffer out = CharBuffer.allocate(in.remaining() + 1);
        decoder.decode(in, out, end);
        if (end) {
            decoder.flush(out);
        }
        held = new byte[in.remaining()];
        in.get(held);
        return out.flip().toString();
    }
}

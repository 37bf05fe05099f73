// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import dev.slipway.checkpoint.Detokenizer;

/**
 * Joins the bytes of byte-level tokens into characters. What is no UTF-8 becomes U+FFFD, one for each longest beginning of
 * a character (Unicode 16, section 3.9, "maximal subpart"); the JDK's decoder takes surrogates differently.
 */
final class ByteDetokenizer implements Detokenizer {
    private static final char REPLACEMENT = '\uFFFD';

    private final Vocabulary vocabulary;
    private final boolean skipSpecials;

    /** The bits of the character so far, how many bytes it still needs, and the range of the next one. */
    private int character;

    private int needed;
    private int lowest;
    private int highest;

    ByteDetokenizer(Vocabulary vocabulary, boolean skipSpecials) {
        this.vocabulary = vocabulary;
        this.skipSpecials = skipSpecials;
    }

    @Override
    public String accept(int id) {
        if (skipSpecials && vocabulary.isSpecial(id)) {
            return "";
        }
        StringBuilder text = new StringBuilder();
        for (byte b : ByteAlphabet.read(vocabulary.text(id))) {
            accept(Byte.toUnsignedInt(b), text);
        }
        return text.toString();
    }

    @Override
    public String finish() {
        boolean brokenOff = needed > 0;
        needed = 0;
        return brokenOff ? Character.toString(REPLACEMENT) : "";
    }

    private void accept(int b, StringBuilder text) {
        if (needed == 0) {
            begin(b, text);
        } else if (b < lowest || b > highest) {
            text.append(REPLACEMENT);
            begin(b, text);
        } else {
            character = character << 6 | (b & 0x3F);
            lowest = 0x80;
            highest = 0xBF;
            if (--needed == 0) {
                text.appendCodePoint(character);
            }
        }
    }

    private void begin(int b, StringBuilder text) {
        needed = b < 0xC2 || b > 0xF4 ? 0 : b < 0xE0 ? 1 : b < 0xF0 ? 2 : 3;
        if (needed == 0) {
            text.append(b < 0x80 ? (char) b : REPLACEMENT);
            return;
        }
        character = b & (0x3F >> needed);
        // neither overlong forms, nor surrogates, nor anything beyond U+10FFFF
        lowest = b == 0xE0 ? 0xA0 : b == 0xF0 ? 0x90 : 0x80;
        highest = b == 0xED ? 0x9F : b == 0xF4 ? 0x8F : 0xBF;
    }
}

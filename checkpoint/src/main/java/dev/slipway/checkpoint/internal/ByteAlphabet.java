// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * GPT-2's way to write any bytes as printable characters: those that print in Latin-1 stand for themselves, the others
 * for U+0100 and what follows, in order.
 */
final class ByteAlphabet {
    private static final char[] CHARACTERS = characters();
    private static final short[] BYTES = bytes();

    private ByteAlphabet() {}

    /** The UTF-8 bytes of a text, one character for each. */
    static String write(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        char[] written = new char[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            written[i] = CHARACTERS[Byte.toUnsignedInt(bytes[i])];
        }
        return new String(written);
    }

    /** The bytes that a token's characters stand for; a token with any other character is its UTF-8. */
    static byte[] read(String token) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(token.length());
        for (int i = 0; i < token.length(); i++) {
            char c = token.charAt(i);
            if (c >= BYTES.length || BYTES[c] < 0) {
                return token.getBytes(StandardCharsets.UTF_8);
            }
            bytes.write(BYTES[c]);
        }
        return bytes.toByteArray();
    }

    private static char[] characters() {
        char[] characters = new char[256];
        char other = 0x100;
        for (int b = 0; b < 256; b++) {
            boolean prints = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
            characters[b] = prints ? (char) b : other++;
        }
        return characters;
    }

    private static short[] bytes() {
        short[] bytes = new short[0x100 + 256];
        Arrays.fill(bytes, (short) -1);
        for (int b = 0; b < 256; b++) {
            bytes[CHARACTERS[b]] = (short) b;
        }
        return bytes;
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.ParseException;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A position in a text, in bytes of UTF-8, with the tokens of MLIR. */
final class Scanner {
    private static final int MAX_SHOWN_LINE = 240;

    final byte[] text;
    int at;
    private final Nesting nesting;
    private int lineStart;
    private int line = 1;

    Scanner(byte[] text) {
        this.text = text;
        this.nesting = new Nesting(text.length);
    }

    ParseException error(String message) {
        return errorAt(message, at);
    }

    ParseException errorAt(String message, int position) {
        int start = Math.min(position, text.length);
        while (start > 0 && text[start - 1] != '\n') {
            start--;
        }
        int end = Math.min(position, text.length);
        while (end < text.length && text[end] != '\n') {
            end++;
        }
        int row = 1;
        for (int i = 0; i < start; i++) {
            if (text[i] == '\n') {
                row++;
            }
        }
        int column = Math.min(position, text.length) - start + 1;
        int from = column > MAX_SHOWN_LINE ? position - MAX_SHOWN_LINE / 2 : start;
        int to = Math.min(end, from + MAX_SHOWN_LINE);
        String shown = new String(text, from, Math.max(0, to - from), StandardCharsets.UTF_8);
        return new ParseException(message, row, column, shown, column - 1 - (from - start));
    }

    void enter() {
        check(nesting.enter());
    }

    void leave() {
        nesting.leave();
    }

    /** See {@link Nesting}. */
    Nesting.Extent beginShared() {
        return nesting.begin();
    }

    /** See {@link Nesting}. */
    Nesting.Extent endShared(Nesting.Extent outer) {
        return nesting.end(outer);
    }

    void reuse(Nesting.Extent extent) {
        check(nesting.reuse(extent));
    }

    private void check(String problem) {
        if (!problem.isEmpty()) {
            throw error(problem);
        }
    }

    /** The line of a position; cheap where positions only grow. */
    int lineOf(int position) {
        if (position < lineStart) {
            lineStart = 0;
            line = 1;
        }
        for (int i = lineStart; i < position; i++) {
            if (text[i] == '\n') {
                line++;
                lineStart = i + 1;
            }
        }
        return line;
    }

    /** The column of a position whose line was just asked for. */
    int columnOf(int position) {
        return position - lineStart + 1;
    }

    void skip() {
        byte[] bytes = text;
        int i = at;
        while (i < bytes.length) {
            byte c = bytes[i];
            if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
                i++;
            } else if (c == '/' && i + 1 < bytes.length && bytes[i + 1] == '/') {
                while (i < bytes.length && bytes[i] != '\n') {
                    i++;
                }
            } else {
                break;
            }
        }
        at = i;
    }

    /** The next character that matters; 0 at the end. */
    char peek() {
        skip();
        return at < text.length ? (char) (text[at] & 0xFF) : 0;
    }

    /** The character right here, also a space; 0 at the end. */
    char here() {
        return at < text.length ? (char) (text[at] & 0xFF) : 0;
    }

    boolean atEnd() {
        skip();
        return at >= text.length;
    }

    /** Whether the punctuation comes next; then it is passed. */
    boolean accept(char c) {
        if (peek() == c) {
            at++;
            return true;
        }
        return false;
    }

    boolean accept(String punctuation) {
        skip();
        if (startsWith(punctuation)) {
            at += punctuation.length();
            return true;
        }
        return false;
    }

    boolean startsWith(String expected) {
        int length = expected.length();
        if (at + length > text.length) {
            return false;
        }
        for (int i = 0; i < length; i++) {
            if (text[at + i] != expected.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    void expect(char c) {
        if (!accept(c)) {
            throw error("expected '" + c + "', got " + found());
        }
    }

    void expect(String punctuation) {
        if (!accept(punctuation)) {
            throw error("expected '" + punctuation + "', got " + found());
        }
    }

    /** What stands here, for messages. */
    String found() {
        skip();
        if (at >= text.length) {
            return "the end of the text";
        }
        int end = at + 1;
        while (end < text.length && end - at < 24 && isWord(text[end]) && isWord(text[at])) {
            end++;
        }
        return "'" + new String(text, at, end - at, StandardCharsets.UTF_8) + "'";
    }

    private static boolean isLetter(byte c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    }

    static boolean isDigit(byte c) {
        return c >= '0' && c <= '9';
    }

    private static boolean isWord(byte c) {
        return isLetter(c) || isDigit(c) || c == '$' || c == '.';
    }

    /** Whether a word starts here. */
    boolean isAtWord() {
        char c = peek();
        return c < 0x80 && isLetter((byte) c);
    }

    /** A word: letters, digits, underscores, dots and dollars; empty where there is none. */
    String word() {
        skip();
        int start = at;
        if (at < text.length && isLetter(text[at])) {
            at++;
            while (at < text.length && isWord(text[at])) {
                at++;
            }
        }
        return new String(text, start, at - start, StandardCharsets.ISO_8859_1);
    }

    String expectWord(String what) {
        String word = word();
        if (word.isEmpty()) {
            throw error("expected " + what + ", got " + found());
        }
        return word;
    }

    /** Whether this word comes next; then it is passed. */
    boolean acceptWord(String expected) {
        skip();
        if (startsWith(expected)) {
            int end = at + expected.length();
            if (end >= text.length || !isWord(text[end])) {
                at = end;
                return true;
            }
        }
        return false;
    }

    void expectWord(String expected, boolean isKeyword) {
        if (!(isKeyword ? acceptWord(expected) : accept(expected))) {
            throw error("expected '" + expected + "', got " + found());
        }
    }

    /** The rest of a name after its sigil: digits, or letters, digits and some punctuation. */
    String suffix() {
        int start = at;
        if (at < text.length && isDigit(text[at])) {
            while (at < text.length && isDigit(text[at])) {
                at++;
            }
        } else {
            while (at < text.length && (isWord(text[at]) || text[at] == '-')) {
                // In "%a->" the dash belongs to the arrow.
                if (text[at] == '-' && at + 1 < text.length && text[at + 1] == '>') {
                    break;
                }
                at++;
            }
        }
        if (at == start) {
            throw error("expected a name, got " + found());
        }
        return new String(text, start, at - start, StandardCharsets.ISO_8859_1);
    }

    /** A string in quotes. */
    String string() {
        return new String(stringBytes(), StandardCharsets.UTF_8);
    }

    byte[] stringBytes() {
        if (peek() != '"') {
            throw error("expected a string, got " + found());
        }
        int start = ++at;
        int end = start;
        while (end < text.length && text[end] != '"' && text[end] != '\\' && text[end] != '\n') {
            end++;
        }
        if (end < text.length && text[end] == '"') {
            at = end + 1;
            return Arrays.copyOfRange(text, start, end);
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        while (true) {
            if (at >= text.length || text[at] == '\n') {
                throw errorAt("the string does not end on its line", start - 1);
            }
            byte c = text[at++];
            if (c == '"') {
                return out.toByteArray();
            }
            if (c != '\\') {
                out.write(c);
                continue;
            }
            out.write(escaped());
        }
    }

    private int escaped() {
        if (at >= text.length) {
            throw error("the string ends in an escape");
        }
        byte c = text[at++];
        return switch (c) {
            case 'n' -> '\n';
            case 't' -> '\t';
            case '"', '\\' -> c;
            default -> {
                int high = Character.digit(c, 16);
                int low = at < text.length ? Character.digit(text[at], 16) : -1;
                if (high < 0 || low < 0) {
                    throw error("unknown escape in a string; expected \\n, \\t, \\\", \\\\ or two hexadecimal digits");
                }
                at++;
                yield high << 4 | low;
            }
        };
    }

    /** An integer of 64 bits. */
    long integer() {
        skip();
        int start = at;
        boolean negative = accept('-');
        if (at >= text.length || !isDigit(text[at])) {
            throw errorAt("expected an integer, got " + found(), start);
        }
        if (text[at] == '0' && at + 1 < text.length && (text[at + 1] == 'x')) {
            at += 2;
            int digits = at;
            while (at < text.length && Character.digit(text[at], 16) >= 0) {
                at++;
            }
            String hex = new String(text, digits, at - digits, StandardCharsets.ISO_8859_1);
            try {
                return negative ? -Long.parseUnsignedLong(hex, 16) : Long.parseUnsignedLong(hex, 16);
            } catch (NumberFormatException _) {
                throw errorAt("the integer does not fit 64 bits", start);
            }
        }
        long value = 0;
        while (at < text.length && isDigit(text[at])) {
            int digit = text[at] - '0';
            if (value > (Long.MAX_VALUE - digit) / 10) {
                return largeInteger(start, negative);
            }
            value = value * 10 + digit;
            at++;
        }
        return negative ? -value : value;
    }

    /** Integers of 63 bits and more: unsigned ones, and the least signed one. */
    private long largeInteger(int start, boolean negative) {
        while (at < text.length && isDigit(text[at])) {
            at++;
        }
        String digits = new String(text, start, at - start, StandardCharsets.ISO_8859_1)
                .replace(" ", "")
                .replace("-", "");
        try {
            return negative ? Long.parseLong("-" + digits) : Long.parseUnsignedLong(digits);
        } catch (NumberFormatException _) {
            throw errorAt("the integer does not fit 64 bits", start);
        }
    }

    /** Passes everything up to the bracket that closes the one here, strings included. */
    void skipBalanced() {
        int start = at;
        int open = 0;
        do {
            if (at >= text.length) {
                throw errorAt("the bracket is not closed", start);
            }
            byte c = text[at];
            switch (c) {
                case '<', '(', '[', '{' -> open++;
                case '>', ')', ']', '}' -> {
                    if (!(c == '>' && at > 0 && text[at - 1] == '-')) {
                        open--;
                    }
                }
                case '"' -> {
                    stringBytes();
                    continue;
                }
                default -> {}
            }
            at++;
        } while (open > 0);
    }

    String slice(int from) {
        return new String(text, from, at - from, StandardCharsets.UTF_8);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import java.util.ArrayList;
import java.util.List;

/** Cuts a template into text and what stands between marks, with {@code trim_blocks} and {@code lstrip_blocks} on. */
final class JinjaCutter {
    /** A stretch of the template: text, or what stands between marks. */
    record Part(Kind kind, String text, int line) {}

    /** What a stretch of the template is. */
    enum Kind {
        TEXT,
        OUTPUT,
        STATEMENT
    }

    private final String template;
    private final List<Part> parts = new ArrayList<>();
    private int at;
    private int line = 1;

    /** Whether the last mark ended with a minus, which takes away all white space behind it. */
    private boolean trimsSpace;

    /** Whether the last mark takes away a newline right behind it: no output does, and none that ends with a plus. */
    private boolean trimsNewline;

    private JinjaCutter(String template) {
        this.template = template;
    }

    /** The parts of a template, in order; comments are left out. */
    static List<Part> cut(String source) {
        // as in Jinja, lines end in a line feed whatever the file has, and one at the very end does not count
        String lines = source.replaceAll("\r\n?", "\n");
        JinjaCutter cutter = new JinjaCutter(lines.endsWith("\n") ? lines.substring(0, lines.length() - 1) : lines);
        for (int open = cutter.nextMark(); open >= 0; open = cutter.nextMark()) {
            cutter.textBefore(open);
            cutter.mark(open);
        }
        cutter.addText(cutter.textTo(cutter.template.length()));
        return cutter.parts;
    }

    private int nextMark() {
        for (int i = template.indexOf('{', at); i >= 0 && i + 1 < template.length(); i = template.indexOf('{', i + 1)) {
            if ("{%#".indexOf(template.charAt(i + 1)) >= 0) {
                return i;
            }
        }
        return -1;
    }

    /** The text up to {@code end}, without what the last mark takes away from it. */
    private String textTo(int end) {
        String text = template.substring(at, end);
        if (trimsSpace) {
            return text.stripLeading();
        }
        return trimsNewline && text.startsWith("\n") ? text.substring(1) : text;
    }

    private void textBefore(int open) {
        String text = textTo(open);
        char mark = template.charAt(open + 1);
        char control = open + 2 < template.length() ? template.charAt(open + 2) : ' ';
        if (control == '-') {
            text = text.stripTrailing();
        } else if (mark != '{' && control != '+') {
            text = withoutIndent(text, open);
        }
        addText(text);
        line += newlines(template.substring(at, open));
    }

    private void addText(String text) {
        parts.add(new Part(Kind.TEXT, text, line));
    }

    /** Spaces between the line's beginning and the mark go, if nothing else stands there. */
    private String withoutIndent(String text, int open) {
        int end = text.length();
        while (end > 0 && (text.charAt(end - 1) == ' ' || text.charAt(end - 1) == '\t')) {
            end--;
        }
        boolean afterBlock = at == 0 || trimsSpace || trimsNewline;
        boolean lineStart = end > 0 ? text.charAt(end - 1) == '\n' : afterBlock && atLineStart(open);
        return lineStart ? text.substring(0, end) : text;
    }

    private boolean atLineStart(int open) {
        int i = open - 1;
        while (i >= 0 && (template.charAt(i) == ' ' || template.charAt(i) == '\t')) {
            i--;
        }
        return i < 0 || template.charAt(i) == '\n';
    }

    private void mark(int open) {
        char mark = template.charAt(open + 1);
        int close = close(open, mark);
        if (close < 0) {
            throw Jinja.unsupported("a mark {%s that is not closed in line %d".formatted(mark, line));
        }
        boolean signed = open + 2 < template.length() && "-+".indexOf(template.charAt(open + 2)) >= 0;
        int begin = open + 2 + (signed ? 1 : 0);
        trimsSpace = template.charAt(close - 1) == '-' && close - 1 >= begin;
        boolean keepsNewline = template.charAt(close - 1) == '+' && mark != '{';
        trimsNewline = mark != '{' && !keepsNewline;
        String inner = template.substring(begin, trimsSpace || keepsNewline ? close - 1 : close);
        if (mark != '#') {
            parts.add(new Part(mark == '{' ? Kind.OUTPUT : Kind.STATEMENT, inner, line));
        }
        line += newlines(inner);
        at = close + 2;
    }

    /** Where the closing mark begins; marks within strings do not count. */
    private int close(int open, char mark) {
        if (mark == '#') {
            return template.indexOf("#}", open + 2);
        }
        String closing = mark == '{' ? "}}" : "%}";
        char quote = 0;
        int braces = 0;
        for (int i = open + 2; i < template.length() - 1; i++) {
            char c = template.charAt(i);
            if (quote != 0) {
                if (c == '\\') {
                    i++;
                } else if (c == quote) {
                    quote = 0;
                }
            } else if (c == '\'' || c == '"') {
                quote = c;
            } else if (braces == 0 && template.startsWith(closing, i)) {
                return i;
            } else if (c == '{') {
                braces++;
            } else if (c == '}') {
                braces = Math.max(0, braces - 1);
            }
        }
        return -1;
    }

    private static int newlines(String text) {
        return (int) text.chars().filter(c -> c == '\n').count();
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import dev.slipway.checkpoint.UnsupportedModelException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The tokens of what stands between two marks, read one after the other. */
final class JinjaTokens {
    private static final Pattern TOKEN = Pattern.compile(
            "\\s*(?:"
                    + "(?<string>'(?:[^'\\\\]|\\\\.)*+'|\"(?:[^\"\\\\]|\\\\.)*+\")"
                    + "|(?<number>\\d+(?:\\.\\d+)?)"
                    + "|(?<name>[A-Za-z_][A-Za-z_0-9]*)"
                    + "|(?<sign>==|!=|<=|>=|//|\\*\\*|[-+*/%~|.,:=<>()\\[\\]{}])"
                    + ")",
            Pattern.DOTALL);

    /** What a token is. */
    enum Type {
        STRING,
        NUMBER,
        NAME,
        SIGN,
        END
    }

    /** A token as it is written; empty at the end. */
    record Token(Type type, String text) {}

    private final List<Token> tokens;
    private final int line;
    private int at;

    private JinjaTokens(List<Token> tokens, int line) {
        this.tokens = tokens;
        this.line = line;
    }

    static JinjaTokens of(JinjaCutter.Part part) {
        List<Token> tokens = new ArrayList<>();
        String text = part.text().stripTrailing();
        Matcher matcher = TOKEN.matcher(text);
        int at = 0;
        while (at < text.length()) {
            if (!matcher.region(at, text.length()).lookingAt()) {
                String rest = text.substring(at, Math.min(at + 10, text.length()));
                throw Jinja.unsupported("'%s' in line %d".formatted(rest.strip(), part.line()));
            }
            tokens.add(token(matcher));
            at = matcher.end();
        }
        tokens.add(new Token(Type.END, ""));
        return new JinjaTokens(tokens, part.line());
    }

    private static Token token(Matcher matcher) {
        for (Type type : new Type[] {Type.STRING, Type.NUMBER, Type.NAME}) {
            String text = matcher.group(type.name().toLowerCase(Locale.ROOT));
            if (text != null) {
                return new Token(type, text);
            }
        }
        return new Token(Type.SIGN, matcher.group("sign"));
    }

    Token peek() {
        return tokens.get(at);
    }

    /** The token behind the next one; the next one must not be the end. */
    Token peekBehind() {
        return tokens.get(at + 1);
    }

    Token next() {
        Token now = peek();
        if (now.type != Type.END) {
            at++;
        }
        return now;
    }

    boolean isAt(Type type) {
        return peek().type == type;
    }

    boolean isSign(String sign) {
        return isAt(Type.SIGN) && peek().text.equals(sign);
    }

    boolean isName(String name) {
        return isAt(Type.NAME) && peek().text.equals(name);
    }

    /** Moves past a sign, if it comes next. */
    boolean accept(String sign) {
        return moveIf(isSign(sign));
    }

    /** Moves past a name, if it comes next. */
    boolean acceptName(String name) {
        return moveIf(isName(name));
    }

    private boolean moveIf(boolean comesNext) {
        if (comesNext) {
            at++;
        }
        return comesNext;
    }

    void expect(String sign) {
        if (!accept(sign)) {
            throw unexpected();
        }
    }

    /** Moves past a name and returns it. */
    String name() {
        Token now = next();
        if (now.type != Type.NAME) {
            throw unexpected(now);
        }
        return now.text;
    }

    void end() {
        if (!isAt(Type.END)) {
            throw unexpected();
        }
    }

    UnsupportedModelException unexpected() {
        return unexpected(peek());
    }

    UnsupportedModelException unexpected(Token found) {
        String what = found.type == Type.END ? "an expression that breaks off" : "'" + found.text + "'";
        return Jinja.unsupported("%s in line %d".formatted(what, line));
    }

    UnsupportedModelException unexpectedStatement() {
        return Jinja.unsupported("the statement '%s' in line %d".formatted(tokens.getFirst().text, line));
    }
}

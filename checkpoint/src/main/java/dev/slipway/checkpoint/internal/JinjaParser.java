// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import dev.slipway.checkpoint.UnsupportedModelException;
import dev.slipway.checkpoint.internal.Jinja.Expression;
import dev.slipway.checkpoint.internal.Jinja.Node;
import dev.slipway.checkpoint.internal.Jinja.Nothing;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads a template, with {@code trim_blocks} and {@code lstrip_blocks} on. */
final class JinjaParser {
    private static final Pattern TOKEN = Pattern.compile(
            "\\s*(?:"
                    + "(?<string>'(?:[^'\\\\]|\\\\.)*+'|\"(?:[^\"\\\\]|\\\\.)*+\")"
                    + "|(?<number>\\d+(?:\\.\\d+)?)"
                    + "|(?<name>[A-Za-z_][A-Za-z_0-9]*)"
                    + "|(?<sign>==|!=|<=|>=|//|\\*\\*|[-+*/%~|.,:=<>()\\[\\]{}])"
                    + ")",
            Pattern.DOTALL);

    private static final ImmutableSet<String> COMPARISONS = ImmutableSet.of("==", "!=", "<", ">", "<=", ">=");

    /** A stretch of the template: text, or what stands between marks. */
    private record Part(Kind kind, String text, int line) {}

    private enum Kind {
        TEXT,
        OUTPUT,
        STATEMENT
    }

    private enum Type {
        STRING,
        NUMBER,
        NAME,
        SIGN,
        END
    }

    private record Token(Type type, String text) {}

    private final List<Part> parts;
    private int part;
    private List<Token> tokens = List.of();
    private int token;
    private int line;

    private JinjaParser(List<Part> parts) {
        this.parts = parts;
    }

    static ImmutableList<Node> parse(String source) {
        JinjaParser parser = new JinjaParser(cut(source));
        try {
            ImmutableList<Node> nodes = parser.body(ImmutableSet.of());
            if (parser.part < parser.parts.size()) {
                throw parser.unexpected();
            }
            return nodes;
        } catch (StackOverflowError e) {
            throw Jinja.unsupported("nesting without end");
        }
    }

    // Text and marks

    private static List<Part> cut(String source) {
        // as in Jinja, one newline at the very end does not count
        String text = source.endsWith("\n") ? source.substring(0, source.length() - 1) : source;
        List<Part> parts = new ArrayList<>();
        int at = 0;
        int line = 1;
        boolean trim = false;
        boolean trimNewline = false;
        while (true) {
            int open = nextMark(text, at);
            String before = text.substring(at, open < 0 ? text.length() : open);
            int lines = (int) before.chars().filter(c -> c == '\n').count();
            if (trim) {
                before = before.stripLeading();
            } else if (trimNewline && before.startsWith("\n")) {
                before = before.substring(1);
            }
            if (open < 0) {
                parts.add(new Part(Kind.TEXT, before, line));
                return parts;
            }
            char mark = text.charAt(open + 1);
            char control = open + 2 < text.length() ? text.charAt(open + 2) : ' ';
            if (control == '-') {
                before = before.stripTrailing();
            } else if (mark != '{' && control != '+') {
                before = withoutIndent(before, at == 0 || trim || trimNewline, text, open);
            }
            parts.add(new Part(Kind.TEXT, before, line));
            line += lines;
            int close = close(text, open, mark);
            if (close < 0) {
                throw Jinja.unsupported("a mark {%s that is not closed in line %d".formatted(mark, line));
            }
            boolean signed = control == '-' || control == '+';
            trim = text.charAt(close - 1) == '-' && close - 1 >= open + 2 + (signed ? 1 : 0);
            boolean keep = text.charAt(close - 1) == '+' && mark != '{';
            trimNewline = mark != '{' && !keep;
            String inner = text.substring(open + 2 + (signed ? 1 : 0), trim || keep ? close - 1 : close);
            if (mark != '#') {
                parts.add(new Part(mark == '{' ? Kind.OUTPUT : Kind.STATEMENT, inner, line));
            }
            line += (int) inner.chars().filter(c -> c == '\n').count();
            at = close + 2;
        }
    }

    private static int nextMark(String text, int from) {
        for (int i = text.indexOf('{', from); i >= 0 && i + 1 < text.length(); i = text.indexOf('{', i + 1)) {
            if ("{%#".indexOf(text.charAt(i + 1)) >= 0) {
                return i;
            }
        }
        return -1;
    }

    /** Spaces between the line's beginning and the mark go, if nothing else stands there. */
    private static String withoutIndent(String before, boolean afterBlock, String text, int open) {
        int end = before.length();
        while (end > 0 && (before.charAt(end - 1) == ' ' || before.charAt(end - 1) == '\t')) {
            end--;
        }
        boolean lineStart = end > 0 ? before.charAt(end - 1) == '\n' : afterBlock && atLineStart(text, open);
        return lineStart ? before.substring(0, end) : before;
    }

    private static boolean atLineStart(String text, int open) {
        int i = open - 1;
        while (i >= 0 && (text.charAt(i) == ' ' || text.charAt(i) == '\t')) {
            i--;
        }
        return i < 0 || text.charAt(i) == '\n';
    }

    /** Where the closing mark begins; marks within strings do not count. */
    private static int close(String text, int open, char mark) {
        if (mark == '#') {
            return text.indexOf("#}", open + 2);
        }
        String closing = mark == '{' ? "}}" : "%}";
        char quote = 0;
        int braces = 0;
        for (int i = open + 2; i < text.length() - 1; i++) {
            char c = text.charAt(i);
            if (quote != 0) {
                if (c == '\\') {
                    i++;
                } else if (c == quote) {
                    quote = 0;
                }
            } else if (c == '\'' || c == '"') {
                quote = c;
            } else if (braces == 0 && text.startsWith(closing, i)) {
                return i;
            } else if (c == '{') {
                braces++;
            } else if (c == '}') {
                braces = Math.max(0, braces - 1);
            }
        }
        return -1;
    }

    // Statements

    /** The nodes up to a statement that begins with one of the names, which becomes the current one. */
    private ImmutableList<Node> body(ImmutableSet<String> until) {
        ImmutableList.Builder<Node> nodes = ImmutableList.builder();
        while (part < parts.size()) {
            Part now = parts.get(part);
            if (now.kind == Kind.TEXT) {
                part++;
                if (!now.text.isEmpty()) {
                    nodes.add(new Jinja.Text(now.text));
                }
                continue;
            }
            begin(now);
            if (now.kind == Kind.OUTPUT) {
                part++;
                nodes.add(new Jinja.Output(expression()));
                end();
                continue;
            }
            if (until.contains(peek().text)) {
                return nodes.build();
            }
            part++;
            statement(nodes);
        }
        if (!until.isEmpty()) {
            throw Jinja.unsupported("a block without %s".formatted(String.join(" or ", until)));
        }
        return nodes.build();
    }

    private void statement(ImmutableList.Builder<Node> to) {
        switch (name()) {
            case "if" -> to.add(choice());
            case "for" -> to.add(loop());
            case "set" -> to.add(set());
            case "macro" -> to.add(macro());
            case "break" -> {
                end();
                to.add(new Jinja.Jump(true));
            }
            case "continue" -> {
                end();
                to.add(new Jinja.Jump(false));
            }
            case "generation" -> {
                end();
                to.addAll(body(ImmutableSet.of("endgeneration")));
                closing("endgeneration");
            }
            default -> throw unexpectedStatement();
        }
    }

    private Node choice() {
        ImmutableList.Builder<Jinja.Branch> branches = ImmutableList.builder();
        ImmutableList<Node> otherwise = ImmutableList.of();
        Expression condition = expression();
        end();
        while (true) {
            branches.add(new Jinja.Branch(condition, body(ImmutableSet.of("elif", "else", "endif"))));
            String what = opening();
            if (what.equals("elif")) {
                condition = expression();
                end();
                continue;
            }
            end();
            if (what.equals("else")) {
                otherwise = body(ImmutableSet.of("endif"));
                closing("endif");
            }
            return new Jinja.If(branches.build(), otherwise);
        }
    }

    private Node loop() {
        ImmutableList.Builder<String> names = ImmutableList.builder();
        do {
            names.add(name());
        } while (accept(","));
        if (!acceptName("in")) {
            throw unexpected();
        }
        Expression items = or();
        Expression filter = acceptName("if") ? or() : null;
        end();
        ImmutableList<Node> body = body(ImmutableSet.of("else", "endfor"));
        ImmutableList<Node> otherwise = ImmutableList.of();
        boolean more = opening().equals("else");
        end();
        if (more) {
            otherwise = body(ImmutableSet.of("endfor"));
            closing("endfor");
        }
        return new Jinja.For(names.build(), items, filter, body, otherwise);
    }

    private Node set() {
        String name = name();
        String field = accept(".") ? name() : null;
        if (field == null && peek().type == Type.END) {
            end();
            ImmutableList<Node> body = body(ImmutableSet.of("endset"));
            closing("endset");
            return new Jinja.SetBlock(name, body);
        }
        expect("=");
        Expression value = expression();
        end();
        return new Jinja.Set(name, field, value);
    }

    private Node macro() {
        String name = name();
        expect("(");
        ImmutableList.Builder<Jinja.Parameter> parameters = ImmutableList.builder();
        while (!accept(")")) {
            parameters.add(new Jinja.Parameter(name(), accept("=") ? expression() : null));
            accept(",");
        }
        end();
        ImmutableList<Node> body = body(ImmutableSet.of("endmacro"));
        closing("endmacro");
        return new Jinja.Macro(name, parameters.build(), body);
    }

    /** Moves past the statement that ended a body and returns its name. */
    private String opening() {
        part++;
        return name();
    }

    private void closing(String name) {
        if (!opening().equals(name)) {
            throw unexpected();
        }
        end();
    }

    // Expressions, loosest first

    private Expression expression() {
        Expression then = or();
        if (!acceptName("if")) {
            return then;
        }
        Expression condition = or();
        return new Jinja.Conditional(condition, then, acceptName("else") ? expression() : null);
    }

    private Expression or() {
        Expression left = and();
        while (acceptName("or")) {
            left = new Jinja.Or(left, and());
        }
        return left;
    }

    private Expression and() {
        Expression left = not();
        while (acceptName("and")) {
            left = new Jinja.And(left, not());
        }
        return left;
    }

    private Expression not() {
        return acceptName("not") ? new Jinja.Not(not()) : comparison();
    }

    private Expression comparison() {
        Expression left = sum();
        while (true) {
            if (COMPARISONS.contains(peek().text) && peek().type == Type.SIGN) {
                left = new Jinja.Binary(next().text, left, sum());
            } else if (acceptName("in")) {
                left = new Jinja.Binary("in", left, sum());
            } else if (isName("not") && tokens.get(token + 1).text.equals("in")) {
                token += 2;
                left = new Jinja.Not(new Jinja.Binary("in", left, sum()));
            } else {
                return left;
            }
        }
    }

    private Expression sum() {
        Expression left = joined();
        while (isSign("+") || isSign("-")) {
            left = new Jinja.Binary(next().text, left, joined());
        }
        return left;
    }

    private Expression joined() {
        Expression left = product();
        while (accept("~")) {
            left = new Jinja.Binary("~", left, product());
        }
        return left;
    }

    private Expression product() {
        Expression left = unary();
        while (isSign("*") || isSign("/") || isSign("//") || isSign("%")) {
            left = new Jinja.Binary(next().text, left, unary());
        }
        return left;
    }

    private Expression unary() {
        if (accept("-")) {
            return new Jinja.Negative(unary());
        }
        return filtered(postfix(primary()));
    }

    private Expression filtered(Expression value) {
        while (true) {
            if (accept("|")) {
                String name = name();
                Arguments arguments = accept("(") ? arguments() : Arguments.NONE;
                value = new Jinja.Filter(value, name, arguments.positional, arguments.named);
            } else if (acceptName("is")) {
                boolean negated = acceptName("not");
                String name = name();
                ImmutableList<Expression> arguments = ImmutableList.of();
                if (accept("(")) {
                    arguments = arguments().positional;
                } else if (peek().type == Type.STRING || peek().type == Type.NUMBER) {
                    arguments = ImmutableList.of(primary());
                }
                Expression test = new Jinja.Test(value, name, arguments);
                value = negated ? new Jinja.Not(test) : test;
            } else {
                return value;
            }
        }
    }

    private Expression postfix(Expression value) {
        while (true) {
            if (accept(".")) {
                value = new Jinja.Get(value, new Jinja.Literal(next().text));
            } else if (accept("[")) {
                value = subscript(value);
            } else if (accept("(")) {
                Arguments arguments = arguments();
                value = new Jinja.Call(value, arguments.positional, arguments.named);
            } else {
                return value;
            }
        }
    }

    private Expression subscript(Expression of) {
        Expression from = isSign(":") ? null : expression();
        if (from != null && accept("]")) {
            return new Jinja.Get(of, from);
        }
        expect(":");
        Expression to = isSign(":") || isSign("]") ? null : expression();
        Expression step = accept(":") && !isSign("]") ? expression() : null;
        expect("]");
        return new Jinja.Slice(of, from, to, step);
    }

    private record Arguments(ImmutableList<Expression> positional, ImmutableMap<String, Expression> named) {
        static final Arguments NONE = new Arguments(ImmutableList.of(), ImmutableMap.of());
    }

    private Arguments arguments() {
        ImmutableList.Builder<Expression> positional = ImmutableList.builder();
        ImmutableMap.Builder<String, Expression> named = ImmutableMap.builder();
        while (!accept(")")) {
            if (peek().type == Type.NAME && tokens.get(token + 1).text.equals("=")) {
                String name = name();
                expect("=");
                named.put(name, expression());
            } else {
                positional.add(expression());
            }
            if (!isSign(")")) {
                expect(",");
            }
        }
        return new Arguments(positional.build(), named.buildKeepingLast());
    }

    private Expression primary() {
        Token now = next();
        return switch (now.type) {
            case STRING -> {
                StringBuilder text = new StringBuilder(unescaped(now.text));
                while (peek().type == Type.STRING) {
                    text.append(unescaped(next().text));
                }
                yield new Jinja.Literal(text.toString());
            }
            case NUMBER -> new Jinja.Literal(number(now.text));
            case NAME ->
                switch (now.text) {
                    case "true", "True" -> new Jinja.Literal(true);
                    case "false", "False" -> new Jinja.Literal(false);
                    case "none", "None" -> new Jinja.Literal(Nothing.NONE);
                    default -> new Jinja.Name(now.text);
                };
            case SIGN ->
                switch (now.text) {
                    case "(" -> parenthesis();
                    case "[" -> new Jinja.ListOf(items("]"));
                    case "{" -> map();
                    default -> throw unexpected(now);
                };
            case END -> throw unexpected(now);
        };
    }

    private Object number(String text) {
        try {
            return text.contains(".") ? (Object) Double.valueOf(text) : (Object) Long.valueOf(text);
        } catch (NumberFormatException e) {
            throw Jinja.unsupported("the number " + text);
        }
    }

    private Expression parenthesis() {
        if (accept(")")) {
            return new Jinja.ListOf(ImmutableList.of());
        }
        Expression first = expression();
        if (accept(")")) {
            return first;
        }
        expect(",");
        return new Jinja.ListOf(ImmutableList.<Expression>builder()
                .add(first)
                .addAll(items(")"))
                .build());
    }

    private ImmutableList<Expression> items(String close) {
        ImmutableList.Builder<Expression> items = ImmutableList.builder();
        while (!accept(close)) {
            items.add(expression());
            if (!isSign(close)) {
                expect(",");
            }
        }
        return items.build();
    }

    private Expression map() {
        ImmutableMap.Builder<Expression, Expression> items = ImmutableMap.builder();
        while (!accept("}")) {
            Expression key = expression();
            expect(":");
            items.put(key, expression());
            if (!isSign("}")) {
                expect(",");
            }
        }
        return new Jinja.MapOf(items.buildKeepingLast());
    }

    private static String unescaped(String quoted) {
        StringBuilder text = new StringBuilder();
        for (int i = 1; i < quoted.length() - 1; i++) {
            char c = quoted.charAt(i);
            if (c != '\\') {
                text.append(c);
                continue;
            }
            char escaped = quoted.charAt(++i);
            switch (escaped) {
                case 'n' -> text.append('\n');
                case 't' -> text.append('\t');
                case 'r' -> text.append('\r');
                case '\\', '\'', '"' -> text.append(escaped);
                case 'u' -> {
                    int end = Math.min(i + 5, quoted.length() - 1);
                    try {
                        text.append((char) Integer.parseInt(quoted, i + 1, end, 16));
                    } catch (NumberFormatException e) {
                        throw Jinja.unsupported("the escape \\u" + quoted.substring(i + 1, end));
                    }
                    i = end - 1;
                }
                default -> text.append('\\').append(escaped);
            }
        }
        return text.toString();
    }

    // Tokens

    private void begin(Part now) {
        line = now.line;
        List<Token> found = new ArrayList<>();
        String text = now.text.stripTrailing();
        Matcher matcher = TOKEN.matcher(text);
        int at = 0;
        while (at < text.length()) {
            if (!matcher.region(at, text.length()).lookingAt()) {
                throw Jinja.unsupported("'%s' in line %d"
                        .formatted(
                                text.substring(at, Math.min(at + 10, text.length()))
                                        .strip(),
                                line));
            }
            found.add(token(matcher));
            at = matcher.end();
        }
        found.add(new Token(Type.END, ""));
        tokens = found;
        token = 0;
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

    private Token peek() {
        return tokens.get(token);
    }

    private Token next() {
        Token now = peek();
        if (now.type != Type.END) {
            token++;
        }
        return now;
    }

    private boolean isSign(String sign) {
        return peek().type == Type.SIGN && peek().text.equals(sign);
    }

    private boolean isName(String name) {
        return peek().type == Type.NAME && peek().text.equals(name);
    }

    private boolean accept(String sign) {
        if (isSign(sign)) {
            token++;
            return true;
        }
        return false;
    }

    private boolean acceptName(String name) {
        if (isName(name)) {
            token++;
            return true;
        }
        return false;
    }

    private void expect(String sign) {
        if (!accept(sign)) {
            throw unexpected();
        }
    }

    private String name() {
        Token now = next();
        if (now.type != Type.NAME) {
            throw unexpected(now);
        }
        return now.text;
    }

    private void end() {
        if (peek().type != Type.END) {
            throw unexpected();
        }
    }

    private UnsupportedModelException unexpected() {
        return unexpected(tokens.isEmpty() ? null : peek());
    }

    private UnsupportedModelException unexpected(@Nullable Token found) {
        String what =
                found == null || found.type == Type.END ? "an expression that breaks off" : "'" + found.text + "'";
        return Jinja.unsupported("%s in line %d".formatted(what, line));
    }

    private UnsupportedModelException unexpectedStatement() {
        return Jinja.unsupported("the statement '%s' in line %d".formatted(tokens.getFirst().text, line));
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import dev.slipway.checkpoint.internal.Jinja.Expression;
import dev.slipway.checkpoint.internal.Jinja.Node;
import dev.slipway.checkpoint.internal.Jinja.Nothing;
import dev.slipway.checkpoint.internal.JinjaCutter.Kind;
import dev.slipway.checkpoint.internal.JinjaCutter.Part;
import dev.slipway.checkpoint.internal.JinjaTokens.Token;
import java.util.List;

/** Reads a template that {@link JinjaCutter} has cut, by recursive descent. */
final class JinjaParser {
    private static final ImmutableSet<String> COMPARISONS = ImmutableSet.of("==", "!=", "<", ">", "<=", ">=");

    private final List<Part> parts;
    private int part;

    /** The tokens of the part that is being read. */
    private JinjaTokens tokens = JinjaTokens.of(new Part(Kind.STATEMENT, "", 1));

    private JinjaParser(List<Part> parts) {
        this.parts = parts;
    }

    static ImmutableList<Node> parse(String source) {
        JinjaParser parser = new JinjaParser(JinjaCutter.cut(source));
        try {
            ImmutableList<Node> nodes = parser.body(ImmutableSet.of());
            if (parser.part < parser.parts.size()) {
                throw parser.tokens.unexpected();
            }
            return nodes;
        } catch (StackOverflowError e) {
            throw Jinja.unsupported("nesting without end");
        }
    }

    // Statements

    /** The nodes up to a statement that begins with one of the names, which becomes the current one. */
    private ImmutableList<Node> body(ImmutableSet<String> until) {
        ImmutableList.Builder<Node> nodes = ImmutableList.builder();
        while (part < parts.size()) {
            Part now = parts.get(part);
            if (now.kind() == Kind.TEXT) {
                part++;
                if (!now.text().isEmpty()) {
                    nodes.add(new Jinja.Text(now.text()));
                }
                continue;
            }
            tokens = JinjaTokens.of(now);
            if (now.kind() == Kind.OUTPUT) {
                part++;
                nodes.add(new Jinja.Output(expression()));
                tokens.end();
                continue;
            }
            if (until.contains(tokens.peek().text())) {
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
        switch (tokens.name()) {
            case "if" -> to.add(choice());
            case "for" -> to.add(loop());
            case "set" -> to.add(set());
            case "macro" -> to.add(macro());
            case "break" -> {
                tokens.end();
                to.add(new Jinja.Jump(true));
            }
            case "continue" -> {
                tokens.end();
                to.add(new Jinja.Jump(false));
            }
            case "generation" -> {
                tokens.end();
                to.addAll(body(ImmutableSet.of("endgeneration")));
                closing("endgeneration");
            }
            default -> throw tokens.unexpectedStatement();
        }
    }

    private Node choice() {
        ImmutableList.Builder<Jinja.Branch> branches = ImmutableList.builder();
        ImmutableList<Node> otherwise = ImmutableList.of();
        Expression condition = expression();
        tokens.end();
        while (true) {
            branches.add(new Jinja.Branch(condition, body(ImmutableSet.of("elif", "else", "endif"))));
            String what = opening();
            if (what.equals("elif")) {
                condition = expression();
                tokens.end();
                continue;
            }
            tokens.end();
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
            names.add(tokens.name());
        } while (tokens.accept(","));
        if (!tokens.acceptName("in")) {
            throw tokens.unexpected();
        }
        Expression items = or();
        Expression filter = tokens.acceptName("if") ? or() : null;
        tokens.end();
        ImmutableList<Node> body = body(ImmutableSet.of("else", "endfor"));
        ImmutableList<Node> otherwise = ImmutableList.of();
        boolean more = opening().equals("else");
        tokens.end();
        if (more) {
            otherwise = body(ImmutableSet.of("endfor"));
            closing("endfor");
        }
        return new Jinja.For(names.build(), items, filter, body, otherwise);
    }

    private Node set() {
        String name = tokens.name();
        String field = tokens.accept(".") ? tokens.name() : null;
        if (field == null && tokens.isAt(JinjaTokens.Type.END)) {
            tokens.end();
            ImmutableList<Node> body = body(ImmutableSet.of("endset"));
            closing("endset");
            return new Jinja.SetBlock(name, body);
        }
        tokens.expect("=");
        Expression value = expression();
        tokens.end();
        return new Jinja.Set(name, field, value);
    }

    private Node macro() {
        String name = tokens.name();
        tokens.expect("(");
        ImmutableList.Builder<Jinja.Parameter> parameters = ImmutableList.builder();
        while (!tokens.accept(")")) {
            parameters.add(new Jinja.Parameter(tokens.name(), tokens.accept("=") ? expression() : null));
            tokens.accept(",");
        }
        tokens.end();
        ImmutableList<Node> body = body(ImmutableSet.of("endmacro"));
        closing("endmacro");
        return new Jinja.Macro(name, parameters.build(), body);
    }

    /** Moves past the statement that ended a body and returns its name. */
    private String opening() {
        part++;
        return tokens.name();
    }

    private void closing(String name) {
        if (!opening().equals(name)) {
            throw tokens.unexpected();
        }
        tokens.end();
    }

    // Expressions, loosest first

    private Expression expression() {
        Expression then = or();
        if (!tokens.acceptName("if")) {
            return then;
        }
        Expression condition = or();
        return new Jinja.Conditional(condition, then, tokens.acceptName("else") ? expression() : null);
    }

    private Expression or() {
        Expression left = and();
        while (tokens.acceptName("or")) {
            left = new Jinja.Or(left, and());
        }
        return left;
    }

    private Expression and() {
        Expression left = not();
        while (tokens.acceptName("and")) {
            left = new Jinja.And(left, not());
        }
        return left;
    }

    private Expression not() {
        return tokens.acceptName("not") ? new Jinja.Not(not()) : comparison();
    }

    private Expression comparison() {
        Expression left = sum();
        while (true) {
            if (COMPARISONS.contains(tokens.peek().text()) && tokens.isAt(JinjaTokens.Type.SIGN)) {
                left = new Jinja.Binary(tokens.next().text(), left, sum());
            } else if (tokens.acceptName("in")) {
                left = new Jinja.Binary("in", left, sum());
            } else if (tokens.isName("not") && tokens.peekBehind().text().equals("in")) {
                tokens.next();
                tokens.next();
                left = new Jinja.Not(new Jinja.Binary("in", left, sum()));
            } else {
                return left;
            }
        }
    }

    private Expression sum() {
        Expression left = joined();
        while (tokens.isSign("+") || tokens.isSign("-")) {
            left = new Jinja.Binary(tokens.next().text(), left, joined());
        }
        return left;
    }

    private Expression joined() {
        Expression left = product();
        while (tokens.accept("~")) {
            left = new Jinja.Binary("~", left, product());
        }
        return left;
    }

    private Expression product() {
        Expression left = unary();
        while (tokens.isSign("*") || tokens.isSign("/") || tokens.isSign("//") || tokens.isSign("%")) {
            left = new Jinja.Binary(tokens.next().text(), left, unary());
        }
        return left;
    }

    private Expression unary() {
        if (tokens.accept("-")) {
            return new Jinja.Negative(unary());
        }
        return filtered(postfix(primary()));
    }

    private Expression filtered(Expression value) {
        while (true) {
            if (tokens.accept("|")) {
                String name = tokens.name();
                Arguments arguments = tokens.accept("(") ? arguments() : Arguments.NONE;
                value = new Jinja.Filter(value, name, arguments.positional, arguments.named);
            } else if (tokens.acceptName("is")) {
                boolean negated = tokens.acceptName("not");
                String name = tokens.name();
                ImmutableList<Expression> arguments = ImmutableList.of();
                if (tokens.accept("(")) {
                    arguments = arguments().positional;
                } else if (tokens.isAt(JinjaTokens.Type.STRING) || tokens.isAt(JinjaTokens.Type.NUMBER)) {
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
            if (tokens.accept(".")) {
                value = new Jinja.Get(value, new Jinja.Literal(tokens.next().text()));
            } else if (tokens.accept("[")) {
                value = subscript(value);
            } else if (tokens.accept("(")) {
                Arguments arguments = arguments();
                value = new Jinja.Call(value, arguments.positional, arguments.named);
            } else {
                return value;
            }
        }
    }

    private Expression subscript(Expression of) {
        Expression from = tokens.isSign(":") ? null : expression();
        if (from != null && tokens.accept("]")) {
            return new Jinja.Get(of, from);
        }
        tokens.expect(":");
        Expression to = tokens.isSign(":") || tokens.isSign("]") ? null : expression();
        Expression step = tokens.accept(":") && !tokens.isSign("]") ? expression() : null;
        tokens.expect("]");
        return new Jinja.Slice(of, from, to, step);
    }

    private record Arguments(ImmutableList<Expression> positional, ImmutableMap<String, Expression> named) {
        static final Arguments NONE = new Arguments(ImmutableList.of(), ImmutableMap.of());
    }

    private Arguments arguments() {
        ImmutableList.Builder<Expression> positional = ImmutableList.builder();
        ImmutableMap.Builder<String, Expression> named = ImmutableMap.builder();
        while (!tokens.accept(")")) {
            if (tokens.isAt(JinjaTokens.Type.NAME) && tokens.peekBehind().text().equals("=")) {
                String name = tokens.name();
                tokens.expect("=");
                named.put(name, expression());
            } else {
                positional.add(expression());
            }
            if (!tokens.isSign(")")) {
                tokens.expect(",");
            }
        }
        return new Arguments(positional.build(), named.buildKeepingLast());
    }

    private Expression primary() {
        Token now = tokens.next();
        return switch (now.type()) {
            case STRING -> {
                StringBuilder text = new StringBuilder(unescaped(now.text()));
                while (tokens.isAt(JinjaTokens.Type.STRING)) {
                    text.append(unescaped(tokens.next().text()));
                }
                yield new Jinja.Literal(text.toString());
            }
            case NUMBER -> new Jinja.Literal(number(now.text()));
            case NAME ->
                switch (now.text()) {
                    case "true", "True" -> new Jinja.Literal(true);
                    case "false", "False" -> new Jinja.Literal(false);
                    case "none", "None" -> new Jinja.Literal(Nothing.NONE);
                    default -> new Jinja.Name(now.text());
                };
            case SIGN ->
                switch (now.text()) {
                    case "(" -> parenthesis();
                    case "[" -> new Jinja.ListOf(items("]"));
                    case "{" -> map();
                    default -> throw tokens.unexpected(now);
                };
            case END -> throw tokens.unexpected(now);
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
        if (tokens.accept(")")) {
            return new Jinja.ListOf(ImmutableList.of());
        }
        Expression first = expression();
        if (tokens.accept(")")) {
            return first;
        }
        tokens.expect(",");
        return new Jinja.ListOf(ImmutableList.<Expression>builder()
                .add(first)
                .addAll(items(")"))
                .build());
    }

    private ImmutableList<Expression> items(String close) {
        ImmutableList.Builder<Expression> items = ImmutableList.builder();
        while (!tokens.accept(close)) {
            items.add(expression());
            if (!tokens.isSign(close)) {
                tokens.expect(",");
            }
        }
        return items.build();
    }

    private Expression map() {
        ImmutableMap.Builder<Expression, Expression> items = ImmutableMap.builder();
        while (!tokens.accept("}")) {
            Expression key = expression();
            tokens.expect(":");
            items.put(key, expression());
            if (!tokens.isSign("}")) {
                tokens.expect(",");
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
}

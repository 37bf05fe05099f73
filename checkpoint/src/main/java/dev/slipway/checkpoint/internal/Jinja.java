// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import dev.slipway.checkpoint.CheckpointException;
import dev.slipway.checkpoint.UnsupportedModelException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Chat templates: the part of Jinja that models' templates use, with Python's meaning of values.
 *
 * <p>Values are {@link String}, {@link Long}, {@link Double}, {@link Boolean}, {@link List}, {@link Map}, {@link
 * Callable} and {@link Nothing}.
 */
public final class Jinja {
    /** A bound on the loop trips and calls of one rendering, so that an ill-meant template ends. */
    private static final int MAX_STEPS = 1_000_000;

    /** Python's None, as a variable of a template. */
    public static final Object NONE = Nothing.NONE;

    private final ImmutableList<Node> body;

    private Jinja(ImmutableList<Node> body) {
        this.body = body;
    }

    /**
     * Reads a template.
     *
     * @throws UnsupportedModelException if the template uses a part of Jinja that is not supported
     */
    public static Jinja parse(String source) {
        return new Jinja(JinjaParser.parse(source));
    }

    /**
     * Runs the template.
     *
     * @throws CheckpointException if the template raises an error or uses what is not supported
     */
    public String render(Map<String, Object> variables) {
        Run run = new Run();
        Scope scope = new Scope(null, new HashMap<>(JinjaLibrary.GLOBALS));
        scope.values.putAll(variables);
        try {
            run.all(body, scope);
        } catch (StackOverflowError e) {
            throw unsupported("recursion without end");
        }
        return run.out.toString();
    }

    static UnsupportedModelException unsupported(String what) {
        return new UnsupportedModelException(
                "the model's chat template uses %s, which is not supported; write the prompt with its marks yourself and use --raw"
                        .formatted(what));
    }

    /** What is not there. */
    enum Nothing {
        /** Python's None. */
        NONE,
        /** A name or key that does not exist. */
        UNDEFINED
    }

    /** Something that can be called. */
    @FunctionalInterface
    interface Callable {
        Object call(List<Object> arguments, Map<String, Object> named);
    }

    // Statements

    sealed interface Node {}

    record Text(String text) implements Node {}

    record Output(Expression value) implements Node {}

    record If(ImmutableList<Branch> branches, ImmutableList<Node> otherwise) implements Node {}

    record Branch(Expression condition, ImmutableList<Node> body) {}

    record For(
            ImmutableList<String> names,
            Expression items,
            @Nullable Expression filter,
            ImmutableList<Node> body,
            ImmutableList<Node> otherwise)
            implements Node {}

    /** Sets a variable, or a field of a namespace. */
    record Set(String name, @Nullable String field, Expression value) implements Node {}

    record SetBlock(String name, ImmutableList<Node> body) implements Node {}

    record Macro(String name, ImmutableList<Parameter> parameters, ImmutableList<Node> body) implements Node {}

    record Parameter(String name, @Nullable Expression otherwise) {}

    record Jump(boolean out) implements Node {}

    // Expressions

    sealed interface Expression {}

    record Literal(Object value) implements Expression {}

    record Name(String name) implements Expression {}

    record ListOf(ImmutableList<Expression> items) implements Expression {}

    record MapOf(ImmutableMap<Expression, Expression> items) implements Expression {}

    /** {@code of.key} and {@code of[key]}. */
    record Get(Expression of, Expression key) implements Expression {}

    record Slice(
            Expression of,
            @Nullable Expression from,
            @Nullable Expression to,
            @Nullable Expression step) implements Expression {}

    record Call(Expression function, ImmutableList<Expression> arguments, ImmutableMap<String, Expression> named)
            implements Expression {}

    record Filter(
            Expression value, String name, ImmutableList<Expression> arguments, ImmutableMap<String, Expression> named)
            implements Expression {}

    record Test(Expression value, String name, ImmutableList<Expression> arguments) implements Expression {}

    record Not(Expression value) implements Expression {}

    record Negative(Expression value) implements Expression {}

    record And(Expression left, Expression right) implements Expression {}

    record Or(Expression left, Expression right) implements Expression {}

    record Binary(String operator, Expression left, Expression right) implements Expression {}

    record Conditional(
            Expression condition, Expression then, @Nullable Expression otherwise) implements Expression {}

    // Rendering

    private record Scope(@Nullable Scope outer, Map<String, Object> values) {
        Scope inner() {
            return new Scope(this, new HashMap<>());
        }

        Object get(String name) {
            for (Scope s = this; s != null; s = s.outer) {
                Object value = s.values.get(name);
                if (value != null) {
                    return value;
                }
            }
            return Nothing.UNDEFINED;
        }
    }

    /** How a body ended. */
    private enum End {
        NORMAL,
        BREAK,
        CONTINUE
    }

    private static final class Run {
        private StringBuilder out = new StringBuilder();
        private int steps;

        private void step() {
            if (++steps > MAX_STEPS) {
                throw unsupported("more than %d steps".formatted(MAX_STEPS));
            }
        }

        End all(List<Node> nodes, Scope scope) {
            for (Node node : nodes) {
                End end = one(node, scope);
                if (end != End.NORMAL) {
                    return end;
                }
            }
            return End.NORMAL;
        }

        private End one(Node node, Scope scope) {
            step();
            switch (node) {
                case Text text -> out.append(text.text);
                case Output output -> out.append(JinjaLibrary.text(eval(output.value, scope)));
                case If choice -> {
                    for (Branch branch : choice.branches) {
                        if (JinjaLibrary.truth(eval(branch.condition, scope))) {
                            return all(branch.body, scope);
                        }
                    }
                    return all(choice.otherwise, scope);
                }
                case For loop -> loop(loop, scope);
                case Set set -> set(set, scope);
                case SetBlock set -> scope.values.put(set.name, captured(set.body, scope.inner()));
                case Macro macro -> scope.values.put(macro.name, callable(macro, scope));
                case Jump jump -> {
                    return jump.out ? End.BREAK : End.CONTINUE;
                }
            }
            return End.NORMAL;
        }

        private void set(Set set, Scope scope) {
            Object value = eval(set.value, scope);
            if (set.field == null) {
                scope.values.put(set.name, value);
            } else if (scope.get(set.name) instanceof JinjaLibrary.Namespace namespace) {
                namespace.fields().put(set.field, value);
            } else {
                throw unsupported("an assignment to a field of %s, which is no namespace".formatted(set.name));
            }
        }

        private void loop(For loop, Scope scope) {
            List<Object> items = new ArrayList<>();
            for (Object item : JinjaLibrary.items(eval(loop.items, scope))) {
                if (loop.filter != null) {
                    Scope inner = scope.inner();
                    bind(loop.names, item, inner);
                    if (!JinjaLibrary.truth(eval(loop.filter, inner))) {
                        continue;
                    }
                }
                items.add(item);
            }
            if (items.isEmpty()) {
                all(loop.otherwise, scope);
                return;
            }
            for (int i = 0; i < items.size(); i++) {
                step();
                Scope inner = scope.inner();
                inner.values.put("loop", JinjaLibrary.loop(items, i));
                bind(loop.names, items.get(i), inner);
                if (all(loop.body, inner) == End.BREAK) {
                    return;
                }
            }
        }

        private static void bind(List<String> names, Object item, Scope scope) {
            if (names.size() == 1) {
                scope.values.put(names.getFirst(), item);
                return;
            }
            if (!(item instanceof List<?> parts) || parts.size() != names.size()) {
                throw unsupported("a loop that takes %s apart into %s".formatted(JinjaLibrary.text(item), names));
            }
            for (int i = 0; i < names.size(); i++) {
                scope.values.put(names.get(i), parts.get(i));
            }
        }

        private String captured(List<Node> nodes, Scope scope) {
            StringBuilder outer = out;
            out = new StringBuilder();
            all(nodes, scope);
            String text = out.toString();
            out = outer;
            return text;
        }

        private Callable callable(Macro macro, Scope scope) {
            return (arguments, named) -> {
                step();
                Scope inner = scope.inner();
                for (int i = 0; i < macro.parameters.size(); i++) {
                    Parameter parameter = macro.parameters.get(i);
                    Object value = i < arguments.size() ? arguments.get(i) : named.get(parameter.name);
                    if (value == null) {
                        value = parameter.otherwise == null ? Nothing.UNDEFINED : eval(parameter.otherwise, inner);
                    }
                    inner.values.put(parameter.name, value);
                }
                return captured(macro.body, inner);
            };
        }

        private List<Object> evalAll(List<Expression> expressions, Scope scope) {
            List<Object> values = new ArrayList<>();
            for (Expression expression : expressions) {
                values.add(eval(expression, scope));
            }
            return values;
        }

        private Map<String, Object> evalAll(Map<String, Expression> expressions, Scope scope) {
            Map<String, Object> values = new LinkedHashMap<>();
            expressions.forEach((name, expression) -> values.put(name, eval(expression, scope)));
            return values;
        }

        private Object evalOrNone(@Nullable Expression expression, Scope scope) {
            return expression == null ? Nothing.NONE : eval(expression, scope);
        }

        Object eval(Expression expression, Scope scope) {
            return switch (expression) {
                case Literal literal -> literal.value;
                case Name name -> scope.get(name.name);
                case ListOf list -> evalAll(list.items, scope);
                case MapOf map -> {
                    Map<String, Object> values = new LinkedHashMap<>();
                    map.items.forEach(
                            (key, value) -> values.put(JinjaLibrary.text(eval(key, scope)), eval(value, scope)));
                    yield values;
                }
                case Get get -> JinjaLibrary.get(eval(get.of, scope), eval(get.key, scope));
                case Slice slice ->
                    JinjaLibrary.slice(
                            eval(slice.of, scope),
                            evalOrNone(slice.from, scope),
                            evalOrNone(slice.to, scope),
                            evalOrNone(slice.step, scope));
                case Call call -> {
                    if (!(function(call.function, scope) instanceof Callable callable)) {
                        throw unsupported("a call of " + describe(call.function));
                    }
                    yield callable.call(evalAll(call.arguments, scope), evalAll(call.named, scope));
                }
                case Filter filter ->
                    JinjaLibrary.filter(
                            filter.name,
                            eval(filter.value, scope),
                            evalAll(filter.arguments, scope),
                            evalAll(filter.named, scope));
                case Test test -> JinjaLibrary.test(test.name, eval(test.value, scope), evalAll(test.arguments, scope));
                case Not not -> !JinjaLibrary.truth(eval(not.value, scope));
                case Negative negative -> JinjaLibrary.binary("-", 0L, eval(negative.value, scope));
                case And and -> {
                    Object left = eval(and.left, scope);
                    yield JinjaLibrary.truth(left) ? eval(and.right, scope) : left;
                }
                case Or or -> {
                    Object left = eval(or.left, scope);
                    yield JinjaLibrary.truth(left) ? left : eval(or.right, scope);
                }
                case Binary binary ->
                    JinjaLibrary.binary(binary.operator, eval(binary.left, scope), eval(binary.right, scope));
                case Conditional conditional -> {
                    if (JinjaLibrary.truth(eval(conditional.condition, scope))) {
                        yield eval(conditional.then, scope);
                    }
                    yield conditional.otherwise == null ? Nothing.UNDEFINED : eval(conditional.otherwise, scope);
                }
            };
        }

        /**
         * What is called. There is no clock for a template that asks, so that its text is the same every day; one that does
         * not ask gets the date, as from Transformers.
         */
        private Object function(Expression expression, Scope scope) {
            Object value = eval(expression, scope);
            return value == Nothing.UNDEFINED && expression instanceof Name name && name.name.equals("strftime_now")
                    ? (Callable) (arguments, _) -> JinjaLibrary.now(arguments)
                    : value;
        }

        private static String describe(Expression function) {
            return switch (function) {
                case Name name -> name.name;
                case Get get when get.key instanceof Literal key -> "the method " + key.value;
                default -> "a value";
            };
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Lists;
import dev.slipway.checkpoint.CheckpointException;
import dev.slipway.checkpoint.internal.Jinja.Callable;
import dev.slipway.checkpoint.internal.Jinja.Nothing;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/** What templates can do with values: Python's operators and methods, Jinja's filters and tests. */
final class JinjaLibrary {
    private static final JsonMapper JSON = JsonMapper.shared();

    /** A longer list than any conversation needs, shorter than what a bad {@code range} could ask for. */
    private static final int MAX_RANGE = 1_000_000;

    static final ImmutableMap<String, Object> GLOBALS = ImmutableMap.of(
            "namespace", (Callable) (_, named) -> new Namespace(new LinkedHashMap<>(named)),
            "raise_exception",
                    (Callable) (arguments, _) -> {
                        throw new CheckpointException(
                                "the model's chat template refuses this conversation: %s; change it, or use --raw"
                                        .formatted(arguments.isEmpty() ? "" : text(arguments.getFirst())));
                    },
            "range", (Callable) (arguments, _) -> range(arguments));

    /** What filters can be told by name; {@code map} hands on what it does not know. */
    private static final ImmutableMap<String, ImmutableSet<String>> NAMED = ImmutableMap.of(
            "default", ImmutableSet.of("default_value", "boolean"),
            "d", ImmutableSet.of("default_value", "boolean"),
            "join", ImmutableSet.of("d"),
            "map", ImmutableSet.of("attribute"));

    private JinjaLibrary() {}

    /** A mutable record, for values that outlive a loop's trip. */
    record Namespace(Map<String, Object> fields) {}

    // Values

    static boolean truth(Object value) {
        return switch (value) {
            case Boolean b -> b;
            case Nothing _ -> false;
            case String s -> !s.isEmpty();
            case Long n -> n != 0;
            case Double d -> d != 0;
            case List<?> l -> !l.isEmpty();
            case Map<?, ?> m -> !m.isEmpty();
            default -> true;
        };
    }

    static String text(Object value) {
        return switch (value) {
            case Boolean b -> b ? "True" : "False";
            case Nothing nothing -> nothing == Nothing.NONE ? "None" : "";
            case List<?> l -> l.stream().map(JinjaLibrary::repr).collect(Collectors.joining(", ", "[", "]"));
            case Map<?, ?> m ->
                m.entrySet().stream()
                        .map(e -> repr(e.getKey()) + ": " + repr(e.getValue()))
                        .collect(Collectors.joining(", ", "{", "}"));
            default -> value.toString();
        };
    }

    private static String repr(Object value) {
        if (!(value instanceof String s)) {
            return text(value);
        }
        String escaped = s.replace("\\", "\\\\")
                .replace("\n", "\\n")
                .replace("\t", "\\t")
                .replace("\r", "\\r");
        return escaped.contains("'") && !escaped.contains("\"")
                ? '"' + escaped + '"'
                : "'" + escaped.replace("'", "\\'") + "'";
    }

    static List<Object> items(Object value) {
        return switch (value) {
            case List<?> l -> new ArrayList<>(l);
            case Map<?, ?> m -> new ArrayList<>(m.keySet());
            case String s ->
                s.codePoints().mapToObj(c -> (Object) Character.toString(c)).toList();
            case Nothing nothing when nothing == Nothing.UNDEFINED -> List.of();
            default -> throw Jinja.unsupported("a loop over " + brief(value));
        };
    }

    static Object loop(List<Object> items, int index) {
        long size = items.size();
        Map<String, Object> loop = new LinkedHashMap<>();
        loop.put("index", index + 1L);
        loop.put("index0", (long) index);
        loop.put("revindex", size - index);
        loop.put("revindex0", size - index - 1);
        loop.put("first", index == 0);
        loop.put("last", index == size - 1);
        loop.put("length", size);
        loop.put("previtem", index > 0 ? items.get(index - 1) : Nothing.UNDEFINED);
        loop.put("nextitem", index < size - 1 ? items.get(index + 1) : Nothing.UNDEFINED);
        return loop;
    }

    static Object get(Object of, Object key) {
        Object found = switch (of) {
            case Map<?, ?> map -> map.get(key);
            case Namespace namespace -> namespace.fields.get(text(key));
            case List<?> list when key instanceof Long i -> element(list, i);
            case String s when key instanceof Long i -> element(items(s), i);
            case Nothing nothing
            when nothing == Nothing.UNDEFINED ->
                throw Jinja.unsupported("'%s' of something that is not given".formatted(text(key)));
            default -> null;
        };
        if (found != null) {
            return found;
        }
        return key instanceof String name ? method(of, name) : Nothing.UNDEFINED;
    }

    private static Object element(List<?> list, long index) {
        long at = index < 0 ? index + list.size() : index;
        return at >= 0 && at < list.size() ? Objects.requireNonNull(list.get((int) at)) : Nothing.UNDEFINED;
    }

    static Object slice(Object of, Object from, Object to, Object step) {
        List<Object> items = items(of);
        long stride = step instanceof Long s ? s : 1;
        if (stride != 1 && stride != -1) {
            throw Jinja.unsupported("a slice with step " + stride);
        }
        int size = items.size();
        List<Object> part;
        if (stride == 1) {
            int start = bound(from, 0, size);
            int end = bound(to, size, size);
            part = start < end ? items.subList(start, end) : List.of();
        } else if (from == Nothing.NONE && to == Nothing.NONE) {
            part = Lists.reverse(items);
        } else {
            throw Jinja.unsupported("a slice backwards with bounds");
        }
        return of instanceof String
                ? part.stream().map(JinjaLibrary::text).collect(Collectors.joining())
                : new ArrayList<>(part);
    }

    private static int bound(Object value, int otherwise, int size) {
        if (!(value instanceof Long n)) {
            return otherwise;
        }
        return Math.clamp(n < 0 ? n + size : n, 0, size);
    }

    private static List<Object> range(List<Object> arguments) {
        long from = arguments.size() > 1 ? integer(arguments.getFirst()) : 0;
        long to = integer(arguments.get(arguments.size() > 1 ? 1 : 0));
        if (arguments.size() > 2 || to - from > MAX_RANGE) {
            throw Jinja.unsupported("range" + text(arguments));
        }
        return LongStream.range(from, Math.max(from, to))
                .mapToObj(i -> (Object) i)
                .toList();
    }

    /** The time now, as C's {@code strftime} writes it in English. */
    static String now(List<Object> arguments) {
        if (arguments.size() != 1 || !(arguments.getFirst() instanceof String format)) {
            throw Jinja.unsupported("strftime_now" + text(arguments));
        }
        LocalDateTime now = LocalDateTime.now(ZoneId.systemDefault());
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < format.length(); i++) {
            char c = format.charAt(i);
            if (c != '%') {
                text.append(c);
                continue;
            }
            char code = ++i < format.length() ? format.charAt(i) : 0;
            String pattern = switch (code) {
                case 'd' -> "dd";
                case 'm' -> "MM";
                case 'b' -> "MMM";
                case 'B' -> "MMMM";
                case 'y' -> "yy";
                case 'Y' -> "yyyy";
                case 'j' -> "DDD";
                case 'a' -> "EEE";
                case 'A' -> "EEEE";
                case 'H' -> "HH";
                case 'I' -> "hh";
                case 'M' -> "mm";
                case 'S' -> "ss";
                case 'p' -> "a";
                case '%' -> "'%'";
                default -> throw Jinja.unsupported("strftime_now" + text(arguments));
            };
            text.append(DateTimeFormatter.ofPattern(pattern, Locale.US).format(now));
        }
        return text.toString();
    }

    private static long integer(Object value) {
        return switch (value) {
            case Long n -> n;
            case Double d -> d.longValue();
            case Boolean b -> b ? 1 : 0;
            case String s -> {
                try {
                    yield Long.parseLong(s.strip());
                } catch (NumberFormatException e) {
                    yield 0;
                }
            }
            default -> throw Jinja.unsupported(brief(value) + " as a number");
        };
    }

    // Operators

    static Object binary(String operator, Object left, Object right) {
        return switch (operator) {
            case "==" -> equal(left, right);
            case "!=" -> !equal(left, right);
            case "<" -> compare(left, right) < 0;
            case ">" -> compare(left, right) > 0;
            case "<=" -> compare(left, right) <= 0;
            case ">=" -> compare(left, right) >= 0;
            case "in" -> contains(right, left);
            case "~" -> text(left) + text(right);
            case "+" -> plus(left, right);
            default -> arithmetic(operator, left, right);
        };
    }

    private static Object plus(Object left, Object right) {
        if (left instanceof String a && right instanceof String b) {
            return a + b;
        }
        if (left instanceof List<?> a && right instanceof List<?> b) {
            List<Object> both = new ArrayList<>(a);
            both.addAll(b);
            return both;
        }
        return arithmetic("+", left, right);
    }

    private static Object arithmetic(String operator, Object left, Object right) {
        boolean divides = operator.equals("/") || operator.equals("//") || operator.equals("%");
        if (divides && right instanceof Number n && n.doubleValue() == 0) {
            throw Jinja.unsupported("a division by zero");
        }
        if (left instanceof Long a && right instanceof Long b) {
            return switch (operator) {
                case "+" -> a + b;
                case "-" -> a - b;
                case "*" -> a * b;
                case "/" -> (double) a / b;
                case "//" -> Math.floorDiv(a, b);
                default -> Math.floorMod(a, b);
            };
        }
        if (left instanceof Number a && right instanceof Number b && "+-*/".contains(operator)) {
            double x = a.doubleValue();
            double y = b.doubleValue();
            return switch (operator) {
                case "+" -> x + y;
                case "-" -> x - y;
                case "*" -> x * y;
                default -> x / y;
            };
        }
        throw Jinja.unsupported("%s %s %s".formatted(brief(left), operator, brief(right)));
    }

    private static boolean equal(Object left, Object right) {
        if (left instanceof Number a && right instanceof Number b) {
            return a.doubleValue() == b.doubleValue();
        }
        return left.equals(right);
    }

    private static int compare(Object left, Object right) {
        if (left instanceof Number a && right instanceof Number b) {
            return Double.compare(a.doubleValue(), b.doubleValue());
        }
        if (left instanceof String a && right instanceof String b) {
            return a.compareTo(b);
        }
        throw Jinja.unsupported("a comparison of %s and %s".formatted(brief(left), brief(right)));
    }

    private static boolean contains(Object container, Object item) {
        return switch (container) {
            case String s -> s.contains(text(item));
            case Map<?, ?> m -> m.containsKey(item);
            case List<?> l -> l.stream().anyMatch(x -> equal(Objects.requireNonNull(x), item));
            case Nothing nothing when nothing == Nothing.UNDEFINED -> false;
            default -> throw Jinja.unsupported("'in' of " + brief(container));
        };
    }

    // Methods

    private static Object method(Object of, String name) {
        return switch (of) {
            case String s -> stringMethod(s, name);
            case Map<?, ?> m ->
                switch (name) {
                    case "items" -> (Callable) (_, _) -> pairs(m);
                    case "keys" -> (Callable) (_, _) -> new ArrayList<Object>(m.keySet());
                    case "values" -> (Callable) (_, _) -> new ArrayList<Object>(m.values());
                    case "get" ->
                        (Callable) (arguments, _) -> {
                            Object value = m.get(arguments.getFirst());
                            return value != null ? value : arguments.size() > 1 ? arguments.get(1) : Nothing.NONE;
                        };
                    default -> Nothing.UNDEFINED;
                };
            default -> Nothing.UNDEFINED;
        };
    }

    private static List<Object> pairs(Map<?, ?> map) {
        List<Object> pairs = new ArrayList<>();
        map.forEach((key, value) -> pairs.add(List.of(key, value)));
        return pairs;
    }

    private static Object stringMethod(String s, String name) {
        return switch (name) {
            case "strip" -> method(name, 0, 1, arguments -> strip(s, arguments, true, true));
            case "lstrip" -> method(name, 0, 1, arguments -> strip(s, arguments, true, false));
            case "rstrip" -> method(name, 0, 1, arguments -> strip(s, arguments, false, true));
            case "upper" -> method(name, 0, 0, _ -> s.toUpperCase(Locale.ROOT));
            case "lower" -> method(name, 0, 0, _ -> s.toLowerCase(Locale.ROOT));
            case "capitalize" -> method(name, 0, 0, _ -> capitalized(s));
            case "startswith" -> method(name, 1, 1, arguments -> any(arguments.getFirst(), s::startsWith));
            case "endswith" -> method(name, 1, 1, arguments -> any(arguments.getFirst(), s::endsWith));
            case "replace" ->
                method(name, 2, 2, arguments -> s.replace(text(arguments.getFirst()), text(arguments.get(1))));
            case "split" -> method(name, 0, 2, arguments -> split(s, arguments));
            default -> Nothing.UNDEFINED;
        };
    }

    /** A method that takes its arguments by their places: others than it knows would change what it gives. */
    private static Callable method(String name, int least, int most, Function<List<Object>, Object> body) {
        return (arguments, named) -> {
            if (arguments.size() < least || arguments.size() > most || !named.isEmpty()) {
                throw Jinja.unsupported("the method %s with %s".formatted(name, arguments(arguments, named)));
            }
            return body.apply(arguments);
        };
    }

    private static String arguments(List<Object> arguments, Map<String, Object> named) {
        return named.isEmpty()
                ? "%d arguments".formatted(arguments.size())
                : "the argument " + named.keySet().iterator().next();
    }

    /** Whether a text, or any of several, is as a test wants it. */
    private static boolean any(Object wanted, Predicate<String> test) {
        return wanted instanceof List<?> several
                ? several.stream().anyMatch(one -> test.test(text(Objects.requireNonNull(one))))
                : test.test(text(wanted));
    }

    private static String strip(String s, List<Object> arguments, boolean left, boolean right) {
        String set = arguments.isEmpty() || arguments.getFirst() == Nothing.NONE ? null : text(arguments.getFirst());
        int start = 0;
        int end = s.length();
        while (left && start < end && strippable(s.charAt(start), set)) {
            start++;
        }
        while (right && end > start && strippable(s.charAt(end - 1), set)) {
            end--;
        }
        return s.substring(start, end);
    }

    /** Python's str.isspace, or one of a set. */
    private static boolean strippable(char c, @Nullable String set) {
        return set == null
                ? Character.isSpaceChar(c) || (c >= 9 && c <= 13) || (c >= 28 && c <= 31) || c == 0x85
                : set.indexOf(c) >= 0;
    }

    private static List<Object> split(String s, List<Object> arguments) {
        if (arguments.isEmpty() || arguments.getFirst() == Nothing.NONE) {
            String stripped = strip(s, List.of(), true, true);
            return stripped.isEmpty() ? List.of() : List.of((Object[]) stripped.split("\\s+"));
        }
        String by = text(arguments.getFirst());
        long most = arguments.size() > 1 ? integer(arguments.get(1)) : -1;
        List<Object> parts = new ArrayList<>();
        int at = 0;
        for (int i = s.indexOf(by);
                i >= 0 && !by.isEmpty() && (most < 0 || parts.size() < most);
                i = s.indexOf(by, at)) {
            parts.add(s.substring(at, i));
            at = i + by.length();
        }
        parts.add(s.substring(at));
        return parts;
    }

    private static String capitalized(String s) {
        return s.isEmpty()
                ? s
                : s.substring(0, 1).toUpperCase(Locale.ROOT) + s.substring(1).toLowerCase(Locale.ROOT);
    }

    // Filters and tests

    static Object filter(String name, Object value, List<Object> arguments, Map<String, Object> named) {
        ImmutableSet<String> known = NAMED.getOrDefault(name, ImmutableSet.of());
        boolean handsOn = name.equals("map") && !arguments.isEmpty();
        if (!handsOn && !known.containsAll(named.keySet())) {
            throw Jinja.unsupported("the filter '%s' with %s".formatted(name, named.keySet()));
        }
        return switch (name) {
            case "trim" -> strip(text(value), arguments, true, true);
            case "upper" -> text(value).toUpperCase(Locale.ROOT);
            case "lower" -> text(value).toLowerCase(Locale.ROOT);
            case "capitalize" -> capitalized(text(value));
            case "string", "safe" -> text(value);
            case "int" -> integer(value);
            case "list" -> items(value);
            case "items" -> value instanceof Map<?, ?> map ? pairs(map) : List.of();
            case "length", "count" ->
                (long) (value instanceof Map<?, ?> m ? m.size() : items(value).size());
            case "first" -> element(items(value), 0);
            case "last" -> element(items(value), -1);
            case "reverse" -> slice(value, Nothing.NONE, Nothing.NONE, -1L);
            case "join" ->
                items(value).stream()
                        .map(JinjaLibrary::text)
                        .collect(Collectors.joining(text(argument(arguments, 0, named, "d", ""))));
            case "replace" -> text(value).replace(text(arguments.getFirst()), text(arguments.get(1)));
            case "default", "d" -> {
                boolean absent = value == Nothing.UNDEFINED
                        || (truth(argument(arguments, 1, named, "boolean", false)) && !truth(value));
                yield absent ? argument(arguments, 0, named, "default_value", "") : value;
            }
            case "tojson" -> json(value);
            case "selectattr", "rejectattr" -> {
                boolean keep = name.equals("selectattr");
                yield items(value).stream()
                        .filter(item -> keep == attributePasses(item, arguments))
                        .collect(Collectors.toCollection(ArrayList::new));
            }
            case "map" -> {
                Object attribute = named.get("attribute");
                List<Object> mapped = new ArrayList<>();
                for (Object item : items(value)) {
                    mapped.add(
                            attribute != null
                                    ? get(item, attribute)
                                    : filter(
                                            text(arguments.getFirst()),
                                            item,
                                            arguments.subList(1, arguments.size()),
                                            named));
                }
                yield mapped;
            }
            default -> throw Jinja.unsupported("the filter '%s'".formatted(name));
        };
    }

    /** An argument by its place or its name. */
    private static Object argument(
            List<Object> arguments, int place, Map<String, Object> named, String name, Object otherwise) {
        return place < arguments.size() ? arguments.get(place) : named.getOrDefault(name, otherwise);
    }

    private static boolean attributePasses(Object item, List<Object> arguments) {
        Object attribute = get(item, arguments.getFirst());
        return arguments.size() == 1
                ? truth(attribute)
                : test(text(arguments.get(1)), attribute, arguments.subList(2, arguments.size()));
    }

    /** As Python's json.dumps: a space after colon and comma. */
    private static String json(Object value) {
        return switch (value) {
            case List<?> l -> l.stream().map(JinjaLibrary::json).collect(Collectors.joining(", ", "[", "]"));
            case Map<?, ?> m ->
                m.entrySet().stream()
                        .map(e -> json(text(e.getKey())) + ": " + json(e.getValue()))
                        .collect(Collectors.joining(", ", "{", "}"));
            case Nothing _ -> "null";
            default -> JSON.writeValueAsString(value);
        };
    }

    static boolean test(String name, Object value, List<Object> arguments) {
        return switch (name) {
            case "defined" -> value != Nothing.UNDEFINED;
            case "undefined" -> value == Nothing.UNDEFINED;
            case "none" -> value == Nothing.NONE;
            case "string" -> value instanceof String;
            case "number" -> value instanceof Number;
            case "boolean" -> value instanceof Boolean;
            case "true" -> value.equals(true);
            case "false" -> value.equals(false);
            case "mapping" -> value instanceof Map;
            case "iterable" -> value instanceof List || value instanceof Map || value instanceof String;
            case "sequence" -> value instanceof List || value instanceof Map || value instanceof String;
            case "equalto", "eq", "==" -> equal(value, arguments.getFirst());
            case "ne", "!=" -> !equal(value, arguments.getFirst());
            case "in" -> contains(arguments.getFirst(), value);
            case "odd" -> integer(value) % 2 != 0;
            case "even" -> integer(value) % 2 == 0;
            case "divisibleby" -> integer(value) % integer(arguments.getFirst()) == 0;
            default -> throw Jinja.unsupported("the test '%s'".formatted(name));
        };
    }

    private static String brief(Object value) {
        String text = repr(value);
        return text.length() > 40 ? text.substring(0, 40) + "..." : text;
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import com.google.common.collect.LinkedHashMultimap;
import com.google.common.collect.SetMultimap;
import com.google.common.primitives.Bytes;
import dev.slipway.runtime.UsageException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Programs on which plugins end the process while they compile, or wait for ever while they run. */
public final class ProgramGuards {

    /** {@code tensor<?x..>} outside a bound. */
    private static final Pattern UNBOUNDED = Pattern.compile("tensor<[^>\"]*\\?[^>\"]*>");

    /** The sizes of a type, each with its x. */
    private static final Pattern SIZES = Pattern.compile("tensor<([\\dx]+)x");

    /** A type of 129 dimensions or more. */
    private static final Pattern RANK = Pattern.compile("tensor<(?:[\\d?]+x){129}");

    private static final double MAX_ELEMENTS = 0x1p40;

    private static final int MAX_BRACKETS = 64;
    private static final int MAX_PARENTHESES = 1000;

    private static final Pattern FUNCTION = Pattern.compile("\\bfunc\\.func\\s+(public\\s+|private\\s+)?@([\\w.$-]+)");
    private static final Pattern CALL = Pattern.compile("\\bcall\\s+@([\\w.$-]+)");

    /** GSPMD's text with a count of parts below 1, or an argument of a function that is manual already. */
    private static final Pattern BAD_SHARDING = Pattern.compile(
            "\\{devices=\\[[^\\]]*-\\d[^}]*}|%\\w+: tensor<[^>]*> \\{[^}\"]*mhlo\\.sharding = \"\\{manual}\"");

    /** A layout that is asked for by name, up to its tiles. */
    private static final Pattern LAYOUT = Pattern.compile("mhlo\\.layout_mode = \"\\{([-\\d, ]+)[:}]");

    /** An argument of a function that is to be computed somewhere. */
    private static final Pattern COMPUTED_ARGUMENT =
            Pattern.compile("%\\w+: tensor<[^>]*> \\{[^%()]*?_xla_compute_type[^,}]*");

    /** The opcodes of instructions that wait to be fed, or for their array to be taken, as field 2 of XLA's proto. */
    private static final Map<String, byte[]> FEEDS = Map.of("infeed", opcode("infeed"), "outfeed", opcode("outfeed"));

    private ProgramGuards() {}

    /**
     * Refuses such a program.
     *
     * @throws UsageException.BadArgument with the place and the remedy
     */
    public static void check(String text) {
        nesting(text);
        if (RANK.matcher(text).find()) {
            throw new UsageException.BadArgument(
                    "the program has an array of more than 128 dimensions, at which compilers may not end: reshape it");
        }
        if (text.indexOf('?') >= 0) {
            dimensions(text);
        }
        if (text.contains("custom_call")) {
            CustomCallGuards.check(text);
        }
        if (text.contains("mhlo.sharding")) {
            Matcher sharding = BAD_SHARDING.matcher(text);
            if (sharding.find()) {
                throw new UsageException.BadArgument("the program has the sharding " + sharding.group()
                        + ", at which plugins abort: parts are 1 or more, and arguments of the program are not manual");
            }
        }
        if (text.contains("mhlo.layout_mode")) {
            layouts(text);
        }
        if (text.contains("_xla_compute_type")) {
            Matcher argument = COMPUTED_ARGUMENT.matcher(text);
            if (argument.find()) {
                throw new UsageException.BadArgument("the program has the argument " + argument.group()
                        + ", at which plugins abort: the attribute belongs to operations, not to arguments");
            }
        }
        if (text.contains("call @") || text.contains("private")) {
            functions(text);
        }
    }

    /** Compilers descend by recursion, on the caller's stack: 100 ifs within each other end the process on a Java thread's 1 MiB. */
    private static void nesting(String text) {
        int brackets = 0;
        int parentheses = 0;
        for (int i = 0; i < text.length(); i++) {
            switch (text.charAt(i)) {
                case '"' -> i = endOfString(text, i);
                case '/' -> {
                    if (text.startsWith("//", i)) {
                        int end = text.indexOf('\n', i);
                        i = end < 0 ? text.length() : end;
                    }
                }
                case '{', '[' -> brackets++;
                case '}', ']' -> brackets--;
                case '<' -> brackets += text.startsWith("<=", i) ? 0 : 1;
                case '>' -> brackets -= i > 0 && (text.charAt(i - 1) == '-' || text.charAt(i - 1) == '=') ? 0 : 1;
                case '(' -> parentheses++;
                case ')' -> parentheses--;
                default -> {}
            }
            if (brackets > MAX_BRACKETS || parentheses > MAX_PARENTHESES) {
                throw new UsageException.BadArgument("the program is nested more deeply than " + MAX_BRACKETS
                        + " regions, types and attributes, or " + MAX_PARENTHESES
                        + " parentheses, at which plugins overflow the stack: put inner regions into functions");
            }
        }
    }

    private static int endOfString(String text, int start) {
        int i = start + 1;
        while (i < text.length() && text.charAt(i) != '"') {
            i += text.charAt(i) == '\\' ? 2 : 1;
        }
        return i;
    }

    private static void layouts(String text) {
        Matcher layout = LAYOUT.matcher(text);
        while (layout.find()) {
            String[] given = layout.group(1).split(",", -1);
            Set<String> wanted = new HashSet<>();
            for (int dimension = 0; dimension < given.length; dimension++) {
                wanted.add(String.valueOf(dimension));
            }
            for (String dimension : given) {
                if (!wanted.remove(dimension.strip())) {
                    throw new UsageException.BadArgument("the program has " + layout.group()
                            + "..., at which plugins end the process: a layout has each dimension from 0 to "
                            + (given.length - 1) + " once, the innermost first");
                }
            }
        }
    }

    private static byte[] opcode(String name) {
        return ("\022" + (char) name.length() + name).getBytes(StandardCharsets.ISO_8859_1);
    }

    /**
     * Refuses a program that waits for the host's other end of a feed: PJRT has no function for it.
     *
     * @param proto a serialized HLO module
     * @throws UsageException.BadArgument if it has an infeed or an outfeed
     */
    public static void checkFeeds(String name, byte[] proto) {
        FEEDS.forEach((opcode, bytes) -> {
            if (Bytes.indexOf(proto, bytes) >= 0) {
                throw new UsageException.BadArgument("'" + name + "' has an " + opcode
                        + ", whose other end nobody serves, so that it would wait for ever: make the array an argument or a"
                        + " result, or use a custom call with a handler in Java");
            }
        });
    }

    /**
     * Refuses arrays that no CPU holds: dividing the work on one up, XLA divides by zero.
     *
     * @throws UsageException.BadArgument if the text has a type of more than 2^40 elements
     */
    public static void checkSizes(String text) {
        Matcher type = SIZES.matcher(text);
        while (type.find()) {
            double elements = 1;
            for (String size : type.group(1).split("x", -1)) {
                elements *= size.isEmpty() ? 1 : Double.parseDouble(size);
            }
            if (elements >= MAX_ELEMENTS) {
                throw new UsageException.BadArgument("the program has an array of type " + type.group()
                        + "..., which no CPU holds, and at which the plugin ends the process");
            }
        }
    }

    private static void dimensions(String text) {
        Matcher matcher = UNBOUNDED.matcher(text);
        while (matcher.find()) {
            // A bound is given behind the shape: tensor<?xf32, #stablehlo.bounds<4>>
            if (!matcher.group().contains("#")) {
                throw new UsageException.BadArgument("the program has the dynamic type " + matcher.group()
                        + ", at which plugins abort: give the dimension a size, or a bound");
            }
        }
    }

    private static void functions(String text) {
        SetMultimap<String, String> calls = LinkedHashMultimap.create();
        Matcher function = FUNCTION.matcher(text);
        String name = "";
        int body = 0;
        while (function.find()) {
            addCalls(calls, name, text, body, function.start());
            name = function.group(2);
            body = function.end();
            if (name.equals("main")
                    && "private".equals(String.valueOf(function.group(1)).strip())) {
                throw new UsageException.BadArgument(
                        "the program's @main is private: make it public, and give it a body,"
                                + " since plugins read wildly where it has none");
            }
        }
        addCalls(calls, name, text, body, text.length());
        for (String caller : calls.keySet()) {
            follow(calls, caller, new LinkedHashSet<>(), new HashSet<>());
        }
    }

    private static void addCalls(SetMultimap<String, String> calls, String caller, String text, int from, int to) {
        if (text.indexOf("call @", from) < 0) {
            return;
        }
        Matcher call = CALL.matcher(text).region(from, to);
        while (call.find()) {
            calls.put(caller, call.group(1));
        }
    }

    private static void follow(SetMultimap<String, String> calls, String name, Set<String> path, Set<String> done) {
        if (!path.add(name)) {
            throw new UsageException.BadArgument("the program's function @" + name + " calls itself, by way of " + path
                    + ": plugins inline calls until the stack ends, so use a while loop");
        }
        for (String callee : calls.get(name)) {
            if (!done.contains(callee)) {
                follow(calls, callee, path, done);
            }
        }
        path.remove(name);
        done.add(name);
    }
}

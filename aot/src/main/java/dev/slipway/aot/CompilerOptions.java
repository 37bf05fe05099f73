// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.lowering.Form;
import dev.slipway.runtime.CompileOptions;
import dev.slipway.runtime.StatusException;
import dev.slipway.topology.Platform;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * Options of a compiler by name: strings, booleans, longs and doubles. In the order of names, so that equal options make
 * equal jobs.
 *
 * @param suggested what suits a form on a platform; a plugin that does not know one of them goes without it
 * @param given what the caller gives, over what is suggested
 */
record CompilerOptions(Map<String, Object> suggested, Map<String, Object> given) {
    private static final String NO_SUCH = "No such compile option: '";
    private static final String NO_VALUE = "into flag ";

    /** The compiler's own. */
    static final CompilerOptions NONE = new CompilerOptions(Map.of(), Map.of());

    CompilerOptions {
        suggested = Collections.unmodifiableMap(new TreeMap<>(suggested));
        given = Collections.unmodifiableMap(new TreeMap<>(given));
    }

    /** What is given over what suits a form on a platform; whole numbers of any type are longs. */
    static CompilerOptions of(Platform platform, Form form, Map<String, ?> given) {
        Map<String, Object> normalised = new TreeMap<>();
        given.forEach((name, value) -> normalised.put(
                name,
                value instanceof Integer || value instanceof Short || value instanceof Byte
                        ? Long.valueOf(((Number) value).longValue())
                        : value));
        return new CompilerOptions(InferenceRunner.compilerOptionsFor(platform, form), normalised);
    }

    /**
     * For one partition on each device, devices in mesh order.
     *
     * @throws AotException if a value is of no type that an option can have
     */
    CompileOptions on(int[] deviceIds) {
        Map<String, Object> options = new TreeMap<>(suggested);
        options.putAll(given);
        return CompileOptions.of(o -> {
            o.numPartitions(deviceIds.length).deviceAssignment(deviceIds);
            options.forEach((name, value) -> {
                switch (value) {
                    case String text -> o.compilerOption(name, text);
                    case Boolean flag -> o.compilerOption(name, flag);
                    case Long number -> o.compilerOption(name, number);
                    case Double number -> o.compilerOption(name, number);
                    default ->
                        throw new AotException(
                                "compiler option %s has the value %s of %s; a string, a boolean or a number is expected"
                                        .formatted(name, value, value.getClass().getSimpleName()));
                }
            });
        });
    }

    /** What a compiler gave, and the options that it knew. */
    record Accepted<T>(T result, CompilerOptions options) {}

    /** Compiles for devices with these options, but for those among the suggested that the compiler does not know. */
    <T> Accepted<T> compile(int[] deviceIds, Function<CompileOptions, T> compiler) {
        try {
            return new Accepted<>(compiler.apply(on(deviceIds)), this);
        } catch (StatusException.InvalidArgument e) {
            return unknown(e).orElseThrow(() -> explained(e)).compile(deviceIds, compiler);
        }
    }

    /** These options without the suggested one that a compiler says it does not know. */
    private Optional<CompilerOptions> unknown(StatusException.InvalidArgument refusal) {
        String message = String.valueOf(refusal.getMessage());
        return suggested.keySet().stream()
                .filter(name -> !given.containsKey(name) && message.contains(NO_SUCH + name + "'"))
                .findFirst()
                .map(name -> {
                    Map<String, Object> known = new TreeMap<>(suggested);
                    known.remove(name);
                    return new CompilerOptions(known, given);
                });
    }

    /** A refusal, with a remedy where it is an option's that the caller gave. */
    private StatusException explained(StatusException.InvalidArgument refusal) {
        String message = String.valueOf(refusal.getMessage()).strip();
        for (Map.Entry<String, Object> option : given.entrySet()) {
            if (message.contains(NO_SUCH + option.getKey() + "'")) {
                return StatusException.of(
                        refusal.code(),
                        "the plugin has no compiler option " + option.getKey()
                                + "; check its spelling, or leave it out (" + message + ")",
                        refusal.payloads());
            }
            if (message.contains(NO_VALUE + option.getKey())) {
                return StatusException.of(
                        refusal.code(),
                        "compiler option %s has the value %s; one of its own type is expected, e.g. true or false for a switch (%s)"
                                .formatted(option.getKey(), option.getValue(), message),
                        refusal.payloads());
            }
        }
        return refusal;
    }
}

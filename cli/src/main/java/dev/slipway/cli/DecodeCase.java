// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableIntArray;
import dev.slipway.lowering.BeamSearch;
import dev.slipway.lowering.BeamSearch.BrevityPenalty;
import dev.slipway.lowering.BeamSearch.PrefixMerge;
import dev.slipway.lowering.LogitsModifier;
import dev.slipway.lowering.SampleDecode;
import dev.slipway.lowering.StopCondition;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * One case of a batch file: {@code {"entry", "key", "prefix", "options"}}. The options of a sample decode are {@code
 * num_decodes}, {@code logits_modifier} and {@code stop}; one with {@code brevity_penalty} or
 * {@code prefix_merger} ({@code {"blank_id"}}), or without a key, is a beam search.
 *
 * @param method which of AXLearn's methods, and how
 * @param key {@code uint32[4]}
 * @param prefix token ids, rows of one width
 */
record DecodeCase(Method method, int[] key, int[][] prefix) {
    private static final Set<String> SAMPLE_OPTIONS =
            Set.of("num_decodes", "logits_modifier", "stop", "pad_id", "eos_id");
    private static final Set<String> BEAM_OPTIONS =
            Set.of("num_decodes", "brevity_penalty", "prefix_merger", "pad_id", "eos_id");

    /** What a case asks for. */
    sealed interface Method {
        /** What stands behind prompts. */
        int padId();

        /** A sample decode. */
        record Sample(SampleDecode options) implements Method {
            @Override
            public int padId() {
                return options.padId();
            }
        }

        /** A beam search. */
        record Beam(BeamSearch options) implements Method {
            @Override
            public int padId() {
                return options.padId();
            }
        }
    }

    int rows() {
        return prefix.length;
    }

    int width() {
        return prefix[0].length;
    }

    /**
     * Reads a case.
     *
     * @param vocabulary of the model; tokens are below it
     * @param padId the model's, where the case has none
     * @param eosId the model's, where the case has none
     * @throws BatchException if it is none; the message names the place, what is there and what was expected
     */
    static DecodeCase read(JsonNode json, int vocabulary, int padId, int eosId) {
        if (!json.isObject()) {
            throw new BatchException("a case is an object with entry, key, prefix and options, not " + brief(json));
        }
        JsonNode options = json.path("options");
        if (!options.isMissingNode() && !options.isNull() && !options.isObject()) {
            throw new BatchException("options is %s; an object is expected".formatted(brief(options)));
        }
        SampleDecode.Entry entry = entry(json);
        boolean beam = options.has("brevity_penalty")
                || options.has("prefix_merger")
                || !(json.has("key") || options.has("logits_modifier") || options.has("stop"));
        known(options, beam ? BEAM_OPTIONS : SAMPLE_OPTIONS, "options");
        int pad = integer(options, "pad_id", -1, vocabulary - 1, padId);
        int eos = integer(options, "eos_id", 0, vocabulary - 1, eosId);
        int decodes = integer(options, "num_decodes", 1, 1 << 16, 1);
        Method method = beam
                ? new Method.Beam(new BeamSearch(
                        decodes,
                        penalty(options.path("brevity_penalty")),
                        eos,
                        pad,
                        merge(options.path("prefix_merger"))))
                : new Method.Sample(new SampleDecode(
                        entry,
                        decodes,
                        modifiers(options.path("logits_modifier")),
                        absent(options.path("stop"))
                                ? StopCondition.token(eos)
                                : stop(options.path("stop"), "options.stop"),
                        pad));
        return new DecodeCase(
                method,
                beam && !json.has("key") ? new int[4] : key(json.path("key")),
                prefix(json.path("prefix"), pad, vocabulary));
    }

    private static SampleDecode.Entry entry(JsonNode json) {
        String entry = json.hasNonNull("entry") ? json.path("entry").asString() : "runner";
        return switch (entry) {
            case "runner" -> SampleDecode.Entry.RUNNER;
            case "model" -> SampleDecode.Entry.MODEL;
            default -> throw new BatchException("entry is \"%s\"; runner or model is expected".formatted(entry));
        };
    }

    private static int[] key(JsonNode json) {
        if (!json.isArray() || json.size() != 4) {
            throw new BatchException("key is %s; four words from 0 to 4294967295 are expected".formatted(brief(json)));
        }
        int[] key = new int[4];
        for (int i = 0; i < 4; i++) {
            JsonNode word = json.get(i);
            if (!word.isIntegralNumber() || !word.canConvertToLong() || word.longValue() >>> 32 != 0) {
                throw new BatchException(
                        "key[%d] is %s; a word from 0 to 4294967295 is expected".formatted(i, brief(word)));
            }
            key[i] = (int) word.longValue();
        }
        return key;
    }

    private static int[][] prefix(JsonNode json, int pad, int vocabulary) {
        if (!json.isArray()
                || json.isEmpty()
                || !json.get(0).isArray()
                || json.get(0).isEmpty()) {
            throw new BatchException(
                    "prefix is %s; rows of token ids, all of one width, are expected".formatted(brief(json)));
        }
        int width = json.get(0).size();
        int[][] prefix = new int[json.size()][];
        for (int b = 0; b < prefix.length; b++) {
            JsonNode row = json.get(b);
            if (!row.isArray() || row.size() != width) {
                throw new BatchException("prefix[%d] is %s; %d token ids as in the first row are expected"
                        .formatted(b, brief(row), width));
            }
            prefix[b] = tokens(
                            row,
                            "prefix[" + b + "]",
                            Math.min(0, pad),
                            vocabulary - 1,
                            "the vocabulary is 0 to " + (vocabulary - 1))
                    .toArray();
        }
        return prefix;
    }

    private static ImmutableList<LogitsModifier> modifiers(JsonNode json) {
        if (absent(json)) {
            return ImmutableList.of();
        }
        if (!json.isArray()) {
            throw new BatchException(
                    "logits_modifier is %s; null or a list of steps is expected".formatted(brief(json)));
        }
        List<LogitsModifier> modifiers = new ArrayList<>();
        for (JsonNode step : json.values()) {
            modifiers.add(modifier(step));
        }
        return ImmutableList.copyOf(modifiers);
    }

    private static LogitsModifier modifier(JsonNode step) {
        return switch (type(step, "logits_modifier")) {
            case "temperature" -> {
                known(step, Set.of("type", "value"), "temperature");
                yield new LogitsModifier.Temperature(float32(step, "value"));
            }
            case "top_k" -> {
                known(step, Set.of("type", "k", "break_ties"), "top_k");
                int k = integer(step, "k", 1, Integer.MAX_VALUE, null);
                String ties =
                        step.hasNonNull("break_ties") ? step.path("break_ties").asString() : "all";
                yield switch (ties) {
                    case "all" -> new LogitsModifier.TopK(k);
                    case String t when t.equals("smallest_index") && k == 1 -> new LogitsModifier.Greedy();
                    default ->
                        throw new BatchException(
                                "top_k breaks ties by %s with k = %d; \"all\", or \"smallest_index\" with k = 1, is expected"
                                        .formatted(ties, k));
                };
            }
            case "top_p" -> {
                known(step, Set.of("type", "p"), "top_p");
                yield new LogitsModifier.TopP(float32(step, "p"));
            }
            default ->
                throw new BatchException("logits_modifier has a step %s; temperature, top_k or top_p is expected"
                        .formatted(brief(step)));
        };
    }

    private static StopCondition stop(JsonNode json, String where) {
        return switch (type(json, where)) {
            case "subsequences" -> {
                known(json, Set.of("type", "sequences"), where);
                ImmutableList.Builder<ImmutableIntArray> sequences = ImmutableList.builder();
                for (JsonNode sequence :
                        list(json.path("sequences"), where + ".sequences").values()) {
                    // As the reference takes them: one that the vocabulary has not is never met.
                    sequences.add(tokens(
                            list(sequence, where + ".sequences"),
                            where + ".sequences",
                            -1,
                            Integer.MAX_VALUE,
                            "a token's id, or -1 for any, is expected"));
                }
                yield new StopCondition.Subsequences(sequences.build());
            }
            case "max_length" -> {
                known(json, Set.of("type", "n"), where);
                yield new StopCondition.MaxLength(integer(json, "n", 0, Integer.MAX_VALUE, null));
            }
            case "any" -> {
                known(json, Set.of("type", "conditions"), where);
                ImmutableList.Builder<StopCondition> conditions = ImmutableList.builder();
                for (JsonNode condition :
                        list(json.path("conditions"), where + ".conditions").values()) {
                    conditions.add(stop(condition, where + ".conditions"));
                }
                yield new StopCondition.Any(conditions.build());
            }
            default ->
                throw new BatchException(
                        "%s is %s; its type should be subsequences, max_length or any".formatted(where, brief(json)));
        };
    }

    private static @Nullable PrefixMerge merge(JsonNode json) {
        if (absent(json)) {
            return null;
        }
        known(json, Set.of("blank_id"), "prefix_merger");
        return new PrefixMerge(integer(json, "blank_id", -1, Integer.MAX_VALUE, null));
    }

    private static BrevityPenalty penalty(JsonNode json) {
        if (absent(json)) {
            return BrevityPenalty.NONE;
        }
        String type = type(json, "brevity_penalty");
        known(json, Set.of("type", "alpha"), "brevity_penalty");
        double alpha = float32(json, "alpha");
        return switch (type) {
            case "t5" -> new BrevityPenalty(BrevityPenalty.Kind.T5, alpha);
            case "hf" -> new BrevityPenalty(BrevityPenalty.Kind.HF, alpha);
            default -> throw new BatchException("brevity_penalty is \"%s\"; t5 or hf is expected".formatted(type));
        };
    }

    private static boolean absent(JsonNode json) {
        return json.isMissingNode() || json.isNull();
    }

    private static String type(JsonNode json, String where) {
        if (!json.isObject() || !json.path("type").isString()) {
            throw new BatchException("%s has %s; an object with a \"type\" is expected".formatted(where, brief(json)));
        }
        return json.path("type").stringValue();
    }

    private static void known(JsonNode json, Set<String> names, String where) {
        for (String name : json.propertyNames()) {
            if (!names.contains(name)) {
                throw new BatchException("%s has \"%s\"; it takes %s"
                        .formatted(where, name, names.stream().sorted().toList()));
            }
        }
    }

    private static JsonNode list(JsonNode json, String where) {
        if (!json.isArray() || json.isEmpty()) {
            throw new BatchException("%s is %s; a list that is not empty is expected".formatted(where, brief(json)));
        }
        return json;
    }

    private static ImmutableIntArray tokens(JsonNode json, String where, int least, int greatest, String expected) {
        ImmutableIntArray.Builder ids = ImmutableIntArray.builder(json.size());
        for (JsonNode token : json.values()) {
            if (!token.isIntegralNumber()
                    || !token.canConvertToInt()
                    || token.intValue() < least
                    || token.intValue() > greatest) {
                throw new BatchException("%s has the token %s; %s".formatted(where, brief(token), expected));
            }
            ids.add(token.intValue());
        }
        return ids.build();
    }

    private static int integer(JsonNode json, String name, int least, int greatest, @Nullable Integer otherwise) {
        JsonNode value = json.path(name);
        if (absent(value) && otherwise != null) {
            return otherwise;
        }
        if (!value.isIntegralNumber()
                || !value.canConvertToInt()
                || value.intValue() < least
                || value.intValue() > greatest) {
            throw new BatchException("%s is %s; a whole number from %d to %d is expected"
                    .formatted(name, brief(value), least, greatest));
        }
        return value.intValue();
    }

    /** A number that programs take as float32; one that would become infinite or 0 there is another number. */
    private static float float32(JsonNode json, String name) {
        JsonNode value = json.path(name);
        if (!value.isNumber()) {
            throw new BatchException("%s is %s; a number is expected".formatted(name, brief(value)));
        }
        float rounded = (float) value.decimalValue().doubleValue();
        if (!Float.isFinite(rounded)) {
            throw new BatchException("%s is %s; a number that float32 holds, up to %s, is expected"
                    .formatted(name, brief(value), Float.MAX_VALUE));
        }
        if (rounded == 0 && value.decimalValue().signum() != 0) {
            throw new BatchException("%s is %s; 0 or a number that float32 holds, from %s, is expected"
                    .formatted(name, brief(value), Float.MIN_VALUE));
        }
        return rounded;
    }

    private static String brief(JsonNode json) {
        String text = json.isMissingNode() ? "missing" : json.toString();
        return text.length() > 60 ? text.substring(0, 57) + "..." : text;
    }
}

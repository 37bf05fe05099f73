// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableIntArray;
import dev.slipway.checkpoint.CheckpointException;
import dev.slipway.checkpoint.UnsupportedModelException;
import dev.slipway.checkpoint.internal.Bpe.Unknown;
import dev.slipway.checkpoint.internal.BpeTokenizer.Frame;
import dev.slipway.checkpoint.internal.TextPipeline.Behaviour;
import dev.slipway.checkpoint.internal.TextPipeline.Decoding;
import dev.slipway.checkpoint.internal.TextPipeline.Decoding.LeadingSpace;
import dev.slipway.checkpoint.internal.TextPipeline.Splitter;
import java.text.Normalizer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.stream.IntStream;
import tools.jackson.databind.JsonNode;

/** Reads {@code tokenizer.json}, as Hugging Face's tokenizers library writes it, for BPE models. */
final class TokenizerJson {
    /** More ids than any vocabulary has, few enough that a damaged one does not fill the memory. */
    private static final int MAX_SIZE = 10_000_000;

    private static final Pattern PROPERTY = Pattern.compile("\\\\([pP])\\{(\\w{3,})}");

    /** What Oniguruma and Java both take and understand differently: {@code \\h}, POSIX brackets, {@code {2,3}+}. */
    private static final Pattern OTHERWISE_MEANT = Pattern.compile("\\\\[hH]|\\[:\\^?\\w+:]|\\{(?!1,)[\\d,]+}\\+");

    private final Json json;

    private TokenizerJson(Json json) {
        this.json = json;
    }

    static BpeTokenizer read(Json json) {
        return new TokenizerJson(json).tokenizer();
    }

    private BpeTokenizer tokenizer() {
        Json model = json.child("model").orElseThrow(() -> json.missing("model"));
        String type = model.string("type").orElse("BPE");
        if (!type.equals("BPE")) {
            throw unsupported("a model of type " + type + " (BPE is supported)");
        }
        for (String key : List.of("continuing_subword_prefix", "end_of_word_suffix")) {
            if (!model.string(key).orElse("").isEmpty()) {
                throw unsupported(key);
            }
        }
        List<Splitter> splitters = new ArrayList<>();
        json.child("pre_tokenizer").ifPresent(pre -> preTokenizer(pre, splitters));
        List<UnaryOperator<String>> normalizers = new ArrayList<>();
        json.child("normalizer").ifPresent(normalizer -> normalizer(normalizer, normalizers));
        TextPipeline pipeline =
                new TextPipeline(ImmutableList.copyOf(normalizers), ImmutableList.copyOf(splitters), decoding());
        Vocabulary vocabulary = vocabulary(model, pipeline);
        Unknown unknown = new Unknown(
                model.string("unk_token").map(vocabulary::idOrNone).orElse(-1),
                model.flag("byte_fallback").orElse(false),
                model.flag("fuse_unk").orElse(false));
        Bpe bpe = Bpe.merging(
                vocabulary,
                merges(model, vocabulary),
                model.flag("ignore_merges").orElse(false),
                unknown);
        return new BpeTokenizer(
                vocabulary,
                pipeline,
                bpe,
                json.child("post_processor").map(this::frame).orElse(Frame.NONE));
    }

    // Model

    private Vocabulary vocabulary(Json model, TextPipeline pipeline) {
        Json vocab = model.child("vocab").orElseThrow(() -> model.missing("vocab"));
        List<String> tokens = new ArrayList<>(vocab.node().size());
        BitSet learned = new BitSet();
        for (Map.Entry<String, JsonNode> entry : vocab.node().properties()) {
            int id = vocab.requiredInteger(entry.getKey());
            put(tokens, id, entry.getKey());
            learned.set(id);
        }
        ImmutableList.Builder<AddedToken> added = ImmutableList.builder();
        for (Json token : json.children("added_tokens")) {
            int id = token.requiredInteger("id");
            String content = token.requiredString("content");
            put(tokens, id, content);
            boolean normalized = token.flag("normalized").orElse(false);
            String sought = normalized ? pipeline.normalize(content) : content;
            if (!sought.isEmpty()) {
                added.add(new AddedToken(
                        id,
                        sought,
                        token.flag("special").orElse(false),
                        token.flag("single_word").orElse(false),
                        token.flag("lstrip").orElse(false),
                        token.flag("rstrip").orElse(false),
                        normalized));
            }
        }
        return Vocabulary.of(json.file(), tokens, added.build(), learned::get);
    }

    private void put(List<String> tokens, int id, String token) {
        if (id < 0 || id >= MAX_SIZE) {
            throw new CheckpointException("%s gives token '%s' the id %d, 0 to %d are possible; get the file again"
                    .formatted(json.file(), token, id, MAX_SIZE));
        }
        if (id >= tokens.size()) {
            tokens.addAll(Collections.nCopies(id + 1 - tokens.size(), ""));
        }
        tokens.set(id, token);
    }

    private static List<List<String>> merges(Json model, Vocabulary vocabulary) {
        List<List<String>> merges = new ArrayList<>();
        for (JsonNode merge : model.list("merges")) {
            if (merge.isString()) {
                merges.add(Bpe.halves(vocabulary, merge.stringValue()));
            } else if (merge.isArray()
                    && merge.size() == 2
                    && merge.get(0).isString()
                    && merge.get(1).isString()) {
                merges.add(List.of(merge.get(0).stringValue(), merge.get(1).stringValue()));
            } else {
                throw model.wrong("merges", merge, "pairs of tokens");
            }
        }
        return merges;
    }

    // Before BPE

    private void normalizer(Json normalizer, List<UnaryOperator<String>> to) {
        String type = normalizer.requiredString("type");
        switch (type) {
            case "Sequence" -> normalizer.children("normalizers").forEach(one -> normalizer(one, to));
            case "NFC" -> to.add(text -> Normalizer.normalize(text, Normalizer.Form.NFC));
            case "NFD" -> to.add(text -> Normalizer.normalize(text, Normalizer.Form.NFD));
            case "NFKC" -> to.add(text -> Normalizer.normalize(text, Normalizer.Form.NFKC));
            case "NFKD" -> to.add(text -> Normalizer.normalize(text, Normalizer.Form.NFKD));
            case "Strip" -> {
                boolean left = normalizer.flag("strip_left").orElse(true);
                boolean right = normalizer.flag("strip_right").orElse(true);
                to.add(text -> stripped(text, left, right));
            }
            case "Lowercase" -> to.add(TokenizerJson::lowercase);
            case "Prepend" -> {
                String prefix = normalizer.requiredString("prepend");
                to.add(text -> text.isEmpty() ? text : prefix + text);
            }
            case "Replace" -> {
                Pattern pattern = pattern(normalizer);
                String content = Matcher.quoteReplacement(normalizer.requiredString("content"));
                to.add(text -> pattern.matcher(text).replaceAll(content));
            }
            default -> throw unsupported("a normalizer of type " + type);
        }
    }

    private static String stripped(String text, boolean left, boolean right) {
        int from = left ? TextPipeline.spacesAfter(text, 0) : 0;
        int to = right ? TextPipeline.spacesBefore(text, text.length(), from) : text.length();
        return text.substring(from, to);
    }

    /** Character by character, unlike {@link String#toLowerCase}, which looks at sigma's neighbours. */
    private static String lowercase(String text) {
        StringBuilder lower = new StringBuilder(text.length());
        text.codePoints().forEach(c -> lower.append(Character.toString(c).toLowerCase(Locale.ROOT)));
        return lower.toString();
    }

    private void preTokenizer(Json pre, List<Splitter> to) {
        String type = pre.requiredString("type");
        switch (type) {
            case "Sequence" -> pre.children("pretokenizers").forEach(one -> preTokenizer(one, to));
            case "ByteLevel" -> {
                if (pre.flag("add_prefix_space").orElse(true)) {
                    to.add((piece, _) -> List.of(piece.startsWith(" ") ? piece : " " + piece));
                }
                if (pre.flag("use_regex").orElse(true)) {
                    to.add(TextPipeline.pattern(TextPipeline.unicode(TextPipeline.GPT2), Behaviour.ISOLATED, false));
                }
                to.add(TextPipeline.toBytes());
            }
            case "Split" ->
                to.add(TextPipeline.pattern(
                        pattern(pre),
                        behaviour(pre.string("behavior").orElse("Isolated")),
                        pre.flag("invert").orElse(false)));
            case "Punctuation" ->
                to.add(TextPipeline.pattern(
                        TextPipeline.unicode("[\\p{P}\\x21-\\x2F\\x3A-\\x40\\x5B-\\x60\\x7B-\\x7E]"),
                        behaviour(pre.string("behavior").orElse("Isolated")),
                        false));
            case "Whitespace" ->
                to.add(TextPipeline.pattern(TextPipeline.unicode("\\w+|[^\\w\\s]+"), Behaviour.REMOVED, true));
            case "WhitespaceSplit" ->
                to.add(TextPipeline.pattern(TextPipeline.unicode("\\s"), Behaviour.REMOVED, false));
            case "Digits" -> {
                String digits = pre.flag("individual_digits").orElse(false) ? "\\p{N}" : "\\p{N}+";
                to.add(TextPipeline.pattern(TextPipeline.unicode(digits), Behaviour.ISOLATED, false));
            }
            case "Metaspace" -> metaspace(pre, to);
            default -> throw unsupported("a pre-tokenizer of type " + type);
        }
    }

    private void metaspace(Json pre, List<Splitter> to) {
        if (!pre.string("replacement").orElse(TextPipeline.SPACE).equals(TextPipeline.SPACE)) {
            throw unsupported("a Metaspace with another sign than U+2581");
        }
        String scheme = prependScheme(pre);
        if (!List.of("always", "first", "never").contains(scheme)) {
            throw unsupported("a Metaspace that prepends " + scheme);
        }
        to.add((piece, first) -> {
            String marked = piece.replace(" ", TextPipeline.SPACE);
            boolean prepends = scheme.equals("always") || (scheme.equals("first") && first);
            return List.of(prepends && !marked.startsWith(TextPipeline.SPACE) ? TextPipeline.SPACE + marked : marked);
        });
        if (pre.flag("split").orElse(true)) {
            to.add(TextPipeline.pattern(Pattern.compile(TextPipeline.SPACE), Behaviour.MERGED_WITH_NEXT, false));
        }
    }

    private static String prependScheme(Json metaspace) {
        return metaspace
                .string("prepend_scheme")
                .orElse(metaspace.flag("add_prefix_space").orElse(true) ? "always" : "never");
    }

    private Behaviour behaviour(String name) {
        return switch (name) {
            case "Isolated" -> Behaviour.ISOLATED;
            case "Removed" -> Behaviour.REMOVED;
            case "MergedWithPrevious" -> Behaviour.MERGED_WITH_PREVIOUS;
            case "MergedWithNext" -> Behaviour.MERGED_WITH_NEXT;
            case "Contiguous" -> Behaviour.CONTIGUOUS;
            default -> throw unsupported("a split of behaviour " + name);
        };
    }

    /** {@code {"String": ...}} is meant literally, {@code {"Regex": ...}} is Oniguruma's, with Unicode classes. */
    private Pattern pattern(Json of) {
        Json pattern = of.child("pattern").orElseThrow(() -> of.missing("pattern"));
        Optional<String> literal = pattern.string("String");
        if (literal.isPresent()) {
            return Pattern.compile(literal.get(), Pattern.LITERAL);
        }
        String regex = pattern.requiredString("Regex");
        if (OTHERWISE_MEANT.matcher(regex).find()) {
            throw unsupported("the pattern " + regex);
        }
        try {
            // "+" after "{1,3}" repeats it, and does not make it possessive
            String repeated = regex.replaceAll("(?<!\\\\)\\{1,\\d*}\\+", "+");
            return TextPipeline.unicode(PROPERTY.matcher(repeated).replaceAll(TokenizerJson::property));
        } catch (PatternSyntaxException e) {
            throw unsupported("the pattern " + regex);
        }
    }

    /** A property as it is, but a script's as Java names it. */
    private static String property(MatchResult property) {
        try {
            Character.UnicodeScript.forName(property.group(2));
            return "\\\\" + property.group(1) + "{Is" + property.group(2) + "}";
        } catch (IllegalArgumentException e) {
            return Matcher.quoteReplacement(property.group());
        }
    }

    // After BPE

    private Decoding decoding() {
        Json decoder = json.child("decoder").orElseThrow(() -> unsupported("no decoder"));
        List<Json> steps =
                decoder.requiredString("type").equals("Sequence") ? decoder.children("decoders") : List.of(decoder);
        boolean byteFallback = false;
        LeadingSpace leading = LeadingSpace.KEPT;
        for (Json step : steps) {
            String type = step.requiredString("type");
            switch (type) {
                case "ByteLevel" -> {
                    if (steps.size() > 1) {
                        throw unsupported("a ByteLevel decoder among others");
                    }
                    return new Decoding.Bytes();
                }
                case "Metaspace" ->
                    leading = prependScheme(step).equals("never")
                            ? LeadingSpace.KEPT
                            : LeadingSpace.DROPPED_IN_FIRST_TOKEN;
                case "ByteFallback" -> byteFallback = true;
                case "Fuse" -> {}
                case "Replace" -> {
                    if (!pattern(step).pattern().equals(TextPipeline.SPACE)
                            || !step.requiredString("content").equals(" ")) {
                        throw unsupported("a Replace decoder of something else than U+2581 by a space");
                    }
                }
                case "Strip" -> {
                    if (!step.requiredString("content").equals(" ")
                            || step.requiredInteger("start") != 1
                            || step.requiredInteger("stop") != 0) {
                        throw unsupported("a Strip decoder of something else than one space in front");
                    }
                    leading = LeadingSpace.ONE_DROPPED;
                }
                default -> throw unsupported("a decoder of type " + type);
            }
        }
        return new Decoding.Text(byteFallback, leading);
    }

    // Around a prompt

    private Frame frame(Json processor) {
        String type = processor.requiredString("type");
        return switch (type) {
            case "Sequence" -> {
                List<Frame> frames = processor.children("processors").stream()
                        .map(this::frame)
                        .filter(frame -> !frame.equals(Frame.NONE))
                        .toList();
                if (frames.size() > 1) {
                    throw unsupported("several post-processors that add tokens");
                }
                yield frames.isEmpty() ? Frame.NONE : frames.getFirst();
            }
            case "ByteLevel" -> Frame.NONE;
            case "BertProcessing", "RobertaProcessing" -> new Frame(token(processor, "cls"), token(processor, "sep"));
            case "TemplateProcessing" -> template(processor);
            default -> throw unsupported("a post-processor of type " + type);
        };
    }

    /** A token, written as a pair of its text and its id. */
    private static ImmutableIntArray token(Json processor, String key) {
        List<JsonNode> pair = processor.list(key);
        if (pair.size() != 2 || !pair.getLast().isInt()) {
            throw processor.wrong(key, processor.node().get(key), "a token and its id");
        }
        return ImmutableIntArray.of(pair.getLast().intValue());
    }

    /** What a template for a single text has on either side of it. */
    private Frame template(Json processor) {
        List<Json> items = processor.children("single");
        List<Integer> texts = IntStream.range(0, items.size())
                .filter(i -> items.get(i).has("Sequence"))
                .boxed()
                .toList();
        if (texts.size() != 1) {
            throw unsupported("a template that does not have its text once");
        }
        int text = texts.getFirst();
        return new Frame(
                tokens(processor, items.subList(0, text)), tokens(processor, items.subList(text + 1, items.size())));
    }

    private static ImmutableIntArray tokens(Json processor, List<Json> items) {
        Json known = processor.child("special_tokens").orElseThrow(() -> processor.missing("special_tokens"));
        ImmutableIntArray.Builder ids = ImmutableIntArray.builder();
        for (Json item : items) {
            String name = item.child("SpecialToken")
                    .orElseThrow(() -> item.missing("SpecialToken"))
                    .requiredString("id");
            ids.addAll(known.child(name).orElseThrow(() -> known.missing(name)).integers("ids"));
        }
        return ids.build();
    }

    private UnsupportedModelException unsupported(String what) {
        return new UnsupportedModelException(
                "%s has %s, which is not supported; give token ids with --ids".formatted(json.file(), what));
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableIntArray;
import dev.slipway.checkpoint.Detokenizer;
import dev.slipway.checkpoint.Tokenizer;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A tokenizer of added tokens, normalisation, splitting and BPE, in this order. */
public final class BpeTokenizer implements Tokenizer {
    private static final Pattern WORD = TextPipeline.unicode("\\w");

    private final Vocabulary vocabulary;
    private final TextPipeline pipeline;
    private final Bpe bpe;
    private final Frame frame;

    /** Added tokens by their first character, longest first. */
    private final Map<Character, List<AddedToken>> added;

    /**
     * What a prompt has around its text.
     *
     * @param before ids that it begins with
     * @param after ids that it ends with
     */
    record Frame(ImmutableIntArray before, ImmutableIntArray after) {
        static final Frame NONE = new Frame(ImmutableIntArray.of(), ImmutableIntArray.of());

        /** Puts around a text what it has not got itself, so that a token that it begins or ends with does not come twice. */
        ImmutableIntArray around(ImmutableIntArray text) {
            int from = 0;
            while (from < Math.min(before.length(), text.length()) && text.get(from) == before.get(from)) {
                from++;
            }
            int to = text.length();
            for (int i = after.length() - 1; i >= 0 && to > from && text.get(to - 1) == after.get(i); i--) {
                to--;
            }
            return ImmutableIntArray.builder()
                    .addAll(before)
                    .addAll(text.subArray(from, to))
                    .addAll(after)
                    .build();
        }
    }

    BpeTokenizer(Vocabulary vocabulary, TextPipeline pipeline, Bpe bpe, Frame frame) {
        this.vocabulary = vocabulary;
        this.pipeline = pipeline;
        this.bpe = bpe;
        this.frame = frame;
        this.added = vocabulary.added().stream()
                .sorted(Comparator.comparingInt(
                        (AddedToken token) -> -token.content().length()))
                .collect(Collectors.groupingBy(token -> token.content().charAt(0)));
    }

    @Override
    public ImmutableIntArray encode(String text) {
        return encode(text, true);
    }

    @Override
    public ImmutableIntArray encodePlain(String text) {
        return encode(text, false);
    }

    @Override
    public ImmutableIntArray encodePrompt(String text) {
        return frame.around(encode(text));
    }

    private ImmutableIntArray encode(String text, boolean withSpecials) {
        ImmutableIntArray.Builder ids = ImmutableIntArray.builder();
        String valid = withoutLoneSurrogates(text);
        Predicate<AddedToken> wanted = token -> withSpecials || !token.special();
        eachStretch(valid, token -> !token.normalized(), wanted, ids, (raw, rawFirst) -> {
            String normal = pipeline.normalize(raw);
            eachStretch(normal, AddedToken::normalized, wanted, ids, (stretch, first) -> {
                for (String piece : pipeline.split(stretch, rawFirst && first)) {
                    bpe.encode(piece, ids);
                }
            });
        });
        return ids.build();
    }

    /** A stretch of text without added tokens. */
    @FunctionalInterface
    private interface Stretch {
        void accept(String text, boolean first);
    }

    /**
     * Adds the ids of added tokens, leftmost and longest first, and hands on what lies between them. As in Hugging Face's
     * library, one that is found and not wanted hides those that it overlaps; one that swallows white space does not hide
     * those within it, but for such as swallow what is before them.
     */
    private void eachStretch(
            String text,
            Predicate<AddedToken> sought,
            Predicate<AddedToken> wanted,
            ImmutableIntArray.Builder ids,
            Stretch stretch) {
        int from = 0;
        for (int i = 0; i < text.length(); ) {
            AddedToken token = addedAt(text, i, sought);
            if (token == null) {
                i++;
                continue;
            }
            int at = i;
            i += token.content().length();
            if (!wanted.test(token) || (token.singleWord() && insideWord(text, at, i))) {
                continue;
            }
            int start = token.leftStrip() ? Math.max(from, TextPipeline.spacesBefore(text, at, from)) : at;
            int end = token.rightStrip() ? TextPipeline.spacesAfter(text, i) : i;
            if (start > from) {
                stretch.accept(text.substring(from, start), from == 0);
            }
            if (start < end) {
                ids.add(token.id());
            }
            from = end;
        }
        if (from < text.length()) {
            stretch.accept(text.substring(from), from == 0);
        }
    }

    private @Nullable AddedToken addedAt(String text, int at, Predicate<AddedToken> sought) {
        List<AddedToken> candidates = added.get(text.charAt(at));
        if (candidates != null) {
            for (AddedToken token : candidates) {
                if (text.startsWith(token.content(), at) && sought.test(token)) {
                    return token;
                }
            }
        }
        return null;
    }

    private static boolean insideWord(String text, int start, int end) {
        return (start > 0 && wordCharacter(text.codePointBefore(start)))
                || (end < text.length() && wordCharacter(text.codePointAt(end)));
    }

    private static boolean wordCharacter(int c) {
        return WORD.matcher(Character.toString(c)).matches();
    }

    private static String withoutLoneSurrogates(String text) {
        StringBuilder fixed = null;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (!Character.isSurrogate(c)) {
                continue;
            }
            if (Character.isHighSurrogate(c) && i + 1 < text.length() && Character.isLowSurrogate(text.charAt(i + 1))) {
                i++;
                continue;
            }
            fixed = fixed == null ? new StringBuilder(text) : fixed;
            fixed.setCharAt(i, '\uFFFD');
        }
        return fixed == null ? text : fixed.toString();
    }

    @Override
    public String decode(Iterable<Integer> ids) {
        return decode(ids, false);
    }

    @Override
    public String decodeWithoutSpecials(Iterable<Integer> ids) {
        return decode(ids, true);
    }

    private String decode(Iterable<Integer> ids, boolean skipSpecials) {
        Detokenizer detokenizer = detokenizer(skipSpecials);
        StringBuilder text = new StringBuilder();
        for (int id : ids) {
            text.append(detokenizer.accept(id));
        }
        return text.append(detokenizer.finish()).toString();
    }

    @Override
    public Detokenizer detokenizer() {
        return detokenizer(false);
    }

    @Override
    public Detokenizer detokenizerWithoutSpecials() {
        return detokenizer(true);
    }

    private Detokenizer detokenizer(boolean skipSpecials) {
        return switch (pipeline.decoding()) {
            case TextPipeline.Decoding.Bytes _ -> new ByteDetokenizer(vocabulary, skipSpecials);
            case TextPipeline.Decoding.Text text -> new TextDetokenizer(vocabulary, skipSpecials, text);
        };
    }

    @Override
    public int size() {
        return vocabulary.size();
    }

    @Override
    public String token(int id) {
        return vocabulary.token(id);
    }

    @Override
    public OptionalInt id(String token) {
        return vocabulary.id(token);
    }

    @Override
    public List<String> specials() {
        return vocabulary.added().stream()
                .filter(AddedToken::special)
                .map(AddedToken::content)
                .collect(ImmutableList.toImmutableList());
    }
}

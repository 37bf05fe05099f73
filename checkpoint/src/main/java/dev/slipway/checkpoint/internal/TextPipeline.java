// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import dev.slipway.checkpoint.UnsupportedModelException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What happens to text before and after BPE.
 *
 * @param normalizers applied to each stretch between added tokens, in order
 * @param splitters cut it into the pieces within which BPE joins, in order
 * @param decoding how tokens become text again
 */
record TextPipeline(
        ImmutableList<UnaryOperator<String>> normalizers, ImmutableList<Splitter> splitters, Decoding decoding) {

    /** SentencePiece's sign for a space. */
    static final String SPACE = "\u2581";

    /** Cuts a piece of text; what it returns may be rewritten, too. */
    @FunctionalInterface
    interface Splitter {
        /**
         * The pieces, in order.
         *
         * @param first whether the text begins with this piece
         */
        List<String> split(String piece, boolean first);
    }

    /** How tokens become text. */
    sealed interface Decoding {
        /** Tokens are bytes in {@link ByteAlphabet}. */
        record Bytes() implements Decoding {}

        /**
         * Tokens are text with {@link #SPACE} for a space, and {@code <0x00>} to {@code <0xFF>} for bytes.
         *
         * @param leading what becomes of a space at the very beginning, which the tokenizer may have put there
         */
        record Text(boolean byteFallback, LeadingSpace leading) implements Decoding {}

        /** What becomes of a space at the very beginning. */
        enum LeadingSpace {
            /** It stays. */
            KEPT,
            /** One goes. */
            ONE_DROPPED,
            /** All go that are in the first token. */
            DROPPED_IN_FIRST_TOKEN
        }
    }

    /** What becomes of the matches of a pattern. */
    enum Behaviour {
        /** They are pieces of their own. */
        ISOLATED,
        /** They are left out. */
        REMOVED,
        /** They end the piece before. */
        MERGED_WITH_PREVIOUS,
        /** They begin the piece after. */
        MERGED_WITH_NEXT,
        /** Neighbouring ones are one piece. */
        CONTIGUOUS
    }

    // Patterns as the models' tokenizers state them; \s, \p{L} and \p{N} are Unicode's.
    static final String GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
    private static final String TAIL = "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    private static final String CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+";
    private static final String LLAMA3 = CONTRACTIONS + "|\\p{N}{1,3}" + TAIL;
    private static final String QWEN2 = CONTRACTIONS + "|\\p{N}" + TAIL;
    private static final String DIGIT = "\\p{N}";

    /** {@code tokenizer.ggml.pre} to the patterns that split, in order. */
    private static final ImmutableMap<String, ImmutableList<String>> GGUF_PRE =
            ImmutableMap.<String, ImmutableList<String>>builder()
                    .put("gpt-2", ImmutableList.of(GPT2))
                    .put("mpt", ImmutableList.of(GPT2))
                    .put("olmo", ImmutableList.of(GPT2))
                    .put("phi-2", ImmutableList.of(GPT2))
                    .put("smollm", ImmutableList.of(DIGIT, GPT2))
                    .put("starcoder", ImmutableList.of(DIGIT, GPT2))
                    .put("refact", ImmutableList.of(DIGIT, GPT2))
                    .put("command-r", ImmutableList.of(DIGIT, GPT2))
                    .put("llama-bpe", ImmutableList.of(LLAMA3))
                    .put("llama3", ImmutableList.of(LLAMA3))
                    .put("llama-v3", ImmutableList.of(LLAMA3))
                    .put("dbrx", ImmutableList.of(LLAMA3))
                    .put("smaug-bpe", ImmutableList.of(LLAMA3))
                    .put("qwen2", ImmutableList.of(QWEN2))
                    .put("deepseek-r1-qwen", ImmutableList.of(QWEN2))
                    .put("stablelm2", ImmutableList.of(QWEN2))
                    .buildOrThrow();

    private static final ImmutableSet<String> LLAMA3_PRE = ImmutableSet.of("llama-bpe", "llama3", "llama-v3");

    /** Whether a GGUF file with that {@code tokenizer.ggml.pre} takes words that are tokens whole, whatever the merges. */
    static boolean wholeWordsFirst(String pre) {
        return LLAMA3_PRE.contains(pre);
    }

    /** Whether a GGUF file with that {@code tokenizer.ggml.pre} begins prompts with BOS if it does not say. */
    static boolean beginsWithBos(String pre) {
        return LLAMA3_PRE.contains(pre);
    }

    /** The pipeline of a GGUF file with byte-level BPE. */
    static TextPipeline ggufByteLevel(Path file, String pre) {
        ImmutableList<String> patterns = GGUF_PRE.get(pre);
        if (patterns == null) {
            throw new UnsupportedModelException(
                    "%s splits text in a way called %s; supported are %s, or give token ids with --ids"
                            .formatted(file, pre, String.join(", ", GGUF_PRE.keySet())));
        }
        ImmutableList.Builder<Splitter> splitters = ImmutableList.builder();
        for (String pattern : patterns) {
            splitters.add(pattern(unicode(pattern), Behaviour.ISOLATED, false));
        }
        splitters.add(toBytes());
        return new TextPipeline(ImmutableList.of(), splitters.build(), new Decoding.Bytes());
    }

    /** The pipeline of a SentencePiece model. */
    static TextPipeline sentencePiece(boolean addSpacePrefix) {
        ImmutableList.Builder<UnaryOperator<String>> normalizers = ImmutableList.builder();
        if (addSpacePrefix) {
            normalizers.add(text -> text.isEmpty() ? text : SPACE + text);
        }
        normalizers.add(text -> text.replace(" ", SPACE));
        return new TextPipeline(
                normalizers.build(),
                ImmutableList.of(),
                new Decoding.Text(
                        true, addSpacePrefix ? Decoding.LeadingSpace.ONE_DROPPED : Decoding.LeadingSpace.KEPT));
    }

    String normalize(String text) {
        for (UnaryOperator<String> normalizer : normalizers) {
            text = normalizer.apply(text);
        }
        return text;
    }

    /** The pieces of a normalised stretch of text. */
    List<String> split(String text, boolean first) {
        List<String> pieces = List.of(text);
        for (Splitter splitter : splitters) {
            List<String> finer = new ArrayList<>();
            for (int i = 0; i < pieces.size(); i++) {
                for (String piece : splitter.split(pieces.get(i), first && i == 0)) {
                    if (!piece.isEmpty()) {
                        finer.add(piece);
                    }
                }
            }
            pieces = finer;
        }
        return pieces;
    }

    /** A pattern whose classes are Unicode's and whose lines end in line feeds, as those of the tokenizers' own engines. */
    static Pattern unicode(String pattern) {
        return Pattern.compile(pattern, Pattern.UNICODE_CHARACTER_CLASS | Pattern.MULTILINE | Pattern.UNIX_LINES);
    }

    /** Where the white space before a place begins, {@code from} at the earliest. */
    static int spacesBefore(String text, int at, int from) {
        int start = at;
        while (start > from && whiteSpace(text.charAt(start - 1))) {
            start--;
        }
        return start;
    }

    /** Where the white space from a place on ends. */
    static int spacesAfter(String text, int at) {
        int end = at;
        while (end < text.length() && whiteSpace(text.charAt(end))) {
            end++;
        }
        return end;
    }

    /** Unicode's White_Space, which all lies in the basic plane. */
    private static boolean whiteSpace(char c) {
        return Character.isSpaceChar(c) || (c >= 9 && c <= 13) || c == 0x85;
    }

    /** The splitter that writes a piece in {@link ByteAlphabet}. */
    static Splitter toBytes() {
        return (piece, _) -> List.of(ByteAlphabet.write(piece));
    }

    /**
     * The splitter at a pattern.
     *
     * @param inverted whether what lies between the matches is meant
     */
    static Splitter pattern(Pattern pattern, Behaviour behaviour, boolean inverted) {
        return (piece, _) -> {
            List<String> pieces = new ArrayList<>();
            List<Boolean> matches = new ArrayList<>();
            Matcher matcher = pattern.matcher(piece);
            int at = 0;
            while (matcher.find()) {
                if (matcher.end() == at) {
                    continue; // empty, and nothing before it that it could cut off
                }
                if (matcher.start() > at) {
                    pieces.add(piece.substring(at, matcher.start()));
                    matches.add(inverted);
                }
                pieces.add(matcher.group());
                matches.add(!inverted);
                at = matcher.end();
            }
            if (at < piece.length()) {
                pieces.add(piece.substring(at));
                matches.add(inverted);
            }
            return arranged(pieces, matches, behaviour);
        };
    }

    private static List<String> arranged(List<String> pieces, List<Boolean> matches, Behaviour behaviour) {
        List<String> arranged = new ArrayList<>();
        boolean before = false;
        for (int i = 0; i < pieces.size(); i++) {
            boolean match = matches.get(i);
            boolean joins = switch (behaviour) {
                case ISOLATED, REMOVED -> false;
                case MERGED_WITH_PREVIOUS -> match && !before;
                case MERGED_WITH_NEXT -> before && !match;
                case CONTIGUOUS -> match == before;
            };
            if (joins && !arranged.isEmpty()) {
                arranged.add(arranged.removeLast() + pieces.get(i));
            } else if (!(match && behaviour == Behaviour.REMOVED)) {
                arranged.add(pieces.get(i));
            }
            before = match;
        }
        return arranged;
    }
}

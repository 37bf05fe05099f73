// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.google.common.base.Splitter;
import com.google.common.primitives.ImmutableIntArray;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Tokenizers against Hugging Face's library (tokenizers.json) and SentencePiece (sentencepiece.json). */
class TokenizerTest {
    @TempDir
    Path folder;

    static Stream<String> names() {
        return Goldens.read("tokenizers.json").get("tokenizers").values().stream()
                .map(t -> t.get("name").stringValue());
    }

    private static JsonNode golden(String name) {
        return Goldens.read("tokenizers.json").get("tokenizers").values().stream()
                .filter(t -> t.get("name").stringValue().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private Tokenizer tokenizer(JsonNode json) {
        Goldens.write(folder.resolve("tokenizer.json"), json);
        Goldens.write(
                folder.resolve("config.json"),
                Goldens.read("models.json").get("models").get(0).get("config"));
        try (Checkpoint checkpoint = Checkpoint.open(folder)) {
            return checkpoint.tokenizer().orElseThrow();
        }
    }

    private Tokenizer bytes() {
        return tokenizer(golden("digits then bytes").get("tokenizer"));
    }

    @ParameterizedTest
    @MethodSource("names")
    void textsBecomeTheReferencesIdsAndBack(String name) {
        JsonNode golden = golden(name);
        Tokenizer tokenizer = tokenizer(golden.get("tokenizer"));

        for (JsonNode it : golden.get("cases")) {
            String text = it.get("text").stringValue();
            ImmutableIntArray ids = tokenizer.encode(text);
            assertThat(ids).as(text).isEqualTo(Goldens.ids(it.get("ids")));
            assertThat(tokenizer.encodePlain(text)).as(text).isEqualTo(Goldens.ids(it.get("plain")));
            if (!text.startsWith("<|start|>")) {
                assertThat(tokenizer.encodePrompt(text)).as(text).isEqualTo(Goldens.ids(it.get("prompt")));
            }
            assertThat(tokenizer.decode(ids.asList()))
                    .isEqualTo(it.get("decoded").stringValue());
            assertThat(tokenizer.decodeWithoutSpecials(ids.asList()))
                    .isEqualTo(it.get("without_specials").stringValue());
        }
    }

    @Test
    void aPromptThatHasItsBeginningDoesNotGetAnother() {
        Tokenizer tokenizer = tokenizer(golden("NFC, space in front, BOS").get("tokenizer"));

        assertThat(tokenizer.encodePrompt("a").get(0)).isEqualTo(1);
        assertThat(tokenizer.encodePrompt("<|start|>a")).isEqualTo(tokenizer.encode("<|start|>a"));
    }

    /** The first golden tokenizer, where {@code <|end|>} is 0 and {@code <|start|>} is 1, with a post-processor. */
    private Tokenizer processed(String processor) {
        ObjectNode json =
                golden("digits then bytes").get("tokenizer").asObject().deepCopy();
        json.set("post_processor", new JsonMapper().readTree(processor));
        return tokenizer(json);
    }

    /** Ids by tokenizers 0.23.3. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'type': 'RobertaProcessing', 'sep': ['<|end|>', 0], 'cls': ['<|start|>', 1],"
                        + " 'trim_offsets': true, 'add_prefix_space': true}",
                "{'type': 'BertProcessing', 'sep': ['<|end|>', 0], 'cls': ['<|start|>', 1]}",
                "{'type': 'Sequence', 'processors': [{'type': 'ByteLevel'},"
                        + " {'type': 'BertProcessing', 'sep': ['<|end|>', 0], 'cls': ['<|start|>', 1]}]}",
                "{'type': 'TemplateProcessing', 'single': [{'SpecialToken': {'id': 'S'}}, {'Sequence': {'id': 'A'}},"
                        + " {'SpecialToken': {'id': 'E'}}], 'special_tokens': {'S': {'ids': [1]}, 'E': {'ids': [0]}}}"
            })
    void aPromptHasAroundItWhatThePostProcessorAdds(String processor) {
        Tokenizer tokenizer = processed(processor.replace('\'', '"'));

        assertThat(tokenizer.encodePrompt("Hello").asList()).containsExactly(1, 41, 70, 319, 80, 0);
        assertThat(tokenizer.encodePrompt("").asList()).containsExactly(1, 0);
        assertThat(tokenizer.encode("Hello").asList()).containsExactly(41, 70, 319, 80);
    }

    /** Ids by tokenizers 0.23.3. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "'a b', 'b c' | 3, 2",
                "'b c', 'a b' | 0, 4",
                "'a b', 'b c', 'a b' | 0, 4",
                "['a', 'b'], ['b', 'c'], ['a', 'b'] | 0, 4",
                "'b c', 'a b', 'b c' | 3, 2"
            })
    void aMergeThatIsListedTwiceCountsWhereItStandsLast(String merges, String ids) {
        JsonNode json = new JsonMapper().readTree("""
                {"model": {"vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4}, "merges": [%s]}, "decoder": {"type": "Fuse"}}
                """.formatted(merges.replace('\'', '"')));

        assertThat(tokenizer(json).encode("abc").asList())
                .containsExactlyElementsOf(
                        Stream.of(ids.split(", ")).map(Integer::valueOf).toList());
    }

    /** A tokenizer of the characters {@code a, b, c, space, line feed, full stop} and an unknown token, ids 0 to 6. */
    private static ObjectNode characters() {
        return new JsonMapper().readTree("""
                {"model": {"vocab": {"a": 0, "b": 1, "c": 2, " ": 3, "\\n": 4, ".": 5, "<unk>": 6},
                           "merges": [], "unk_token": "<unk>"}, "decoder": {"type": "Fuse"}}""").asObject();
    }

    /** Ids by tokenizers 0.23.3; {@code w}, {@code l} and {@code r}: of a single word, and swallowing to either side. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "w<ab>, ab  | c<ab>c        | 2, 6, 0, 1, 6, 2",
                "w<ab>, ab  | c <ab>ab      | 2, 3, 6, 0, 1, 6, 8",
                "r.., __    | a..__b        | 0, 7, 8, 1",
                "r.., __    | a..____\\nb  | 0, 7, 8, 8, 4, 1",
                "r.., l__   | a..__b        | 0, 7, 1",
                "r.., l__   | a.___b        | 0, 5, 8, 3, 1",
                "w__        | a____b        | 0, 3, 3, 3, 3, 1",
                "w__        | .____b        | 5, 7, 3, 3, 1",
                "wé         | éa_é_a        | 6, 0, 3, 7, 3, 0"
            })
    void addedTokensAreFoundAsInTheReference(String added, String text, String ids) {
        ObjectNode json = characters();
        int id = 7;
        for (String token : Splitter.on(", ").split(added.replace('_', ' '))) {
            String content = token.replaceAll("^[wlr]", "");
            json.withArray("added_tokens")
                    .addObject()
                    .put("id", id++)
                    .put("content", content)
                    .put("single_word", token.startsWith("w"))
                    .put("lstrip", token.startsWith("l"))
                    .put("rstrip", token.startsWith("r"));
        }

        assertThat(tokenizer(json)
                        .encode(text.replace('_', ' ').replace("\\n", "\n"))
                        .asList())
                .containsExactlyElementsOf(
                        Stream.of(ids.split(", ")).map(Integer::valueOf).toList());
    }

    /** Ids by tokenizers 0.23.3, merges being {@code ab}, {@code b.}, {@code ". "} and {@code " a"}. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{'type': 'Punctuation', 'behavior': 'Isolated'}           | 7, 5, 5, 10, 6, 7 | 1, 5, 10",
                "{'type': 'Punctuation', 'behavior': 'MergedWithPrevious'} | 7, 5, 5, 10, 6, 7 | 8, 10",
                "{'type': 'Whitespace'}                                    | 7, 5, 5, 0, 6, 7  | 1, 5, 0",
                "{'type': 'WhitespaceSplit'}                               | 7, 5, 5, 0, 6, 7  | 8, 0"
            })
    void textIsSplitAsInTheReference(String splitter, String first, String second) {
        ObjectNode json = characters();
        ObjectNode model = json.withObject("model");
        List<String> merges = List.of("a b", "b .", ".  ", "  a");
        for (int i = 0; i < merges.size(); i++) {
            String merge = merges.get(i);
            model.withObject("vocab").put(merge.charAt(0) + merge.substring(2), 7 + i);
            model.withArray("merges").addArray().add(merge.substring(0, 1)).add(merge.substring(2));
        }
        json.set("pre_tokenizer", new JsonMapper().readTree(splitter.replace('\'', '"')));
        Tokenizer tokenizer = tokenizer(json);

        assertThat(tokenizer.encode("ab.. a+ab").asList().toString()).isEqualTo("[" + first + "]");
        assertThat(tokenizer.encode("b. a").asList().toString()).isEqualTo("[" + second + "]");
    }

    /** Ids by tokenizers 0.23.3. */
    @ParameterizedTest
    @CsvSource({"true, false, '[0, 3, 1, 3]'", "false, true, '[3, 4, 0, 3, 1]'", "true, true, '[0, 3, 1]'"})
    void whiteSpaceAtTheEndsMayBeStripped(boolean left, boolean right, String ids) {
        ObjectNode json = characters();
        json.putObject("normalizer")
                .put("type", "Strip")
                .put("strip_left", left)
                .put("strip_right", right);

        assertThat(tokenizer(json).encode(" \na b ").asList().toString()).isEqualTo(ids);
    }

    @Test
    void aTemplatesTokenMayBeSeveralIds() {
        Tokenizer tokenizer = processed("""
                {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "M"}}, {"Sequence": {"id": "A"}}],
                 "special_tokens": {"M": {"ids": [1, 5, 6]}}}""");

        assertThat(tokenizer.encodePrompt("Hello").asList()).containsExactly(1, 5, 6, 41, 70, 319, 80);
    }

    @Test
    void aPromptThatBeginsWithPartOfItsFrameGetsTheRest() {
        Tokenizer tokenizer = processed("""
                {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "M"}}, {"Sequence": {"id": "A"}},
                 {"SpecialToken": {"id": "E"}}], "special_tokens": {"M": {"ids": [1, 5, 6]}, "E": {"ids": [7, 0]}}}""");

        assertThat(tokenizer.encodePrompt("<|start|>Hello<|end|>").asList())
                .containsExactly(1, 5, 6, 41, 70, 319, 80, 7, 0);
        assertThat(tokenizer.encodePrompt("<|start|>").asList()).containsExactly(1, 5, 6, 7, 0);
    }

    /** What Transformers' {@code apply_chat_template} gives, which adds no special tokens. */
    @Test
    void whatAChatTemplateRendersHasTheTokensThatTheTemplateSays() {
        Tokenizer tokenizer = processed("""
                {"type": "BertProcessing", "sep": ["<|end|>", 0], "cls": ["<|start|>", 1]}""");
        String withStart = "{{ bos_token }}{{ messages[0].content }}";
        List<ChatTemplate.Message> hello = List.of(new ChatTemplate.Message("user", "Hello"));

        String begun = ChatTemplate.of(withStart, "<|start|>", "<|end|>").renderWithGenerationPrompt(hello);
        String bare = ChatTemplate.of(withStart, "", "<|end|>").renderWithGenerationPrompt(hello);

        assertThat(tokenizer.encode(begun).asList()).containsExactly(1, 41, 70, 319, 80);
        assertThat(tokenizer.encode(bare).asList()).containsExactly(41, 70, 319, 80);
        assertThat(tokenizer.encodePrompt(begun).asList()).containsExactly(1, 41, 70, 319, 80, 0);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{'type': 'RobertaProcessing', 'cls': ['<s>', 1]} | post_processor.sep is null, but a token and its id",
                "{'type': 'BertProcessing', 'cls': 1} | post_processor.cls is 1, but an array is expected",
                "{'type': 'Other'} | a post-processor of type Other",
                "{'type': 'TemplateProcessing', 'single': []} | a template that does not have its text once",
                "{'type': 'Sequence', 'processors': [{'type': 'BertProcessing', 'sep': ['e', 0], 'cls': ['s', 1]},"
                        + " {'type': 'BertProcessing', 'sep': ['e', 0], 'cls': ['s', 1]}]} | several post-processors"
            })
    void aPostProcessorThatCannotBeFollowedIsRefused(String processor, String part) {
        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(() -> processed(processor.replace('\'', '"')))
                .withMessageContaining(part);
    }

    @ParameterizedTest
    @MethodSource("names")
    void anyIdsBecomeTheReferencesText(String name) {
        JsonNode golden = golden(name);
        Tokenizer tokenizer = tokenizer(golden.get("tokenizer"));

        for (JsonNode it : golden.get("decode")) {
            List<Integer> ids = Goldens.ids(it.get("ids")).asList();
            assertThat(tokenizer.decode(ids))
                    .as("%s", ids)
                    .isEqualTo(it.get("decoded").stringValue());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void sentencePieceModelsAreReadFromGguf(int index) {
        JsonNode model = Goldens.read("sentencepiece.json").get("models").get(index);
        GgufWriter writer = GgufCheckpointTest.metadata("llama")
                .with("tokenizer.ggml.model", "llama")
                .with("tokenizer.ggml.tokens", strings(model.get("tokens")))
                .with(
                        "tokenizer.ggml.scores",
                        model.get("scores").values().stream()
                                .map(JsonNode::floatValue)
                                .toList())
                .with(
                        "tokenizer.ggml.token_type",
                        Goldens.ids(model.get("types")).asList())
                .with("tokenizer.ggml.unknown_token_id", 0)
                .with("tokenizer.ggml.bos_token_id", 1)
                .with("tokenizer.ggml.eos_token_id", 2)
                .with(
                        "tokenizer.ggml.add_space_prefix",
                        model.get("add_space_prefix").booleanValue());

        try (Checkpoint checkpoint = Checkpoint.open(writer.write(folder.resolve("sp.gguf")))) {
            Tokenizer tokenizer = checkpoint.tokenizer().orElseThrow();
            for (JsonNode it : model.get("cases")) {
                String text = it.get("text").stringValue();
                List<Integer> ids = Goldens.ids(it.get("ids")).asList();
                assertThat(tokenizer.encode(text).asList()).as(text).isEqualTo(ids);
                assertThat(tokenizer.decode(ids)).isEqualTo(it.get("decoded").stringValue());
            }
            assertThat(tokenizer.encodePrompt("a").get(0)).isEqualTo(1);
            assertThat(checkpoint.stopIds()).containsExactly(2);
        }
    }

    private static List<String> strings(JsonNode array) {
        return array.values().stream().map(JsonNode::stringValue).toList();
    }

    /** The first golden tokenizer as GGUF has it. */
    private static GgufWriter ggufBytes() {
        JsonNode json = golden("digits then bytes").get("tokenizer");
        String[] tokens = new String[json.get("model").get("vocab").size()];
        json.get("model")
                .get("vocab")
                .properties()
                .forEach(e -> tokens[e.getValue().intValue()] = e.getKey());
        List<Integer> types = new ArrayList<>();
        for (String token : tokens) {
            types.add(token.startsWith("<|") ? 3 : 1);
        }
        List<String> merges = json.get("model").get("merges").values().stream()
                .map(pair -> pair.get(0).stringValue() + " " + pair.get(1).stringValue())
                .toList();
        return GgufCheckpointTest.metadata("llama")
                .with("tokenizer.ggml.model", "gpt2")
                .with("tokenizer.ggml.pre", "smollm")
                .with("tokenizer.ggml.tokens", List.of(tokens))
                .with("tokenizer.ggml.token_type", types)
                .with("tokenizer.ggml.merges", merges)
                .with("tokenizer.ggml.eos_token_id", 0);
    }

    @Test
    void byteLevelModelsAreReadFromGguf() {
        try (Checkpoint checkpoint = Checkpoint.open(ggufBytes().write(folder.resolve("bytes.gguf")))) {
            Tokenizer tokenizer = checkpoint.tokenizer().orElseThrow();
            for (JsonNode it : golden("digits then bytes").get("cases")) {
                String text = it.get("text").stringValue();
                assertThat(tokenizer.encode(text)).as(text).isEqualTo(Goldens.ids(it.get("ids")));
            }
            assertThat(checkpoint.stopIds()).containsExactly(0);
        }
    }

    /** As llama.cpp reads {@code add_bos_token} and {@code add_eos_token}: the second is false where it is absent. */
    @ParameterizedTest
    @CsvSource({"true, true, true, true", "false, true, false, true", "true, false, true, false", "true, , true, false"
    })
    void aPromptHasAroundItWhatTheFileSaysIsAdded(boolean bos, @Nullable Boolean eos, boolean begins, boolean ends) {
        GgufWriter gguf = ggufBytes().with("tokenizer.ggml.bos_token_id", 1).with("tokenizer.ggml.add_bos_token", bos);
        Path file = (eos == null ? gguf : gguf.with("tokenizer.ggml.add_eos_token", eos))
                .write(folder.resolve("framed.gguf"));

        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            Tokenizer tokenizer = checkpoint.tokenizer().orElseThrow();
            List<Integer> prompt = tokenizer.encodePrompt("Hello").asList();

            assertThat(prompt.getFirst() == 1).isEqualTo(begins);
            assertThat(prompt.getLast() == 0).isEqualTo(ends);
            assertThat(prompt).containsAll(tokenizer.encode("Hello").asList());
        }
    }

    /** As llama.cpp does, where Hugging Face's library takes the last place. */
    @Test
    void aMergeThatGgufListsTwiceCountsWhereItStandsFirst() {
        Path file = GgufCheckpointTest.metadata("llama")
                .with("tokenizer.ggml.model", "gpt2")
                .with("tokenizer.ggml.tokens", List.of("a", "b", "c", "ab", "bc"))
                .with("tokenizer.ggml.merges", List.of("a b", "b c", "a b"))
                .write(folder.resolve("twice.gguf"));

        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            assertThat(checkpoint.tokenizer().orElseThrow().encode("abc").asList())
                    .containsExactly(3, 2);
        }
    }

    @Test
    void anotherWayToSplitIsRefusedWithThoseThatAreKnown() {
        Path file = ggufBytes().with("tokenizer.ggml.pre", "klingon").write(folder.resolve("k.gguf"));

        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            assertThatExceptionOfType(UnsupportedModelException.class)
                    .isThrownBy(checkpoint::tokenizer)
                    .withMessageContaining("klingon")
                    .withMessageContaining("smollm")
                    .withMessageContaining("--ids");
        }
    }

    @Test
    void aVocabularyThatContradictsItselfIsRefused() {
        for (Map.Entry<String, Object> change : Map.<String, Object>of(
                        "tokenizer.ggml.token_type", List.of(1, 1),
                        "tokenizer.ggml.merges", List.of("nospace"),
                        "tokenizer.ggml.model", "wordpiece")
                .entrySet()) {
            Path file = ggufBytes().with(change.getKey(), change.getValue()).write(folder.resolve("bad.gguf"));
            try (Checkpoint checkpoint = Checkpoint.open(file)) {
                assertThatExceptionOfType(CheckpointException.class)
                        .as(change.getKey())
                        .isThrownBy(checkpoint::tokenizer)
                        .withMessageContaining("bad.gguf");
            }
        }
        Path file = ggufBytes().with("tokenizer.ggml.eos_token_id", 5000).write(folder.resolve("bad.gguf"));
        assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(() -> Checkpoint.open(file))
                .withMessageContaining("tokenizer.ggml.eos_token_id is 5000");
    }

    @Test
    void unpairedSurrogatesAreReadAsReplacementCharacters() {
        Tokenizer tokenizer = bytes();

        assertThat(tokenizer.encode("a\uD83D b\uDE00")).isEqualTo(tokenizer.encode("a\uFFFD b\uFFFD"));
        assertThat(tokenizer.decode(tokenizer.encode("\uD83D\uDE00").asList())).isEqualTo("\uD83D\uDE00");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a", " ", "\n", "7", "é", "日", "😀", "?!", "ab "})
    void longRunsNeitherOverflowNorTakeForEver(String unit) {
        String text = unit.repeat(50_000);
        Tokenizer tokenizer = bytes();

        assertThat(tokenizer.decode(tokenizer.encode(text).asList())).isEqualTo(text);
    }

    @Test
    void longRunsWithoutSplitsAreJoinedToo() {
        Tokenizer tokenizer = tokenizer(golden("prepended space, byte fallback").get("tokenizer"));
        String text = "the and of ".repeat(10_000);

        assertThat(tokenizer.decode(tokenizer.encode(text).asList())).isEqualTo(text);
    }

    @Test
    void textComesAsSoonAsItsCharactersAreWhole() {
        Tokenizer tokenizer = bytes();
        Detokenizer detokenizer = tokenizer.detokenizer();
        List<String> parts = new ArrayList<>();
        for (int id : tokenizer.encode("a😀b").asList()) {
            parts.add(detokenizer.accept(id));
        }

        assertThat(parts).containsExactly("a", "", "", "", "😀", "b");
        assertThat(detokenizer.finish()).isEmpty();
    }

    @Test
    void whatIsHeldBackComesAtTheEnd() {
        Tokenizer tokenizer = bytes();
        ImmutableIntArray emoji = tokenizer.encode("😀");
        Detokenizer detokenizer = tokenizer.detokenizer();

        assertThat(detokenizer.accept(emoji.get(0))).isEmpty();
        assertThat(detokenizer.accept(emoji.get(1))).isEmpty();
        assertThat(detokenizer.finish()).isEqualTo("\uFFFD");
        assertThat(detokenizer.accept(tokenizer.encode("b").get(0))).isEqualTo("b");
    }

    @Test
    void streamedPartsJoinToTheWhole() {
        for (String name : names().toList()) {
            JsonNode golden = golden(name);
            Tokenizer tokenizer = tokenizer(golden.get("tokenizer"));
            for (JsonNode it : golden.get("decode")) {
                Detokenizer detokenizer = tokenizer.detokenizer();
                StringBuilder text = new StringBuilder();
                for (int id : Goldens.ids(it.get("ids")).asList()) {
                    text.append(detokenizer.accept(id));
                }
                assertThat(text.append(detokenizer.finish()).toString())
                        .isEqualTo(it.get("decoded").stringValue());
            }
        }
    }

    @Test
    void tokensAndIdsAreLookedUp() {
        Tokenizer tokenizer = bytes();

        assertThat(tokenizer.specials()).containsExactly("<|end|>", "<|start|>");
        assertThat(tokenizer.id("<|start|>")).hasValue(1);
        assertThat(tokenizer.token(1)).isEqualTo("<|start|>");
        assertThat(tokenizer.id("no such token")).isEmpty();
        assertThat(tokenizer.token(-1)).isEmpty();
        assertThat(tokenizer.token(1_000_000)).isEmpty();
        assertThat(tokenizer.size()).isEqualTo(420);
    }

    @ParameterizedTest
    @ValueSource(strings = {"\\h+", "[[:alpha:]]+", "\\p{N}{2,3}+", "(a"})
    void patternsThatWouldMeanSomethingElseHereAreRefused(String pattern) {
        ObjectNode json = (ObjectNode) golden("digits then bytes").get("tokenizer");
        ObjectNode split = json.putObject("pre_tokenizer").put("type", "Split").put("behavior", "Isolated");
        split.putObject("pattern").put("Regex", pattern);

        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> tokenizer(json))
                .withMessageContaining(pattern);
    }

    @Test
    void partsThatAreNotSupportedAreNamed() {
        for (Map.Entry<String, String> change : Map.of(
                        "model", "{\"type\": \"Unigram\", \"vocab\": []}",
                        "normalizer", "{\"type\": \"BertNormalizer\"}",
                        "pre_tokenizer", "{\"type\": \"BertPreTokenizer\"}",
                        "decoder", "{\"type\": \"WordPiece\"}")
                .entrySet()) {
            ObjectNode json = (ObjectNode) golden("digits then bytes").get("tokenizer");
            json.set(change.getKey(), JsonMapper.shared().readTree(change.getValue()));
            String type = json.get(change.getKey()).get("type").stringValue();

            assertThatExceptionOfType(UnsupportedModelException.class)
                    .isThrownBy(() -> tokenizer(json))
                    .withMessageContaining("tokenizer.json")
                    .withMessageContaining(type);
        }
    }

    @Test
    void damagedVocabulariesAreRefused() {
        for (String model : List.of(
                "{\"vocab\": {\"a\": -1}, \"merges\": []}",
                "{\"vocab\": {\"a\": 2000000000}, \"merges\": []}",
                "{\"vocab\": {\"a\": \"b\"}, \"merges\": []}",
                "{\"vocab\": {\"a\": 0}, \"merges\": [\"a b\"]}",
                "{\"vocab\": {\"a\": 0}, \"merges\": [5]}",
                "{\"vocab\": {\"a\": 0}, \"merges\": {}}",
                "{\"merges\": []}")) {
            ObjectNode json = (ObjectNode) golden("digits then bytes").get("tokenizer");
            json.set("model", JsonMapper.shared().readTree(model));

            assertThatExceptionOfType(CheckpointException.class)
                    .as(model)
                    .isThrownBy(() -> tokenizer(json))
                    .withMessageContaining("tokenizer.json");
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.checkpoint.ChatTemplate.Message;
import dev.slipway.checkpoint.Checkpoint;
import dev.slipway.checkpoint.Detokenizer;
import dev.slipway.checkpoint.Dtype;
import dev.slipway.checkpoint.Tokenizer;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.DecoderConfig.Rotary;
import dev.slipway.lowering.Parameters;
import dev.slipway.runtime.PackageStore;
import dev.slipway.runtime.PipPackage;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The packaged model's configuration, tokenizer and chat template, against goldens beside this test. */
class SmolLm2CheckpointTest {
    private static Checkpoint model;
    private static Tokenizer tokenizer;

    @BeforeAll
    static void open() {
        model = Checkpoint.open(PackageStore.ofUser().file(PipPackage.SMOLLM2, PackageStore.Progress.NONE));
        tokenizer = model.tokenizer().orElseThrow();
    }

    @AfterAll
    static void close() {
        model.close();
    }

    private static Stream<JsonNode> cases(String resource) {
        try (InputStream in = SmolLm2CheckpointTest.class.getResourceAsStream(resource)) {
            return JsonMapper.shared().readTree(in).get("cases").values().stream();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    static Stream<JsonNode> texts() {
        return cases("smollm2-tokenizer.json");
    }

    static Stream<JsonNode> prompts() {
        return cases("smollm2-prompts.json");
    }

    static Stream<JsonNode> conversations() {
        return prompts().filter(it -> it.get("messages").isArray());
    }

    private static List<Integer> ids(JsonNode array) {
        return array.values().stream().map(JsonNode::intValue).toList();
    }

    @Test
    void theModelIsALlama() {
        assertThat(model.config())
                .isEqualTo(DecoderConfig.llama(llama -> llama.vocabulary(49_152)
                        .width(576)
                        .depth(30)
                        .heads(9, 3, 64)
                        .feedForward(1536)
                        .maxPositions(8192)
                        .rotary(Rotary.of(100_000, 64))
                        .tiedHead()));
        assertThat(Parameters.count(model.config())).isEqualTo(134_515_008);
        assertThat(model.specialTokens().bos()).hasValue(1);
        assertThat(model.specialTokens().eos()).hasValue(2);
    }

    @Test
    void allWeightsAreFiniteNumbers() {
        for (String name : model.names()) {
            List<Integer> shape = (name.startsWith("layers/")
                            ? Parameters.ofLayer(model.config()).get(name.replaceFirst("layers/\\d+/", ""))
                            : Parameters.outside(model.config()).get(name))
                    .shape();
            float[] numbers = new float[shape.stream().reduce(1, (a, b) -> a * b)];
            model.read(name, MemorySegment.ofArray(numbers), Dtype.F32);
            float sum = 0;
            for (float number : numbers) {
                sum += Math.abs(number);
            }
            assertThat(sum).as(name).isPositive().isFinite();
        }
    }

    @ParameterizedTest
    @MethodSource("texts")
    void textsBecomeTheReferencesIdsAndBack(JsonNode it) {
        List<Integer> ids = ids(it.get("ids"));

        assertThat(tokenizer.encode(it.get("text").stringValue()).asList()).isEqualTo(ids);
        assertThat(tokenizer.decode(ids)).isEqualTo(it.get("decoded").stringValue());
    }

    @ParameterizedTest
    @MethodSource("prompts")
    void promptsBecomeTheReferencesIds(JsonNode it) {
        assertThat(tokenizer.encodePrompt(it.get("text").stringValue()).asList())
                .isEqualTo(ids(it.get("ids")));
        assertThat(model.stopIds().asList()).isEqualTo(ids(it.get("stops")));
    }

    @ParameterizedTest
    @MethodSource("conversations")
    void conversationsAreWrittenAsTheReferenceWritesThem(JsonNode it) {
        List<Message> messages = it.get("messages").values().stream()
                .map(m -> new Message(
                        m.get("role").stringValue(), m.get("content").stringValue()))
                .toList();

        assertThat(model.chatTemplate().orElseThrow().renderWithGenerationPrompt(messages))
                .isEqualTo(it.get("text").stringValue());
    }

    @ParameterizedTest
    @MethodSource("prompts")
    void answersBecomeTheReferencesText(JsonNode it) {
        Detokenizer streamed = tokenizer.detokenizer();
        StringBuilder text = new StringBuilder();
        for (int id : ids(it.get("answer_ids"))) {
            text.append(streamed.accept(id));
        }

        assertThat(text.append(streamed.finish()).toString())
                .isEqualTo(it.get("answer").stringValue());
        assertThat(tokenizer.decodeWithoutSpecials(ids(it.get("stopped_ids"))))
                .isEqualTo(it.get("stopped").stringValue());
    }
}

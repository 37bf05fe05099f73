// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.slipway.checkpoint.ChatTemplate.Message;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Templates against Jinja2 (chat-templates.json). */
class ChatTemplateTest {
    private static final List<Message> HELLO = List.of(new Message("user", "hello"));

    static Stream<JsonNode> cases() {
        return Goldens.read("chat-templates.json").get("cases").values().stream();
    }

    private static String render(String template) {
        return ChatTemplate.of(template, "<s>", "</s>").renderWithGenerationPrompt(HELLO);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void conversationsAreWrittenAsTheReferenceWritesThem(JsonNode it) {
        ChatTemplate template = ChatTemplate.of(it.get("template").stringValue(), "<s>", "</s>");
        List<Message> messages = it.get("messages").values().stream()
                .map(m -> new Message(
                        m.get("role").stringValue(), m.get("content").stringValue()))
                .toList();
        Supplier<String> text = () -> it.get("prompt").booleanValue()
                ? template.renderWithGenerationPrompt(messages)
                : template.render(messages);

        if (it.get("text").isNull()) {
            assertThatExceptionOfType(CheckpointException.class)
                    .isThrownBy(text::get)
                    .withMessageContaining("refuses this conversation: user and assistant must alternate");
        } else {
            assertThat(text.get()).isEqualTo(it.get("text").stringValue());
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{% include 'other' %}",
                "{% for m in messages %}",
                "{% if true %}{% endfor %}",
                "{{ messages",
                "{{ messages[ }}",
                "{{ 1 + }}",
                "{{ `x` }}",
                "{% endif %}",
                "{% filter upper %}x{% endfilter %}"
            })
    void whatCannotBeReadIsRefusedAtOnce(String template) {
        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> ChatTemplate.of(template, "", ""))
                .withMessageContaining("chat template uses")
                .withMessageContaining("--raw");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{{ 'x'|wordwrap }}",
                "{{ 1 is callable }}",
                "{{ strftime_now('%Y') }}",
                "{{ messages.append(1) }}",
                "{{ nothing.at.all }}",
                "{{ 'a' + 1 }}",
                "{{ 1 / 0 }}",
                "{{ range(10000000000) }}",
                "{% for a, b in messages %}{% endfor %}",
                "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"
            })
    void whatCannotBeRunIsRefusedWhenItIs(String template) {
        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> render(template))
                .withMessageContaining("chat template uses")
                .withMessageContaining("--raw");
    }

    @Test
    void whatIsNotGivenCanBeAskedFor() {
        assertThat(render("{{ tools is defined }}{{ tools }}{{ 'a' if strftime_now is defined else 'b' }}"))
                .isEqualTo("Falseb");
    }

    @Test
    void aTemplateThatNeverEndsIsEnded() {
        String loops = "{% for a in range(1000) %}".repeat(4) + "{% endfor %}".repeat(4);

        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> render(loops))
                .withMessageContaining("steps");
    }
}

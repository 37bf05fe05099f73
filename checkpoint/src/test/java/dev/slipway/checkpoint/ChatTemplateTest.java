// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.slipway.checkpoint.ChatTemplate.Message;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
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
                "{{ strftime_now('%Q') }}",
                "{{ strftime_now() }}",
                "{{ clock_now('%Y') }}",
                "{{ messages.append(1) }}",
                "{{ nothing.at.all }}",
                "{{ 'a' + 1 }}",
                "{{ 'a-b-c'.split('-', maxsplit=1) }}",
                "{{ 'aa'.replace('a', 'b', 1) }}",
                "{{ 'x'.upper(1) }}",
                "{{ 'x'.replace('x') }}",
                "{{ 7|string(base=2) }}",
                "{{ messages|map(attribute='name', default='x')|join }}",
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
        assertThat(render("{{ 'a' if strftime_now is defined else 'b' }}")).isEqualTo("b");
    }

    /** Transformers gives templates a clock; one that asks for it here is told that there is none. */
    @Test
    void aTemplateThatInsistsOnTheDateGetsIt() {
        DateTimeFormatter english = DateTimeFormatter.ofPattern("dd MMMM yyyy, EEEE", Locale.US);
        String before = english.format(LocalDate.now(ZoneId.systemDefault()));
        String text = render("{{ strftime_now('%d %B %Y, %A') }}");
        String after = english.format(LocalDate.now(ZoneId.systemDefault()));

        assertThat(text).isIn(before, after);
        assertThat(render("{{ strftime_now('100%%') }}")).isEqualTo("100%");
        assertThat(render("{{ strftime_now('%H:%M:%S %I %p %y-%m-%j %a %b') }}"))
                .matches("\\d\\d:\\d\\d:\\d\\d \\d\\d [AP]M \\d\\d-\\d\\d-\\d{3} [A-Z][a-z]{2} [A-Z][a-z]{2}");
    }

    /** As {@code apply_chat_template} of Transformers calls the template. */
    @Test
    void toolsAndDocumentsAreNone() {
        assertThat(render("{{ tools is defined }} {{ tools }} {{ 'a' if tools is not none else 'b' }} {{ documents }}"))
                .isEqualTo("True None b None");
    }

    /** Texts by Jinja2 3.1.6. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {"{% if true %}~ x~{% endif %}~y~ | ` x~y`", "{{ 'a~b' }}~ | a~b", "{# c #}~x | x"})
    void linesEndInLineFeedsWhateverTheFileHas(String template, String text) {
        for (String end : List.of("\n", "\r\n", "\r")) {
            assertThat(render(template.replace("~", end))).isEqualTo(text.replace("~", "\n"));
        }
    }

    /** Texts by Jinja2 3.1.6. */
    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            quoteCharacter = '`',
            value = {
                "{{ ''|default('x', boolean=true) }};x",
                "{{ ''|default(boolean=true, default_value='y') }};y",
                "{{ none|d('z', true) }};z",
                "{{ ['a', 'b']|join(d='+') }};a+b",
                "{{ 'abc'.startswith(('x', 'ab')) }};True",
                "{{ 'abc'.endswith(('x', 'ab')) }};False"
            })
    void argumentsCountWhetherByPlaceOrByName(String template, String text) {
        assertThat(render(template)).isEqualTo(text);
    }

    @Test
    void aTemplateThatNeverEndsIsEnded() {
        String loops = "{% for a in range(1000) %}".repeat(4) + "{% endfor %}".repeat(4);

        assertThatExceptionOfType(UnsupportedModelException.class)
                .isThrownBy(() -> render(loops))
                .withMessageContaining("steps");
    }
}

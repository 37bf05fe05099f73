// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import dev.slipway.checkpoint.internal.Jinja;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * How a conversation is written for a model: a template in the part of Jinja that models use, run as Hugging Face's
 * library runs it ({@code trim_blocks}, {@code lstrip_blocks}). Tools and documents are None, as they are there for a
 * conversation without them; today's date is not given to it, so that the same conversation always gives the same text.
 */
public final class ChatTemplate {
    private final Jinja jinja;
    private final String bos;
    private final String eos;

    private ChatTemplate(Jinja jinja, String bos, String eos) {
        this.jinja = jinja;
        this.bos = bos;
        this.eos = eos;
    }

    /**
     * A turn of a conversation.
     *
     * @param role {@code system}, {@code user} or {@code assistant}
     * @param content what was said
     */
    public record Message(String role, String content) {}

    /**
     * A template.
     *
     * @param source in Jinja
     * @param bos the text of the begin-of-sequence token, empty if there is none
     * @param eos the text of the end-of-sequence token, empty if there is none
     * @throws UnsupportedModelException if the template uses a part of Jinja that is not supported
     */
    public static ChatTemplate of(String source, String bos, String eos) {
        return new ChatTemplate(Jinja.parse(source), bos, eos);
    }

    /**
     * The text of a conversation, special tokens written in it; encode it with {@link Tokenizer#encode}, as Transformers
     * does: {@link Tokenizer#encodePrompt} would end it where some models' texts end.
     *
     * @throws CheckpointException if the template refuses the conversation
     * @throws UnsupportedModelException if the template uses a part of Jinja that is not supported
     */
    public String render(List<Message> messages) {
        return render(messages, false);
    }

    /**
     * The text of a conversation up to where the assistant's next turn begins, Jinja's {@code add_generation_prompt}; encode it
     * with {@link Tokenizer#encode}.
     *
     * @throws CheckpointException if the template refuses the conversation
     * @throws UnsupportedModelException if the template uses a part of Jinja that is not supported
     */
    public String renderWithGenerationPrompt(List<Message> messages) {
        return render(messages, true);
    }

    private String render(List<Message> messages, boolean addGenerationPrompt) {
        Map<String, Object> variables = new HashMap<>();
        variables.put("messages", messages.stream().map(ChatTemplate::variable).toList());
        variables.put("tools", Jinja.NONE);
        variables.put("documents", Jinja.NONE);
        variables.put("add_generation_prompt", addGenerationPrompt);
        variables.put("bos_token", bos);
        variables.put("eos_token", eos);
        return jinja.render(variables);
    }

    private static Object variable(Message message) {
        Map<String, Object> variable = new LinkedHashMap<>();
        variable.put("role", message.role());
        variable.put("content", message.content());
        return variable;
    }
}

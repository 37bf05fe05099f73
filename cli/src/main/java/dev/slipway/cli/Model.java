// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.checkpoint.ChatTemplate;
import dev.slipway.checkpoint.Checkpoint;
import dev.slipway.checkpoint.Presets;
import dev.slipway.checkpoint.Tokenizer;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.Form;
import dev.slipway.runtime.PipPackage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The model that a command was given: the packaged one, a preset without weights, or what is on disk.
 *
 * @param name as the user wrote it
 * @param checkpoint what is on disk; empty for a preset
 */
record Model(String name, DecoderConfig config, Optional<Checkpoint> checkpoint) implements AutoCloseable {
    /** The model that a first run uses. */
    static final String PACKAGED = "smollm2-135m";

    /**
     * Opens a model.
     *
     * @throws ModelException if it is neither a name that is known nor a file or folder
     */
    static Model open(String name, PluginsOnDemand packages) {
        String key = name.toLowerCase(Locale.ROOT);
        if (key.equals(PACKAGED)) {
            return of(name, Checkpoint.open(packages.file(PipPackage.SMOLLM2, "SmolLM2-135M-Instruct")));
        }
        if (!name.isBlank() && Files.exists(Path.of(name))) {
            return of(name, Checkpoint.open(Path.of(name)));
        }
        return Presets.find(key)
                .map(config -> new Model(name, config, Optional.empty()))
                .orElseThrow(() -> ModelException.unknown(name));
    }

    private static Model of(String name, Checkpoint checkpoint) {
        return new Model(name, checkpoint.config(), Optional.of(checkpoint));
    }

    /** The checkpoint with weights, where a command must run the model. */
    Checkpoint weights() {
        return checkpoint
                .filter(Checkpoint::hasWeights)
                .orElseThrow(
                        () -> new ModelException(
                                name
                                        + " has a configuration but no weights, so it can be compiled and not run; give a GGUF file or a folder with safetensors"));
    }

    /** How the model reads and writes text. */
    Tokenizer tokenizer() {
        return checkpoint
                .flatMap(Checkpoint::tokenizer)
                .orElseThrow(() ->
                        new ModelException(name + " brings no tokenizer; give the prompt as token ids with --ids"));
    }

    /** Token ids of a chat that begins with what the user says, up to where the answer starts. */
    int[] chat(String user) {
        ChatTemplate template = checkpoint
                .flatMap(Checkpoint::chatTemplate)
                .orElseThrow(() -> new ModelException(
                        name + " brings no chat template; give --raw to go on from the prompt as it is"));
        return tokenizer()
                .encode(template.renderWithGenerationPrompt(List.of(new ChatTemplate.Message("user", user))))
                .toArray();
    }

    /** A form with the types that the model's folder states, if it states any. */
    Form withStatedTypes(Form form) {
        Form computing = checkpoint
                .flatMap(Checkpoint::computeDtype)
                .map(stated -> form.withElements(stated.element()))
                .orElse(form);
        return checkpoint
                .flatMap(Checkpoint::cacheDtype)
                .map(stated -> computing.withCache(stated.element()))
                .orElse(computing);
    }

    /** Whether this is a folder of AXLearn's. */
    boolean axlearn() {
        return checkpoint
                .filter(there -> there.format() == Checkpoint.Format.AXLEARN)
                .isPresent();
    }

    @Override
    public void close() {
        checkpoint.ifPresent(Checkpoint::close);
    }

    /** A model that cannot be found or run. */
    static final class ModelException extends IllegalArgumentException {
        private static final long serialVersionUID = 1L;

        ModelException(String message) {
            super(message);
        }

        static ModelException unknown(String name) {
            return new ModelException("no model '" + name + "': give a GGUF file, a folder or config.json, or one of "
                    + Stream.concat(Stream.of(PACKAGED), Presets.names().stream())
                            .collect(Collectors.joining(", ")));
        }
    }
}

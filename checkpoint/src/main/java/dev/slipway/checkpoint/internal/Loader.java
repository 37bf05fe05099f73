// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import dev.slipway.checkpoint.Checkpoint.Format;
import dev.slipway.checkpoint.CheckpointException;
import dev.slipway.lowering.LoweringException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Recognises what lies at a path and opens it. */
public final class Loader {
    private static final int MAX_DEPTH = 10_000;

    private Loader() {}

    /** See {@link dev.slipway.checkpoint.Checkpoint#open}. */
    @SuppressWarnings("MustBeClosedChecker")
    public static OpenCheckpoint open(Path path) {
        Arena arena = Arena.ofShared();
        try {
            return open(path, arena);
        } catch (LoweringException e) {
            arena.close();
            throw new CheckpointException("%s describes a model that cannot be: %s".formatted(path, e.getMessage()), e);
        } catch (RuntimeException | Error e) {
            arena.close();
            throw e;
        }
    }

    private static OpenCheckpoint open(Path path, Arena arena) {
        if (Files.isDirectory(path)) {
            return switch (formatOfFolder(path)) {
                case AXLEARN -> AxlearnLoader.open(path, arena);
                default -> HuggingFaceLoader.openFolder(path, arena);
            };
        }
        if (!Files.exists(path)) {
            throw new CheckpointException("there is no file or folder %s".formatted(path));
        }
        if (path.toString().endsWith(".json")) {
            return HuggingFaceLoader.openConfig(path, arena);
        }
        if (path.toString().endsWith(".safetensors")) {
            throw new CheckpointException(
                    "%s has weights, but not what they are of; give the folder with config.json beside it"
                            .formatted(path));
        }
        return GgufLoader.open(path, arena);
    }

    private static Format formatOfFolder(Path folder) {
        Path config = folder.resolve("config.json");
        boolean model = Files.isRegularFile(folder.resolve("model.json"));
        if (Files.isRegularFile(config)) {
            return model && !Json.read(config).has("model_type") ? Format.AXLEARN : Format.HUGGING_FACE;
        }
        if (model) {
            return Format.AXLEARN;
        }
        throw new CheckpointException(
                "%s is no model folder: it has neither config.json (Hugging Face) nor model.json (AXLearn)"
                        .formatted(folder));
    }

    /** Why a file of a model cannot be read. */
    static CheckpointException unreadable(Path file, IOException failure) {
        if (Files.isDirectory(file)) {
            return new CheckpointException(
                    "%s is a folder; a file is expected there, so put it in its place".formatted(file), failure);
        }
        return switch (failure) {
            case NoSuchFileException _ -> new CheckpointException("there is no file %s".formatted(file), failure);
            default -> new CheckpointException("%s cannot be read (%s)".formatted(file, failure), failure);
        };
    }

    /** A number of layers, if it can be one. */
    static int depth(Path file, int layers) {
        if (layers < 1 || layers > MAX_DEPTH) {
            throw new CheckpointException("%s has %d layers; 1 to %d are expected, so the file is damaged or no decoder"
                    .formatted(file, layers, MAX_DEPTH));
        }
        return layers;
    }
}

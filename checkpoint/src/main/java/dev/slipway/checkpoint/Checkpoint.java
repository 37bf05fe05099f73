// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import com.google.common.collect.ImmutableSet;
import dev.slipway.checkpoint.internal.Loader;
import dev.slipway.checkpoint.internal.OpenCheckpoint;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.ParameterSource;
import dev.slipway.lowering.Parameters;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A model on disk: what it is, how it reads and writes text, and its weights under the names of {@link Parameters}.
 *
 * <p>Files are memory-mapped, so that opening costs milliseconds whatever their size. All methods are safe for use by
 * several threads, and {@link #read} for different weights is meant to be called by several; only {@link #close} must
 * not run while another method does.
 */
public sealed interface Checkpoint extends AutoCloseable permits OpenCheckpoint {

    /** Whose way of storing models it is. */
    enum Format {
        GGUF,
        HUGGING_FACE,
        AXLEARN
    }

    /**
     * Opens a model, recognised by what is there:
     *
     * <ul>
     *   <li>a {@code .gguf} file, or any file that begins with GGUF's magic;
     *   <li>a Hugging Face folder: {@code config.json} with {@code model.safetensors} or {@code
     *       model.safetensors.index.json} and its shards, and {@code tokenizer.json} if there;
     *   <li>a {@code config.json}, or a folder with one, without weights;
     *   <li>an AXLearn folder: {@code model.json} and {@code params.safetensors} under AXLearn's parameter paths.
     * </ul>
     *
     * A folder with both {@code config.json} and {@code model.json} is Hugging Face's if the former has a {@code
     * model_type}.
     *
     * @throws CheckpointException if nothing readable is there or the files contradict themselves
     * @throws UnsupportedModelException if the architecture or a tensor's encoding is not supported
     */
    static Checkpoint open(Path path) {
        return Loader.open(path);
    }

    /** What was opened. */
    Path path();

    /** As what it was recognised. */
    Format format();

    /** What the decoder is. */
    DecoderConfig config();

    /** Whether there are weights, or the configuration alone. */
    boolean hasWeights();

    /**
     * The tokenizer, where the model brings one; read on first use.
     *
     * @throws CheckpointException if the vocabulary contradicts itself
     * @throws UnsupportedModelException if the tokenizer is of a kind that is not supported
     */
    Optional<Tokenizer> tokenizer();

    /**
     * The chat template, where the model brings one.
     *
     * @throws UnsupportedModelException if it uses a part of Jinja that is not supported
     */
    Optional<ChatTemplate> chatTemplate();

    /** The ids that steer decoding. */
    SpecialTokens specialTokens();

    /** All ids after which decoding stops, the end-of-sequence token first; as {@link SpecialTokens#stops()}. */
    default ImmutableSet<Integer> stopIds() {
        return specialTokens().stops();
    }

    /** What the model computes in, where its folder says so; AXLearn's do. */
    Optional<Dtype> computeDtype();

    /** What the model keeps keys and values in at rest, where its folder says so; AXLearn's do. */
    Optional<Dtype> cacheDtype();

    /** The names that {@link #read} knows: {@link Parameters}' with {@code layers/N/} before a layer's weight. */
    ImmutableSet<String> names();

    /**
     * Writes a weight in row-major order of its shape in {@link Parameters}, decoded from whatever encoding the file has.
     *
     * @param name e.g. {@code layers/3/q/weight}
     * @param target at least as long as the weight, elements of {@code dtype}
     * @throws CheckpointException if there is no such weight
     * @throws IllegalArgumentException if {@code target} is too short or read-only
     * @throws IllegalStateException if the checkpoint was closed
     */
    void read(String name, MemorySegment target, Dtype dtype);

    /**
     * The weight as a read-only view of the file, without a copy, where it lies there in exactly the form that
     * {@link #read} would write. The view lives until {@link #close}.
     *
     * @throws CheckpointException if there is no such weight
     */
    Optional<MemorySegment> mapped(String name, Dtype dtype);

    /**
     * How many bits the file has for each number of a weight: 4, 5 or 8 where blocks of 32 neighbouring inputs share a step
     * and an offset, as in GGUF's {@code Q4_0} to {@code Q8_0}, {@code Q4_K} and {@code Q5_K}; 16 where they are bfloat16.
     * Empty for other weights, and for one that is joined of several unlike ones.
     *
     * @throws CheckpointException if there is no such weight
     */
    OptionalInt storedBits(String name);

    /** The weights as programs take them, float32 or bfloat16; usable until the checkpoint is closed. */
    ParameterSource parameters();

    /** Unmaps the files; views from {@link #mapped} cannot be used any more. */
    @Override
    void close();
}

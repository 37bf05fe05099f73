// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.base.Suppliers;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import dev.slipway.checkpoint.ChatTemplate;
import dev.slipway.checkpoint.Checkpoint;
import dev.slipway.checkpoint.CheckpointException;
import dev.slipway.checkpoint.Dtype;
import dev.slipway.checkpoint.SpecialTokens;
import dev.slipway.checkpoint.Tokenizer;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.ParameterSource;
import dev.slipway.stablehlo.ElementType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.IntSummaryStatistics;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Supplier;

/**
 * A checkpoint of any format, its differences resolved when it was opened.
 *
 * @param arena holds the mapped files
 * @param weights of each weight the parts that make it up, in order; empty for a configuration alone
 * @param computeDtype what activations are, where it is said
 * @param cacheDtype what keys and values are kept in at rest, where it is said
 * @param lateTokenizer makes the tokenizer on first use: reading a vocabulary takes longer than all the rest, and an odd
 *     one does not stand in the way of other uses
 * @param lateTemplate makes the chat template on first use
 */
public record OpenCheckpoint(
        Path path,
        Format format,
        Arena arena,
        DecoderConfig config,
        ImmutableMap<String, ImmutableList<View>> weights,
        SpecialTokens specialTokens,
        Optional<Dtype> computeDtype,
        Optional<Dtype> cacheDtype,
        Supplier<Optional<Tokenizer>> lateTokenizer,
        Supplier<Optional<ChatTemplate>> lateTemplate)
        implements Checkpoint {
    public OpenCheckpoint {
        // Guava's is safe for several threads and does not keep a failure
        lateTokenizer = Suppliers.memoize(lateTokenizer::get);
        lateTemplate = Suppliers.memoize(lateTemplate::get);
    }

    @Override
    public boolean hasWeights() {
        return !weights.isEmpty();
    }

    @Override
    public Optional<Tokenizer> tokenizer() {
        return lateTokenizer.get();
    }

    @Override
    public Optional<ChatTemplate> chatTemplate() {
        return lateTemplate.get();
    }

    @Override
    public ImmutableSet<String> names() {
        return weights.keySet();
    }

    @Override
    public ParameterSource parameters() {
        return new ParameterSource() {
            @Override
            public void read(String name, MemorySegment target, ElementType type) {
                OpenCheckpoint.this.read(name, target, dtype(type));
            }

            @Override
            public OptionalInt storedBits(String name) {
                return OpenCheckpoint.this.storedBits(name);
            }
        };
    }

    private static Dtype dtype(ElementType type) {
        return Arrays.stream(Dtype.values())
                .filter(dtype -> dtype.element().equals(type))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("weights are read as f32 or bf16, not " + type));
    }

    @Override
    public OptionalInt storedBits(String name) {
        IntSummaryStatistics bits = parts(name).stream()
                .mapToInt(part -> part.storedBits().orElse(Integer.MAX_VALUE))
                .summaryStatistics();
        boolean alike = bits.getMax() <= 8 || (bits.getMax() == 16 && bits.getMin() == 16);
        return alike ? OptionalInt.of(bits.getMax()) : OptionalInt.empty();
    }

    @Override
    public void read(String name, MemorySegment target, Dtype dtype) {
        ImmutableList<View> parts = parts(name);
        long needed = parts.stream().mapToLong(View::count).sum() * dtype.bytes();
        if (target.byteSize() < needed || target.isReadOnly()) {
            throw new IllegalArgumentException("the target of %s has %d bytes%s; %d writable ones are needed"
                    .formatted(name, target.byteSize(), target.isReadOnly() ? ", read-only" : "", needed));
        }
        long at = 0;
        for (View part : parts) {
            part.copy(target, at, dtype);
            at += part.count();
        }
    }

    @Override
    public Optional<MemorySegment> mapped(String name, Dtype dtype) {
        ImmutableList<View> parts = parts(name);
        return parts.size() == 1 ? parts.getFirst().mapped(dtype) : Optional.empty();
    }

    @Override
    public void close() {
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }

    private ImmutableList<View> parts(String name) {
        ImmutableList<View> parts = weights.get(name);
        if (parts == null) {
            throw new CheckpointException(
                    hasWeights()
                            ? "%s has no weight %s; it has %s and so on"
                                    .formatted(
                                            path,
                                            name,
                                            String.join(
                                                    ", ",
                                                    weights.keySet().asList().subList(0, Math.min(12, weights.size()))))
                            : "%s is a configuration without weights, so %s cannot be read; give a folder with .safetensors or a .gguf file"
                                    .formatted(path, name));
        }
        return parts;
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.checkpoint.CheckpointException;
import dev.slipway.checkpoint.UnsupportedModelException;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.Parameters;
import dev.slipway.lowering.Parameters.Weight;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Finds stored tensors by name and shape, and collects what each weight of a decoder is made of. */
final class Weights {
    private final Path file;
    private final Map<String, StoredTensor> tensors;
    private final Map<String, String> unread;

    /**
     * The tensors of a file or folder.
     *
     * @param unread those of a type that is not read, with the type's name
     */
    Weights(Path file, Map<String, StoredTensor> tensors, Map<String, String> unread) {
        this.file = file;
        this.tensors = tensors;
        this.unread = unread;
    }

    /** How a format stores a weight. */
    @FunctionalInterface
    interface Rule {
        /**
         * The parts of a weight.
         *
         * @param layer the layer, or -1 for a weight outside them
         */
        List<View> parts(Weight weight, int layer);
    }

    /** All weights of a decoder, each checked for the right count. */
    ImmutableMap<String, ImmutableList<View>> collect(DecoderConfig config, Rule rule) {
        ImmutableMap.Builder<String, ImmutableList<View>> all = ImmutableMap.builder();
        ImmutableMap<String, Weight> ofLayer = Parameters.ofLayer(config);
        for (Weight weight : Parameters.outside(config).values()) {
            all.put(weight.name(), checked(weight, rule.parts(weight, -1)));
        }
        for (int layer = 0; layer < config.depth(); layer++) {
            for (Weight weight : ofLayer.values()) {
                all.put("layers/" + layer + "/" + weight.name(), checked(weight, rule.parts(weight, layer)));
            }
        }
        return all.buildOrThrow();
    }

    boolean has(String name) {
        return tensors.containsKey(name);
    }

    /**
     * The tensor of that name and shape; dimensions of size 1 do not count.
     *
     * @throws CheckpointException if it is absent or shaped otherwise
     */
    StoredTensor get(String name, long... shape) {
        StoredTensor tensor = tensors.get(name);
        if (tensor == null && unread.containsKey(name)) {
            throw new UnsupportedModelException(
                    "%s: tensor %s is of type %s; F64, F32, F16 and BF16 are read: convert it"
                            .formatted(file, name, unread.get(name)));
        }
        if (tensor == null) {
            throw new CheckpointException(
                    "%s has no tensor %s, which its configuration asks for; the file is incomplete or of another model"
                            .formatted(file, name));
        }
        if (!withoutOnes(tensor.shape()).equals(withoutOnes(ImmutableLongArray.copyOf(shape)))) {
            throw new CheckpointException(
                    "%s: tensor %s is %s, but the configuration asks for %s; file and configuration are of different models"
                            .formatted(file, name, tensor.shape(), ImmutableLongArray.copyOf(shape)));
        }
        return tensor;
    }

    /** The whole tensor of that name and shape. */
    List<View> whole(String name, long... shape) {
        StoredTensor tensor = get(name, shape);
        return List.of(View.run(tensor, 0, tensor.count()));
    }

    private ImmutableList<View> checked(Weight weight, List<View> parts) {
        long expected = weight.shape().stream().mapToLong(Integer::longValue).reduce(1, (a, b) -> a * b);
        long count = parts.stream().mapToLong(View::count).sum();
        if (count != expected) {
            throw new CheckpointException("%s: %s has %d numbers, but %s needs %d; file and configuration disagree"
                    .formatted(file, parts.getFirst().tensor().name(), count, weight.name(), expected));
        }
        for (View part : parts) {
            if (!part.wholeBlocks()) {
                throw new UnsupportedModelException(
                        "%s: tensor %s is encoded as %s, in blocks of %d that %s cuts through; convert it to F16 or F32"
                                .formatted(
                                        file,
                                        part.tensor().name(),
                                        part.tensor().encoding(),
                                        part.tensor().encoding().numbers(),
                                        weight.name()));
            }
        }
        return ImmutableList.copyOf(parts);
    }

    private static ImmutableLongArray withoutOnes(ImmutableLongArray shape) {
        return ImmutableLongArray.copyOf(shape.stream().filter(n -> n != 1));
    }
}

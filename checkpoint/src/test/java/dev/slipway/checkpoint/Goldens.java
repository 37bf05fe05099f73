// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import com.google.common.primitives.ImmutableIntArray;
import dev.slipway.lowering.Parameters;
import dev.slipway.lowering.Parameters.Weight;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Reference values beside the tests, and weights as arrays. */
final class Goldens {
    private Goldens() {}

    static JsonNode read(String resource) {
        try (InputStream in = Goldens.class.getResourceAsStream(resource)) {
            return JsonMapper.shared().readTree(in);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    static ImmutableIntArray ids(JsonNode array) {
        return ImmutableIntArray.copyOf(array.values().stream().mapToInt(JsonNode::intValue));
    }

    static Path write(Path file, Object json) {
        try {
            return Files.write(file, JsonMapper.shared().writeValueAsBytes(json));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    static Weight weight(Checkpoint checkpoint, String name) {
        Map<String, Weight> weights = name.startsWith("layers/")
                ? Parameters.ofLayer(checkpoint.config())
                : Parameters.outside(checkpoint.config());
        return weights.get(name.replaceFirst("^layers/\\d+/", ""));
    }

    static int count(Checkpoint checkpoint, String name) {
        return weight(checkpoint, name).shape().stream().reduce(1, (a, b) -> a * b);
    }

    static float[] numbers(Checkpoint checkpoint, String name) {
        float[] numbers = new float[count(checkpoint, name)];
        checkpoint.read(name, MemorySegment.ofArray(numbers), Dtype.F32);
        return numbers;
    }

    /** {@code from, from + 1, ...}. */
    static float[] counting(int from, int count) {
        float[] numbers = new float[count];
        for (int i = 0; i < count; i++) {
            numbers[i] = from + i;
        }
        return numbers;
    }

    /** The names of weights whose mapped bytes differ from those that are read; there should be none. */
    static List<String> mappedOtherwise(Checkpoint checkpoint) {
        return checkpoint.names().stream()
                .filter(name -> {
                    Optional<MemorySegment> mapped = checkpoint.mapped(name, Dtype.F32);
                    return mapped.isPresent()
                            && mapped.get().mismatch(MemorySegment.ofArray(numbers(checkpoint, name))) != -1;
                })
                .toList();
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import dev.slipway.checkpoint.CheckpointException;
import dev.slipway.topology.json.JsonFault;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * An object in a JSON file, whose fields are read by type. A field that is null counts as absent.
 *
 * @param where the path within the file, with a dot at its end; empty at the top
 */
record Json(Path file, String where, JsonNode node) implements Fields {
    private static final JsonMapper MAPPER = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    static Json read(Path file) {
        try {
            return parse(file, Files.readAllBytes(file));
        } catch (IOException e) {
            throw Loader.unreadable(file, e);
        }
    }

    static Optional<Json> readIfThere(Path file) {
        return Files.isRegularFile(file) ? Optional.of(read(file)) : Optional.empty();
    }

    static Json parse(Path file, byte[] bytes) {
        JsonNode node;
        try {
            node = MAPPER.readTree(bytes);
        } catch (JacksonException e) {
            throw new CheckpointException(
                    "%s is not the JSON it should be (%s); get it again".formatted(file, JsonFault.of(e)), e);
        }
        if (!node.isObject()) {
            throw new CheckpointException("%s holds no JSON object; get it again".formatted(file));
        }
        return new Json(file, "", node);
    }

    /** The field as it is, or nothing if absent or null. */
    Optional<JsonNode> get(String key) {
        JsonNode value = node.get(key);
        return value == null || value.isNull() ? Optional.empty() : Optional.of(value);
    }

    boolean has(String key) {
        return get(key).isPresent();
    }

    Optional<Json> child(String key) {
        return get(key).map(value -> {
            if (!value.isObject()) {
                throw wrong(key, value, "an object");
            }
            return new Json(file, where + key + ".", value);
        });
    }

    /** The objects of an array; none if absent. */
    List<Json> children(String key) {
        List<Json> children = new ArrayList<>();
        for (JsonNode element : list(key)) {
            if (!element.isObject()) {
                throw wrong(key, element, "objects");
            }
            children.add(new Json(file, where + key + "[" + children.size() + "].", element));
        }
        return children;
    }

    /** The elements of an array; none if absent. */
    List<JsonNode> list(String key) {
        JsonNode value = get(key).orElse(null);
        if (value == null) {
            return List.of();
        }
        if (!value.isArray()) {
            throw wrong(key, value, "an array");
        }
        return List.copyOf(value.values());
    }

    /** The integers of an array; none if absent. */
    List<Integer> integers(String key) {
        List<Integer> integers = new ArrayList<>();
        for (JsonNode element : list(key)) {
            if (!element.isInt()) {
                throw wrong(key, element, "integers of at most 31 bits");
            }
            integers.add(element.intValue());
        }
        return integers;
    }

    Optional<String> string(String key) {
        return get(key).map(value -> {
            if (!value.isString()) {
                throw wrong(key, value, "a string");
            }
            return value.stringValue();
        });
    }

    @Override
    public Optional<Integer> integer(String key) {
        return get(key).map(value -> {
            if (!value.isIntegralNumber() || !value.canConvertToInt()) {
                throw wrong(key, value, "an integer of at most 31 bits");
            }
            return value.intValue();
        });
    }

    @Override
    public Optional<Double> number(String key) {
        return get(key).map(value -> {
            if (!value.isNumber() || !Double.isFinite(value.doubleValue())) {
                throw wrong(key, value, "a number");
            }
            return value.doubleValue();
        });
    }

    Optional<Boolean> flag(String key) {
        return get(key).map(value -> {
            if (!value.isBoolean()) {
                throw wrong(key, value, "true or false");
            }
            return value.booleanValue();
        });
    }

    String requiredString(String key) {
        return string(key).orElseThrow(() -> missing(key));
    }

    @Override
    public CheckpointException missing(String key) {
        return new CheckpointException(
                "%s has no field %s%s, which a model of its kind has; add it".formatted(file, where, key));
    }

    @Override
    public CheckpointException wrong(String key, @Nullable Object value, String expected) {
        return new CheckpointException("%s: %s%s is %s, but %s is expected; correct it"
                .formatted(file, where, key, Fields.brief(value), expected));
    }
}

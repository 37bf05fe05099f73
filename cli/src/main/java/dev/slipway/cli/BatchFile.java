// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import dev.slipway.topology.json.JsonFault;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Requests in a file, and answers to them in their order. */
final class BatchFile {
    private static final JsonMapper MAPPER = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            // as they are written: a double may have become infinite or 0
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .build();

    private BatchFile() {}

    /**
     * The JSON in a file.
     *
     * @throws BatchException if it is none
     */
    static JsonNode read(Path file) throws IOException {
        try {
            return MAPPER.readTree(InFile.read(file));
        } catch (JacksonException e) {
            throw new BatchException("%s is not JSON (%s)".formatted(file, JsonFault.of(e)));
        }
    }

    /** One JSON array, an answer a line. */
    static String answers(List<?> answers) {
        return answers.stream().map(MAPPER::writeValueAsString).collect(Collectors.joining(",\n", "[", "]"));
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import dev.slipway.topology.json.JsonFault;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import tools.jackson.core.JacksonException;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/** Records of measurements that are read again. */
final class JsonFile {
    private static final JsonMapper MAPPER = JsonMapper.builder().build();

    private JsonFile() {}

    /**
     * What a file holds.
     *
     * @param remedy what to do where it holds something else
     * @throws UnreadableException if it is not there, or not JSON of that type
     */
    static <T> T read(Path file, TypeReference<T> type, String remedy) {
        try {
            return MAPPER.readValue(Files.readAllBytes(file), type);
        } catch (JacksonException e) {
            throw new UnreadableException(
                    "%s is not the JSON it should be (%s); %s".formatted(file, JsonFault.of(e), remedy), e);
        } catch (IOException e) {
            throw new UnreadableException("%s cannot be read (%s); %s".formatted(file, e, remedy), e);
        }
    }

    /** A file that cannot be read; the message names it, the place, the reason and the remedy. */
    static final class UnreadableException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        UnreadableException(String message) {
            super(message);
        }

        UnreadableException(String message, Exception cause) {
            super(message, cause);
        }
    }
}

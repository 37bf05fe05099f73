// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import tools.jackson.databind.json.JsonMapper;

/** Writes small safetensors files. */
final class SafetensorsWriter {
    private final Map<String, Object> header = new LinkedHashMap<>();
    private final ByteArrayOutputStream data = new ByteArrayOutputStream();

    SafetensorsWriter tensor(String name, float[] values, int... shape) {
        ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(values);
        return tensor(name, "F32", bytes.array(), shape);
    }

    SafetensorsWriter tensor(String name, String type, byte[] bytes, int... shape) {
        int from = data.size();
        data.writeBytes(bytes);
        header.put(
                name,
                Map.of("dtype", type, "shape", Arrays.stream(shape).boxed().toList(), "data_offsets", new int[] {
                    from, data.size()
                }));
        return this;
    }

    byte[] bytes() {
        return bytes(JsonMapper.shared().writeValueAsString(header), data.toByteArray());
    }

    static byte[] bytes(String header, byte[] data) {
        byte[] json = header.getBytes(StandardCharsets.UTF_8);
        // the format pads the header with spaces, so that numbers are aligned
        int length = (json.length + 7) / 8 * 8;
        ByteBuffer file = ByteBuffer.allocate(8 + length + data.length).order(ByteOrder.LITTLE_ENDIAN);
        file.putLong(length).put(json);
        while (file.position() < 8 + length) {
            file.put((byte) ' ');
        }
        return file.put(data).array();
    }

    Path write(Path file) {
        try {
            return Files.write(file, bytes());
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Decoding of stored numbers; expected values are the {@code gguf} package's (see gguf-blocks.json). */
class EncodingTest {
    private static JsonNode goldens() {
        try (InputStream in = EncodingTest.class.getResourceAsStream("/dev/slipway/checkpoint/gguf-blocks.json")) {
            return JsonMapper.shared().readTree(in).get("encodings");
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @EnumSource(names = "I?Q.*", mode = EnumSource.Mode.MATCH_ALL)
    void everyQuantisationIsDecodedToTheLastBit(Encoding encoding) {
        JsonNode golden = goldens().get(encoding.name());
        byte[] raw = HexFormat.of().parseHex(golden.get("blocks").stringValue());
        ByteBuffer expected =
                ByteBuffer.wrap(HexFormat.of().parseHex(golden.get("values").stringValue()));
        float[] numbers = new float[expected.remaining() / 4];

        encoding.decode(raw, raw.length / encoding.bytes(), numbers);

        float[] values = new float[numbers.length];
        expected.asFloatBuffer().get(values);
        assertThat(numbers).containsExactly(values);
    }

    @Test
    void everyQuantisationHasGoldens() {
        Set<String> quantisations = new TreeSet<>(Stream.of(Encoding.values())
                .map(Encoding::name)
                .filter(name -> name.matches("I?Q.*"))
                .toList());

        assertThat(new TreeSet<>(goldens().propertyNames())).isEqualTo(quantisations);
    }

    @ParameterizedTest
    @ValueSource(floats = {0, -0f, 1, -2.5f, 65504, 6e-8f, Float.POSITIVE_INFINITY})
    void halvesAreDecoded(float value) {
        short half = Float.floatToFloat16(value);
        float[] number = new float[1];

        Encoding.F16.decode(new byte[] {(byte) half, (byte) (half >> 8)}, 1, number);

        assertThat(number[0]).isEqualTo(Float.float16ToFloat(half));
    }

    @Test
    void bfloat16IsRoundedToNearestWithTiesToEven() {
        assertThat(View.bfloat16(1f)).isEqualTo((short) 0x3F80);
        assertThat(View.bfloat16(Float.intBitsToFloat(0x3F808000))).isEqualTo((short) 0x3F80);
        assertThat(View.bfloat16(Float.intBitsToFloat(0x3F818000))).isEqualTo((short) 0x3F82);
        assertThat(View.bfloat16(Float.intBitsToFloat(0x3F808001))).isEqualTo((short) 0x3F81);
        assertThat(View.bfloat16(Float.MAX_VALUE)).isEqualTo((short) 0x7F80);
        assertThat(View.bfloat16(Float.NaN)).isEqualTo((short) 0x7FC0);
        assertThat(View.bfloat16(-3.25f)).isEqualTo((short) 0xC050);
    }
}

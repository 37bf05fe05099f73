// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.json.JsonMapper;

class JsonFaultTest {
    private static final JsonMapper MAPPER = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    @Test
    void anArrayThatIsNestedTooDeepIsSaidToBeWithoutAPlace() {
        byte[] bytes = "[".repeat(100_000).getBytes(StandardCharsets.UTF_8);

        JacksonException fault = catchThrowableOfType(JacksonException.class, () -> MAPPER.readTree(bytes));

        assertThat(JsonFault.of(fault)).isEqualTo("Document nesting depth (501) exceeds the maximum allowed (500)");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"a\": 1, | line 2, column 9: it ends in the middle",
                "{\"a\": \"b | line 2, column 9: it ends in the middle",
                "{\"a\": 1 \"b\" | line 2, column 9: Unexpected character ('\"' (code 34)): was expecting comma to separate Object entries",
                "{\"a\": 1] | line 2, column 8: Unexpected close marker ']': expected '}'",
                "{\"a\": NaN} | line 2, column 10: Non-standard token 'NaN'",
                "{\"a\": 1, \"a\": 2} | line 2, column 13: Duplicate Object property \"a\"",
                "{} {} | line 2, column 4: more follows behind the value"
            })
    void whereAndWhyATextIsNoJsonIsSaidInPlainWords(String json, String said) {
        byte[] bytes = ("\n" + json).getBytes(StandardCharsets.UTF_8);

        JacksonException fault = catchThrowableOfType(JacksonException.class, () -> MAPPER.readTree(bytes));

        assertThat(JsonFault.of(fault)).isEqualTo(said);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.codegen.abi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The ABI table and what is made of it. */
class AbiGeneratorTest {

    private static final String TABLE = """
            # a comment
            version 0.7
            function PJRT_Thing_Look
            enum PJRT_Colour
              RED = 0
              BLUE = 4
            callback void PJRT_Done(void* user)
            struct PJRT_Api
              size_t struct_size
            struct PJRT_Pair
              bool flag
              int64_t number
            struct PJRT_Thing_Look_Args since 99
              size_t struct_size
              PJRT_Colour colour
              PJRT_Pair pair since 98
              union{int small|double large} value
              int32_t[3] sizes
              PJRT_Done done
              bool last
            """;

    @TempDir
    private Path folder;

    private AbiTable table(String text) throws IOException {
        return AbiTable.read(Files.writeString(folder.resolve("table.txt"), text));
    }

    @Test
    void structsAreLaidOutAsCDoesOnSixtyFourBits() throws IOException {
        AbiTable table = table(TABLE);
        assertThat(table.place("PJRT_Thing_Look_Args"))
                .extracting(AbiTable.Placed::offset)
                .containsExactly(0L, 8L, 16L, 32L, 40L, 56L, 64L);
        assertThat(table.end("PJRT_Thing_Look_Args")).isEqualTo(65);
        assertThat(table.size(new AbiTable.Kind.Nested("PJRT_Thing_Look_Args"))).isEqualTo(72);
    }

    @Test
    void versionsAreRead() throws IOException {
        AbiTable table = table(TABLE);
        assertThat(table.minor()).isEqualTo(7);
        assertThat(table.struct("PJRT_Thing_Look_Args").since()).isEqualTo(99);
        assertThat(table.struct("PJRT_Thing_Look_Args").fields().get(2).since()).isEqualTo(98);
        assertThat(table.struct("PJRT_Pair").since()).isEqualTo(AbiTable.BASELINE);
    }

    @Test
    void aTypeThatTheTableDoesNotSayIsNamed() throws IOException {
        AbiTable table = table(TABLE + "struct PJRT_Wrong\n  mystery_t what\n");
        assertThatThrownBy(() -> table.place("PJRT_Wrong"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("mystery_t");
    }

    @Test
    void aLineOfNoKnownFormIsNamed() {
        assertThatThrownBy(() -> table(TABLE + "nonsense here\n"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("nonsense here");
    }

    @Test
    void theSameTableGivesTheSameFiles() throws IOException {
        assertThat(generate("one"))
                .isEqualTo(generate("two"))
                .containsKeys("PJRT_Pair.java", "PJRT_Colour.java", "PjrtFunction.java", "PjrtAbi.java");
    }

    @Test
    void theJavadocOfAStructIsItsDeclarationInC() throws IOException {
        assertThat(generate("one").get("PJRT_Thing_Look_Args.java"))
                .contains("struct PJRT_Thing_Look_Args {", "PJRT_Pair pair; // 0.98", "Since 0.99.");
    }

    private Map<String, String> generate(String name) throws IOException {
        Path target = folder.resolve(name);
        AbiGenerator.generate(table(TABLE), target, "example");
        Map<String, String> files = new TreeMap<>();
        try (Stream<Path> all = Files.list(target.resolve("example"))) {
            for (Path file : all.toList()) {
                files.put(file.getFileName().toString(), Files.readString(file));
            }
        }
        return files;
    }
}

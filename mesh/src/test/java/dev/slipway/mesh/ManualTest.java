// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The manual's snippets compile and hold. */
class ManualTest {
    private static final Pattern SNIPPET =
            Pattern.compile("\\{@snippet :\\R(.*?)\\R \\* }(?=\\R \\*\\R)", Pattern.DOTALL);

    @TempDir
    Path folder;

    static List<String> snippets() throws IOException {
        String manual = Files.readString(Path.of("src/main/java/dev/slipway/mesh/package-info.java"));
        List<String> snippets =
                SNIPPET.matcher(manual).results().map(ManualTest::code).toList();
        assertThat(snippets).isNotEmpty();
        return snippets;
    }

    private static String code(MatchResult snippet) {
        return snippet.group(1).replaceAll("(?m)^ \\* ?", "");
    }

    @ParameterizedTest
    @MethodSource("snippets")
    void everySnippetCompilesAndHolds(String snippet) throws Exception {
        Path source = Files.writeString(folder.resolve("Snippet.java"), """
                import static org.assertj.core.api.Assertions.assertThat;
                import dev.slipway.mesh.*;
                import dev.slipway.topology.*;
                import java.util.*;
                public class Snippet {
                    public static void main(String... arguments) {
                        %s
                    }
                }
                """.formatted(snippet));
        int code = ToolProvider.getSystemJavaCompiler()
                .run(
                        null,
                        null,
                        null,
                        "-proc:none",
                        "-cp",
                        System.getProperty("java.class.path"),
                        "-d",
                        folder.toString(),
                        source.toString());
        assertThat(code).isZero();
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
            loader.loadClass("Snippet").getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        }
    }
}

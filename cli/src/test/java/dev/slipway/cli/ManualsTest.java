// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The modules' manuals hold what they say. */
class ManualsTest {
    private static final Pattern SNIPPET =
            Pattern.compile("\\{@snippet :\\R(.*?)\\R \\* }(?=\\R \\*\\R)", Pattern.DOTALL);

    @TempDir
    Path folder;

    /** A snippet of a module's manual. */
    record Snippet(String module, String code) {
        static Stream<Snippet> of(String module) throws IOException {
            // Surefire runs in the module's folder.
            Path manual = Path.of("../%1$s/src/main/java/dev/slipway/%1$s/package-info.java".formatted(module));
            return SNIPPET.matcher(Files.readString(manual))
                    .results()
                    .map(match -> new Snippet(module, match.group(1).replaceAll("(?m)^ \\* ?", "")));
        }

        /** In the manual's own package, whose names go before others' of the same spelling. */
        String source() {
            // Two modules have one of their own.
            String elementType = module.equals("runtime") ? "" : "import dev.slipway.stablehlo.ElementType;";
            return """
                    package dev.slipway.%s;
                    import static org.assertj.core.api.Assertions.assertThat;
                    import com.google.common.primitives.*;
                    import dev.slipway.aot.*;
                    import dev.slipway.checkpoint.*;
                    import dev.slipway.lowering.*;
                    import dev.slipway.mesh.*;
                    import dev.slipway.runtime.*;
                    %s
                    import dev.slipway.topology.Topologies;
                    import dev.slipway.topology.Topology;
                    import java.lang.foreign.*;
                    import java.nio.file.*;
                    import java.util.*;
                    public class Snippet {
                        public static void main(String... arguments) throws Exception {
                            %s
                        }
                    }
                    """.formatted(module, elementType, code)
                    .replaceAll("(?m)^import dev.slipway.%s\\b.*\\R".formatted(module), "");
        }

        void compileTo(Path classes) {
            new JavaSource("Snippet", source()).compileTo(classes);
        }
    }

    static Stream<Snippet> snippets() throws IOException {
        Stream.Builder<Snippet> all = Stream.builder();
        for (String module : List.of("topology", "mesh", "stablehlo", "lowering", "checkpoint", "runtime", "aot")) {
            List<Snippet> own = Snippet.of(module).toList();
            assertThat(own).as(module).isNotEmpty();
            own.forEach(all);
        }
        return all.build();
    }

    @ParameterizedTest
    @MethodSource("snippets")
    void everySnippetCompiles(Snippet snippet) throws Exception {
        snippet.compileTo(folder);
    }

    @ParameterizedTest
    @ValueSource(strings = {"topology", "mesh"})
    void whatTheSnippetsClaimHolds(String module) throws Exception {
        for (Snippet snippet : Snippet.of(module).toList()) {
            snippet.compileTo(folder);
            try (URLClassLoader loader =
                    new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
                loader.loadClass("dev.slipway." + module + ".Snippet")
                        .getMethod("main", String[].class)
                        .invoke(null, (Object) new String[0]);
            }
        }
    }
}

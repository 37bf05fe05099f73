// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The README holds what it says. */
class ReadmeTest {
    /** Surefire runs in the module's folder. */
    private static final Path README = Path.of("../README.md");

    private static final Pattern JAVA = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);
    private static final Pattern REQUIRES = Pattern.compile("`(requires [^`]*)`");
    private static final Pattern LINK = Pattern.compile("\\]\\(([^)#:]+)\\)");
    private static final Pattern ARTIFACT =
            Pattern.compile("<artifactId>slipway-([a-z]+)</artifactId><version>([^<]+)</version>");
    private static final Pattern COMMAND = Pattern.compile("(?m)^\\./slipway ([a-z]+)");

    @TempDir
    Path classes;

    @Test
    void itsJavaCompiles() throws Exception {
        Matcher block = JAVA.matcher(Files.readString(README));
        assertThat(block.find()).isTrue();
        new JavaSource("Embed", block.group(1)).compileTo(classes);
    }

    @Test
    void itsJavaCompilesInAModuleThatRequiresWhatItSays() throws Exception {
        String readme = Files.readString(README);
        Matcher block = JAVA.matcher(readme);
        Matcher requires = REQUIRES.matcher(readme);
        assertThat(block.find() && requires.find()).isTrue();

        new JavaSource("embed/Embed", "package embed;" + block.group(1))
                .compileInModule("module embed {" + requires.group(1) + "}", classes);
    }

    @Test
    void itsCommandsExist() throws Exception {
        COMMAND.matcher(Files.readString(README))
                .results()
                .map(match -> match.group(1))
                .filter(name -> !name.equals("test"))
                .forEach(name ->
                        assertThat(Slipway.run(name, "--help").code()).as(name).isZero());
    }

    @Test
    void itsArtifactsAreModulesOfThisVersion() throws Exception {
        String pom = Files.readString(README.resolveSibling("pom.xml"));
        Matcher artifact = ARTIFACT.matcher(Files.readString(README));

        assertThat(artifact.results()).hasSize(2).allSatisfy(match -> {
            assertThat(pom).contains("<version>" + match.group(2) + "</version>");
            assertThat(README.resolveSibling(match.group(1)).resolve("pom.xml")).exists();
        });
    }

    @Test
    void itsLinksLeadSomewhere() throws Exception {
        LINK.matcher(Files.readString(README))
                .results()
                .forEach(match ->
                        assertThat(README.resolveSibling(match.group(1))).exists());
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Java that stands in a document. */
final class JavaSource extends SimpleJavaFileObject {
    private final String text;

    /** @param name of its class */
    JavaSource(String name, String text) {
        super(URI.create("string:///" + name + ".java"), Kind.SOURCE);
        this.text = text;
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
        return text;
    }

    /** Asserts that it compiles against what the tests see. */
    void compileTo(Path classes) {
        compile(classes, "-cp", List.of(this));
    }

    /** Asserts that it compiles in a module, by a module path of what the tests see. */
    void compileInModule(String declaration, Path classes) {
        compile(classes, "--module-path", List.of(this, new JavaSource("module-info", declaration)));
    }

    private static void compile(Path classes, String path, List<JavaSource> sources) {
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        List<String> options = List.of(
                "-proc:none",
                path,
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                "-d",
                classes.toString());
        boolean compiled = ToolProvider.getSystemJavaCompiler()
                .getTask(null, null, found, options, null, sources)
                .call();
        assertThat(compiled).as(found.getDiagnostics().toString()).isTrue();
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.codegen;

import com.palantir.javapoet.JavaFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Writes generated sources. */
public final class GeneratedSource {
    private GeneratedSource() {}

    /**
     * Writes a source below a folder, unless it is there already with the same text: a file that is written anew makes Maven
     * compile its module again, and all that depend on it.
     */
    public static void write(JavaFile source, Path folder) throws IOException {
        Path file = folder.resolve(source.packageName().replace('.', '/'))
                .resolve(source.typeSpec().name() + ".java");
        String text = source.toString();
        if (!Files.exists(file) || !Files.readString(file).equals(text)) {
            Files.createDirectories(file.getParent());
            Files.writeString(file, text);
        }
    }
}

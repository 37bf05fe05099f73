// SPDX-License-Identifier: Apache-2.0
package dev.slipway.codegen.json;

import com.palantir.javapoet.ClassName;
import com.palantir.javapoet.CodeBlock;
import com.palantir.javapoet.JavaFile;
import com.palantir.javapoet.MethodSpec;
import com.palantir.javapoet.ParameterizedTypeName;
import com.palantir.javapoet.TypeName;
import com.palantir.javapoet.TypeSpec;
import dev.slipway.codegen.GeneratedSource;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.lang.model.element.Modifier;
import tools.jackson.databind.json.JsonMapper;

/** Writes a class whose {@code root()} makes the maps, lists and boxes that Jackson reads from a document that is an object. */
public final class JsonGenerator {
    private static final TypeName DOCUMENT = ParameterizedTypeName.get(Map.class, String.class, Object.class);

    private final MethodSpec.Builder root = MethodSpec.methodBuilder("root")
            .addJavadoc("The document, anew.\n")
            .addModifiers(Modifier.STATIC)
            .returns(DOCUMENT)
            .addStatement("$T root = new $T<>()", DOCUMENT, LinkedHashMap.class);
    private int values;

    private JsonGenerator() {}

    /** {@code args}: the document, the folder of generated sources, the class with its package. */
    public static void main(String[] args) throws IOException {
        Path source = Path.of(args[0]);
        ClassName name = ClassName.bestGuess(args[2]);
        JsonGenerator generator = new JsonGenerator();
        generator.fields("root", new JsonMapper().readValue(source, Map.class));
        TypeSpec type = TypeSpec.classBuilder(name)
                .addModifiers(Modifier.FINAL)
                .addJavadoc("{@code $L} as a value.\n", source.getFileName())
                .addMethod(MethodSpec.constructorBuilder()
                        .addModifiers(Modifier.PRIVATE)
                        .build())
                .addMethod(generator.root.addStatement("return root").build())
                .build();
        GeneratedSource.write(
                JavaFile.builder(name.packageName(), type).indent("    ").build(), Path.of(args[1]));
    }

    private void fields(String owner, Map<?, ?> object) {
        object.forEach((key, value) -> root.addStatement("$L.put($S, $L)", owner, key, made(value)));
    }

    /** The Java of a value; what is not one literal is made by statements before it. */
    private CodeBlock made(Object value) {
        return switch (value) {
            case Map<?, ?> object -> {
                String name = "value" + values++;
                root.addStatement("var $L = new $T<String, Object>()", name, LinkedHashMap.class);
                fields(name, object);
                yield CodeBlock.of("$L", name);
            }
            case List<?> list -> {
                String name = "value" + values++;
                root.addStatement("var $L = new $T<Object>()", name, ArrayList.class);
                list.forEach(element -> root.addStatement("$L.add($L)", name, made(element)));
                yield CodeBlock.of("$L", name);
            }
            case String text -> CodeBlock.of("$S", text);
            case Long number -> CodeBlock.of("$LL", number);
            default -> CodeBlock.of("$L", value); // Integer, Double, Boolean
        };
    }
}

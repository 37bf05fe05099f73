// SPDX-License-Identifier: Apache-2.0
package dev.slipway.codegen.json;

import com.palantir.javapoet.ClassName;
import com.palantir.javapoet.CodeBlock;
import com.palantir.javapoet.JavaFile;
import com.palantir.javapoet.MethodSpec;
import com.palantir.javapoet.TypeSpec;
import java.io.IOException;
import java.nio.file.Path;
import javax.lang.model.element.Modifier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Writes a class whose {@code root()} makes the tree that Jackson reads from a document. */
public final class JsonGenerator {
    private final MethodSpec.Builder root = MethodSpec.methodBuilder("root")
            .addJavadoc("The document, anew.\n")
            .addModifiers(Modifier.STATIC)
            .returns(ObjectNode.class)
            .addStatement("$T root = $T.instance.objectNode()", ObjectNode.class, JsonNodeFactory.class);
    private int nodes;

    private JsonGenerator() {}

    /** {@code args}: the document, the folder of generated sources, the class with its package. */
    public static void main(String[] args) throws IOException {
        Path source = Path.of(args[0]);
        ClassName name = ClassName.bestGuess(args[2]);
        JsonGenerator generator = new JsonGenerator();
        generator.children("root", new JsonMapper().readTree(source));
        TypeSpec type = TypeSpec.classBuilder(name)
                .addModifiers(Modifier.FINAL)
                .addJavadoc("{@code $L} as a tree.\n", source.getFileName())
                .addMethod(MethodSpec.constructorBuilder()
                        .addModifiers(Modifier.PRIVATE)
                        .build())
                .addMethod(generator.root.addStatement("return root").build())
                .build();
        JavaFile.builder(name.packageName(), type).indent("    ").build().writeTo(Path.of(args[1]));
    }

    private void children(String owner, JsonNode node) {
        node.properties().forEach(field -> add(owner + ".put", field.getKey(), field.getValue()));
        node.values().stream().filter(value -> node.isArray()).forEach(value -> add(owner + ".add", null, value));
    }

    private void add(String method, @Nullable String key, JsonNode value) {
        CodeBlock name = key == null ? CodeBlock.of("") : CodeBlock.of("$S", key);
        if (value.isContainer()) {
            String child = "node" + nodes++;
            root.addStatement("var $L = $L$L($L)", child, method, value.isObject() ? "Object" : "Array", name);
            children(child, value);
        } else {
            root.addStatement("$L($L$L)", method, key == null ? "" : CodeBlock.of("$L, ", name), literal(value));
        }
    }

    private static CodeBlock literal(JsonNode value) {
        return switch (value.getNodeType()) {
            case STRING -> CodeBlock.of("$S", value.stringValue());
            case NUMBER -> CodeBlock.of("$L$L", value.numberValue(), value.isLong() ? "L" : "");
            case BOOLEAN -> CodeBlock.of("$L", value.booleanValue());
            default -> throw new IllegalArgumentException(value + " has no literal in Java");
        };
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.codegen.ops;

import com.palantir.javapoet.AnnotationSpec;
import com.palantir.javapoet.ArrayTypeName;
import com.palantir.javapoet.ClassName;
import com.palantir.javapoet.CodeBlock;
import com.palantir.javapoet.JavaFile;
import com.palantir.javapoet.MethodSpec;
import com.palantir.javapoet.ParameterizedTypeName;
import com.palantir.javapoet.TypeName;
import com.palantir.javapoet.TypeSpec;
import com.palantir.javapoet.WildcardTypeName;
import dev.slipway.codegen.GeneratedSource;
import dev.slipway.codegen.ops.OpTable.AttributeSpec;
import dev.slipway.codegen.ops.OpTable.EnumSpec;
import dev.slipway.codegen.ops.OpTable.OpSpec;
import dev.slipway.codegen.ops.OpTable.ValueSpec;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.lang.model.element.Modifier;

/**
 * From the op table to Java: enum attributes, builder methods, a class for every operation, and the table that printer,
 * parser, verifier and bytecode read.
 *
 * <p>Arguments: the folder of the table, the folder to write into.
 */
public final class OpGenerator {
    private static final String API = "dev.slipway.stablehlo";
    private static final String OPS = API + ".op";
    private static final ClassName VALUE = ClassName.get(API, "Value");
    private static final ClassName TYPE = ClassName.get(API, "Type");
    private static final ClassName ATTRIBUTE = ClassName.get(API, "Attribute");
    private static final ClassName OPERATION = ClassName.get(API, "Operation");
    private static final ClassName TABLE = ClassName.get(API + ".internal", "OpTable");
    private static final ClassName ATTRS = ClassName.get(API + ".internal", "Attrs");
    private static final ClassName NULLABLE = ClassName.get("org.jspecify.annotations", "Nullable");
    private static final ClassName OP = ClassName.get(OPS, "Op");
    private static final List<String> DIALECTS = List.of("stablehlo", "chlo", "sdy", "func", "builtin");

    /** The file of operations that are met beside those: they are parsed and printed, but have no classes. */
    private static final String OTHERS = "others";

    /** Operations whose builder methods are written by hand, as they make regions or symbols. */
    private static final Set<String> BY_HAND = Set.of(
            "stablehlo.constant",
            "stablehlo.return",
            "chlo.constant",
            "chlo.scan",
            "sdy.constant",
            "sdy.return",
            "sdy.mesh",
            "stablehlo.composite");

    private static final Set<String> RESERVED = Set.of("if", "while", "case", "return", "map");

    private final OpTable table;
    private final Path out;

    private OpGenerator(OpTable table, Path out) {
        this.table = table;
        this.out = out;
    }

    /** Runs the generator. */
    public static void main(String[] arguments) throws IOException {
        if (arguments.length != 2) {
            throw new IllegalArgumentException("expected the folder of the op table and the folder to write into");
        }
        OpGenerator generator = new OpGenerator(
                OpTable.read(
                        Path.of(arguments[0]),
                        Stream.concat(DIALECTS.stream(), Stream.of(OTHERS)).toList()),
                Path.of(arguments[1]));
        generator.writeEnums();
        generator.writeTable();
        generator.writeVhlo(Path.of(arguments[0]));
        generator.writeBuilder("stablehlo", "StablehloOps");
        generator.writeBuilder("chlo", "ChloOps");
        generator.writeBuilder("sdy", "SdyOps");
        generator.writeOps();
    }

    private void write(String pkg, TypeSpec type) throws IOException {
        JavaFile source = JavaFile.builder(pkg, type)
                .skipJavaLangImports(true)
                .indent("    ")
                .addFileComment("SPDX-License-Identifier: Apache-2.0\nGenerated from the op table.")
                .build();
        GeneratedSource.write(source, out);
    }

    private void writeEnums() throws IOException {
        for (EnumSpec spec : table.enums()) {
            TypeSpec.Builder type = TypeSpec.enumBuilder(spec.name())
                    .addModifiers(Modifier.PUBLIC)
                    .addJavadoc("$L\n", spec.doc());
            for (Map.Entry<String, Integer> entry : spec.cases().entrySet()) {
                type.addEnumConstant(
                        entry.getKey(),
                        TypeSpec.anonymousClassBuilder("$L", entry.getValue())
                                .addJavadoc("{@code $L}.\n", entry.getKey())
                                .build());
            }
            boolean attribute = !spec.name().equals("CustomCallApiVersion");
            type.addField(int.class, "value", Modifier.PRIVATE, Modifier.FINAL)
                    .addMethod(MethodSpec.constructorBuilder()
                            .addParameter(int.class, "value")
                            .addStatement("this.value = value")
                            .build());
            MethodSpec.Builder value = MethodSpec.methodBuilder("value")
                    .addModifiers(Modifier.PUBLIC)
                    .returns(int.class)
                    .addStatement("return value");
            if (attribute) {
                type.addSuperinterface(ClassName.get(API, "EnumAttribute"));
                value.addAnnotation(Override.class);
                type.addMethod(MethodSpec.methodBuilder("mnemonic")
                        .addAnnotation(Override.class)
                        .addModifiers(Modifier.PUBLIC)
                        .returns(String.class)
                        .addStatement("return $S", spec.mnemonic())
                        .build());
                type.addMethod(MethodSpec.methodBuilder("toString")
                        .addAnnotation(Override.class)
                        .addModifiers(Modifier.PUBLIC)
                        .returns(String.class)
                        .addStatement("return $T.toText(this)", ClassName.get(API + ".internal", "AttributePrinter"))
                        .build());
            } else {
                value.addJavadoc("The number, as it is in a module.\n");
            }
            type.addMethod(value.build());
            write(API, type.build());
        }
    }

    /** The versioned operations of portable artifacts: name, first and last version, attributes. */
    private void writeVhlo(Path folder) throws IOException {
        CodeBlock.Builder code = CodeBlock.builder();
        for (Map.Entry<String, String> entry :
                OpTable.readMap(folder.resolve("vhlo.json")).entrySet()) {
            code.addStatement("to.accept($S, $S)", entry.getKey(), entry.getValue());
        }
        write(
                API + ".internal",
                TypeSpec.classBuilder("VhloTable")
                        .addModifiers(Modifier.FINAL)
                        .addJavadoc("The versioned operations of portable artifacts.\n")
                        .addMethod(MethodSpec.constructorBuilder()
                                .addModifiers(Modifier.PRIVATE)
                                .build())
                        .addMethod(MethodSpec.methodBuilder("forEach")
                                .addModifiers(Modifier.STATIC)
                                .addJavadoc("Passes name and row (first..last: attributes) of every operation.\n")
                                .addParameter(
                                        ParameterizedTypeName.get(
                                                ClassName.get(BiConsumer.class),
                                                ClassName.get(String.class),
                                                ClassName.get(String.class)),
                                        "to")
                                .addCode(code.build())
                                .build())
                        .build());
    }

    private void writeTable() throws IOException {
        TypeSpec.Builder type = TypeSpec.classBuilder(TABLE)
                .addModifiers(Modifier.PUBLIC, Modifier.FINAL)
                .addJavadoc("The operations of the op table, and where each stands in it.\n")
                .addMethod(MethodSpec.constructorBuilder()
                        .addModifiers(Modifier.PRIVATE)
                        .build());
        List<MethodSpec> parts = new ArrayList<>();
        int id = 0;
        ParameterizedTypeName mapType = ParameterizedTypeName.get(
                ClassName.get(Map.class), ClassName.get(String.class), ClassName.get(String.class));
        CodeBlock.Builder types = CodeBlock.builder().add("$T.ofEntries(", Map.class);
        String separator = "";
        for (Map.Entry<String, String> entry : table.types().entrySet()) {
            types.add("$L\n$T.entry($S, $S)", separator, Map.class, entry.getKey(), entry.getValue());
            separator = ",";
        }
        type.addMethod(MethodSpec.methodBuilder("types")
                .addJavadoc("Type constraints by name.\n")
                .addModifiers(Modifier.STATIC)
                .returns(mapType)
                .addCode("return $L);\n", types.build())
                .build());
        for (String dialect : parts()) {
            CodeBlock.Builder code = CodeBlock.builder();
            for (OpSpec op : table.ops()) {
                if (!part(op).equals(dialect)) {
                    continue;
                }
                type.addField(com.palantir.javapoet.FieldSpec.builder(
                                int.class, constant(op), Modifier.PUBLIC, Modifier.STATIC, Modifier.FINAL)
                        .addJavadoc("{@code $L}.\n", op.fullName())
                        .initializer("$L", id++)
                        .build());
                code.addStatement(
                        "to.accept($S, new String[] {$S, $S, $S, $S, $S, $S})",
                        op.fullName(),
                        String.join(
                                ", ",
                                op.operands().stream().map(OpGenerator::text).toList()),
                        String.join(
                                ", ",
                                op.attributes().stream().map(OpGenerator::text).toList()),
                        String.join(", ", op.regions()),
                        String.join(
                                ", ",
                                op.results().stream().map(OpGenerator::text).toList()),
                        String.join(", ", op.traits()),
                        op.format());
            }
            parts.add(MethodSpec.methodBuilder(dialect)
                    .addModifiers(Modifier.PRIVATE, Modifier.STATIC)
                    .addParameter(consumer(), "to")
                    .addCode(code.build())
                    .build());
        }
        MethodSpec.Builder all = MethodSpec.methodBuilder("forEach")
                .addModifiers(Modifier.STATIC)
                .addJavadoc(
                        "Passes name and columns (operands, attributes, regions, results, traits, format) of every row, in order.\n")
                .addParameter(consumer(), "to");
        for (String dialect : parts()) {
            all.addStatement("$L(to)", dialect);
        }
        type.addMethod(all.build());
        parts.forEach(type::addMethod);
        write(API + ".internal", type.build());
    }

    private static List<String> parts() {
        List<String> parts = new ArrayList<>(DIALECTS);
        parts.add(OTHERS);
        return parts;
    }

    private static String part(OpSpec op) {
        return DIALECTS.contains(op.dialect()) ? op.dialect() : OTHERS;
    }

    private static ParameterizedTypeName consumer() {
        return ParameterizedTypeName.get(
                ClassName.get(BiConsumer.class), ClassName.get(String.class), ArrayTypeName.of(String.class));
    }

    private static String text(ValueSpec value) {
        return value.name() + ": " + value.type() + (value.variadic() ? "*" : "");
    }

    private static String text(AttributeSpec attribute) {
        return attribute.name() + ": " + attribute.kind() + (attribute.optional() ? "?" : "")
                + (attribute.defaultValue().isEmpty() ? "" : " = " + attribute.defaultValue());
    }

    private static String constant(OpSpec op) {
        return op.fullName().replace('.', '_').replace('-', '_').toUpperCase(Locale.ROOT);
    }

    private void writeBuilder(String dialect, String name) throws IOException {
        boolean base = dialect.equals("stablehlo");
        TypeSpec.Builder type = TypeSpec.classBuilder(name).addModifiers(Modifier.PUBLIC);
        ClassName builder = ClassName.get(API, "OpBuilder");
        if (base) {
            type.addModifiers(Modifier.ABSTRACT, Modifier.SEALED)
                    .addPermittedSubclass(builder)
                    .addJavadoc(
                            "A method for every StableHLO operation without regions. Result types are inferred where possible; all is verified.\n");
            type.addMethod(MethodSpec.constructorBuilder().build());
            type.addMethod(MethodSpec.methodBuilder("build")
                    .addModifiers(Modifier.ABSTRACT)
                    .addParameter(int.class, "op")
                    .addParameter(ParameterizedTypeName.get(ClassName.get(List.class), VALUE), "operands")
                    .addParameter(ATTRIBUTE.nestedClass("Dictionary"), "attributes")
                    .addParameter(
                            ParameterizedTypeName.get(ClassName.get(List.class), WildcardTypeName.subtypeOf(TYPE))
                                    .annotated(List.of(
                                            AnnotationSpec.builder(NULLABLE).build())),
                            "resultTypes")
                    .returns(OPERATION)
                    .build());
        } else {
            type.addModifiers(Modifier.FINAL)
                    .addJavadoc("A method for every operation of the $L dialect without regions.\n", dialect)
                    .addField(builder, "builder", Modifier.PRIVATE, Modifier.FINAL)
                    .addMethod(MethodSpec.constructorBuilder()
                            .addParameter(builder, "builder")
                            .addStatement("this.builder = builder")
                            .build());
        }
        for (OpSpec op : table.ops()) {
            if (!op.dialect().equals(dialect) || !op.regions().isEmpty() || BY_HAND.contains(op.fullName())) {
                continue;
            }
            List<AttributeSpec> required =
                    op.attributes().stream().filter(AttributeSpec::required).toList();
            type.addMethod(builderMethod(op, required, base ? "" : "builder."));
            if (required.size() < op.attributes().size()) {
                type.addMethod(builderMethod(op, op.attributes(), base ? "" : "builder."));
            }
        }
        write(API, type.build());
    }

    /** The method that builds an operation with these of its attributes. */
    private MethodSpec builderMethod(OpSpec op, List<AttributeSpec> attributes, String receiver) {
        MethodSpec.Builder method = MethodSpec.methodBuilder(methodName(op.name()))
                .addModifiers(Modifier.PUBLIC)
                .addJavadoc("{@code $L}: $L\n", op.fullName(), op.doc());
        addConstraints(method, op);
        if (!attributes.stream().allMatch(AttributeSpec::required)) {
            method.addJavadoc("\n<p>This form takes the attributes that may be absent, too.\n");
        }
        method.addJavadoc("\n");
        op.operands().forEach(operand -> addOperand(method, operand));
        attributes.forEach(attribute -> addAttribute(method, attribute));
        boolean typed = op.traits().contains("typed");
        if (typed) {
            addResultTypes(method, op);
        } else if (!attributes.isEmpty()
                && attributes.getLast().required()
                && attributes.getLast().base().equals("I64Array")) {
            method.varargs();
        }
        method.addJavadoc(
                "@throws VerificationException if an operand, an attribute or a type breaks a rule of the operation\n");
        CodeBlock call = CodeBlock.of(
                "$Lbuild($T.$L, $L, $L, $L)",
                receiver,
                TABLE,
                constant(op),
                operands(op),
                dictionary(attributes),
                !typed ? "null" : single(op) ? "List.of(resultType)" : "resultTypes");
        if (op.results().isEmpty()) {
            method.addStatement(call);
        } else if (single(op)) {
            method.returns(VALUE).addStatement("return $L.result()", call);
        } else {
            method.returns(ParameterizedTypeName.get(ClassName.get(List.class), VALUE))
                    .addStatement("return $T.copyOf($L.results())", List.class, call);
        }
        return method.build();
    }

    private void addOperand(MethodSpec.Builder method, ValueSpec operand) {
        TypeName parameter = operand.variadic()
                ? ParameterizedTypeName.get(ClassName.get(List.class), WildcardTypeName.subtypeOf(VALUE))
                : VALUE;
        method.addParameter(parameter, camel(operand.name()));
        method.addJavadoc("@param $L $L\n", camel(operand.name()), table.types().get(operand.type()));
    }

    private void addAttribute(MethodSpec.Builder method, AttributeSpec attribute) {
        TypeName type = parameterType(attribute);
        boolean nullable = !attribute.required() && !type.isPrimitive();
        method.addParameter(nullable ? nullable(type) : type, camel(attribute.name()));
        method.addJavadoc(
                "@param $L $L$L\n",
                camel(attribute.name()),
                describe(attribute),
                nullable ? "; null to leave it out" : "");
    }

    private static TypeName nullable(TypeName type) {
        List<AnnotationSpec> nullable = List.of(AnnotationSpec.builder(NULLABLE).build());
        return type instanceof ArrayTypeName array ? array.annotated(nullable) : type.annotated(nullable);
    }

    private static void addResultTypes(MethodSpec.Builder method, OpSpec op) {
        if (single(op)) {
            method.addParameter(TYPE, "resultType");
            method.addJavadoc("@param resultType the type of the result\n");
        } else {
            method.addParameter(
                    ParameterizedTypeName.get(ClassName.get(List.class), WildcardTypeName.subtypeOf(TYPE)),
                    "resultTypes");
            method.addJavadoc("@param resultTypes the types of the results\n");
        }
    }

    /** The list of all operands. */
    private static CodeBlock operands(OpSpec op) {
        if (op.operands().stream().noneMatch(ValueSpec::variadic)) {
            return CodeBlock.of(
                    "$T.of($L)",
                    List.class,
                    op.operands().stream().map(operand -> camel(operand.name())).collect(Collectors.joining(", ")));
        }
        return CodeBlock.of(
                "$T.concat($L)",
                ATTRS,
                op.operands().stream()
                        .map(operand ->
                                operand.variadic() ? camel(operand.name()) : "List.of(" + camel(operand.name()) + ")")
                        .collect(Collectors.joining(", ")));
    }

    /** The dictionary of these attributes. */
    private CodeBlock dictionary(List<AttributeSpec> attributes) {
        if (attributes.isEmpty()) {
            return CodeBlock.of("$T.EMPTY", ATTRIBUTE.nestedClass("Dictionary"));
        }
        CodeBlock entries = attributes.stream()
                .map(attribute -> CodeBlock.of(
                        "$S, $T.$L($L)", attribute.name(), ATTRS, toAttribute(attribute), camel(attribute.name())))
                .collect(CodeBlock.joining(", "));
        return CodeBlock.of("$T.dictionary($L)", ATTRS, entries);
    }

    private static void addConstraints(MethodSpec.Builder method, OpSpec op) {
        if (op.constraints().isEmpty()) {
            return;
        }
        method.addJavadoc("\n<ul>\n");
        for (String constraint : op.constraints()) {
            method.addJavadoc("  <li>$L\n", constraint);
        }
        method.addJavadoc("</ul>\n");
    }

    private static boolean single(OpSpec op) {
        return op.results().size() == 1 && !op.results().getFirst().variadic();
    }

    private static String describe(AttributeSpec attribute) {
        String text = attribute.kind().replace(">=0", ", not negative").replace(">0", ", positive");
        return text + (attribute.defaultValue().isEmpty() ? "" : "; " + attribute.defaultValue() + " by default");
    }

    private static TypeName parameterType(AttributeSpec attribute) {
        return switch (attribute.base()) {
            case "I64" -> attribute.optional() ? ClassName.get(Long.class) : TypeName.LONG;
            case "I32" -> TypeName.INT;
            case "Bool" -> attribute.optional() ? ClassName.get(Boolean.class) : TypeName.BOOLEAN;
            case "Unit" -> TypeName.BOOLEAN;
            case "F32" -> TypeName.FLOAT;
            case "String", "SymbolName", "SymbolRef" -> ClassName.get(String.class);
            case "I64Array" -> ArrayTypeName.of(TypeName.LONG);
            case "BoolArray" -> ArrayTypeName.of(TypeName.BOOLEAN);
            default -> accessorType(attribute);
        };
    }

    private static TypeName accessorType(AttributeSpec attribute) {
        return switch (attribute.base()) {
            case "I64" -> TypeName.LONG;
            case "I32" -> TypeName.INT;
            case "Bool", "Unit" -> TypeName.BOOLEAN;
            case "F32" -> TypeName.FLOAT;
            case "String", "SymbolName", "SymbolRef" -> ClassName.get(String.class);
            case "I64Array", "BoolArray" -> ClassName.get("com.google.common.primitives", "ImmutableLongArray");
            case "I64Elements" -> ClassName.get(API, "DenseElements");
            case "Dictionary" -> ATTRIBUTE.nestedClass("Dictionary");
            case "Array", "SymbolRefArray", "Layouts", "Tilings", "OutputOperandAliases" ->
                ATTRIBUTE.nestedClass("Array");
            case "Elements", "StringOrDictionary", "ReplicaGroups", "Typed" -> ATTRIBUTE;
            case "Type" -> TYPE;
            case "Precisions" -> ParameterizedTypeName.get(ClassName.get(List.class), ClassName.get(API, "Precision"));
            case "ChloPrecisions" ->
                ParameterizedTypeName.get(ClassName.get(List.class), ClassName.get(API, "ChloPrecision"));
            case "Mesh" -> ClassName.get(API, "DeviceMesh");
            case "Sharding" -> ClassName.get(API, "TensorSharding");
            case "Shardings" -> ClassName.get(API, "Shardy", "PerValue");
            case "ManualAxes", "Axes", "AxesPerDimension", "AllToAllParams" ->
                ClassName.get(API, "Shardy", attribute.base());
            default -> ClassName.get(API, attribute.base());
        };
    }

    /** The method of {@code Attrs} that makes an attribute. */
    private static String toAttribute(AttributeSpec attribute) {
        return switch (attribute.base()) {
            case "I64" -> "i64";
            case "I32" -> "i32";
            case "Bool" -> "bool";
            case "Unit" -> "unit";
            case "F32" -> "f32";
            case "String", "SymbolName" -> "string";
            case "SymbolRef" -> "symbol";
            case "I64Array" -> "i64Array";
            case "BoolArray" -> "boolArray";
            case "Type" -> "type";
            case "Precisions", "ChloPrecisions" -> "array";
            case "CustomCallApiVersion" -> "apiVersion";
            default -> "same";
        };
    }

    private void writeOps() throws IOException {
        TypeSpec.Builder op = TypeSpec.interfaceBuilder(OP)
                .addModifiers(Modifier.PUBLIC, Modifier.SEALED)
                .addJavadoc(
                        "An operation of the op table with its operands, attributes, regions and results by name.\n")
                .addMethod(MethodSpec.methodBuilder("operation")
                        .addModifiers(Modifier.PUBLIC, Modifier.ABSTRACT)
                        .addJavadoc("The operation itself.\n")
                        .returns(OPERATION)
                        .build());
        CodeBlock.Builder cases = CodeBlock.builder().beginControlFlow("return switch (operation.definition().id())");
        for (OpSpec spec : table.ops()) {
            if (!DIALECTS.contains(spec.dialect())) {
                continue;
            }
            ClassName name = ClassName.get(OPS, className(spec));
            op.addPermittedSubclass(name);
            cases.addStatement("case $T.$L -> $T.of(new $T(operation))", TABLE, constant(spec), Optional.class, name);
            write(OPS, opClass(spec, name));
        }
        cases.addStatement("default -> $T.empty()", Optional.class).endControlFlow("");
        op.addMethod(MethodSpec.methodBuilder("of")
                .addModifiers(Modifier.PUBLIC, Modifier.STATIC)
                .addJavadoc("The operation as one of these, where the op table knows it.\n")
                .addParameter(OPERATION, "operation")
                .returns(ParameterizedTypeName.get(ClassName.get(Optional.class), OP))
                .addCode(cases.build())
                .build());
        write(OPS, op.build());
    }

    private TypeSpec opClass(OpSpec spec, ClassName name) {
        TypeSpec.Builder type = TypeSpec.recordBuilder(name)
                .addModifiers(Modifier.PUBLIC)
                .addSuperinterface(OP)
                .addJavadoc("{@code $L}: $L\n", spec.fullName(), spec.doc());
        if (!spec.constraints().isEmpty()) {
            type.addJavadoc("\n<ul>\n");
            spec.constraints().forEach(text -> type.addJavadoc("  <li>$L\n", text));
            type.addJavadoc("</ul>\n");
        }
        type.addJavadoc("\n@param operation the operation itself\n");
        type.recordConstructor(MethodSpec.constructorBuilder()
                .addParameter(OPERATION, "operation")
                .build());
        type.addMethod(MethodSpec.compactConstructorBuilder()
                .addModifiers(Modifier.PUBLIC)
                .addJavadoc("@throws IllegalArgumentException if it is another operation\n")
                .addStatement("$T.expect(operation, $T.$L)", ATTRS, TABLE, constant(spec))
                .build());
        int variadics =
                (int) spec.operands().stream().filter(ValueSpec::variadic).count();
        for (int i = 0; i < spec.operands().size(); i++) {
            ValueSpec operand = spec.operands().get(i);
            values(type, spec, "operand", operand, i, spec.operands().size(), variadics);
        }
        for (AttributeSpec attribute : spec.attributes()) {
            TypeName result = accessorType(attribute);
            boolean absent = attribute.optional();
            TypeName declared =
                    absent ? ParameterizedTypeName.get(ClassName.get(Optional.class), result.box()) : result;
            CodeBlock read = CodeBlock.of(
                    "$T.$L(operation, $S$L)",
                    ATTRS,
                    reader(attribute),
                    attribute.name(),
                    readerArgument(attribute, result));
            type.addMethod(MethodSpec.methodBuilder(accessor(attribute.name()))
                    .addModifiers(Modifier.PUBLIC)
                    .addJavadoc(
                            "The attribute {@code $L}: $L$L.\n",
                            attribute.name(),
                            describe(attribute),
                            absent ? ", or nothing" : "")
                    .returns(declared)
                    .addCode(
                            absent
                                    ? CodeBlock.of(
                                            "return operation.attribute($S) == null ? Optional.empty() : Optional.of($L);\n",
                                            attribute.name(),
                                            read)
                                    : CodeBlock.of("return $L;\n", read))
                    .build());
        }
        for (int i = 0; i < spec.regions().size(); i++) {
            boolean many = spec.regions().get(i).endsWith("*");
            String region = spec.regions().get(i).replace("*", "");
            ClassName regionType = ClassName.get(API, "Region");
            type.addMethod(MethodSpec.methodBuilder(accessor(region))
                    .addModifiers(Modifier.PUBLIC)
                    .addJavadoc("The region{@code $L}.\n", many ? "s " + region : " " + region)
                    .returns(many ? ParameterizedTypeName.get(ClassName.get(List.class), regionType) : regionType)
                    .addStatement(
                            many
                                    ? CodeBlock.of("return operation.regions()")
                                    : CodeBlock.of("return operation.region($L)", i))
                    .build());
        }
        int variadicResults =
                (int) spec.results().stream().filter(ValueSpec::variadic).count();
        for (int i = 0; i < spec.results().size(); i++) {
            values(
                    type,
                    spec,
                    "result",
                    spec.results().get(i),
                    i,
                    spec.results().size(),
                    variadicResults);
        }
        return type.build();
    }

    private static void values(
            TypeSpec.Builder type, OpSpec spec, String what, ValueSpec value, int index, int count, int variadics) {
        TypeName element = what.equals("operand") ? VALUE : ClassName.get(API, "OpResult");
        String name = accessor(value.name());
        if (what.equals("result")
                && spec.operands().stream().anyMatch(o -> o.name().equals(value.name()))) {
            name = "result" + Character.toUpperCase(name.charAt(0)) + name.substring(1);
        }
        MethodSpec.Builder method = MethodSpec.methodBuilder(name)
                .addModifiers(Modifier.PUBLIC)
                .addJavadoc("The $L {@code $L}.\n", value.variadic() ? what + "s" : what, value.name())
                .returns(value.variadic() ? ParameterizedTypeName.get(ClassName.get(List.class), element) : element);
        if (variadics == 0) {
            method.addStatement("return operation.$L($L)", what, index);
        } else {
            method.addStatement(
                    value.variadic()
                            ? "return $T.group(operation.$Ls(), $L, $L, $L, $L)"
                            : "return $T.group(operation.$Ls(), $L, $L, $L, $L).getFirst()",
                    ATTRS,
                    what,
                    index,
                    count,
                    CodeBlock.of(
                            "new boolean[] {$L}",
                            String.join(
                                    ", ",
                                    (what.equals("operand") ? spec.operands() : spec.results())
                                            .stream()
                                                    .map(v -> Boolean.toString(v.variadic()))
                                                    .toList())),
                    CodeBlock.of("$T.segments(operation, $S)", ATTRS, what));
        }
        type.addMethod(method.build());
    }

    private static String reader(AttributeSpec attribute) {
        return switch (attribute.base()) {
            case "I64" -> "readLong";
            case "I32" -> "readInt";
            case "Bool" -> "readBool";
            case "Unit" -> "readUnit";
            case "F32" -> "readFloat";
            case "String", "SymbolName" -> "readString";
            case "SymbolRef" -> "readSymbol";
            case "I64Array", "BoolArray" -> "readInts";
            case "Type" -> "readType";
            case "Precisions", "ChloPrecisions" -> "readList";
            case "CustomCallApiVersion" -> "readApiVersion";
            default -> "read";
        };
    }

    private static CodeBlock readerArgument(AttributeSpec attribute, TypeName result) {
        return switch (attribute.base()) {
            case "I64" -> CodeBlock.of(attribute.defaultValue().isEmpty() ? "" : ", " + attribute.defaultValue());
            case "I32" -> CodeBlock.of(attribute.defaultValue().isEmpty() ? "" : ", " + attribute.defaultValue());
            case "Bool" -> CodeBlock.of(attribute.defaultValue().isEmpty() ? "" : ", " + attribute.defaultValue());
            case "String", "SymbolName" -> CodeBlock.of(attribute.defaultValue().isEmpty() ? "" : ", \"\"");
            case "Unit", "F32", "SymbolRef", "I64Array", "BoolArray", "Type", "CustomCallApiVersion" ->
                CodeBlock.of("");
            case "Precisions" -> CodeBlock.of(", $T.class", ClassName.get(API, "Precision"));
            case "ChloPrecisions" -> CodeBlock.of(", $T.class", ClassName.get(API, "ChloPrecision"));
            case "ResultAccuracy" -> CodeBlock.of(", $T.class, $T.DEFAULT", result, result);
            case "Dictionary" -> CodeBlock.of(", $T.class, $T.EMPTY", result, result);
            case "SymbolRefArray", "OutputOperandAliases" -> CodeBlock.of(", $T.class, $T.array()", result, ATTRIBUTE);
            default -> CodeBlock.of(", $T.class", result);
        };
    }

    private static String accessor(String name) {
        String camel = camel(name);
        return camel.equals("operation") ? "operationAttribute" : camel;
    }

    private static String className(OpSpec op) {
        String name = pascal(op.name());
        String prefix = switch (op.dialect()) {
            case "chlo" -> "Chlo";
            case "sdy" -> "Sdy";
            case "func" -> op.name().equals("func") ? "" : "Func";
            default -> "";
        };
        return prefix + name + "Op";
    }

    private static String methodName(String op) {
        String name = camel(op.startsWith("_") ? op.substring(1) : op);
        return RESERVED.contains(name) ? name + "Op" : name;
    }

    private static String pascal(String snake) {
        String camel = camel(snake.startsWith("_") ? snake.substring(1) : snake);
        return Character.toUpperCase(camel.charAt(0)) + camel.substring(1);
    }

    private static String camel(String snake) {
        StringBuilder name = new StringBuilder();
        boolean upper = false;
        for (int i = 0; i < snake.length(); i++) {
            char c = snake.charAt(i);
            if (c == '_' || c == '-') {
                upper = true;
            } else {
                name.append(upper ? Character.toUpperCase(c) : c);
                upper = false;
            }
        }
        return name.toString();
    }
}

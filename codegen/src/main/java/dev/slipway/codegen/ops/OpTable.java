// SPDX-License-Identifier: Apache-2.0
package dev.slipway.codegen.ops;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The op table: one JSON file a dialect, one of type constraints, one of enums.
 *
 * <p>Lists are written in one string: {@code "lhs: Tensor, rhs: Tensor"}. A star after a type or a region means any
 * number of it; a question mark after an attribute that it may be absent; {@code = x} that it is x when absent.
 */
record OpTable(Map<String, String> types, List<EnumSpec> enums, List<OpSpec> ops) {

    /** An operand or a result. */
    record ValueSpec(String name, String type, boolean variadic) {}

    /** An attribute. */
    record AttributeSpec(String name, String kind, boolean optional, String defaultValue) {
        boolean required() {
            return !optional && defaultValue.isEmpty() && !kind.equals("Unit");
        }

        /** The kind without a bound such as {@code >=0}. */
        String base() {
            int at = kind.indexOf('>');
            return at < 0 ? kind : kind.substring(0, at);
        }
    }

    /** An operation. */
    record OpSpec(
            String dialect,
            String name,
            String doc,
            List<String> constraints,
            List<ValueSpec> operands,
            List<AttributeSpec> attributes,
            List<String> regions,
            List<ValueSpec> results,
            List<String> traits,
            String format) {
        String fullName() {
            return dialect + "." + name;
        }
    }

    /** An enum attribute. */
    record EnumSpec(String name, String doc, String mnemonic, Map<String, Integer> cases) {}

    static OpTable read(Path folder, List<String> dialects) throws IOException {
        JsonMapper mapper = JsonMapper.builder().build();
        Map<String, String> types = new LinkedHashMap<>();
        mapper.readTree(Files.readString(folder.resolve("types.json")))
                .properties()
                .forEach(entry -> types.put(entry.getKey(), entry.getValue().asString()));
        List<EnumSpec> enums = new ArrayList<>();
        for (Map.Entry<String, JsonNode> entry :
                mapper.readTree(Files.readString(folder.resolve("enums.json"))).properties()) {
            Map<String, Integer> cases = new LinkedHashMap<>();
            int next = 0;
            for (String text : entry.getValue().path("cases").asString().split(", ", -1)) {
                int at = text.indexOf(" = ");
                int value = at < 0 ? next : Integer.parseInt(text.substring(at + 3));
                cases.put(at < 0 ? text : text.substring(0, at), value);
                next = value + 1;
            }
            enums.add(new EnumSpec(
                    entry.getKey(),
                    entry.getValue().path("doc").asString(),
                    entry.getValue().path("mnemonic").asString(""),
                    cases));
        }
        List<OpSpec> ops = new ArrayList<>();
        for (String dialect : dialects) {
            JsonNode table = mapper.readTree(Files.readString(folder.resolve(dialect + ".json")));
            for (Map.Entry<String, JsonNode> entry : table.path("ops").properties()) {
                String key = entry.getKey();
                int dot = key.indexOf('.');
                ops.add(readOp(
                        dot < 0 ? dialect : key.substring(0, dot),
                        dot < 0 ? key : key.substring(dot + 1),
                        entry.getValue(),
                        types));
            }
        }
        return new OpTable(types, enums, ops);
    }

    /** A file of one object of strings. */
    static Map<String, String> readMap(Path file) throws IOException {
        Map<String, String> map = new LinkedHashMap<>();
        JsonMapper.builder()
                .build()
                .readTree(Files.readString(file))
                .properties()
                .forEach(entry -> map.put(entry.getKey(), entry.getValue().asString()));
        return map;
    }

    private static OpSpec readOp(String dialect, String name, JsonNode op, Map<String, String> types) {
        List<String> constraints = new ArrayList<>();
        op.path("constraints").forEach(text -> constraints.add(text.asString()));
        return new OpSpec(
                dialect,
                name,
                op.path("doc").asString(),
                constraints,
                values(name, list(op, "operands"), types),
                list(op, "attributes").stream().map(OpTable::attribute).toList(),
                list(op, "regions"),
                values(name, list(op, "results"), types),
                list(op, "traits"),
                op.path("format").asString(""));
    }

    private static List<String> list(JsonNode op, String field) {
        String text = op.path(field).asString("");
        return text.isEmpty() ? List.of() : Arrays.asList(text.split(", ", -1));
    }

    private static List<ValueSpec> values(String op, List<String> texts, Map<String, String> types) {
        return texts.stream()
                .map(text -> {
                    int at = text.indexOf(": ");
                    boolean variadic = text.endsWith("*");
                    String type = text.substring(at + 2, text.length() - (variadic ? 1 : 0));
                    if (!types.containsKey(type)) {
                        throw new IllegalArgumentException(op + ": no type constraint is called " + type);
                    }
                    return new ValueSpec(text.substring(0, at), type, variadic);
                })
                .toList();
    }

    private static AttributeSpec attribute(String text) {
        int at = text.indexOf(": ");
        String kind = text.substring(at + 2);
        String defaultValue = "";
        int equals = kind.indexOf(" = ");
        if (equals >= 0) {
            defaultValue = kind.substring(equals + 3);
            kind = kind.substring(0, equals);
        }
        boolean optional = kind.endsWith("?");
        return new AttributeSpec(
                text.substring(0, at), optional ? kind.substring(0, kind.length() - 1) : kind, optional, defaultValue);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.codegen.abi;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The parsed table: functions in ABI order, everything else by name.
 *
 * @param minor the newest minor version described (the major version is 0)
 * @param functions the slots of {@code PJRT_Api}
 * @param extensions extension type number to the name of its struct
 * @param enums name to constants in order
 * @param callbacks name to C signature
 * @param structs name to fields
 */
public record AbiTable(
        int minor,
        List<Function> functions,
        SortedMap<Integer, String> extensions,
        SortedMap<String, Map<String, Integer>> enums,
        SortedMap<String, String> callbacks,
        SortedMap<String, Struct> structs) {

    /** The minor version at and before which the table gives no {@code since}. */
    public static final int BASELINE = 57;

    private static final Pattern SINCE = Pattern.compile("^(.*) since (\\d+)(.*)$");

    /** One slot of {@code PJRT_Api}: its C name, first minor version, and whether it returns a {@code PJRT_Error*}. */
    public record Function(String name, int since, boolean returnsError) {}

    /** One field with its C type as the table spells it. */
    public record Field(String name, String type, int since) {}

    /** One struct and its fields in order. */
    public record Struct(String name, int since, List<Field> fields) {}

    /** What a C type is to the generator. */
    public sealed interface Kind {
        /** A scalar of the given size in bytes, which is its alignment too. */
        record Scalar(String layout, Class<?> carrier, long size) implements Kind {}

        /** A pointer to data or code. */
        record Pointer() implements Kind {}

        /** A struct by value. */
        record Nested(String struct) implements Kind {}

        /** A fixed array. */
        record Array(Scalar element, int length) implements Kind {}

        /** A union; its alternatives by name. */
        record Union(List<Field> alternatives) implements Kind {}
    }

    private static final Kind.Scalar INT = new Kind.Scalar("JAVA_INT", int.class, 4);
    private static final Map<String, Kind.Scalar> SCALARS = scalars();

    private static Map<String, Kind.Scalar> scalars() {
        Map<String, Kind.Scalar> map = new TreeMap<>();
        for (String name : List.of("size_t", "int64_t", "uint64_t", "intptr_t", "uintptr_t")) {
            map.put(name, new Kind.Scalar("JAVA_LONG", long.class, 8));
        }
        for (String name : List.of("int", "int32_t", "uint32_t")) {
            map.put(name, INT);
        }
        map.put("bool", new Kind.Scalar("JAVA_BOOLEAN", boolean.class, 1));
        map.put("uint8_t", new Kind.Scalar("JAVA_BYTE", byte.class, 1));
        map.put("float", new Kind.Scalar("JAVA_FLOAT", float.class, 4));
        map.put("double", new Kind.Scalar("JAVA_DOUBLE", double.class, 8));
        return Map.copyOf(map);
    }

    /**
     * Reads the table.
     *
     * @throws IllegalArgumentException naming the line that is not of the table's form
     */
    public static AbiTable read(Path file) throws IOException {
        int minor = 0;
        List<Function> functions = new ArrayList<>();
        SortedMap<Integer, String> extensions = new TreeMap<>();
        SortedMap<String, Map<String, Integer>> enums = new TreeMap<>();
        SortedMap<String, String> callbacks = new TreeMap<>();
        SortedMap<String, Struct> structs = new TreeMap<>();
        Map<String, Integer> constants = null;
        List<Field> fields = null;
        int number = 0;
        for (String raw : Files.readAllLines(file)) {
            number++;
            if (raw.isBlank() || raw.startsWith("#")) {
                continue;
            }
            Line line = Line.of(raw.strip());
            String[] words = line.text().split(" ", -1);
            if (raw.startsWith(" ")) {
                int last = line.text().lastIndexOf(' ');
                String name = line.text().substring(last + 1);
                if (fields != null) {
                    fields.add(new Field(name, line.text().substring(0, last).strip(), line.since()));
                } else if (constants != null && words.length == 3) {
                    constants.put(words[0], Integer.valueOf(words[2]));
                } else {
                    throw new IllegalArgumentException(
                            file + ":" + number + ": a field outside a struct or enum: " + raw);
                }
                continue;
            }
            constants = null;
            fields = null;
            switch (words[0]) {
                case "version" -> minor = Integer.parseInt(words[1].substring(words[1].indexOf('.') + 1));
                case "function" ->
                    functions.add(
                            new Function(words[1], line.since(), !line.text().endsWith(" returns void")));
                case "extension" -> extensions.put(Integer.valueOf(words[1]), words[2]);
                case "callback" -> {
                    String signature = line.text().substring("callback ".length());
                    String head = signature.substring(0, signature.indexOf('('));
                    callbacks.put(head.substring(head.lastIndexOf(' ') + 1), signature);
                }
                case "enum" -> {
                    constants = new LinkedHashMap<>();
                    enums.put(words[1], constants);
                }
                case "struct" -> {
                    fields = new ArrayList<>();
                    structs.put(words[1], new Struct(words[1], line.since(), fields));
                }
                default -> throw new IllegalArgumentException(file + ":" + number + ": unknown entry: " + raw);
            }
        }
        return new AbiTable(minor, functions, extensions, enums, callbacks, structs);
    }

    private record Line(String text, int since) {
        static Line of(String raw) {
            Matcher matcher = SINCE.matcher(raw);
            return matcher.matches()
                    ? new Line(matcher.group(1) + matcher.group(3), Integer.parseInt(matcher.group(2)))
                    : new Line(raw, BASELINE);
        }
    }

    /**
     * What {@code type} is.
     *
     * @throws IllegalArgumentException if the table does not say
     */
    public Kind kind(String type) {
        if (type.startsWith("union{")) {
            List<Field> alternatives = new ArrayList<>();
            for (String text :
                    type.substring("union{".length(), type.length() - 1).split("\\|", -1)) {
                int space = text.lastIndexOf(' ');
                alternatives.add(new Field(text.substring(space + 1), text.substring(0, space), BASELINE));
            }
            return new Kind.Union(List.copyOf(alternatives));
        }
        if (type.endsWith("]")) {
            int open = type.indexOf('[');
            Kind.Scalar element = (Kind.Scalar) kind(type.substring(0, open));
            return new Kind.Array(element, Integer.parseInt(type.substring(open + 1, type.length() - 1)));
        }
        if (type.endsWith("*") || type.contains("(*)") || callbacks.containsKey(type)) {
            return new Kind.Pointer();
        }
        if (enums.containsKey(type)) {
            return INT;
        }
        if (structs.containsKey(type)) {
            return new Kind.Nested(type);
        }
        Kind.Scalar scalar = SCALARS.get(type);
        if (scalar == null) {
            throw new IllegalArgumentException("the table does not say what the type '" + type + "' is");
        }
        return scalar;
    }

    /** Size of a type in bytes. */
    public long size(Kind kind) {
        return switch (kind) {
            case Kind.Scalar scalar -> scalar.size();
            case Kind.Pointer _ -> 8;
            case Kind.Nested nested -> align(end(nested.struct()), alignment(kind));
            case Kind.Array array -> array.element().size() * array.length();
            case Kind.Union union ->
                align(
                        union.alternatives().stream()
                                .mapToLong(field -> size(kind(field.type())))
                                .max()
                                .orElse(0),
                        alignment(kind));
        };
    }

    /** Alignment of a type in bytes. */
    public long alignment(Kind kind) {
        return switch (kind) {
            case Kind.Scalar scalar -> scalar.size();
            case Kind.Pointer _ -> 8;
            case Kind.Nested nested -> widest(struct(nested.struct()).fields());
            case Kind.Array array -> array.element().size();
            case Kind.Union union -> widest(union.alternatives());
        };
    }

    private long widest(List<Field> fields) {
        return fields.stream()
                .mapToLong(field -> alignment(kind(field.type())))
                .max()
                .orElse(1);
    }

    /** The struct of that name. */
    public Struct struct(String name) {
        Struct struct = structs.get(name);
        if (struct == null) {
            throw new IllegalArgumentException("the table has no struct '" + name + "'");
        }
        return struct;
    }

    /** A field, what it is, and where it starts. */
    public record Placed(Field field, Kind kind, long offset) {}

    /** The fields of a struct where C puts them. */
    public List<Placed> place(String struct) {
        List<Placed> placed = new ArrayList<>();
        long at = 0;
        for (Field field : struct(struct).fields()) {
            Kind kind = kind(field.type());
            at = align(at, alignment(kind));
            placed.add(new Placed(field, kind, at));
            at += size(kind);
        }
        return placed;
    }

    /** What C calls {@code STRUCT_SIZE}: the end of the last field, without padding behind it. */
    public long end(String struct) {
        List<Placed> placed = place(struct);
        return placed.isEmpty()
                ? 0
                : placed.getLast().offset() + size(placed.getLast().kind());
    }

    private static long align(long offset, long alignment) {
        return (offset + alignment - 1) / alignment * alignment;
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.Block;
import dev.slipway.stablehlo.BlockArgument;
import dev.slipway.stablehlo.BytecodeException;
import dev.slipway.stablehlo.IrException;
import dev.slipway.stablehlo.Location;
import dev.slipway.stablehlo.OpDefinition;
import dev.slipway.stablehlo.OpDefinition.AttributeDefinition;
import dev.slipway.stablehlo.OpDefinition.Trait;
import dev.slipway.stablehlo.Operation;
import dev.slipway.stablehlo.Region;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.Value;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** MLIR bytecode to operations: plain, or a portable artifact of any version that is understood. */
public final class BytecodeReader {
    /** The newest version of MLIR's bytecode that is understood. */
    static final int MAX_VERSION = 6;

    private static final int STRING = 0;
    private static final int DIALECT = 1;
    private static final int ATTR_TYPE = 2;
    private static final int ATTR_TYPE_OFFSET = 3;
    private static final int IR = 4;
    private static final int PROPERTIES = 8;

    private final int version;
    private final Map<Integer, ByteInput> sections = new HashMap<>();
    private final List<String> strings = new ArrayList<>();
    private final List<String> dialects = new ArrayList<>();
    private final List<OpName> opNames = new ArrayList<>();
    private final List<Entry> attributes = new ArrayList<>();
    private final List<Entry> types = new ArrayList<>();
    private final List<int[]> properties = new ArrayList<>();
    private final IdentityHashMap<Attribute.Dictionary, Map<String, Object>> objectsByDictionary =
            new IdentityHashMap<>();
    private final byte[] data;
    private final boolean artifact;
    private List<@Nullable Value> values = new ArrayList<>();
    private final Nesting nesting;
    private int reserved;

    private record OpName(String dialect, String name, boolean registered) {
        String full() {
            return dialect.isEmpty() ? name : dialect + "." + name;
        }
    }

    /** An attribute or a type, which is read when it is asked for. */
    private static final class Entry {
        final String dialect;
        final int offset;
        final int size;
        final boolean custom;

        @Nullable
        Object value;

        Nesting.@Nullable Extent extent;

        Entry(String dialect, int offset, int size, boolean custom) {
            this.dialect = dialect;
            this.offset = offset;
            this.size = size;
            this.custom = custom;
        }
    }

    private BytecodeReader(int version, byte[] data, boolean artifact) {
        this.version = version;
        this.data = data;
        this.artifact = artifact;
        this.nesting = new Nesting(data.length);
    }

    /** Whether bytes start like bytecode. */
    public static boolean isBytecode(byte[] bytes) {
        return bytes.length >= 4 && bytes[0] == 'M' && bytes[1] == 'L' && (bytes[2] & 0xFF) == 0xEF && bytes[3] == 'R';
    }

    /** The top-level operations. */
    public static List<Operation> read(byte[] bytes) {
        if (!isBytecode(bytes)) {
            throw new BytecodeException("the bytes do not start with 'ML\\xEFR', so they are no MLIR bytecode");
        }
        ByteInput in = new ByteInput(bytes, 4, bytes.length);
        long version = in.varint();
        if (version < 0 || version > MAX_VERSION) {
            throw new BytecodeException("the bytecode has version " + Long.toUnsignedString(version)
                    + "; versions up to " + MAX_VERSION + " are understood");
        }
        String producer = in.nullTerminated();
        Version artifact = Version.ofProducer(producer);
        if (artifact != null && artifact.compareTo(Version.CURRENT) > 0) {
            throw new BytecodeException("the artifact was written for StableHLO " + artifact + "; versions up to "
                    + Version.CURRENT + " are understood");
        }
        BytecodeReader reader = new BytecodeReader((int) version, bytes, artifact != null);
        try {
            reader.readSections(in);
            return reader.readIr();
        } catch (BytecodeException e) {
            throw e;
        } catch (IrException | ArithmeticException | IllegalArgumentException | IllegalStateException e) {
            // Text within the bytes that is no attribute, or a shape that is none.
            throw new BytecodeException("the bytes hold something that is not understood: " + e.getMessage());
        }
    }

    private void readSections(ByteInput in) {
        while (!in.isEmpty()) {
            int id = in.byteValue();
            long length = in.varint();
            if ((id & 0x80) != 0) {
                in.align(in.varint());
            }
            if (length < 0 || length > in.remaining()) {
                throw in.error("a section has " + Long.toUnsignedString(length) + " bytes, but " + in.remaining()
                        + " are left");
            }
            if (sections.put(id & 0x7F, in.sub((int) length)) != null) {
                throw in.error("section " + (id & 0x7F) + " is there twice");
            }
        }
        readStrings(section(STRING));
        readDialects(section(DIALECT));
        readEntries(section(ATTR_TYPE_OFFSET), section(ATTR_TYPE));
        ByteInput table = sections.get(PROPERTIES);
        if (table != null && !table.isEmpty()) {
            int count = table.count(1);
            for (int i = 0; i < count; i++) {
                int size = table.count(1);
                properties.add(new int[] {table.position(), table.position() + size});
                table.sub(size);
            }
        }
    }

    private ByteInput section(int id) {
        ByteInput section = sections.get(id);
        if (section == null) {
            throw new BytecodeException("section " + id + " is missing");
        }
        return section;
    }

    private void readStrings(ByteInput in) {
        int count = in.count(1);
        int[] sizes = new int[count];
        for (int i = count - 1; i >= 0; i--) {
            sizes[i] = in.count(0);
        }
        for (int size : sizes) {
            if (size < 1) {
                throw in.error("a string has no end");
            }
            ByteInput string = in.sub(size);
            strings.add(string.string(size - 1));
        }
    }

    private void readDialects(ByteInput in) {
        int count = in.count(1);
        for (int i = 0; i < count; i++) {
            long name = in.varint();
            if (version == 0) {
                dialects.add(string(in, name));
                continue;
            }
            dialects.add(string(in, name >>> 1));
            if ((name & 1) != 0) {
                in.byteValue();
                in.sub(in.count(1));
            }
        }
        if (version >= 4) {
            in.varint();
        }
        while (!in.isEmpty()) {
            String dialect = dialects.get(in.index(dialects.size(), "dialect"));
            int names = in.count(1);
            for (int i = 0; i < names; i++) {
                long name = in.varint();
                boolean registered = version < 5 || (name & 1) != 0;
                opNames.add(new OpName(dialect, string(in, version < 5 ? name : name >>> 1), registered));
            }
        }
    }

    private String string(ByteInput in, long index) {
        return strings.get(in.checkIndex(index, strings.size(), "string"));
    }

    private void readEntries(ByteInput offsets, ByteInput content) {
        int attributeCount = offsets.count(0);
        int typeCount = offsets.count(0);
        readEntries(offsets, content, attributes, attributeCount);
        readEntries(offsets, content, types, typeCount);
    }

    private void readEntries(ByteInput offsets, ByteInput content, List<Entry> into, int count) {
        while (into.size() < count) {
            String dialect = dialects.get(offsets.index(dialects.size(), "dialect"));
            int group = offsets.count(1);
            for (int i = 0; i < group; i++) {
                long size = offsets.varint();
                if (size >>> 1 > content.remaining()) {
                    throw offsets.error("an attribute or type is longer than the bytes that are left");
                }
                into.add(new Entry(dialect, content.position(), (int) (size >>> 1), (size & 1) != 0));
                content.sub((int) (size >>> 1));
            }
        }
        if (into.size() != count) {
            throw offsets.error("there are " + into.size() + " attributes or types instead of " + count);
        }
    }

    // What the codecs ask for.

    String string(ByteInput in) {
        return string(in, in.varint());
    }

    Object attributeObject(ByteInput in) {
        return attributeAt(in.index(attributes.size(), "attribute"));
    }

    Attribute attribute(ByteInput in) {
        Object value = attributeObject(in);
        if (value instanceof Attribute attribute) {
            return attribute;
        }
        throw in.error("an attribute is not of the kind that is expected here");
    }

    void rememberObjects(Attribute.Dictionary dictionary, Map<String, Object> objects) {
        objectsByDictionary.put(dictionary, objects);
    }

    Map<String, Object> objectsOf(Attribute.Dictionary dictionary) {
        return objectsByDictionary.getOrDefault(dictionary, Map.of());
    }

    @Nullable
    Object optionalAttribute(ByteInput in) {
        long index = in.varint();
        return (index & 1) == 0 ? null : attributeAt(in.checkIndex(index >>> 1, attributes.size(), "attribute"));
    }

    Type type(ByteInput in) {
        return typeAt(in.index(types.size(), "type"));
    }

    Location location(ByteInput in) {
        if (attributeObject(in) instanceof Location location) {
            return location;
        }
        throw in.error("an attribute is no location");
    }

    private Object attributeAt(int index) {
        return resolve(attributes.get(index), true);
    }

    private Type typeAt(int index) {
        if (resolve(types.get(index), false) instanceof Type type) {
            return type;
        }
        throw new BytecodeException("entry " + index + " is no type");
    }

    private Object resolve(Entry entry, boolean isAttribute) {
        if (entry.value != null && entry.extent != null) {
            check(nesting.reuse(entry.extent));
            return entry.value;
        }
        Nesting.Extent outer = nesting.begin();
        // One that contains itself ends here as well.
        check(nesting.enter());
        ByteInput in = new ByteInput(data, entry.offset, entry.offset + entry.size);
        Object value;
        if (!entry.custom) {
            byte[] text = in.bytes(Math.max(0, entry.size - 1));
            value = isAttribute ? Parser.attribute(text) : Parser.type(text);
        } else {
            value = switch (entry.dialect) {
                case "builtin" -> isAttribute ? BuiltinCodec.readAttribute(in, this) : BuiltinCodec.readType(in, this);
                case "vhlo" -> isAttribute ? VhloCodec.readAttribute(in, this) : VhloCodec.readType(in, this);
                case "stablehlo" ->
                    isAttribute ? StablehloCodec.readAttribute(in, this) : StablehloCodec.readType(in, this);
                case "chlo" -> StablehloCodec.readChloAttribute(in, this);
                case "sdy" -> SdyCodec.readAttribute(in, this);
                default ->
                    throw in.error("the dialect " + entry.dialect + " has an encoding of its own that is not known");
            };
        }
        entry.value = value;
        nesting.leave();
        entry.extent = nesting.end(outer);
        return value;
    }

    private static void check(String problem) {
        if (!problem.isEmpty()) {
            throw new BytecodeException(problem);
        }
    }

    // Operations.

    /** The values of a region have their places reserved when it begins; those of regions within come after them. */
    private static final class Numbering {
        int next;

        Numbering(int next) {
            this.next = next;
        }
    }

    private void define(ByteInput in, Numbering numbering, Value value) {
        if (numbering.next >= values.size()) {
            throw in.error("a region defines more values than it says");
        }
        values.set(numbering.next++, value);
    }

    private List<Operation> readIr() {
        Region region = readBlocks(section(IR), 1, "", new Numbering(0));
        return region.isEmpty() ? List.of() : region.block().operations();
    }

    private Region readRegion(ByteInput in, String parent) {
        int blocks = in.count(1);
        if (blocks == 0) {
            return Region.EMPTY;
        }
        check(nesting.enter());
        int count = in.count(1);
        reserved += count;
        if (reserved > data.length) {
            throw in.error("the regions here have " + reserved + " values, more than the bytes can define");
        }
        int outer = values.size();
        for (int i = 0; i < count; i++) {
            values.add(null);
        }
        Numbering numbering = new Numbering(outer);
        Region region = readBlocks(in, blocks, parent, numbering);
        if (numbering.next != values.size()) {
            throw in.error("a region defines fewer values than it says");
        }
        values.subList(outer, values.size()).clear();
        reserved -= count;
        nesting.leave();
        return region;
    }

    private Region readBlocks(ByteInput in, int count, String parent, Numbering numbering) {
        List<Block> blocks = new ArrayList<>();
        for (int b = 0; b < count; b++) {
            long header = in.varint();
            if (header >>> 1 > in.remaining()) {
                throw in.error("a block has more operations than bytes are left");
            }
            List<BlockArgument> arguments = new ArrayList<>();
            if ((header & 1) != 0) {
                readArguments(in, arguments, numbering);
            }
            List<Operation> operations = new ArrayList<>();
            for (long i = header >>> 1; i > 0; i--) {
                Operation operation = readOperation(in, parent, numbering);
                if (operation != null) {
                    operations.add(operation);
                }
            }
            blocks.add(new Block(arguments, operations));
        }
        return new Region(blocks);
    }

    private void readArguments(ByteInput in, List<BlockArgument> arguments, Numbering numbering) {
        int count = in.count(1);
        for (int i = 0; i < count; i++) {
            Type type;
            Location location = Location.UNKNOWN;
            if (version >= 4) {
                long index = in.varint();
                type = typeAt(in.checkIndex(index >>> 1, types.size(), "type"));
                if ((index & 1) != 0) {
                    location = location(in);
                }
            } else {
                type = type(in);
                location = location(in);
            }
            BlockArgument argument = new BlockArgument(i, type, location);
            arguments.add(argument);
            define(in, numbering, argument);
        }
        if (version >= 3 && in.byteValue() != 0) {
            skipUseLists(in, count);
        }
    }

    /** The order of uses means nothing here. */
    private static void skipUseLists(ByteInput in, int values) {
        int lists = values == 1 ? 1 : in.count(1);
        for (int i = 0; i < lists; i++) {
            if (values > 1) {
                in.varint();
            }
            long header = in.varint();
            for (long j = header >>> 1; j > 0; j--) {
                in.varint();
            }
        }
    }

    /** An operation; null where it is a cast between the forms of one type. */
    private @Nullable Operation readOperation(ByteInput in, String parent, Numbering numbering) {
        OpName name = opNames.get(in.index(opNames.size(), "operation name"));
        int mask = in.byteValue();
        Location location = location(in);
        Map<String, Object> attrs = new LinkedHashMap<>();
        if ((mask & 0x01) != 0) {
            if (!(attribute(in) instanceof Attribute.Dictionary dictionary)) {
                throw in.error("the attributes of an operation are no dictionary");
            }
            attrs.putAll(BuiltinCodec.objects(dictionary, this));
        }
        if ((mask & 0x40) != 0) {
            readProperties(in, name, attrs);
        }
        List<Type> results = new ArrayList<>();
        if ((mask & 0x02) != 0) {
            int count = in.count(1);
            for (int i = 0; i < count; i++) {
                results.add(type(in));
            }
        }
        List<Value> operands = new ArrayList<>();
        if ((mask & 0x04) != 0) {
            int count = in.count(1);
            for (int i = 0; i < count; i++) {
                Value operand = values.get(in.index(values.size(), "value"));
                if (operand == null) {
                    throw in.error("a value is used before it is defined");
                }
                operands.add(operand);
            }
        }
        if ((mask & 0x08) != 0) {
            throw in.error("operations with successor blocks are not understood");
        }
        if ((mask & 0x20) != 0) {
            skipUseLists(in, results.size());
        }
        List<Region> regions = new ArrayList<>();
        if ((mask & 0x10) != 0) {
            regions = readRegions(in, name.full());
        }
        Operation operation = make(in, name, parent, operands, attrs, regions, results, location);
        List<? extends Value> defined = operation.results();
        // In an artifact, between the versioned and the plain form of a type.
        boolean isCast = artifact
                && operation.is("builtin.unrealized_conversion_cast")
                && types(operation.operands()).equals(types(operation.results()));
        if (isCast) {
            defined = operands;
        }
        for (Value value : defined) {
            define(in, numbering, value);
        }
        return isCast ? null : operation;
    }

    private static List<Type> types(List<? extends Value> values) {
        return values.stream().map(Value::type).toList();
    }

    private List<Region> readRegions(ByteInput in, String name) {
        long header = in.varint();
        if (header >>> 1 > in.remaining()) {
            throw in.error("an operation has more regions than bytes are left");
        }
        boolean isolated = (header & 1) != 0;
        List<Region> regions = new ArrayList<>();
        List<@Nullable Value> outer = values;
        ByteInput from = in;
        if (isolated) {
            values = new ArrayList<>();
        }
        if (isolated && version >= 2) {
            int id = in.byteValue();
            int length = in.count(1);
            if ((id & 0x80) != 0) {
                in.align(in.varint());
            }
            if ((id & 0x7F) != IR) {
                throw in.error("expected a section with regions, got section " + (id & 0x7F));
            }
            from = in.sub(length);
        }
        for (long i = header >>> 1; i > 0; i--) {
            regions.add(readRegion(from, name));
        }
        values = outer;
        return regions;
    }

    private void readProperties(ByteInput in, OpName name, Map<String, Object> attrs) {
        int[] range = properties.get(in.index(properties.size(), "property"));
        ByteInput bytes = new ByteInput(data, range[0], range[1]);
        if (!name.registered()) {
            if (attribute(bytes) instanceof Attribute.Dictionary dictionary) {
                attrs.putAll(BuiltinCodec.objects(dictionary, this));
            }
            return;
        }
        if (name.dialect().equals("vhlo")) {
            for (String attribute : VhloOps.attributes(name.name())) {
                if (bytes.isEmpty()) {
                    throw bytes.error("vhlo." + name.name() + " has fewer attributes than are known of it");
                }
                attrs.put(attribute, attributeObject(bytes));
            }
            return;
        }
        OpDefinition definition = OpDefinition.of(name.full());
        if (!definition.isKnown()) {
            throw bytes.error("the attributes of " + name.full() + " are encoded in a way that is not known");
        }
        List<AttributeDefinition> sorted = definition.attributes().stream()
                .sorted(Comparator.comparing(AttributeDefinition::name))
                .toList();
        if (!readKnown(bytes, sorted, attrs)) {
            // An older version of the dialect wrote it, before an attribute with a default was added.
            bytes = new ByteInput(data, range[0], range[1]);
            sorted.forEach(attribute -> attrs.remove(attribute.name()));
            readKnown(bytes, sorted.stream().filter(BytecodeReader::isRequired).toList(), attrs);
        }
        segments(definition, bytes, attrs);
    }

    private static boolean isRequired(AttributeDefinition attribute) {
        return !attribute.optional()
                && attribute.defaultValue().isEmpty()
                && !attribute.kind().equals("Unit");
    }

    /** Reads attributes until the bytes end; false where a required one is left over then. */
    private boolean readKnown(ByteInput bytes, List<AttributeDefinition> sorted, Map<String, Object> attrs) {
        for (AttributeDefinition attribute : sorted) {
            boolean required = isRequired(attribute);
            if (bytes.isEmpty()) {
                if (required) {
                    return false;
                }
                continue;
            }
            Object value = required ? attributeObject(bytes) : optionalAttribute(bytes);
            if (value != null) {
                attrs.put(attribute.name(), value);
            }
        }
        return true;
    }

    private void segments(OpDefinition definition, ByteInput bytes, Map<String, Object> attrs) {
        for (Trait trait : List.of(Trait.OPERAND_SEGMENTS, Trait.RESULT_SEGMENTS)) {
            if (definition.has(trait) && !bytes.isEmpty()) {
                attrs.put(
                        trait == Trait.OPERAND_SEGMENTS ? "operandSegmentSizes" : "resultSegmentSizes",
                        BuiltinCodec.segmentSizes(bytes, this, version));
            }
        }
    }

    private Operation make(
            ByteInput in,
            OpName name,
            String parent,
            List<Value> operands,
            Map<String, Object> attrs,
            List<Region> regions,
            List<Type> results,
            Location location) {
        OpDefinition definition;
        Attribute.Dictionary dictionary;
        if (name.dialect().equals("vhlo")) {
            definition = VhloOps.definition(name.name(), parent);
            dictionary = VhloOps.fromVhlo(name.name(), definition, attrs);
        } else {
            definition = OpDefinition.of(name.full());
            Map<String, Attribute> plain = new HashMap<>();
            attrs.forEach((key, value) -> {
                if (!(value instanceof Attribute attribute)) {
                    throw in.error("the attribute '" + key + "' of " + name.full() + " is of a kind not known here");
                }
                plain.put(key, attribute);
            });
            dictionary = Attribute.Dictionary.of(plain);
        }
        return new Operation(definition, operands, dictionary, regions, results, location);
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.Block;
import dev.slipway.stablehlo.BlockArgument;
import dev.slipway.stablehlo.BytecodeException;
import dev.slipway.stablehlo.EnumAttribute;
import dev.slipway.stablehlo.Location;
import dev.slipway.stablehlo.OpDefinition.Trait;
import dev.slipway.stablehlo.Operation;
import dev.slipway.stablehlo.Region;
import dev.slipway.stablehlo.StructAttribute;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.Value;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Operations to MLIR bytecode, plain or as a portable artifact.
 *
 * <p>Everything is numbered in the order in which it is first used, so that the same module gives the same bytes. What the
 * table calls the attributes of an operation is written with its other attributes and not as properties: that is how every
 * version of MLIR reads it, whatever attributes its own version of the operation has.
 */
public final class BytecodeWriter {
    private static final int PLAIN_VERSION = 6;

    /** The first version whose readers know ranges of places. */
    private static final Version RANGES = new Version(1, 9, 0);

    private final @Nullable Version target;
    private final int version;
    private final Map<String, Integer> strings = new HashMap<>();
    private final List<byte[]> stringData = new ArrayList<>();
    private final Map<String, Integer> dialects = new HashMap<>();
    private final List<String> dialectNames = new ArrayList<>();
    private final Map<String, Integer> opNames = new HashMap<>();
    private final Table attributes = new Table();
    private final Table types = new Table();
    private final Map<Value, Integer> values = new HashMap<>();

    /** An attribute or type in one of its two forms. */
    private record Key(boolean versioned, Object value) {}

    /** The attributes of an operation, some in one form and some in the other. */
    private record Mixed(Map<String, Object> entries) {}

    private static final class Table {
        final Map<Key, Integer> numbers = new HashMap<>();
        final List<@Nullable ByteOutput> entries = new ArrayList<>();
        final List<Integer> dialects = new ArrayList<>();
        final List<Boolean> custom = new ArrayList<>();
    }

    private BytecodeWriter(@Nullable Version target) {
        this.target = target;
        this.version = target == null ? PLAIN_VERSION : target.bytecode();
    }

    /** Whether readers know ranges of places; older ones are given where a range starts. */
    boolean hasRanges() {
        return target == null || target.compareTo(RANGES) >= 0;
    }

    /** Plain bytecode. */
    public static byte[] write(Operation module) {
        return new BytecodeWriter(null).toBytes(module, "Slipway");
    }

    /** A portable artifact for a version. */
    public static byte[] writePortable(Operation module, String target) {
        Version version = Version.target(target);
        return new BytecodeWriter(version).toBytes(module, "StableHLO_v" + version);
    }

    private byte[] toBytes(Operation module, String producer) {
        ByteOutput ir = new ByteOutput(1 << 16);
        ir.flagged(1, false);
        operation(ir, module, new int[] {0}, 0);
        ByteOutput out = new ByteOutput(ir.size() * 2 + 1024);
        out.byteValue('M').byteValue('L').byteValue(0xEF).byteValue('R').varint(version);
        out.nullTerminated(producer);
        // The dialects' names are strings, too, so that the section of strings is put together last.
        ByteOutput dialectSection = dialectSection();
        ByteOutput offsets = new ByteOutput();
        ByteOutput content = new ByteOutput();
        offsets.varint(attributes.entries.size()).varint(types.entries.size());
        appendTable(offsets, content, attributes);
        appendTable(offsets, content, types);
        out.section(0, stringSection())
                .section(1, dialectSection)
                .section(2, content)
                .section(3, offsets)
                .section(4, ir);
        if (version >= 5) {
            out.section(8, new ByteOutput(1).varint(0));
        }
        return out.toBytes();
    }

    private ByteOutput stringSection() {
        ByteOutput out = new ByteOutput();
        out.varint(stringData.size());
        for (int i = stringData.size() - 1; i >= 0; i--) {
            out.varint(stringData.get(i).length + 1L);
        }
        for (byte[] string : stringData) {
            out.bytes(string).byteValue(0);
        }
        return out;
    }

    private ByteOutput dialectSection() {
        ByteOutput out = new ByteOutput();
        ByteOutput names = new ByteOutput();
        int dialect = -1;
        ByteOutput group = new ByteOutput();
        int count = 0;
        List<String> ordered = new ArrayList<>(opNames.keySet());
        ordered.sort((left, right) -> Integer.compare(opNames.getOrDefault(left, 0), opNames.getOrDefault(right, 0)));
        for (String name : ordered) {
            int dot = name.indexOf('.');
            int own = dialect(dot < 0 ? "" : name.substring(0, dot));
            if (own != dialect && count > 0) {
                names.varint(dialect).varint(count).append(group);
                group = new ByteOutput();
                count = 0;
            }
            dialect = own;
            int text = stringIndex(name.substring(dot + 1));
            if (version >= 5) {
                group.flagged(text, true);
            } else {
                group.varint(text);
            }
            count++;
        }
        if (count > 0) {
            names.varint(dialect).varint(count).append(group);
        }
        out.varint(dialectNames.size());
        for (String name : dialectNames) {
            if (version == 0) {
                out.varint(stringIndex(name));
            } else {
                out.flagged(stringIndex(name), false);
            }
        }
        if (version >= 4) {
            out.varint(opNames.size());
        }
        return out.append(names);
    }

    private static void appendTable(ByteOutput offsets, ByteOutput content, Table table) {
        int i = 0;
        while (i < table.entries.size()) {
            int end = i;
            while (end < table.entries.size() && table.dialects.get(end).equals(table.dialects.get(i))) {
                end++;
            }
            offsets.varint(table.dialects.get(i)).varint(end - i);
            for (; i < end; i++) {
                ByteOutput entry = table.entries.get(i);
                if (entry == null) {
                    throw new IllegalStateException("an entry was not written");
                }
                offsets.flagged(entry.size(), table.custom.get(i));
                content.append(entry);
            }
        }
    }

    // What the codecs call.

    private int stringIndex(String text) {
        return strings.computeIfAbsent(text, key -> {
            stringData.add(key.getBytes(StandardCharsets.UTF_8));
            return stringData.size() - 1;
        });
    }

    void string(ByteOutput out, String text) {
        out.varint(stringIndex(text));
    }

    private int dialect(String name) {
        return dialects.computeIfAbsent(name, key -> {
            dialectNames.add(key);
            return dialectNames.size() - 1;
        });
    }

    void builtin(ByteOutput out, Attribute value) {
        out.varint(attribute(new Key(false, value)));
    }

    void versioned(ByteOutput out, Object value) {
        out.varint(attribute(new Key(VhloCodec.isVersioned(value), value)));
    }

    void optionalVersioned(ByteOutput out, @Nullable Object value) {
        if (value == null) {
            out.varint(0);
        } else {
            out.flagged(attribute(new Key(true, value)), true);
        }
    }

    void builtinType(ByteOutput out, Type type) {
        out.varint(type(new Key(false, type)));
    }

    void versionedType(ByteOutput out, Type type) {
        out.varint(type(new Key(true, type)));
    }

    private int reserve(Table table, Key key) {
        int number = table.entries.size();
        table.numbers.put(key, number);
        table.entries.add(null);
        table.dialects.add(0);
        table.custom.add(true);
        return number;
    }

    private int attribute(Key key) {
        Integer known = attributes.numbers.get(key);
        if (known != null) {
            return known;
        }
        int number = reserve(attributes, key);
        ByteOutput out = new ByteOutput(32);
        String dialect = "builtin";
        boolean custom = true;
        if (key.versioned) {
            dialect = "vhlo";
            checkAttribute(key.value);
            VhloCodec.writeAttribute(out, key.value, this);
        } else if (key.value instanceof Mixed mixed) {
            out.varint(1).varint(mixed.entries.size());
            mixed.entries.forEach((name, value) -> {
                builtin(out, Attribute.of(name));
                versioned(out, value);
            });
        } else if (BuiltinCodec.isEncoded(key.value)) {
            BuiltinCodec.writeAttribute(out, key.value, this);
        } else {
            String text = key.value.toString();
            custom = false;
            dialect = dialectOf(key.value, text);
            out.nullTerminated(text);
        }
        attributes.entries.set(number, out);
        attributes.dialects.set(number, dialect(dialect));
        attributes.custom.set(number, custom);
        return number;
    }

    private static String dialectOf(Object value, String text) {
        if (value instanceof StructAttribute
                || value instanceof EnumAttribute
                || value instanceof Attribute.Opaque
                || value instanceof Type) {
            if (text.startsWith("#") || text.startsWith("!")) {
                int end = 1;
                while (end < text.length()
                        && (Character.isLetterOrDigit(text.charAt(end)) || text.charAt(end) == '_')) {
                    end++;
                }
                return text.substring(1, end);
            }
        }
        return "builtin";
    }

    private int type(Key key) {
        Integer known = types.numbers.get(key);
        if (known != null) {
            return known;
        }
        int number = reserve(types, key);
        ByteOutput out = new ByteOutput(16);
        String dialect = "builtin";
        boolean custom = true;
        Type type = (Type) key.value;
        if (key.versioned) {
            dialect = "vhlo";
            checkType(type);
            VhloCodec.writeType(out, type, this);
        } else if (BuiltinCodec.isEncoded(type)) {
            BuiltinCodec.writeType(out, type, this);
        } else {
            String text = type.toString();
            custom = false;
            dialect = dialectOf(type, text);
            out.nullTerminated(text);
        }
        types.entries.set(number, out);
        types.dialects.set(number, dialect(dialect));
        types.custom.set(number, custom);
        return number;
    }

    private void checkType(Type type) {
        Version since = VhloVersions.since(type);
        if (target != null && target.compareTo(since) < 0) {
            throw new BytecodeException(
                    "the type " + type + " cannot be written for StableHLO " + target + ": it is there since " + since);
        }
    }

    private void checkAttribute(Object value) {
        Version since = VhloVersions.since(value);
        if (target != null && target.compareTo(since) < 0) {
            throw new BytecodeException("the attribute " + value + " cannot be written for StableHLO " + target
                    + ": it is there since " + since);
        }
    }

    // Operations.

    private int opName(String name) {
        return opNames.computeIfAbsent(name, _ -> opNames.size());
    }

    private void type(ByteOutput out, Type type, boolean versioned) {
        out.varint(type(new Key(versioned, type)));
    }

    /** Whether an operation is written as it is although its block's values have versioned types. */
    private VhloOps.@Nullable Row rowFor(Operation operation) {
        return target == null ? null : VhloOps.rowFor(operation, target);
    }

    private boolean needsCasts(Operation operation) {
        return target != null
                && rowFor(operation) == null
                && !(operation.operands().isEmpty() && operation.results().isEmpty());
    }

    private void region(ByteOutput out, Operation parent, Region region, int base) {
        out.varint(region.blocks().size());
        if (region.isEmpty()) {
            return;
        }
        int total = 0;
        for (Block block : region.blocks()) {
            total += block.arguments().size();
            for (Operation operation : block.operations()) {
                total += operation.results().size();
                if (needsCasts(operation)) {
                    total += operation.operands().size() + operation.results().size();
                }
            }
        }
        out.varint(total);
        int[] next = {base};
        boolean versioned = rowFor(parent) != null;
        for (Block block : region.blocks()) {
            block(out, block, next, base + total, versioned);
        }
    }

    private void block(ByteOutput out, Block block, int[] next, int inner, boolean versioned) {
        int count = 0;
        for (Operation operation : block.operations()) {
            count += 1
                    + (needsCasts(operation)
                            ? operation.operands().size() + operation.results().size()
                            : 0);
        }
        boolean hasArguments = !block.arguments().isEmpty();
        out.flagged(count, hasArguments);
        if (hasArguments) {
            out.varint(block.arguments().size());
            for (BlockArgument argument : block.arguments()) {
                int type = type(new Key(versioned, argument.type()));
                boolean located = !(argument.location() instanceof Location.Unknown);
                if (version >= 4) {
                    out.flagged(type, located);
                } else {
                    out.varint(type);
                }
                if (located || version < 4) {
                    builtin(out, argument.location());
                }
                values.put(argument, next[0]++);
            }
            if (version >= 3) {
                out.byteValue(0);
            }
        }
        for (Operation operation : block.operations()) {
            operation(out, operation, next, inner);
        }
    }

    private void operation(ByteOutput out, Operation operation, int[] next, int inner) {
        VhloOps.Row row = rowFor(operation);
        boolean casts = needsCasts(operation);
        int[] operands = new int[operation.operands().size()];
        for (int i = 0; i < operands.length; i++) {
            Integer id = values.get(operation.operand(i));
            if (id == null) {
                throw new BytecodeException(operation.name() + ": operand " + i + " is not defined before it is used");
            }
            operands[i] = casts ? cast(out, id, operation.operand(i).type(), false, operation.location(), next) : id;
        }
        out.varint(opName(row == null ? operation.name() : "vhlo." + row.name()));
        boolean hasResults = !operation.results().isEmpty();
        boolean hasRegions = !operation.regions().isEmpty();
        Object dictionary = dictionary(operation, row);
        out.byteValue((dictionary == null ? 0 : 1)
                | (hasResults ? 2 : 0)
                | (operands.length > 0 ? 4 : 0)
                | (hasRegions ? 0x10 : 0));
        builtin(out, operation.location());
        if (dictionary != null) {
            out.varint(attribute(new Key(false, dictionary)));
        }
        if (hasResults) {
            out.varint(operation.results().size());
            operation.results().forEach(result -> type(out, result.type(), row != null));
        }
        if (operands.length > 0) {
            out.varint(operands.length);
            for (int id : operands) {
                out.varint(id);
            }
        }
        if (hasRegions) {
            if (row != null) {
                VhloVersions.checkRegions(operation, row, target);
            } else if (casts) {
                throw new BytecodeException(operation.name()
                        + " has regions and is of another dialect, so it cannot be part of a portable artifact");
            }
            regions(out, operation, inner);
        }
        int[] raw = new int[operation.results().size()];
        for (int i = 0; i < raw.length; i++) {
            raw[i] = next[0]++;
        }
        for (int i = 0; i < raw.length; i++) {
            int id = casts ? cast(out, raw[i], operation.result(i).type(), true, operation.location(), next) : raw[i];
            values.put(operation.result(i), id);
        }
    }

    private void regions(ByteOutput out, Operation operation, int inner) {
        boolean isolated = operation.definition().has(Trait.ISOLATED);
        out.flagged(operation.regions().size(), isolated);
        ByteOutput to = isolated && version >= 2 ? new ByteOutput() : out;
        for (Region region : operation.regions()) {
            region(to, operation, region, isolated ? 0 : inner);
        }
        if (isolated && version >= 2) {
            out.section(4, to);
        }
    }

    /** A cast between the versioned and the plain form of a type. */
    private int cast(ByteOutput out, int operand, Type type, boolean toVersioned, Location location, int[] next) {
        out.varint(opName("builtin.unrealized_conversion_cast")).byteValue(2 | 4);
        builtin(out, location);
        out.varint(1);
        type(out, type, toVersioned);
        out.varint(1).varint(operand);
        return next[0]++;
    }

    private @Nullable Object dictionary(Operation operation, VhloOps.@Nullable Row row) {
        if (row == null || target == null) {
            return operation.attributes().isEmpty() ? null : operation.attributes();
        }
        VhloVersions.checkOperands(operation, row, target);
        Map<String, Object> entries = VhloOps.toVhlo(operation, row, target);
        return entries.isEmpty() ? null : new Mixed(entries);
    }
}

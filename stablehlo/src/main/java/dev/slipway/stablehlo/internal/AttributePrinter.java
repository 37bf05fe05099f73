// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.ComplexType;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.EnumAttribute;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.IntegerType;
import dev.slipway.stablehlo.Location;
import dev.slipway.stablehlo.Operation;
import dev.slipway.stablehlo.QuantizedType;
import dev.slipway.stablehlo.StructAttribute;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** MLIR's text for types, attributes and locations. */
public final class AttributePrinter {
    /** Constants of more elements than this are printed in hexadecimal, as MLIR does. */
    private static final long MAX_DECIMAL_ELEMENTS = 100;

    private static final char[] HEX = "0123456789ABCDEF".toCharArray();

    private final StringBuilder out;
    private final long elideAbove;
    private final StructPrinter structs;

    AttributePrinter(StringBuilder out, long elideAbove) {
        this.out = out;
        this.elideAbove = elideAbove;
        this.structs = new StructPrinter(this, out);
    }

    StructPrinter structs() {
        return structs;
    }

    /** The text of a type. */
    public static String toText(Type type) {
        StringBuilder out = new StringBuilder();
        new AttributePrinter(out, Long.MAX_VALUE).type(type);
        return out.toString();
    }

    /** The text of an attribute. */
    public static String toText(Attribute attribute) {
        StringBuilder out = new StringBuilder();
        new AttributePrinter(out, Long.MAX_VALUE).attribute(attribute);
        return out.toString();
    }

    /** The text of an operation by itself, in generic form. */
    public static String toText(Operation operation) {
        return Printer.fragment(operation);
    }

    void type(Type type) {
        switch (type) {
            case TensorType tensor -> {
                out.append("tensor<");
                shape(tensor.shape());
                type(tensor.element());
                Attribute encoding = tensor.encoding();
                if (encoding != null) {
                    out.append(", ");
                    attribute(encoding);
                }
                out.append('>');
            }
            case IntegerType integer -> {
                switch (integer.signedness()) {
                    case SIGNED -> out.append("si");
                    case UNSIGNED -> out.append("ui");
                    case SIGNLESS -> out.append('i');
                }
                out.append(integer.width());
            }
            case FloatType floating -> out.append(floating);
            case ComplexType complex -> {
                out.append("complex<");
                type(complex.element());
                out.append('>');
            }
            case QuantizedType quantized -> quantized(quantized);
            case Type.UnrankedTensor tensor -> {
                out.append("tensor<*x");
                type(tensor.element());
                out.append('>');
            }
            case Type.Tuple tuple -> {
                out.append("tuple<");
                types(tuple.types());
                out.append('>');
            }
            case Type.Token _ -> out.append("!stablehlo.token");
            case Type.Future future -> {
                out.append("!stablehlo.future<");
                types(future.types());
                out.append('>');
            }
            case Type.Function function -> function(function.inputs(), function.results());
            case Type.Buffer buffer -> {
                out.append("memref<");
                shape(buffer.tensor().shape());
                type(buffer.tensor().element());
                if (buffer.layout() != null) {
                    out.append(", ").append(buffer.layout());
                }
                out.append('>');
            }
            case Type.None _ -> out.append("none");
            case Type.Index _ -> out.append("index");
            case Type.Opaque opaque -> out.append(opaque.text());
        }
    }

    void types(List<? extends Type> types) {
        for (int i = 0; i < types.size(); i++) {
            if (i > 0) {
                out.append(", ");
            }
            type(types.get(i));
        }
    }

    void function(List<? extends Type> inputs, List<? extends Type> results) {
        out.append('(');
        types(inputs);
        out.append(") -> ");
        if (results.size() == 1 && !(results.getFirst() instanceof Type.Function)) {
            type(results.getFirst());
        } else {
            out.append('(');
            types(results);
            out.append(')');
        }
    }

    private void shape(ImmutableLongArray shape) {
        for (int i = 0; i < shape.length(); i++) {
            dimension(shape.get(i));
            out.append('x');
        }
    }

    void dimension(long size) {
        if (size == TensorType.DYNAMIC) {
            out.append('?');
        } else {
            out.append(size);
        }
    }

    private void quantized(QuantizedType type) {
        out.append("!quant.uniform<");
        switch (type.storage().signedness()) {
            case UNSIGNED -> out.append('u');
            case SIGNED -> out.append("si");
            case SIGNLESS -> out.append('i');
        }
        out.append(type.storage().width());
        if (type.storageMin() != QuantizedType.defaultMin(type.storage())
                || type.storageMax() != QuantizedType.defaultMax(type.storage())) {
            out.append('<')
                    .append(type.storageMin())
                    .append(':')
                    .append(type.storageMax())
                    .append('>');
        }
        out.append(':').append(type.expressed());
        if (type.isPerTensor()) {
            out.append(", ");
            scale(type, 0);
        } else if (type.isPerAxis()) {
            out.append(':').append(type.axes().getFirst()).append(", {");
            for (int i = 0; i < type.scales().length(); i++) {
                if (i > 0) {
                    out.append(',');
                }
                scale(type, i);
            }
            out.append('}');
        } else {
            out.append(":{");
            for (int i = 0; i < type.axes().size(); i++) {
                out.append(i == 0 ? "" : ", ")
                        .append(type.axes().get(i))
                        .append(':')
                        .append(type.blockSizes().get(i));
            }
            out.append("}, ");
            blockScales(type, 0, new int[] {0});
        }
        out.append('>');
    }

    private void blockScales(QuantizedType type, int depth, int[] next) {
        if (depth == type.scaleShape().length()) {
            scale(type, next[0]++);
            return;
        }
        out.append('{');
        for (long i = 0; i < type.scaleShape().get(depth); i++) {
            if (i > 0) {
                out.append(", ");
            }
            blockScales(type, depth + 1, next);
        }
        out.append('}');
    }

    private void scale(QuantizedType type, int index) {
        Floats.print(out, Double.doubleToRawLongBits(type.scales().get(index)), FloatType.F64);
        if (type.zeroPoints().get(index) != 0) {
            out.append(':').append(type.zeroPoints().get(index));
        }
    }

    /** An attribute with its type. */
    void attribute(Attribute attribute) {
        attribute(attribute, false);
    }

    private void attribute(Attribute attribute, boolean elideUsualType) {
        switch (attribute) {
            case Attribute.Text text -> string(text.value());
            case Attribute.Int integer -> {
                integer(integer.value(), integer.type());
                if (!integer.type().equals(ElementType.I1)
                        && !(elideUsualType && integer.type().equals(ElementType.I64))) {
                    out.append(" : ");
                    type(integer.type());
                }
            }
            case Attribute.Real real -> {
                Floats.print(out, real.bits(), real.type());
                if (!(elideUsualType && real.type() == FloatType.F64)) {
                    out.append(" : ").append(real.type());
                }
            }
            case Attribute.Unit _ -> out.append("unit");
            case Attribute.Array array -> array(array.elements());
            case Attribute.Dictionary dictionary -> {
                out.append('{');
                entries(dictionary);
                out.append('}');
            }
            case Attribute.SymbolRef symbol -> {
                symbol(symbol.root());
                for (String nested : symbol.nested()) {
                    out.append("::");
                    symbol(nested);
                }
            }
            case Attribute.TypeRef ref -> type(ref.type());
            case Attribute.IntArray array -> {
                out.append("array<");
                type(array.type());
                for (int i = 0; i < array.values().length(); i++) {
                    out.append(i == 0 ? ": " : ", ");
                    integer(array.values().get(i), array.type());
                }
                out.append('>');
            }
            case Attribute.RealArray array -> {
                out.append("array<").append(array.type());
                for (int i = 0; i < array.values().length(); i++) {
                    out.append(i == 0 ? ": " : ", ");
                    Floats.print(out, Floats.fromDouble(array.values().get(i), array.type()), array.type());
                }
                out.append('>');
            }
            case DenseElements dense -> dense(dense);
            case Attribute.Resource resource -> {
                out.append("dense_resource<");
                keyword(resource.key());
                out.append("> : ");
                type(resource.type());
            }
            case Attribute.Opaque opaque -> out.append(opaque.text());
            case EnumAttribute word -> {
                String mnemonic = word.mnemonic();
                int dot = mnemonic.indexOf('.');
                if (mnemonic.endsWith("result_accuracy_mode")) {
                    out.append("#stablehlo.result_accuracy_mode<")
                            .append(word.name())
                            .append('>');
                } else if (dot < 0) {
                    out.append(word.value()).append(" : i32");
                } else {
                    out.append('#').append(mnemonic, 0, dot).append('<').append(mnemonic, dot + 1, mnemonic.length());
                    out.append(' ').append(word.name()).append('>');
                }
            }
            case StructAttribute struct -> structs.whole(struct);
            case Location location -> {
                out.append("loc(");
                location(location);
                out.append(')');
            }
        }
    }

    void dims(ImmutableLongArray dims) {
        out.append('[');
        for (int i = 0; i < dims.length(); i++) {
            out.append(i == 0 ? "" : ", ");
            dimension(dims.get(i));
        }
        out.append(']');
    }

    private void array(List<Attribute> elements) {
        out.append('[');
        for (int i = 0; i < elements.size(); i++) {
            out.append(i == 0 ? "" : ", ");
            attribute(elements.get(i), true);
        }
        out.append(']');
    }

    void integer(long value, ElementType type) {
        if (type.equals(ElementType.I1)) {
            out.append(value != 0);
        } else if (type instanceof IntegerType integer && integer.isUnsigned() && value < 0) {
            out.append(Long.toUnsignedString(value));
        } else {
            out.append(value);
        }
    }

    void entries(Attribute.Dictionary dictionary) {
        for (int i = 0; i < dictionary.size(); i++) {
            out.append(i == 0 ? "" : ", ");
            entry(dictionary.name(i), dictionary.value(i));
        }
    }

    void entry(String name, Attribute value) {
        keyword(name);
        if (!(value instanceof Attribute.Unit)) {
            out.append(" = ");
            attribute(value);
        }
    }

    private void dense(DenseElements dense) {
        if (dense.size() > elideAbove && !dense.isSplat()) {
            out.append("dense_resource<__elided__> : ");
            type(dense.type());
            return;
        }
        out.append("dense<");
        if (dense.size() == 0) {
            out.append("> : ");
            type(dense.type());
            return;
        }
        if (dense.isSplat()) {
            element(dense, 0);
        } else if (dense.size() > MAX_DECIMAL_ELEMENTS) {
            hex(dense.bytes());
        } else {
            nested(dense, 0, new long[1]);
        }
        out.append("> : ");
        type(dense.type());
    }

    private void hex(ByteBuffer bytes) {
        out.ensureCapacity(out.length() + 2 * bytes.remaining() + 16);
        out.append("\"0x");
        char[] chunk = new char[512];
        while (bytes.hasRemaining()) {
            int count = Math.min(chunk.length / 2, bytes.remaining());
            for (int i = 0; i < count; i++) {
                byte value = bytes.get();
                chunk[2 * i] = HEX[value >> 4 & 15];
                chunk[2 * i + 1] = HEX[value & 15];
            }
            out.append(chunk, 0, 2 * count);
        }
        out.append('"');
    }

    private void nested(DenseElements dense, int depth, long[] next) {
        ImmutableLongArray shape = dense.type().shape();
        if (depth == shape.length()) {
            element(dense, next[0]++);
            return;
        }
        out.append('[');
        for (long i = 0; i < shape.get(depth); i++) {
            out.append(i == 0 ? "" : ", ");
            nested(dense, depth + 1, next);
        }
        out.append(']');
    }

    private void element(DenseElements dense, long index) {
        switch (dense.type().element()) {
            case FloatType floating -> Floats.print(out, dense.bits(index, 0), floating);
            case ComplexType complex -> {
                out.append('(');
                part(complex.element(), dense.bits(index, 0));
                out.append(',');
                part(complex.element(), dense.bits(index, 1));
                out.append(')');
            }
            default -> integer(dense.longAt(index), dense.type().element());
        }
    }

    private void part(ElementType element, long bits) {
        if (element instanceof FloatType floating) {
            Floats.print(out, bits, floating);
        } else {
            int shift = element instanceof IntegerType integer ? 64 - Math.min(64, integer.width()) : 0;
            boolean unsigned = element instanceof IntegerType integer && integer.isUnsigned();
            integer(unsigned ? bits : bits << shift >> shift, element);
        }
    }

    void symbol(String name) {
        out.append('@');
        keyword(name);
    }

    /** A name, in quotes where it is not an identifier. */
    void keyword(String name) {
        if (isIdentifier(name)) {
            out.append(name);
        } else {
            string(name);
        }
    }

    private static boolean isIdentifier(String name) {
        if (name.isEmpty()) {
            return false;
        }
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            boolean letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
            if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '$' || c == '.'))) {
                return false;
            }
        }
        return true;
    }

    /** A string in quotes; bytes that are not printable as two hexadecimal digits. */
    void string(String value) {
        out.append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c >= 0x80) {
                int end = i + (Character.isHighSurrogate(c) && i + 1 < value.length() ? 2 : 1);
                for (byte b : value.substring(i, end).getBytes(StandardCharsets.UTF_8)) {
                    escape(b & 0xFF);
                }
                i = end - 1;
            } else if (c == '\\') {
                out.append("\\\\");
            } else if (c == '"' || c < 0x20 || c == 0x7F) {
                escape(c);
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }

    private void escape(int value) {
        out.append('\\').append(HEX[value >> 4]).append(HEX[value & 15]);
    }

    void location(Location location) {
        switch (location) {
            case Location.Unknown _ -> out.append("unknown");
            case Location.File file -> {
                string(file.file());
                out.append(':').append(file.line()).append(':').append(file.column());
                if (file.endLine() != file.line()) {
                    out.append(" to ").append(file.endLine()).append(':').append(file.endColumn());
                } else if (file.endColumn() != file.column()) {
                    out.append(" to :").append(file.endColumn());
                }
            }
            case Location.Name name -> {
                string(name.name());
                if (!(name.child() instanceof Location.Unknown)) {
                    out.append('(');
                    location(name.child());
                    out.append(')');
                }
            }
            case Location.CallSite call -> {
                out.append("callsite(");
                location(call.callee());
                out.append(" at ");
                location(call.caller());
                out.append(')');
            }
            case Location.Fused fused -> {
                out.append("fused");
                @Nullable Attribute metadata = fused.metadata();
                if (metadata != null) {
                    out.append('<');
                    attribute(metadata);
                    out.append('>');
                }
                out.append('[');
                for (int i = 0; i < fused.locations().size(); i++) {
                    out.append(i == 0 ? "" : ", ");
                    location(fused.locations().get(i));
                }
                out.append(']');
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal.hlo;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import dev.slipway.runtime.UsageException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A serialized proto read by field numbers: XLA's messages are many, and few of their fields are wanted. */
public final class ProtoReader {

    private final UnknownFieldSet fields;

    private ProtoReader(UnknownFieldSet fields) {
        this.fields = fields;
    }

    /**
     * Parses a message.
     *
     * @throws UsageException.BadArgument if the bytes are no proto
     */
    public static ProtoReader of(byte[] bytes) {
        return of(ByteString.copyFrom(bytes));
    }

    /**
     * Where a message ends in bytes that may have a zero after it, which is no field: profilers of XLA's count one.
     *
     * @throws UsageException.BadArgument if the bytes are no proto
     */
    public static int end(byte[] bytes) {
        CodedInputStream in = CodedInputStream.newInstance(bytes);
        try {
            while (!in.isAtEnd() && bytes[in.getTotalBytesRead()] != 0) {
                in.skipField(in.readTag());
            }
            return in.getTotalBytesRead();
        } catch (IOException e) {
            throw new UsageException.BadArgument(
                    "the " + bytes.length + " bytes are no serialized proto: " + e.getMessage());
        }
    }

    private static ProtoReader of(ByteString bytes) {
        try {
            return new ProtoReader(UnknownFieldSet.parseFrom(bytes));
        } catch (InvalidProtocolBufferException e) {
            throw new UsageException.BadArgument(
                    "the " + bytes.size() + " bytes are no serialized proto: " + e.getMessage());
        }
    }

    /** Whether the field is set. */
    public boolean has(int field) {
        return fields.hasField(field);
    }

    /** A singular message; the last one counts. */
    public Optional<ProtoReader> message(int field) {
        List<ByteString> all = fields.getField(field).getLengthDelimitedList();
        return all.isEmpty() ? Optional.empty() : Optional.of(of(all.getLast()));
    }

    /** A repeated message. */
    public List<ProtoReader> messages(int field) {
        return fields.getField(field).getLengthDelimitedList().stream()
                .map(ProtoReader::of)
                .toList();
    }

    /** A string, empty if it is not set. */
    public String text(int field) {
        List<ByteString> all = fields.getField(field).getLengthDelimitedList();
        return all.isEmpty() ? "" : all.getLast().toStringUtf8();
    }

    /** A repeated string. */
    public List<String> texts(int field) {
        return fields.getField(field).getLengthDelimitedList().stream()
                .map(ByteString::toStringUtf8)
                .toList();
    }

    /** Bytes, empty if they are not set. */
    public byte[] bytes(int field) {
        List<ByteString> all = fields.getField(field).getLengthDelimitedList();
        return all.isEmpty() ? new byte[0] : all.getLast().toByteArray();
    }

    /** An integer of whatever width, an enum or a truth value; 0 if it is not set. */
    public long number(int field) {
        List<Long> all = fields.getField(field).getVarintList();
        return all.isEmpty() ? 0 : all.getLast();
    }

    /** A truth value, false if it is not set. */
    public boolean flag(int field) {
        return number(field) != 0;
    }

    /** A float, 0 if it is not set. */
    public float real(int field) {
        List<Integer> all = fields.getField(field).getFixed32List();
        return all.isEmpty() ? 0 : Float.intBitsToFloat(all.getLast());
    }

    /** A repeated integer, packed or not. */
    public List<Long> numbers(int field) {
        List<Long> all = new ArrayList<>(fields.getField(field).getVarintList());
        for (ByteString packed : fields.getField(field).getLengthDelimitedList()) {
            try {
                CodedInputStream in = packed.newCodedInput();
                while (!in.isAtEnd()) {
                    all.add(in.readRawVarint64());
                }
            } catch (IOException e) {
                throw new UsageException.BadArgument("field " + field + " is no list of integers: " + e.getMessage());
            }
        }
        return all;
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableMap;
import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.checkpoint.CheckpointException;
import dev.slipway.checkpoint.UnsupportedModelException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A GGUF file, versions 2 and 3, little-endian. */
record Gguf(Path file, GgufMetadata metadata, ImmutableMap<String, StoredTensor> tensors) {
    /** {@code "GGUF"} as a little-endian number. */
    static final int MAGIC = 0x46554747;

    private static final ImmutableMap<Integer, Encoding> ENCODINGS = ImmutableMap.<Integer, Encoding>builder()
            .put(0, Encoding.F32)
            .put(1, Encoding.F16)
            .put(2, Encoding.Q4_0)
            .put(3, Encoding.Q4_1)
            .put(6, Encoding.Q5_0)
            .put(7, Encoding.Q5_1)
            .put(8, Encoding.Q8_0)
            .put(10, Encoding.Q2_K)
            .put(11, Encoding.Q3_K)
            .put(12, Encoding.Q4_K)
            .put(13, Encoding.Q5_K)
            .put(14, Encoding.Q6_K)
            .put(20, Encoding.IQ4_NL)
            .put(23, Encoding.IQ4_XS)
            .put(28, Encoding.F64)
            .put(30, Encoding.BF16)
            .buildOrThrow();

    /** Names of further encodings, so that a refusal can say what it met. */
    private static final ImmutableMap<Integer, String> UNREAD = ImmutableMap.<Integer, String>builder()
            .put(9, "Q8_1")
            .put(15, "Q8_K")
            .put(16, "IQ2_XXS")
            .put(17, "IQ2_XS")
            .put(18, "IQ3_XXS")
            .put(19, "IQ1_S")
            .put(21, "IQ3_S")
            .put(22, "IQ2_S")
            .put(24, "I8")
            .put(25, "I16")
            .put(26, "I32")
            .put(27, "I64")
            .put(29, "IQ1_M")
            .put(34, "TQ1_0")
            .put(35, "TQ2_0")
            .put(39, "MXFP4")
            .put(40, "NVFP4")
            .put(41, "Q1_0")
            .buildOrThrow();

    private static final int MAX_DIMENSIONS = 4;

    /** Maps and checks a file; nothing of the tensors is read. */
    static Gguf open(Path file, Arena arena) {
        return parse(file, Cursor.map(file, arena));
    }

    static Gguf parse(Path file, MemorySegment data) {
        Cursor in = new Cursor(file, data);
        checkVersion(file, in);
        long tensorCount = in.count("the number of tensors", 24);
        long metadataCount = in.count("the number of metadata", 13);
        GgufMetadata metadata = GgufMetadata.read(file, in, metadataCount);
        List<Header> headers = new ArrayList<>();
        for (long i = 0; i < tensorCount; i++) {
            headers.add(header(file, in, i));
        }
        long alignment = metadata.alignment(in);
        if (tensorCount > 0) {
            in.skip(Math.floorMod(-in.position(), alignment), "the padding before the tensors");
        }
        return new Gguf(file, metadata, tensors(in, headers, alignment, data.asSlice(in.position())));
    }

    private static void checkVersion(Path file, Cursor in) {
        int magic = in.i32("the magic");
        if (magic != MAGIC) {
            throw new CheckpointException("%s begins with %08x, not with GGUF's magic; it is no GGUF file"
                    .formatted(file, Integer.reverseBytes(magic)));
        }
        int version = in.i32("the version");
        if (version != 2 && version != 3) {
            boolean swapped = Integer.reverseBytes(version) == 2 || Integer.reverseBytes(version) == 3;
            throw new UnsupportedModelException(
                    "%s is GGUF %s; versions 2 and 3, little-endian, are read: convert it anew"
                            .formatted(
                                    file,
                                    swapped ? "in big-endian order" : "version " + Integer.toUnsignedString(version)));
        }
    }

    /**
     * The tensors by name.
     *
     * @param data what lies behind the headers
     */
    private static ImmutableMap<String, StoredTensor> tensors(
            Cursor in, List<Header> headers, long alignment, MemorySegment data) {
        Map<String, StoredTensor> tensors = new LinkedHashMap<>();
        for (Header h : headers) {
            if (h.offset < 0 || h.offset % alignment != 0 || h.offset > data.byteSize() - h.bytes) {
                throw in.bad(("tensor %s lies at bytes %s to %s after the header in steps of %d,"
                                + " which the %d bytes there do not hold")
                        .formatted(
                                h.name,
                                Long.toUnsignedString(h.offset),
                                Long.toUnsignedString(h.offset + h.bytes),
                                alignment,
                                data.byteSize()));
            }
            MemorySegment bytes = data.asSlice(h.offset, h.bytes);
            if (tensors.put(h.name, new StoredTensor(h.name, h.encoding, h.shape, bytes)) != null) {
                throw in.bad("tensor %s is there twice".formatted(h.name));
            }
        }
        refuseOverlaps(in, headers);
        return ImmutableMap.copyOf(tensors);
    }

    private static void refuseOverlaps(Cursor in, List<Header> headers) {
        headers.sort(Comparator.comparingLong(Header::offset));
        for (int i = 1; i < headers.size(); i++) {
            Header before = headers.get(i - 1);
            if (headers.get(i).offset < before.offset + before.bytes) {
                throw in.bad("tensor %s begins at byte %d after the header, within tensor %s"
                        .formatted(headers.get(i).name, headers.get(i).offset, before.name));
            }
        }
    }

    private record Header(String name, Encoding encoding, ImmutableLongArray shape, long offset, long bytes) {}

    private static Header header(Path file, Cursor in, long index) {
        String name = in.string("the name of tensor " + index);
        int dimensions = in.i32("the rank of " + name);
        if (dimensions < 0 || dimensions > MAX_DIMENSIONS) {
            throw in.bad("tensor %s has %s dimensions, at most %d are possible"
                    .formatted(name, Integer.toUnsignedString(dimensions), MAX_DIMENSIONS));
        }
        long[] shape = new long[dimensions];
        long count = 1;
        // the file counts from the fastest dimension, everybody else from the slowest
        for (int i = dimensions - 1; i >= 0; i--) {
            shape[i] = in.i64("the shape of " + name);
            if (shape[i] < 1 || Math.multiplyHigh(count, shape[i]) != 0 || count * shape[i] < 0) {
                throw in.bad("tensor %s has a dimension of %s".formatted(name, Long.toUnsignedString(shape[i])));
            }
            count *= shape[i];
        }
        int type = in.i32("the type of " + name);
        Encoding encoding = ENCODINGS.get(type);
        if (encoding == null) {
            throw new UnsupportedModelException("%s: tensor %s is encoded as %s; %s are read: take another quantisation"
                    .formatted(
                            file,
                            name,
                            UNREAD.getOrDefault(type, "type " + Integer.toUnsignedString(type)),
                            ENCODINGS.values()));
        }
        long row = dimensions == 0 ? 1 : shape[dimensions - 1];
        if (row % encoding.numbers() != 0) {
            throw in.bad("tensor %s has rows of %d, no multiple of the %d in a block of %s"
                    .formatted(name, row, encoding.numbers(), encoding));
        }
        long offset = in.i64("the offset of " + name);
        long blocks = count / encoding.numbers();
        if (blocks > Long.MAX_VALUE / encoding.bytes()) {
            throw in.bad("tensor %s has %d numbers".formatted(name, count));
        }
        return new Header(name, encoding, ImmutableLongArray.copyOf(shape), offset, blocks * encoding.bytes());
    }
}

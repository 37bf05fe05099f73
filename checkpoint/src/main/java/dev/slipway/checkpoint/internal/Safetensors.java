// SPDX-License-Identifier: Apache-2.0
package dev.slipway.checkpoint.internal;

import com.google.common.collect.ImmutableMap;
import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.checkpoint.CheckpointException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.JsonNode;

/**
 * One or several safetensors files: eight bytes of header length, a JSON header, and the tensors without gaps.
 *
 * @param unread tensors that are there, but of a type that no weight has, with that type's name
 */
record Safetensors(ImmutableMap<String, StoredTensor> tensors, ImmutableMap<String, String> unread) {
    /** The format's own limit. */
    private static final int MAX_HEADER = 100_000_000;

    private static final ImmutableMap<String, Encoding> ENCODINGS =
            ImmutableMap.of("F64", Encoding.F64, "F32", Encoding.F32, "F16", Encoding.F16, "BF16", Encoding.BF16);

    static Safetensors open(Path file, Arena arena) {
        return parse(file, Cursor.map(file, arena));
    }

    /** The files that an index names, all in its folder. */
    static Safetensors openSharded(Path index, Arena arena) {
        Json map = Json.read(index)
                .child("weight_map")
                .orElseThrow(() -> Json.read(index).missing("weight_map"));
        Map<String, Safetensors> shards = new HashMap<>();
        ImmutableMap.Builder<String, StoredTensor> tensors = ImmutableMap.builder();
        ImmutableMap.Builder<String, String> unread = ImmutableMap.builder();
        for (Map.Entry<String, JsonNode> entry : map.node().properties()) {
            String name = entry.getKey();
            String shard = map.requiredString(name);
            if (shard.isEmpty() || shard.contains("/") || shard.contains("\\") || shard.contains("\0")) {
                throw map.wrong(name, entry.getValue(), "the name of a file beside it");
            }
            Safetensors in = shards.computeIfAbsent(shard, s -> open(index.resolveSibling(s), arena));
            StoredTensor tensor = in.tensors.get(name);
            if (tensor != null) {
                tensors.put(name, tensor);
            } else if (in.unread.containsKey(name)) {
                unread.put(name, in.unread.getOrDefault(name, ""));
            } else {
                throw new CheckpointException("%s says that tensor %s is in %s, but it is not there; get both again"
                        .formatted(index, name, shard));
            }
        }
        return new Safetensors(tensors.buildOrThrow(), unread.buildOrThrow());
    }

    static Safetensors parse(Path file, MemorySegment data) {
        Cursor in = new Cursor(file, data);
        long length = in.count("the length of the header", 1);
        if (length > MAX_HEADER) {
            throw in.bad("the header is %d bytes long, at most %d are allowed".formatted(length, MAX_HEADER));
        }
        String header = in.text((int) length, "the header");
        long base = in.position();
        Json json = Json.parse(file, header.getBytes(StandardCharsets.UTF_8));
        List<Entry> entries = new ArrayList<>();
        for (Map.Entry<String, JsonNode> field : json.node().properties()) {
            if (!field.getKey().equals("__metadata__")) {
                entries.add(entry(json, field.getKey(), in));
            }
        }
        long end = data.byteSize() - base;
        entries.sort(Comparator.comparingLong(Entry::from).thenComparingLong(Entry::to));
        long at = 0;
        for (Entry entry : entries) {
            if (entry.from != at || entry.to > end) {
                throw in.bad("tensor %s lies at bytes %d to %d after the header, but %d of %d is where it should begin"
                        .formatted(entry.name, entry.from, entry.to, at, end));
            }
            at = entry.to;
        }
        if (at != end) {
            throw in.bad("the tensors end at byte %d after the header, the file at %d".formatted(at, end));
        }
        ImmutableMap.Builder<String, StoredTensor> tensors = ImmutableMap.builder();
        ImmutableMap.Builder<String, String> unread = ImmutableMap.builder();
        for (Entry entry : entries) {
            Optional<Encoding> encoding = Optional.ofNullable(ENCODINGS.get(entry.type));
            if (encoding.isEmpty()) {
                unread.put(entry.name, entry.type);
                continue;
            }
            if (entry.count != (double) (entry.to - entry.from) / encoding.get().bytes()) {
                throw in.bad("tensor %s of %s %s has %d bytes"
                        .formatted(entry.name, entry.type, entry.shape, entry.to - entry.from));
            }
            MemorySegment bytes = data.asSlice(base + entry.from, entry.to - entry.from);
            tensors.put(entry.name, new StoredTensor(entry.name, encoding.get(), entry.shape, bytes));
        }
        return new Safetensors(tensors.buildOrThrow(), unread.buildOrThrow());
    }

    private record Entry(String name, String type, ImmutableLongArray shape, double count, long from, long to) {}

    private static Entry entry(Json json, String name, Cursor in) {
        Json entry = json.child(name).orElseThrow(() -> json.missing(name));
        ImmutableLongArray shape = longs(entry, "shape");
        ImmutableLongArray offsets = longs(entry, "data_offsets");
        if (offsets.length() != 2 || offsets.get(0) > offsets.get(1)) {
            throw in.bad("tensor %s has the offsets %s".formatted(name, offsets));
        }
        // a double, so that absurd sizes do not wrap around to sound ones; exact for all that a file can hold
        double count = 1;
        for (int i = 0; i < shape.length(); i++) {
            count *= shape.get(i);
        }
        return new Entry(name, entry.requiredString("dtype"), shape, count, offsets.get(0), offsets.get(1));
    }

    private static ImmutableLongArray longs(Json entry, String key) {
        if (!entry.has(key)) {
            throw entry.missing(key);
        }
        ImmutableLongArray.Builder values = ImmutableLongArray.builder();
        for (JsonNode value : entry.list(key)) {
            if (!value.isIntegralNumber() || !value.canConvertToLong() || value.longValue() < 0) {
                throw entry.wrong(key, value, "sizes");
            }
            values.add(value.longValue());
        }
        return values.build();
    }
}

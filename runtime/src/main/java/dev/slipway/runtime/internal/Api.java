// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.Extension;
import dev.slipway.runtime.NamedValue;
import dev.slipway.runtime.StatusException;
import dev.slipway.runtime.UsageException;
import dev.slipway.runtime.internal.abi.PJRT_Api;
import dev.slipway.runtime.internal.abi.PJRT_Api_Version;
import dev.slipway.runtime.internal.abi.PJRT_Error_Destroy_Args;
import dev.slipway.runtime.internal.abi.PJRT_Error_ForEachPayload_Args;
import dev.slipway.runtime.internal.abi.PJRT_Error_GetCode_Args;
import dev.slipway.runtime.internal.abi.PJRT_Error_Message_Args;
import dev.slipway.runtime.internal.abi.PJRT_Extension_Base;
import dev.slipway.runtime.internal.abi.PJRT_NamedValue;
import dev.slipway.runtime.internal.abi.PJRT_NamedValue_Type;
import dev.slipway.runtime.internal.abi.PjrtAbi;
import dev.slipway.runtime.internal.abi.PjrtFunction;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One plugin's {@code PJRT_Api}: the one path by which every call goes out. {@code struct_size} says which functions there are, so
 * a call that the plugin does not have is a typed error; an error that comes back is a typed exception and is freed.
 */
public final class Api {

    private static final FunctionDescriptor PAYLOAD_VISITOR = FunctionDescriptor.ofVoid(
            ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_LONG);
    private static final MethodHandle COLLECT = collect();

    private final String name;
    private final MemorySegment struct;
    private final @Nullable MemorySegment[] functions;
    private final Map<Integer, MemorySegment> extensions;
    private final Events events;
    private final Glances glances = new Glances();
    private @Nullable CrossHostUpcall crossHost;
    private final AtomicInteger handles = new AtomicInteger();

    /** Reads the struct that {@code GetPjrtApi} returned. */
    public Api(String name, long address) {
        this.name = name;
        long size = Native.at(address, Long.BYTES).get(ValueLayout.JAVA_LONG, 0);
        this.struct = Native.at(address, size);
        int count = (int) (Math.max(0, size - PjrtAbi.FIRST_FUNCTION) / Long.BYTES);
        this.functions = new MemorySegment[PjrtFunction.values().length];
        for (int slot = 0; slot < Math.min(count, functions.length); slot++) {
            long pointer = struct.get(ValueLayout.JAVA_LONG, PjrtAbi.FIRST_FUNCTION + (long) slot * Long.BYTES);
            functions[slot] = pointer == 0 ? null : MemorySegment.ofAddress(pointer);
        }
        Map<Integer, MemorySegment> found = new LinkedHashMap<>();
        for (long next = PJRT_Api.extension_start(struct); next != 0; ) {
            MemorySegment base = Native.at(next, PJRT_Extension_Base.SIZE);
            found.put(PJRT_Extension_Base.type(base), Native.at(next, PJRT_Extension_Base.struct_size(base)));
            next = PJRT_Extension_Base.next(base);
        }
        this.extensions = found;
        this.events = new Events(this);
    }

    /** The plugin's name, for messages. */
    public String name() {
        return name;
    }

    /** The plugin's events. */
    public Events events() {
        return events;
    }

    /** The callbacks of transfers between hosts. */
    public synchronized CrossHostUpcall crossHost() {
        if (crossHost == null) {
            crossHost = new CrossHostUpcall(this);
        }
        return crossHost;
    }

    /** Size of the plugin's {@code PJRT_Api} in bytes. */
    public long structSize() {
        return struct.byteSize();
    }

    /** Major version of the API the plugin was built with. */
    public int major() {
        return PJRT_Api_Version.major_version(PJRT_Api.pjrt_api_version(struct));
    }

    /** Minor version of the API the plugin was built with. */
    public int minor() {
        return PJRT_Api_Version.minor_version(PJRT_Api.pjrt_api_version(struct));
    }

    /** The extensions in the plugin's chain, by type number. */
    public Map<Integer, MemorySegment> extensions() {
        return extensions;
    }

    /** Whether the plugin has a function. */
    public boolean has(PjrtFunction function) {
        return functions[function.slot()] != null;
    }

    /**
     * Calls a function.
     *
     * @throws UsageException.Unsupported if the plugin does not have it
     * @throws StatusException if it returned an error
     */
    public void call(PjrtFunction function, MemorySegment args) {
        MemorySegment pointer = functions[function.slot()];
        if (pointer == null) {
            throw missing(function.name() + " (since 0." + function.since() + ")");
        }
        long error = Native.call(pointer, args.address());
        if (error != 0) {
            throw take(error);
        }
    }

    /** As {@link #call}, for functions that neither wait nor call back. */
    void glance(PjrtFunction function, long args) {
        MemorySegment pointer = functions[function.slot()];
        if (pointer == null) {
            throw missing(function.name() + " (since 0." + function.since() + ")");
        }
        long error = Native.glance(pointer, args);
        if (error != 0) {
            throw take(error);
        }
    }

    Glances glances() {
        return glances;
    }

    /** A number for the next handle. */
    int nextHandle() {
        return handles.getAndIncrement();
    }

    /**
     * The table of an extension.
     *
     * @throws UsageException.Unsupported if the plugin does not have it
     */
    public Table extension(Extension extension) {
        MemorySegment found = extensions.get(extension.code());
        if (found == null) {
            throw missing("the extension " + extension);
        }
        return new Table(extension, found);
    }

    /** An extension's functions, by the offsets of their pointers: an older plugin's table may be shorter. */
    public final class Table {
        private final Extension extension;
        private final MemorySegment pointers;

        private Table(Extension extension, MemorySegment pointers) {
            this.extension = extension;
            this.pointers = pointers;
        }

        /** Whether the plugin has the function. */
        public boolean has(long offset) {
            return offset + Long.BYTES <= pointers.byteSize() && pointers.get(ValueLayout.JAVA_LONG, offset) != 0;
        }

        /** Calls a function that may return an error; see {@link Api#call}. */
        public void call(long offset, MemorySegment args) {
            long error = Native.call(pointer(offset), args.address());
            if (error != 0) {
                throw take(error);
            }
        }

        /** Calls a function that returns nothing. */
        public void callVoid(long offset, MemorySegment args) {
            Native.callVoid(pointer(offset), args.address());
        }

        /** What stands at an offset: a function, or a table of some more. */
        public MemorySegment pointer(long offset) {
            if (!has(offset)) {
                throw missing("function " + (offset - PJRT_Extension_Base.SIZE) / Long.BYTES + " of the extension "
                        + extension);
            }
            return MemorySegment.ofAddress(pointers.get(ValueLayout.JAVA_LONG, offset));
        }
    }

    private UsageException.Unsupported missing(String function) {
        return new UsageException.Unsupported(
                "the plugin " + name + " (PJRT " + major() + "." + minor() + ") does not have " + function);
    }

    /** The exception for an error that C handed over; frees the error. */
    public StatusException take(long error) {
        try {
            return read(error);
        } finally {
            destroy(error);
        }
    }

    /** The exception for an error that stays C's. */
    public StatusException read(long error) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment code = PJRT_Error_GetCode_Args.in(arena);
            PJRT_Error_GetCode_Args.error(code, error);
            Native.call(function(PjrtFunction.PJRT_Error_GetCode), code.address());
            MemorySegment message = PJRT_Error_Message_Args.in(arena);
            PJRT_Error_Message_Args.error(message, error);
            Native.callVoid(function(PjrtFunction.PJRT_Error_Message), message.address());
            String text = Native.string(
                    PJRT_Error_Message_Args.message(message), PJRT_Error_Message_Args.message_size(message));
            return StatusException.of(PJRT_Error_GetCode_Args.code(code), text, payloads(arena, error));
        }
    }

    private Map<String, byte[]> payloads(Arena arena, long error) {
        MemorySegment visit = functions[PjrtFunction.PJRT_Error_ForEachPayload.slot()];
        if (visit == null) {
            return Map.of();
        }
        Map<String, byte[]> payloads = new LinkedHashMap<>();
        MemorySegment args = PJRT_Error_ForEachPayload_Args.in(arena);
        PJRT_Error_ForEachPayload_Args.error(args, error);
        PJRT_Error_ForEachPayload_Args.visitor(
                args,
                Native.upcall(COLLECT.bindTo(payloads), PAYLOAD_VISITOR, arena).address());
        long second = Native.call(visit, args.address());
        if (second != 0) {
            destroy(second);
        }
        return payloads;
    }

    private static MethodHandle collect() {
        try {
            return MethodHandles.lookup()
                    .findStatic(
                            Api.class,
                            "addPayload",
                            MethodType.methodType(
                                    void.class, Map.class, long.class, long.class, long.class, long.class, long.class));
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(e.getMessage(), e);
        }
    }

    @SuppressWarnings("unused") // called from C
    private static void addPayload(
            Map<String, byte[]> payloads, long key, long keySize, long value, long valueSize, long user) {
        payloads.put(Native.string(key, keySize), Native.bytes(value, valueSize));
    }

    private void destroy(long error) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment args = PJRT_Error_Destroy_Args.in(arena);
            PJRT_Error_Destroy_Args.error(args, error);
            Native.callVoid(function(PjrtFunction.PJRT_Error_Destroy), args.address());
        }
    }

    private MemorySegment function(PjrtFunction function) {
        MemorySegment pointer = functions[function.slot()];
        if (pointer == null) {
            throw missing(function.name());
        }
        return pointer;
    }

    /** A C array of named values. */
    public static MemorySegment namedValues(SegmentAllocator allocator, Map<String, NamedValue> values) {
        long stride = PJRT_NamedValue.LAYOUT.byteSize();
        MemorySegment array = allocator.allocate(Math.max(1, stride * values.size()), 8);
        array.fill((byte) 0);
        int index = 0;
        for (Map.Entry<String, NamedValue> entry : values.entrySet()) {
            MemorySegment value = array.asSlice(stride * index++, stride);
            MemorySegment key = Native.utf8(allocator, entry.getKey());
            PJRT_NamedValue.struct_size(value, PJRT_NamedValue.SIZE);
            PJRT_NamedValue.name(value, key.address());
            PJRT_NamedValue.name_size(value, utf8Length(entry.getKey()));
            PJRT_NamedValue.value_size(value, 1);
            switch (entry.getValue()) {
                case NamedValue.Text text -> {
                    PJRT_NamedValue.type(value, PJRT_NamedValue_Type.kString);
                    PJRT_NamedValue.string_value(
                            value, Native.utf8(allocator, text.value()).address());
                    PJRT_NamedValue.value_size(value, utf8Length(text.value()));
                }
                case NamedValue.Int64 number -> {
                    PJRT_NamedValue.type(value, PJRT_NamedValue_Type.kInt64);
                    PJRT_NamedValue.int64_value(value, number.value());
                }
                case NamedValue.Int64List list -> {
                    PJRT_NamedValue.type(value, PJRT_NamedValue_Type.kInt64List);
                    long[] longs =
                            list.value().stream().mapToLong(Long::longValue).toArray();
                    PJRT_NamedValue.int64_array_value(
                            value,
                            allocator.allocateFrom(ValueLayout.JAVA_LONG, longs).address());
                    PJRT_NamedValue.value_size(value, longs.length);
                }
                case NamedValue.Float32 number -> {
                    PJRT_NamedValue.type(value, PJRT_NamedValue_Type.kFloat);
                    PJRT_NamedValue.float_value(value, number.value());
                }
                case NamedValue.Bool flag -> {
                    PJRT_NamedValue.type(value, PJRT_NamedValue_Type.kBool);
                    PJRT_NamedValue.bool_value(value, flag.value());
                }
            }
        }
        return array;
    }

    private static long utf8Length(String text) {
        return text.getBytes(StandardCharsets.UTF_8).length;
    }

    /** The named values of a C array. */
    public static Map<String, NamedValue> namedValues(long address, long count) {
        Map<String, NamedValue> values = new LinkedHashMap<>();
        if (count == 0) {
            return values;
        }
        long stride = PJRT_NamedValue.LAYOUT.byteSize();
        MemorySegment array = Native.at(address, stride * count);
        for (long i = 0; i < count; i++) {
            MemorySegment value = array.asSlice(stride * i, stride);
            long size = PJRT_NamedValue.value_size(value);
            values.put(
                    Native.string(PJRT_NamedValue.name(value), PJRT_NamedValue.name_size(value)),
                    switch (PJRT_NamedValue.type(value)) {
                        case PJRT_NamedValue_Type.kString ->
                            NamedValue.of(Native.string(PJRT_NamedValue.string_value(value), size));
                        case PJRT_NamedValue_Type.kInt64 -> NamedValue.of(PJRT_NamedValue.int64_value(value));
                        case PJRT_NamedValue_Type.kInt64List ->
                            NamedValue.of(Arrays.stream(Native.longs(PJRT_NamedValue.int64_array_value(value), size))
                                    .boxed()
                                    .toList());
                        case PJRT_NamedValue_Type.kFloat -> NamedValue.of(PJRT_NamedValue.float_value(value));
                        case PJRT_NamedValue_Type.kBool -> NamedValue.of(PJRT_NamedValue.bool_value(value));
                        default -> NamedValue.of("(of unknown type " + PJRT_NamedValue.type(value) + ")");
                    });
        }
        return values;
    }
}

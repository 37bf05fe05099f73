// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import com.google.protobuf.CodedOutputStream;
import dev.slipway.runtime.internal.Api;
import dev.slipway.runtime.internal.Handle;
import dev.slipway.runtime.internal.Native;
import dev.slipway.runtime.internal.Scratch;
import dev.slipway.runtime.internal.abi.PJRT_Profiler_Extension;
import dev.slipway.runtime.internal.abi.PLUGIN_Profiler_Api;
import dev.slipway.runtime.internal.abi.PLUGIN_Profiler_CollectData_Args;
import dev.slipway.runtime.internal.abi.PLUGIN_Profiler_Create_Args;
import dev.slipway.runtime.internal.abi.PLUGIN_Profiler_Destroy_Args;
import dev.slipway.runtime.internal.abi.PLUGIN_Profiler_Error_Destroy_Args;
import dev.slipway.runtime.internal.abi.PLUGIN_Profiler_Error_GetCode_Args;
import dev.slipway.runtime.internal.abi.PLUGIN_Profiler_Error_Message_Args;
import dev.slipway.runtime.internal.abi.PLUGIN_Profiler_Start_Args;
import dev.slipway.runtime.internal.abi.PLUGIN_Profiler_Stop_Args;
import dev.slipway.runtime.internal.hlo.ProtoReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A plugin's own record of what it does between {@link Plugin#startProfiler} and {@link #stop} (the profiler extension): its compiler's passes, and
 * what its devices ran where there are some.
 *
 * {@snippet :
 * try (Profiler profiler = tpu.startProfiler(Profiler.Options.DEFAULT)) {
 *     topology.compile(program, options).close();
 *     Files.write(Path.of("compile.xplane.pb"), profiler.stop().xspace());
 * }
 * }
 */
public final class Profiler implements AutoCloseable {

    private final MemorySegment functions;
    private final Handle handle;
    private boolean stopped;

    /**
     * What to record, in levels from 0 (nothing) up.
     *
     * @param hostLevel events of the plugin's own threads: 1 what users see, 2 also the expensive parts of the runtime, 3 all
     * @param deviceLevel what devices do: 1 or 0
     * @param programs whether the programs after optimisation are kept in it
     */
    public record Options(int hostLevel, int deviceLevel, boolean programs) {

        /** What XLA's own tools ask for. */
        public static final Options DEFAULT = new Options(2, 1, true);

        /**
         * @throws UsageException.BadArgument if a level is negative
         */
        public Options {
            if (hostLevel < 0 || deviceLevel < 0) {
                throw new UsageException.BadArgument(
                        "the levels " + hostLevel + " and " + deviceLevel + " are to be 0 or more");
            }
        }

        /** The fields of {@code tensorflow.ProfileOptions}, whose version 1 is the only one there is. */
        private byte[] toProto() {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            CodedOutputStream out = CodedOutputStream.newInstance(bytes);
            try {
                out.writeUInt32(2, hostLevel);
                out.writeUInt32(3, deviceLevel);
                out.writeUInt32(5, 1);
                out.writeBool(7, programs);
                out.flush();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return bytes.toByteArray();
        }
    }

    /**
     * A finished record.
     *
     * @param xspace a serialized {@code tensorflow.profiler.XSpace}, which TensorBoard's profile plugin and XProf open
     */
    public record Profile(byte[] xspace) {
        public Profile {
            xspace = xspace.clone();
        }

        @Override
        public byte[] xspace() {
            return xspace.clone();
        }

        /** Its parts, one for each device and one for the host. */
        public List<Plane> planes() {
            return ProtoReader.of(xspace).messages(1).stream().map(Plane::of).toList();
        }

        /** What the profiler could not record, in its words. */
        public List<String> errors() {
            return ProtoReader.of(xspace).texts(2);
        }
    }

    /**
     * What one device or the host did.
     *
     * @param name as {@code /host:CPU}
     * @param lines threads, or queues of a device
     * @param events each kind of event, the one that took longest first
     */
    public record Plane(String name, int lines, List<Event> events) {
        public Plane {
            events = List.copyOf(events);
        }

        /** The fields of {@code XPlane}, {@code XLine} and {@code XEvent}; its names stand in a map aside. */
        private static Plane of(ProtoReader plane) {
            Map<Long, String> names = plane.messages(4).stream()
                    .collect(Collectors.toMap(
                            entry -> entry.number(1),
                            entry -> entry.message(2).map(kind -> kind.text(2)).orElse("")));
            List<ProtoReader> lines = plane.messages(3);
            Map<Long, LongSummaryStatistics> picoseconds = lines.stream()
                    .flatMap(line -> line.messages(4).stream())
                    .collect(Collectors.groupingBy(
                            event -> event.number(1), Collectors.summarizingLong(event -> event.number(3))));
            return new Plane(
                    plane.text(2),
                    lines.size(),
                    picoseconds.entrySet().stream()
                            .map(kind -> new Event(
                                    names.getOrDefault(kind.getKey(), ""),
                                    kind.getValue().getCount(),
                                    Duration.ofNanos(kind.getValue().getSum() / 1000)))
                            .sorted(Comparator.comparing(Event::time).reversed().thenComparing(Event::name))
                            .toList());
        }
    }

    /**
     * A kind of event: a pass of a compiler, a kernel.
     *
     * @param count how often it was
     * @param time of all together, what went on inside each included
     */
    public record Event(String name, long count, Duration time) {}

    private Profiler(Plugin plugin, MemorySegment functions, long profiler) {
        this.functions = functions;
        this.handle = new Handle("profiler", plugin.api(), profiler, null, this, (_, scratch, address) -> {
            MemorySegment args = PLUGIN_Profiler_Destroy_Args.in(scratch);
            PLUGIN_Profiler_Destroy_Args.profiler(args, address);
            call(functions, PLUGIN_Profiler_Api.destroy(functions), scratch, args);
        });
    }

    static Profiler start(Plugin plugin, Options options) {
        Api.Table table = plugin.api().extension(Extension.PROFILER);
        if (!table.has(PJRT_Profiler_Extension.profiler_api)) {
            throw new UsageException.Unsupported(
                    plugin + " has the extension " + Extension.PROFILER + " but no profiler");
        }
        long api = table.pointer(PJRT_Profiler_Extension.profiler_api).address();
        MemorySegment functions = Native.at(api, Native.longs(api, 1)[0]);
        byte[] proto = options.toProto();
        try (Scratch scratch = Scratch.open()) {
            MemorySegment args = PLUGIN_Profiler_Create_Args.in(scratch);
            PLUGIN_Profiler_Create_Args.options(
                    args, Native.bytes(scratch, proto).address());
            PLUGIN_Profiler_Create_Args.options_size(args, proto.length);
            call(functions, PLUGIN_Profiler_Api.create(functions), scratch, args);
            Profiler profiler = new Profiler(plugin, functions, PLUGIN_Profiler_Create_Args.profiler(args));
            try {
                MemorySegment start = PLUGIN_Profiler_Start_Args.in(scratch);
                PLUGIN_Profiler_Start_Args.profiler(start, profiler.handle.identity());
                call(functions, PLUGIN_Profiler_Api.start(functions), scratch, start);
            } catch (RuntimeException e) {
                profiler.handle.close();
                throw e;
            }
            return profiler;
        }
    }

    /**
     * Ends the record and takes it; once.
     *
     * @throws UsageException.Closed if it was stopped or closed already
     * @throws StatusException if the plugin cannot collect it
     */
    public synchronized Profile stop() {
        if (stopped) {
            throw new UsageException.Closed("this profiler was stopped already: start another");
        }
        return handle.use((_, scratch, profiler) -> {
            halt(scratch, profiler);
            MemorySegment args = PLUGIN_Profiler_CollectData_Args.in(scratch);
            PLUGIN_Profiler_CollectData_Args.profiler(args, profiler);
            call(functions, PLUGIN_Profiler_Api.collect_data(functions), scratch, args);
            // The bytes are the plugin's until the profiler is destroyed.
            byte[] bytes = Native.bytes(
                    PLUGIN_Profiler_CollectData_Args.buffer(args),
                    PLUGIN_Profiler_CollectData_Args.buffer_size_in_bytes(args));
            return new Profile(Arrays.copyOf(bytes, ProtoReader.end(bytes)));
        });
    }

    private void halt(Scratch scratch, long profiler) {
        stopped = true;
        MemorySegment args = PLUGIN_Profiler_Stop_Args.in(scratch);
        PLUGIN_Profiler_Stop_Args.profiler(args, profiler);
        call(functions, PLUGIN_Profiler_Api.stop(functions), scratch, args);
    }

    /** Calls a function of the profiler, whose errors are not the plugin's but of a kind of their own. */
    private static void call(MemorySegment functions, long function, Scratch scratch, MemorySegment args) {
        long error = Native.call(MemorySegment.ofAddress(function), args.address());
        if (error == 0) {
            return;
        }
        try {
            MemorySegment code = PLUGIN_Profiler_Error_GetCode_Args.in(scratch);
            PLUGIN_Profiler_Error_GetCode_Args.error(code, error);
            Native.call(MemorySegment.ofAddress(PLUGIN_Profiler_Api.error_get_code(functions)), code.address());
            MemorySegment message = PLUGIN_Profiler_Error_Message_Args.in(scratch);
            PLUGIN_Profiler_Error_Message_Args.error(message, error);
            Native.callVoid(MemorySegment.ofAddress(PLUGIN_Profiler_Api.error_message(functions)), message.address());
            throw StatusException.of(
                    PLUGIN_Profiler_Error_GetCode_Args.code(code),
                    Native.string(
                            PLUGIN_Profiler_Error_Message_Args.message(message),
                            PLUGIN_Profiler_Error_Message_Args.message_size(message)),
                    Map.of());
        } finally {
            MemorySegment destroy = PLUGIN_Profiler_Error_Destroy_Args.in(scratch);
            PLUGIN_Profiler_Error_Destroy_Args.error(destroy, error);
            Native.callVoid(MemorySegment.ofAddress(PLUGIN_Profiler_Api.error_destroy(functions)), destroy.address());
        }
    }

    /** Ends the record if {@link #stop} did not, and frees it. */
    @Override
    public synchronized void close() {
        if (!stopped && !handle.isClosed()) {
            handle.<Object>use((_, scratch, profiler) -> {
                halt(scratch, profiler);
                return profiler;
            });
        }
        handle.close();
    }
}

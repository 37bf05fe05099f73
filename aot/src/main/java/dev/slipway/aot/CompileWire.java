// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.aot.CompileJob.Artifact;
import dev.slipway.runtime.MemoryStats;
import dev.slipway.runtime.SerializedExecutable;
import dev.slipway.topology.PluginSpec;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** How {@link CompileWorker} and its process write to each other: an order one way, an answer the other, a file each. */
final class CompileWire {
    private CompileWire() {}

    /**
     * What to compile.
     *
     * @param library the plugin's
     */
    record Order(Path library, CompileJob job) {}

    /** What became of an order. */
    sealed interface Answer {
        /** It is compiled. */
        record Done(Artifact artifact) implements Answer {}

        /** The compiler refused it, with a status. */
        record Refused(int code, String message) implements Answer {}

        /** Something else went wrong. */
        record Failed(String message) implements Answer {}
    }

    static void write(Path file, Order order) throws IOException {
        try (DataOutputStream out = writer(file)) {
            out.writeUTF(order.library().toString());
            write(out, order.job());
        }
    }

    static Order readOrder(Path file) throws IOException {
        try (DataInputStream in = reader(file)) {
            return new Order(Path.of(in.readUTF()), readJob(in));
        }
    }

    static void write(Path file, Answer answer) throws IOException {
        try (DataOutputStream out = writer(file)) {
            switch (answer) {
                case Answer.Done done -> {
                    out.writeByte('d');
                    write(out, done.artifact());
                }
                case Answer.Refused refused -> {
                    out.writeByte('r');
                    out.writeInt(refused.code());
                    writeText(out, refused.message());
                }
                case Answer.Failed failed -> {
                    out.writeByte('f');
                    writeText(out, failed.message());
                }
            }
        }
    }

    static Answer readAnswer(Path file) throws IOException {
        try (DataInputStream in = reader(file)) {
            return switch (in.readByte()) {
                case 'd' -> new Answer.Done(readArtifact(in));
                case 'r' -> new Answer.Refused(in.readInt(), readText(in));
                default -> new Answer.Failed(readText(in));
            };
        }
    }

    private static DataOutputStream writer(Path file) throws IOException {
        return new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file)));
    }

    private static DataInputStream reader(Path file) throws IOException {
        return new DataInputStream(new BufferedInputStream(Files.newInputStream(file)));
    }

    private static void write(DataOutputStream out, CompileJob job) throws IOException {
        switch (job.machine()) {
            case PluginSpec.Cpu cpu -> {
                out.writeByte(0);
                out.writeInt(cpu.deviceCount());
            }
            case PluginSpec.Tpu tpu -> {
                out.writeByte(1);
                out.writeUTF(tpu.topologyName());
                out.writeUTF(tpu.chipConfigName());
                writeInts(
                        out,
                        tpu.chipsPerHostBounds().stream()
                                .mapToInt(Integer::intValue)
                                .toArray());
                out.writeInt(tpu.numSlices());
            }
            case PluginSpec.Gpu gpu -> {
                out.writeByte(2);
                out.writeUTF(gpu.topologyName());
                writeText(out, gpu.targetConfig());
                out.writeUTF(gpu.topology());
            }
        }
        writeInts(out, job.deviceIds());
        write(out, job.options());
        writeBytes(out, job.module());
    }

    private static CompileJob readJob(DataInputStream in) throws IOException {
        PluginSpec machine = switch (in.readByte()) {
            case 0 -> new PluginSpec.Cpu(in.readInt());
            case 1 -> {
                String name = in.readUTF();
                String config = in.readUTF();
                List<Integer> bounds = new ArrayList<>();
                for (int bound : readInts(in)) {
                    bounds.add(bound);
                }
                yield new PluginSpec.Tpu(name, config, bounds, in.readInt());
            }
            default -> new PluginSpec.Gpu(in.readUTF(), readText(in), in.readUTF());
        };
        int[] ids = readInts(in);
        CompilerOptions options = readOptions(in);
        return new CompileJob(machine, ids, options, readBytes(in));
    }

    private static void write(DataOutputStream out, CompilerOptions options) throws IOException {
        write(out, options.suggested());
        write(out, options.given());
    }

    private static CompilerOptions readOptions(DataInputStream in) throws IOException {
        Map<String, Object> suggested = readMap(in);
        return new CompilerOptions(suggested, readMap(in));
    }

    private static void write(DataOutputStream out, Map<String, Object> options) throws IOException {
        out.writeInt(options.size());
        for (Map.Entry<String, Object> option : options.entrySet()) {
            out.writeUTF(option.getKey());
            switch (option.getValue()) {
                case Boolean flag -> {
                    out.writeByte('b');
                    out.writeBoolean(flag);
                }
                case Long number -> {
                    out.writeByte('l');
                    out.writeLong(number);
                }
                case Double number -> {
                    out.writeByte('d');
                    out.writeDouble(number);
                }
                default -> {
                    out.writeByte('s');
                    writeText(out, option.getValue().toString());
                }
            }
        }
    }

    private static Map<String, Object> readMap(DataInputStream in) throws IOException {
        Map<String, Object> options = new LinkedHashMap<>();
        int count = in.readInt();
        for (int i = 0; i < count; i++) {
            String name = in.readUTF();
            options.put(
                    name,
                    switch (in.readByte()) {
                        case 'b' -> (Object) in.readBoolean();
                        case 'l' -> in.readLong();
                        case 'd' -> in.readDouble();
                        default -> readText(in);
                    });
        }
        return options;
    }

    private static void write(DataOutputStream out, Artifact artifact) throws IOException {
        out.writeDouble(artifact.seconds());
        write(out, artifact.memory());
        out.writeInt(artifact.costs().size());
        for (Map.Entry<String, Double> cost : artifact.costs().entrySet()) {
            out.writeUTF(cost.getKey());
            out.writeDouble(cost.getValue());
        }
        write(out, artifact.options());
        writeBytes(out, artifact.executable().toBytes());
    }

    private static Artifact readArtifact(DataInputStream in) throws IOException {
        double seconds = in.readDouble();
        MemoryStats memory = readMemory(in);
        Map<String, Double> costs = new LinkedHashMap<>();
        int count = in.readInt();
        for (int i = 0; i < count; i++) {
            costs.put(in.readUTF(), in.readDouble());
        }
        CompilerOptions options = readOptions(in);
        return new Artifact(SerializedExecutable.of(readBytes(in)), memory, costs, options, seconds);
    }

    private static void write(DataOutputStream out, MemoryStats memory) throws IOException {
        MemoryStats.Host host = memory.host();
        for (long figure : new long[] {
            memory.code(),
            memory.arguments(),
            memory.outputs(),
            memory.aliased(),
            memory.temporaries(),
            memory.peak().orElse(-1),
            host.code(),
            host.arguments(),
            host.outputs(),
            host.aliased(),
            host.temporaries()
        }) {
            out.writeLong(figure);
        }
    }

    private static MemoryStats readMemory(DataInputStream in) throws IOException {
        long code = in.readLong();
        long arguments = in.readLong();
        long outputs = in.readLong();
        long aliased = in.readLong();
        long temporaries = in.readLong();
        long peak = in.readLong();
        return new MemoryStats(
                code,
                arguments,
                outputs,
                aliased,
                temporaries,
                peak < 0 ? OptionalLong.empty() : OptionalLong.of(peak),
                new MemoryStats.Host(in.readLong(), in.readLong(), in.readLong(), in.readLong(), in.readLong()));
    }

    private static void writeBytes(DataOutputStream out, byte[] bytes) throws IOException {
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private static byte[] readBytes(DataInputStream in) throws IOException {
        return in.readNBytes(in.readInt());
    }

    private static void writeText(DataOutputStream out, String text) throws IOException {
        writeBytes(out, text.getBytes(StandardCharsets.UTF_8));
    }

    private static String readText(DataInputStream in) throws IOException {
        return new String(readBytes(in), StandardCharsets.UTF_8);
    }

    private static void writeInts(DataOutputStream out, int[] values) throws IOException {
        out.writeInt(values.length);
        for (int value : values) {
            out.writeInt(value);
        }
    }

    private static int[] readInts(DataInputStream in) throws IOException {
        int[] values = new int[in.readInt()];
        for (int i = 0; i < values.length; i++) {
            values[i] = in.readInt();
        }
        return values;
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.aot.CompileJob.Artifact;
import dev.slipway.runtime.MemoryStats;
import dev.slipway.runtime.SerializedExecutable;
import dev.slipway.runtime.StatusException;
import dev.slipway.topology.PluginSpec;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Stream;

/**
 * Compiles in a process of its own, so that a compiler that aborts takes that process with it and not the caller's.
 *
 * <p>Job and answer go through files in a folder of the two's own, since plugins write to the standard streams.
 */
final class CompileWorker {
    private static final String JOB = "job";
    private static final String ANSWER = "answer";
    private static final String LOG = "log";

    private CompileWorker() {}

    /**
     * Runs a job in a new process and waits for it.
     *
     * @throws StatusException as the compiler's status says
     * @throws CompilerCrashedException if the process died
     */
    static Artifact run(PluginLocator.Location plugin, CompileJob job) {
        try {
            Path folder = Files.createTempDirectory("slipway-compile");
            try {
                return run(plugin, job, folder);
            } finally {
                delete(folder);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Artifact run(PluginLocator.Location plugin, CompileJob job, Path folder) throws IOException {
        try (DataOutputStream out = writer(folder.resolve(JOB))) {
            write(out, plugin, job);
        }
        ProcessBuilder builder = new ProcessBuilder(command(folder));
        builder.environment().putAll(plugin.environment());
        builder.redirectErrorStream(true);
        builder.redirectOutput(folder.resolve(LOG).toFile());
        Process process = builder.start();
        int exit;
        try {
            exit = process.waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AotException("interrupted while waiting for the compiler's process; it was ended");
        } finally {
            process.destroyForcibly();
        }
        if (!Files.exists(folder.resolve(ANSWER))) {
            throw new CompilerCrashedException(
                    exit, Files.readString(folder.resolve(LOG), StandardCharsets.ISO_8859_1));
        }
        try (DataInputStream in = reader(folder.resolve(ANSWER))) {
            return readAnswer(in);
        }
    }

    /** This JVM's own way of starting, with the worker as the main class. */
    private static List<String> command(Path folder) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-XX:+UseSerialGC");
        command.add("-XX:TieredStopAtLevel=1");
        String modules = System.getProperty("jdk.module.path");
        if (CompileWorker.class.getModule().isNamed() && modules != null) {
            command.addAll(List.of("--enable-native-access=dev.slipway.runtime", "--module-path", modules));
            command.addAll(List.of("-m", "dev.slipway.aot/" + CompileWorker.class.getName()));
        } else {
            command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path")));
            command.add(CompileWorker.class.getName());
        }
        command.add(folder.toString());
        return command;
    }

    /** The worker's side; the argument is the folder. */
    public static void main(String[] arguments) throws IOException {
        Path folder = Path.of(arguments[0]);
        PluginLocator.Location plugin;
        CompileJob job;
        try (DataInputStream in = reader(folder.resolve(JOB))) {
            plugin = new PluginLocator.Location(Path.of(in.readUTF()), Map.of());
            job = readJob(in);
        }
        Path part = folder.resolve(ANSWER + ".part");
        try (DataOutputStream out = writer(part)) {
            try {
                Artifact artifact = job.run(plugin.load());
                out.writeByte('a');
                write(out, artifact);
            } catch (StatusException e) {
                out.writeByte('s');
                out.writeInt(e.code());
                writeText(out, String.valueOf(e.getMessage()));
            } catch (RuntimeException e) {
                out.writeByte('o');
                writeText(out, e.getMessage() == null ? e.toString() : e.getMessage());
            }
        }
        Files.move(part, folder.resolve(ANSWER));
        Runtime.getRuntime().halt(0); // plugins' exit handlers have nothing to save
    }

    private static void write(DataOutputStream out, PluginLocator.Location plugin, CompileJob job) throws IOException {
        out.writeUTF(plugin.library().toString());
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
        MemoryStats memory = artifact.memory();
        MemoryStats.Host host = memory.host();
        out.writeDouble(artifact.seconds());
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
        out.writeInt(artifact.costs().size());
        for (Map.Entry<String, Double> cost : artifact.costs().entrySet()) {
            out.writeUTF(cost.getKey());
            out.writeDouble(cost.getValue());
        }
        write(out, artifact.options());
        writeBytes(out, artifact.executable().toBytes());
    }

    private static Artifact readAnswer(DataInputStream in) throws IOException {
        return switch (in.readByte()) {
            case 's' -> {
                int code = in.readInt();
                throw StatusException.of(code, readText(in), Map.of());
            }
            case 'o' -> throw new AotException(readText(in));
            default -> readArtifact(in);
        };
    }

    private static Artifact readArtifact(DataInputStream in) throws IOException {
        double seconds = in.readDouble();
        long[] f = new long[11];
        for (int i = 0; i < f.length; i++) {
            f[i] = in.readLong();
        }
        MemoryStats memory = new MemoryStats(
                f[0],
                f[1],
                f[2],
                f[3],
                f[4],
                f[5] < 0 ? OptionalLong.empty() : OptionalLong.of(f[5]),
                new MemoryStats.Host(f[6], f[7], f[8], f[9], f[10]));
        Map<String, Double> costs = new LinkedHashMap<>();
        int count = in.readInt();
        for (int i = 0; i < count; i++) {
            costs.put(in.readUTF(), in.readDouble());
        }
        CompilerOptions options = readOptions(in);
        return new Artifact(SerializedExecutable.of(readBytes(in)), memory, costs, options, seconds);
    }

    private static DataOutputStream writer(Path file) throws IOException {
        return new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file)));
    }

    private static DataInputStream reader(Path file) throws IOException {
        return new DataInputStream(new BufferedInputStream(Files.newInputStream(file)));
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

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        }
    }
}

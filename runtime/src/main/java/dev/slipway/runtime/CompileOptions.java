// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import com.google.protobuf.CodedOutputStream;
import dev.slipway.runtime.internal.hlo.Shapes;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * How to compile: XLA's {@code CompileOptionsProto}, as far as callers need it.
 *
 * {@snippet :
 * CompileOptions options = CompileOptions.of(o -> o.numPartitions(16)
 *         .deviceAssignment(mesh.deviceIds())
 *         .optimizationLevel(OptimizationLevel.O1)
 *         .compilerOption("xla_tpu_enable_async_collective_fusion", true));
 * }
 *
 * <p>{@link Builder#compilerOption} fills the proto's {@code env_option_overrides}, and nothing is read from the environment: that a launcher's
 * variable changes options ({@code XLA_OPTIONS_OVERRIDE="name=value,..."}) is AXLearn's rule, not PJRT's.
 *
 * <p>Equal options give equal {@link #toProto bytes}, so these serve in the keys of caches.
 */
public final class CompileOptions {

    private static final long MAX_DEVICES = 1 << 20;

    /** XLA's levels; libtpu's default is {@link #O2}. The numbers are {@code ExecutableBuildOptionsProto}'s. */
    public enum OptimizationLevel {
        /** Quickest to compile; temporaries can be several times larger. */
        O0(9),
        O1(19),
        O2(29),
        O3(39);

        private final int number;

        OptimizationLevel(int number) {
            this.number = number;
        }

        /** The proto's number. */
        public int number() {
            return number;
        }
    }

    // Field numbers of xla/pjrt/proto/compile_options.proto and xla_data.proto.
    private static final int ARGUMENT_LAYOUTS = 1;
    private static final int PARAMETER_IS_TUPLED_ARGUMENTS = 2;
    private static final int EXECUTABLE_BUILD_OPTIONS = 3;
    private static final int COMPILE_PORTABLE_EXECUTABLE = 4;
    private static final int ENV_OPTION_OVERRIDES = 7;
    private static final int DEVICE_ORDINAL = 1;
    private static final int RESULT_LAYOUT = 2;
    private static final int NUM_REPLICAS = 4;
    private static final int NUM_PARTITIONS = 5;
    private static final int USE_SPMD_PARTITIONING = 6;
    private static final int DEVICE_ASSIGNMENT = 9;
    private static final int USE_SHARDY_PARTITIONER = 19;
    private static final int OPTIMIZATION_LEVEL = 24;
    private static final int MEMORY_FITTING_LEVEL = 25;

    private final int numReplicas;
    private final int numPartitions;
    private final boolean useSpmd;
    private final boolean useShardy;
    private final int @Nullable [] deviceAssignment;
    private final @Nullable OptimizationLevel optimizationLevel;
    private final @Nullable OptimizationLevel memoryFittingLevel;
    private final Map<String, Object> compilerOptions;
    private final List<Shape> argumentLayouts;
    private final @Nullable Shape resultLayout;
    private final boolean tupledArguments;
    private final boolean portable;

    private CompileOptions(Builder builder) {
        this.numReplicas = builder.numReplicas;
        this.numPartitions = builder.numPartitions;
        this.useSpmd = builder.useSpmd;
        this.useShardy = builder.useShardy;
        this.deviceAssignment = builder.deviceAssignment;
        this.optimizationLevel = builder.optimizationLevel;
        this.memoryFittingLevel = builder.memoryFittingLevel;
        this.compilerOptions = Collections.unmodifiableMap(new TreeMap<>(builder.compilerOptions));
        this.argumentLayouts = builder.argumentLayouts;
        this.resultLayout = builder.resultLayout;
        this.tupledArguments = builder.tupledArguments;
        this.portable = builder.portable;
        long devices = (long) numReplicas * numPartitions;
        if (devices > MAX_DEVICES || (portable && devices > 1)) {
            throw new UsageException.BadArgument(numReplicas + " replicas x " + numPartitions + " partitions"
                    + (portable ? " of a portable program" : "") + " are too many: "
                    + (portable ? "such a program is for one device" : MAX_DEVICES + " devices are the most")
                    + ", and plugins end the process on more");
        }
        if (deviceAssignment != null && deviceAssignment.length != devices) {
            throw new UsageException.BadArgument("the device assignment has " + deviceAssignment.length + " ids, but "
                    + numReplicas + " replicas x " + numPartitions + " partitions need " + devices);
        }
    }

    /** One replica, one partition, nothing else. */
    public static CompileOptions defaults() {
        return of(_ -> {});
    }

    /**
     * Options as the builder is told; Shardy and SPMD partitioning are on unless switched off.
     *
     * @throws UsageException.BadArgument if a count is not positive, or the assignment's length is not their product
     */
    public static CompileOptions of(Consumer<Builder> fill) {
        Builder builder = new Builder();
        fill.accept(builder);
        return new CompileOptions(builder);
    }

    /** Replicas: copies of the program that work on different data. */
    public int numReplicas() {
        return numReplicas;
    }

    /** Partitions: devices that one copy of the program is spread over. */
    public int numPartitions() {
        return numPartitions;
    }

    /** The compiler's options by name, in the order of names: strings, booleans, longs and doubles. */
    public Map<String, Object> compilerOptions() {
        return compilerOptions;
    }

    /** What {@link #of} fills. */
    public static final class Builder {
        private int numReplicas = 1;
        private int numPartitions = 1;
        private boolean useSpmd = true;
        private boolean useShardy = true;
        private int @Nullable [] deviceAssignment;
        private @Nullable OptimizationLevel optimizationLevel;
        private @Nullable OptimizationLevel memoryFittingLevel;
        private final Map<String, Object> compilerOptions = new TreeMap<>();
        private List<Shape> argumentLayouts = List.of();
        private @Nullable Shape resultLayout;
        private boolean tupledArguments;
        private boolean portable;

        private Builder() {}

        /** Copies of the program, 1 by default. */
        public Builder numReplicas(int count) {
            this.numReplicas = positive("replicas", count);
            return this;
        }

        /** Devices per copy, 1 by default. */
        public Builder numPartitions(int count) {
            this.numPartitions = positive("partitions", count);
            return this;
        }

        /** Whether XLA partitions the program by its shardings; true by default. */
        public Builder useSpmd(boolean use) {
            this.useSpmd = use;
            return this;
        }

        /** Whether shardings are Shardy's ({@code sdy}) or GSPMD's; true by default. */
        public Builder useShardy(boolean use) {
            this.useShardy = use;
            return this;
        }

        /** Device ids, replica by replica: id of {@code [replica, partition]} at {@code replica * partitions + partition}. */
        public Builder deviceAssignment(int... ids) {
            int[] copy = ids.clone();
            if (Arrays.stream(copy).anyMatch(id -> id < 0)
                    || Arrays.stream(copy).distinct().count() != copy.length) {
                throw new UsageException.BadArgument("the device assignment " + Arrays.toString(copy)
                        + " must have each device id once, and none below 0");
            }
            this.deviceAssignment = copy;
            return this;
        }

        /** How hard to optimise; the plugin's own default otherwise. */
        public Builder optimizationLevel(OptimizationLevel level) {
            this.optimizationLevel = level;
            return this;
        }

        /** How hard to fit the program into memory; the plugin's own default otherwise. */
        public Builder memoryFittingLevel(OptimizationLevel level) {
            this.memoryFittingLevel = level;
            return this;
        }

        /** How the arguments lie in memory, all of them in order; the plugin's own choice otherwise. */
        public Builder argumentLayouts(List<Shape> arguments) {
            this.argumentLayouts = List.copyOf(arguments);
            return this;
        }

        /** How the result lies in memory, of a program with one; the plugin's own choice otherwise. */
        public Builder resultLayout(Shape result) {
            this.resultLayout = result;
            return this;
        }

        /** Whether the compiled program takes its arguments as one tuple, for programs of thousands; false by default. */
        public Builder tupledArguments(boolean tupled) {
            this.tupledArguments = tupled;
            return this;
        }

        /** Whether the program is for no device in particular: {@link ExecuteOptions.Builder#device} then says which. */
        public Builder portable(boolean portable) {
            this.portable = portable;
            return this;
        }

        /** A compiler option with a string value. */
        public Builder compilerOption(String name, String value) {
            return option(name, value);
        }

        /** A compiler option with a truth value. */
        public Builder compilerOption(String name, boolean value) {
            return option(name, value);
        }

        /** A compiler option with an integer value. */
        public Builder compilerOption(String name, long value) {
            return option(name, value);
        }

        /** A compiler option with a floating-point value. */
        public Builder compilerOption(String name, double value) {
            return option(name, value);
        }

        private Builder option(String name, Object value) {
            if (name.equals("xla_cpu_parallel_codegen_split_count")
                    && String.valueOf(value).strip().startsWith("-")) {
                throw new UsageException.BadArgument(
                        name + " is " + value + ": a count of 0 or more is needed, and XLA ends the process on others");
            }
            if (name.isBlank()) {
                throw new UsageException.BadArgument(
                        "a compiler option needs a name, such as xla_embed_ir_in_executable");
            }
            compilerOptions.put(name, value);
            return this;
        }

        private static int positive(String what, int count) {
            if (count < 1) {
                throw new UsageException.BadArgument(
                        "the number of " + what + " is " + count + ": at least 1 is needed");
            }
            return count;
        }
    }

    private static byte[] shape(Shape shape) {
        return message(out -> {
            out.writeEnum(2, Shapes.number(shape.type().element()));
            for (long size : shape.type().dimensions()) {
                out.writeInt64(3, size);
            }
            out.writeByteArray(5, message(proto -> {
                for (int dimension : shape.layout().minorToMajor()) {
                    proto.writeInt64(1, dimension);
                }
                for (List<Long> tile : shape.layout().tiles()) {
                    proto.writeByteArray(6, message(dimensions -> {
                        for (long size : tile) {
                            dimensions.writeInt64(1, size);
                        }
                    }));
                }
                if (shape.layout().memorySpace() != 0) {
                    proto.writeInt64(8, shape.layout().memorySpace());
                }
            }));
        });
    }

    /**
     * The compiler options as flags, for the variable of the C environment that a plugin reads them from when it is loaded: {@code
     * LIBTPU_INIT_ARGS} or {@code XLA_FLAGS}. They are sorted by name; truth values are 1 and 0.
     */
    public String flags() {
        return compilerOptions.entrySet().stream()
                .map(option -> "--" + option.getKey() + "="
                        + (option.getValue() instanceof Boolean flag ? (flag ? "1" : "0") : option.getValue()))
                .collect(Collectors.joining(" "));
    }

    /** The serialized {@code CompileOptionsProto}. */
    public byte[] toProto() {
        return toProto(useShardy);
    }

    /**
     * For a program whose shardings are GSPMD's, without Shardy, as XLA itself does; XLA overlooks those of arguments alone, and then ends
     * the process (0.116).
     */
    byte[] toProto(Program program) {
        return toProto(useShardy && !program.isGspmd());
    }

    private byte[] toProto(boolean shardy) {
        return message(out -> {
            for (Shape argument : argumentLayouts) {
                out.writeByteArray(ARGUMENT_LAYOUTS, shape(argument));
            }
            if (tupledArguments) {
                out.writeBool(PARAMETER_IS_TUPLED_ARGUMENTS, true);
            }
            out.writeByteArray(EXECUTABLE_BUILD_OPTIONS, message(proto -> buildOptions(proto, shardy)));
            if (portable) {
                out.writeBool(COMPILE_PORTABLE_EXECUTABLE, true);
            }
            for (Map.Entry<String, Object> option : compilerOptions.entrySet()) {
                out.writeByteArray(ENV_OPTION_OVERRIDES, message(entry -> {
                    entry.writeString(1, option.getKey());
                    entry.writeByteArray(2, message(value -> {
                        switch (option.getValue()) {
                            case String text -> value.writeString(1, text);
                            case Boolean flag -> value.writeBool(2, flag);
                            case Long number -> value.writeInt64(3, number);
                            case Double number -> value.writeDouble(4, number);
                            default -> throw new AssertionError(option);
                        }
                    }));
                }));
            }
        });
    }

    private void buildOptions(CodedOutputStream out, boolean shardy) throws IOException {
        // -1: no particular device; 0 would name the first.
        out.writeInt64(DEVICE_ORDINAL, -1);
        if (resultLayout != null) {
            out.writeByteArray(RESULT_LAYOUT, shape(resultLayout));
        }
        out.writeInt64(NUM_REPLICAS, numReplicas);
        out.writeInt64(NUM_PARTITIONS, numPartitions);
        out.writeBool(USE_SPMD_PARTITIONING, useSpmd);
        int[] assignment = deviceAssignment;
        if (assignment != null) {
            out.writeByteArray(DEVICE_ASSIGNMENT, message(proto -> {
                proto.writeInt32(1, numReplicas);
                proto.writeInt32(2, numPartitions);
                for (int partition = 0; partition < numPartitions; partition++) {
                    int column = partition;
                    proto.writeByteArray(3, message(computation -> {
                        computation.writeByteArray(1, message(ids -> {
                            for (int replica = 0; replica < numReplicas; replica++) {
                                ids.writeInt64NoTag(assignment[replica * numPartitions + column]);
                            }
                        }));
                    }));
                }
            }));
        }
        out.writeBool(USE_SHARDY_PARTITIONER, shardy);
        if (optimizationLevel != null) {
            out.writeEnum(OPTIMIZATION_LEVEL, optimizationLevel.number());
        }
        if (memoryFittingLevel != null) {
            out.writeEnum(MEMORY_FITTING_LEVEL, memoryFittingLevel.number());
        }
    }

    interface Writer {
        void write(CodedOutputStream out) throws IOException;
    }

    /** The bytes of a proto. */
    static byte[] message(Writer writer) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        CodedOutputStream out = CodedOutputStream.newInstance(bytes);
        try {
            writer.write(out);
            out.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof CompileOptions that && Arrays.equals(toProto(), that.toProto());
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(toProto());
    }

    @Override
    public String toString() {
        return "CompileOptions[" + numReplicas + " replicas x " + numPartitions + " partitions"
                + (optimizationLevel == null ? "" : ", " + optimizationLevel)
                + (compilerOptions.isEmpty() ? "" : ", " + compilerOptions) + "]";
    }
}

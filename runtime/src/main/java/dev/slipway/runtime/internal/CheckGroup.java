// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.Client;
import dev.slipway.runtime.CompileOptions;
import dev.slipway.runtime.Conformance.Target;
import dev.slipway.runtime.Device;
import dev.slipway.runtime.ElementType;
import dev.slipway.runtime.Executable;
import dev.slipway.runtime.LoadedExecutable;
import dev.slipway.runtime.Memory;
import dev.slipway.runtime.Plugin;
import dev.slipway.runtime.PluginTopology;
import dev.slipway.runtime.Program;
import dev.slipway.runtime.StatusException;
import dev.slipway.runtime.TensorType;
import dev.slipway.runtime.UsageException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * A group of checks, and what all share: a plugin to try, and a client, a machine and a program, each opened at the first need and
 * closed at the end.
 */
abstract class CheckGroup {

    static final TensorType VECTOR = TensorType.of(ElementType.F32, 4);
    static final float[] VALUES = {1, 2, 3, 4};

    static final String DOUBLE = """
            module @double {
              func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
                %y = stablehlo.add %x, %x : tensor<4xf32>
                return %y : tensor<4xf32>
              }
            }
            """;
    static final String DONATING =
            DOUBLE.replace("%x: tensor<4xf32>)", "%x: tensor<4xf32> {tf.aliasing_output = 0 : i32})");
    static final String SUM_OF_TWO = """
            module @sum {
              sdy.mesh @mesh = <["x"=2]>
              func.func @main(%x: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
                %zero = stablehlo.constant dense<0.0> : tensor<f32>
                %y = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
                    : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
                return %y : tensor<f32>
              }
            }
            """;

    /** What the groups of one run share. */
    static final class Subject implements AutoCloseable {
        private final Plugin plugin;
        private final Target target;
        private final List<AutoCloseable> opened = new ArrayList<>();
        private @Nullable Client client;
        private @Nullable RuntimeException noClient;
        private @Nullable PluginTopology topology;
        private @Nullable Executable executable;
        private @Nullable LoadedExecutable loaded;

        Subject(Plugin plugin, Target target) {
            this.plugin = plugin;
            this.target = target;
        }

        private <T extends AutoCloseable> T keep(T one) {
            opened.add(one);
            return one;
        }

        private Client client() {
            if (noClient != null) {
                throw new UsageException.Unsupported(
                        "no client: " + CheckGroup.line(String.valueOf(noClient.getMessage())));
            }
            Client there = client;
            if (there == null) {
                try {
                    there = keep(plugin.client(target.client()));
                    client = there;
                } catch (RuntimeException e) {
                    noClient = e;
                    throw e instanceof StatusException
                            ? new UsageException.Unsupported(
                                    "no client: " + CheckGroup.line(String.valueOf(e.getMessage())))
                            : e;
                }
            }
            return there;
        }

        private PluginTopology topology() {
            PluginTopology there = topology;
            if (there == null) {
                there = keep(
                        target.machine().isPresent()
                                ? plugin.topology(target.machine().get())
                                : client().topology());
                topology = there;
            }
            return there;
        }

        /** What is compiled without loading: for the described machine, or what the client compiled. */
        private Executable executable() {
            Executable there = executable;
            if (there == null) {
                there = target.machine().isPresent()
                        ? keep(topology().compile(Program.stablehlo(CheckGroup.DOUBLE), CompileOptions.defaults()))
                        : loaded().executable();
                executable = there;
            }
            return there;
        }

        private LoadedExecutable loaded() {
            LoadedExecutable there = loaded;
            if (there == null) {
                there = keep(client().compile(Program.stablehlo(CheckGroup.DOUBLE), CompileOptions.defaults()));
                loaded = there;
            }
            return there;
        }

        @Override
        public void close() {
            for (AutoCloseable one : opened.reversed()) {
                try {
                    one.close();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            }
        }
    }

    /** The body of a check: what it returns is the detail of its report, and what it throws says how it failed. */
    @FunctionalInterface
    interface Body {
        Object run() throws Exception;
    }

    final Plugin plugin;
    final Target target;
    private final Subject subject;

    CheckGroup(Subject subject) {
        this.subject = subject;
        this.plugin = subject.plugin;
        this.target = subject.target;
    }

    /** Adds the group's checks, in the order in which they are to run. */
    abstract void addTo(Map<String, Body> checks);

    final Client client() {
        return subject.client();
    }

    final PluginTopology topology() {
        return subject.topology();
    }

    /** What is compiled without loading: for the described machine, or what the client compiled. */
    final Executable executable() {
        return subject.executable();
    }

    final LoadedExecutable loaded() {
        return subject.loaded();
    }

    final Device device() {
        return client().addressableDevices().getFirst();
    }

    final Memory memory() {
        return device().defaultMemory();
    }

    final Buffer vector() {
        return client().put(MemorySegment.ofArray(VALUES.clone()), VECTOR, device());
    }

    final void needTwoDevices() {
        if (client().addressableDevices().size() < 2) {
            throw new UsageException.Unsupported("only one device here");
        }
    }

    static float[] floats(Buffer buffer) {
        try (Arena arena = Arena.ofConfined()) {
            return buffer.toHost(arena).toArray(ValueLayout.JAVA_FLOAT);
        }
    }

    static Object expect(Object expected, Object got) {
        boolean equal = Objects.deepEquals(expected, got);
        if (!equal) {
            throw new AssertionError("expected " + text(expected) + ", got " + text(got));
        }
        return text(got);
    }

    static String text(Object value) {
        return value instanceof float[] floats ? Arrays.toString(floats) : String.valueOf(value);
    }

    static Object expectError(Class<? extends RuntimeException> type, Body body) throws Exception {
        try {
            Object got = body.run();
            throw new AssertionError("expected " + type.getSimpleName() + ", got " + got);
        } catch (RuntimeException e) {
            Throwable cause = e instanceof CompletionException && e.getCause() != null ? e.getCause() : e;
            if (cause instanceof StatusException.Unimplemented || cause instanceof UsageException.Unsupported) {
                throw (RuntimeException) cause;
            }
            if (!type.isInstance(cause)) {
                throw e;
            }
            return cause.getClass().getSimpleName();
        }
    }

    static String nonEmpty(String text) {
        if (text.isEmpty()) {
            throw new AssertionError("empty");
        }
        return text;
    }

    static String bytes(byte[] bytes) {
        if (bytes.length == 0) {
            throw new AssertionError("empty");
        }
        return bytes.length + " bytes";
    }

    static String line(String text) {
        String first = text.strip().lines().findFirst().orElse("");
        return first.length() > 160 ? first.substring(0, 157) + "..." : first;
    }
}

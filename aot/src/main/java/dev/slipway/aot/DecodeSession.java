// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.lowering.Control;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.lowering.LoweringException;
import dev.slipway.lowering.ParameterSource;
import dev.slipway.lowering.ProgramPaths;
import dev.slipway.mesh.Mesh;
import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.Client;
import dev.slipway.runtime.Device;
import dev.slipway.runtime.LoadedExecutable;
import dev.slipway.runtime.Program;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.topology.PluginSpec;
import dev.slipway.topology.Topology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * A model that runs here: its parameters on the devices of a mesh, and its programs compiled and loaded.
 *
 * <p>One thread uses a session at a time. What it holds natively goes when it is closed.
 */
public final class DecodeSession implements AutoCloseable {
    /** The last tokens of all rows, which the next step feeds. */
    private static final String LAST_TOKENS = ProgramPaths.STATE + ProgramPaths.TOKENS;

    private final InferenceRunner runner;
    private final Mesh mesh;
    private final Client client;
    private final Topology machine;
    private final List<Device> devices;
    private final DeviceArrays arrays;
    private final Form form;
    private final List<AutoCloseable> held = new ArrayList<>();
    private final ProgramParameters parameters;

    private DecodeSession(InferenceRunner runner, Topology machine, Client client, ParameterSource source) {
        this.runner = runner;
        this.client = client;
        this.machine = machine;
        this.mesh = Mesh.of(machine, runner.mesh(), runner.order());
        this.devices = IntStream.of(mesh.deviceIds()).mapToObj(client::device).toList();
        this.arrays = new DeviceArrays(client, mesh, devices);
        this.form = Objects.requireNonNull(runner.withFormFor(machine, source).form());
        this.parameters =
                ProgramParameters.load(runner.parameterSpecs(mesh, form), runner.model(), source, arrays, devices);
    }

    /**
     * Opens a session on this CPU's virtual devices.
     *
     * @param machine {@code cpu} or {@code cpu-N}
     * @throws AotException if the machine is not a CPU
     */
    public static DecodeSession open(
            PluginLocator plugins, InferenceRunner runner, Topology machine, ParameterSource source) {
        if (!(machine.plugin() instanceof PluginSpec.Cpu cpu)) {
            throw new AotException("%s is not here to run on; programs run on cpu or cpu-N".formatted(machine.name()));
        }
        Client client = CompileJob.client(plugins.locate(machine.platform()).load(), cpu);
        try {
            return new DecodeSession(runner, machine, client, source);
        } catch (RuntimeException e) {
            client.close();
            throw e;
        }
    }

    /** The mesh that the session runs on. */
    public Mesh mesh() {
        return mesh;
    }

    /**
     * Lowers and compiles a program of the session's runner.
     *
     * @throws dev.slipway.lowering.LoweringException if there is no such method or the batch is not what it takes
     */
    public LoadedProgram load(InputBatchSpec batch, String method) {
        return load(runner.lower(mesh, form, method, batch));
    }

    /** How the session's programs are written. */
    public Form form() {
        return form;
    }

    /**
     * Compiles a program that takes the session's parameters.
     *
     * @throws dev.slipway.runtime.PjrtException if the compiler refuses it
     */
    public LoadedProgram load(InferenceProgram program) {
        LoadedProgram loaded = compile(program);
        held.add(loaded);
        return loaded;
    }

    private LoadedProgram compile(InferenceProgram program) {
        Program module = Program.stablehlo(program.module().toString());
        LoadedExecutable executable = CompilerOptions.of(machine.platform(), form, asWritten())
                .compile(mesh.deviceIds(), options -> client.compile(module, options))
                .result();
        return new LoadedProgram(program, executable, parameters, arrays);
    }

    /**
     * AXLearn's programs are compared number by number: without the first XLA leaves roundings of bfloat16 out where that is
     * faster, which differs from one program to the next of the same meaning; without the second YNNPACK does, once a
     * product has four rows.
     */
    private Map<String, Object> asWritten() {
        return runner.axlearn() == null || form.compute().equals(ElementType.F32)
                ? Map.of()
                : Map.of("xla_allow_excess_precision", false, "xla_cpu_experimental_ynn_fusion_type", "");
    }

    /**
     * Compiles {@code sample_decode} for these prompts and runs it.
     *
     * @param prompts token ids of each row
     * @param width the prefix's width; at least as long as the longest prompt
     * @param controls the controls that the options name; their first dimension is the rows
     * @param key {@code uint32[4]}, or {@code uint32[2]} where the options say so
     * @return the results by path, see {@link dev.slipway.lowering.DecodePrograms}
     * @throws AotException if a prompt is longer than the prefix is wide, or a control is missing or of another shape
     * @throws dev.slipway.lowering.LoweringException if a control has a number that its {@link Control#check} refuses, or
     *     leaves a row no token
     */
    public Map<String, HostArray> sampleDecode(
            int[][] prompts, int width, Map<Control, HostArray> controls, int[] key) {
        Map<String, HostArray> inputs = prompt(prompts, width, key);
        controls.forEach((control, array) -> inputs.put(control.path(), checked(control, array)));
        InputBatchSpec batch = InputBatchSpec.prefix(prompts.length, width);
        try (LoadedProgram program = compile(runner.lower(mesh, form, AotCompiler.SAMPLE_DECODE, batch))) {
            return program.run(inputs);
        }
    }

    /**
     * Reads prompts, and gives a stream of tokens that is advanced call by call.
     *
     * @param prompts token ids of each row
     * @param width the prefix's width; at least as long as the longest prompt
     * @param controls the controls that the options name; their first dimension is the rows
     * @param key {@code uint32[4]}, or {@code uint32[2]} where the options say so
     * @throws AotException if a prompt is longer than the prefix is wide, or a control is missing or of another shape
     * @throws dev.slipway.lowering.LoweringException if a control has a number that its {@link Control#check} refuses, or
     *     leaves a row no token
     */
    public TokenStream stream(int[][] prompts, int width, Map<Control, HostArray> controls, int[] key) {
        Map<String, HostArray> prompt = prompt(prompts, width, key);
        InputBatchSpec batch = InputBatchSpec.prefix(prompts.length, width);
        Map<String, HostArray> kept = new HashMap<>();
        for (Control control : runner.options().controls()) {
            HostArray given = controls.get(control);
            if (given != null) {
                kept.put(control.path(), checked(control, given));
            }
        }
        Map<String, List<Buffer>> carried = new HashMap<>();
        LoadedProgram step = compile(runner.lower(mesh, form, "decode_step", batch));
        try (LoadedProgram prefill = compile(runner.lower(mesh, form, "prefill", batch))) {
            long start = System.nanoTime();
            prefill.putAll(kept, carried);
            Map<String, List<Buffer>> given = new HashMap<>();
            try {
                prefill.putAll(prompt, given);
                given.putAll(carried);
                carried.putAll(prefill.runBuffers(given));
            } finally {
                prompt.keySet().forEach(path -> close(given.getOrDefault(path, List.of())));
            }
            carried.put(ProgramPaths.KEY, take(carried, ProgramPaths.NEW_KEY));
            carried.put(ProgramPaths.COLUMN, step.put(ProgramPaths.COLUMN, HostArray.of(new int[] {
                width % runner.options().maxLength()
            })));
            List<Buffer> last = take(carried, ProgramPaths.LOGITS);
            float[] logits;
            try {
                logits = prefill.get(ProgramPaths.LOGITS, last).floats();
            } finally {
                close(last);
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            TokenStream stream = new TokenStream(step, carried, logits, seconds, held);
            held.add(stream);
            return stream;
        } catch (RuntimeException e) {
            carried.values().forEach(DecodeSession::close);
            step.close();
            throw e;
        }
    }

    /** What all programs that read prompts take beside controls. */
    private Map<String, HostArray> prompt(int[][] prompts, int width, int[] key) {
        Map<String, HostArray> inputs = new HashMap<>();
        inputs.put(ProgramPaths.KEY, HostArray.of(key, key.length));
        inputs.put(ProgramPaths.PREFIX, prefix(prompts, width));
        return inputs;
    }

    private static HostArray checked(Control control, HostArray array) {
        if (!array.type().element().equals(control.element())) {
            return array; // said by the program that takes it
        }
        if (control.element().equals(ElementType.F32)) {
            for (float value : array.floats()) {
                control.check(value);
            }
        }
        switch (control) {
            case ALLOWED_TOKENS -> {
                byte[] allowed = array.bytes();
                requireATokenInEachRow(control, array, allowed.length, i -> allowed[i] != 0);
            }
            case LOGIT_BIAS -> {
                float[] bias = array.floats();
                requireATokenInEachRow(control, array, bias.length, i -> bias[i] != Float.NEGATIVE_INFINITY);
            }
            default -> {}
        }
        return array;
    }

    /** What is chosen from nothing would be a token that the row was not to have. */
    private static void requireATokenInEachRow(Control control, HostArray array, int count, IntPredicate leaves) {
        int[] shape = array.type().shape().stream().mapToInt(Math::toIntExact).toArray();
        if (shape.length != 2 || shape[0] * shape[1] != count) {
            return; // said by the program that takes it
        }
        for (int row = 0; row < shape[0]; row++) {
            if (IntStream.range(row * shape[1], (row + 1) * shape[1]).noneMatch(leaves)) {
                throw new LoweringException("%s leaves row %d no token; at least one is expected"
                        .formatted(control.name().toLowerCase(Locale.ROOT), row));
            }
        }
    }

    private HostArray prefix(int[][] prompts, int width) {
        for (int b = 0; b < prompts.length; b++) {
            if (prompts[b].length > width) {
                throw new AotException("prompt %d has %d tokens but the prefix is %d wide; widen the prefix"
                        .formatted(b, prompts[b].length, width));
            }
        }
        if ((long) prompts.length * width > Integer.MAX_VALUE) {
            throw new AotException("%d prompts in a prefix that is %d wide are more tokens than 2^31"
                    .formatted(prompts.length, width));
        }
        int[] flat = new int[prompts.length * width];
        Arrays.fill(flat, runner.options().padId());
        for (int b = 0; b < prompts.length; b++) {
            System.arraycopy(prompts[b], 0, flat, b * width, prompts[b].length);
        }
        return HostArray.of(flat, prompts.length, width);
    }

    private static List<Buffer> take(Map<String, List<Buffer>> from, String path) {
        return Objects.requireNonNull(from.remove(path), path);
    }

    /** Tokens of a batch as they come. */
    public static final class TokenStream implements AutoCloseable {
        private final LoadedProgram program;
        private final float[] logits;
        private final double prefillSeconds;
        private final List<AutoCloseable> holder;
        private Map<String, List<Buffer>> carried;
        private int[] current;

        /**
         * @param program is the stream's own
         * @param carried what a call takes, by path, and what is left of the prefill's results
         * @param holder lets go of the stream when it is closed
         */
        private TokenStream(
                LoadedProgram program,
                Map<String, List<Buffer>> carried,
                float[] logits,
                double seconds,
                List<AutoCloseable> holder) {
            this.program = program;
            this.holder = holder;
            this.carried = carried;
            this.logits = logits;
            this.prefillSeconds = seconds;
            this.current = program.get(LAST_TOKENS, Objects.requireNonNull(carried.get(LAST_TOKENS)))
                    .ints();
        }

        /** Logits of the first new token, {@code [batch * vocabulary]}. */
        public float[] logits() {
            return logits;
        }

        /** How long reading the prompts took, in seconds. */
        public double prefillSeconds() {
            return prefillSeconds;
        }

        /** What was chosen last: after the prefill a token of each row, then as many as a call gives, row by row. */
        public int[] tokens() {
            return current.clone();
        }

        /** Feeds the last tokens, chooses the next ones: {@code steps_per_call} of each row. */
        public int[] advance() {
            Map<String, List<Buffer>> results = program.runBuffers(carried);
            Map<String, List<Buffer>> next = new HashMap<>(results);
            next.put(ProgramPaths.KEY, take(next, ProgramPaths.NEW_KEY));
            try {
                current = program.get(ProgramPaths.TOKENS, Objects.requireNonNull(next.get(ProgramPaths.TOKENS)))
                        .ints();
            } catch (RuntimeException e) {
                next.values().forEach(DecodeSession::close);
                throw e;
            }
            carried.forEach((path, buffers) -> {
                if (next.containsKey(path)) {
                    DecodeSession.close(buffers);
                } else {
                    next.put(path, buffers);
                }
            });
            carried = next;
            return tokens();
        }

        @Override
        public void close() {
            carried.values().forEach(DecodeSession::close);
            carried = Map.of();
            program.close();
            holder.remove(this);
        }
    }

    private static void close(List<Buffer> buffers) {
        buffers.forEach(Buffer::close);
    }

    @Override
    public void close() {
        for (AutoCloseable one : List.copyOf(held).reversed()) {
            try {
                one.close();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
        parameters.close();
        client.close();
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.lowering.DecodePrograms;
import dev.slipway.lowering.Form;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.InputBatchSpec;
import dev.slipway.lowering.Sampling;
import dev.slipway.lowering.TensorSpec;
import dev.slipway.mesh.Mesh;
import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.Client;
import dev.slipway.runtime.CompileOptions;
import dev.slipway.runtime.Device;
import dev.slipway.runtime.LoadedExecutable;
import dev.slipway.runtime.Program;
import dev.slipway.topology.PluginSpec;
import dev.slipway.topology.Topology;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A model that runs here: its parameters on the devices of a mesh, and its programs compiled and loaded.
 *
 * <p>One thread uses a session at a time. What it holds natively goes when it is closed.
 */
public final class DecodeSession implements AutoCloseable {
    private static final String SAMPLE_DECODE = "sample_decode";

    private final InferenceRunner runner;
    private final Mesh mesh;
    private final Client client;
    private final DecodePrograms programs;
    private final List<Device> devices;
    private final DeviceArrays arrays;
    private final Form form;
    private final List<AutoCloseable> held = new ArrayList<>();
    private final ProgramParameters parameters;

    private DecodeSession(InferenceRunner runner, Topology machine, Client client, ParameterSource source) {
        this.runner = runner;
        this.client = client;
        this.mesh = Mesh.of(machine, runner.mesh(), runner.order());
        this.devices = IntStream.of(mesh.deviceIds()).mapToObj(client::device).toList();
        this.arrays = new DeviceArrays(client, mesh, devices);
        this.form = runner.form() != null ? runner.form() : InferenceRunner.formFor(machine.platform());
        this.programs = DecodePrograms.of(runner.model(), form, runner.options(), mesh, runner.rules());
        List<TensorSpec> specs = runner.lower(mesh, form, SAMPLE_DECODE, InputBatchSpec.prefix(1, 1))
                .parameterSpecs();
        this.parameters = ProgramParameters.load(specs, source, arrays, devices);
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
        LoadedExecutable executable = client.compile(
                Program.stablehlo(program.module().toString()),
                CompileOptions.of(o -> o.numPartitions(mesh.size()).deviceAssignment(mesh.deviceIds())));
        LoadedProgram loaded = new LoadedProgram(program, executable, parameters, arrays);
        held.add(loaded);
        return loaded;
    }

    /**
     * What a whole decode gave.
     *
     * @param sequences {@code [batch][num_decodes][max_length]}, pads behind the last token
     * @param scores log-probabilities of the generated tokens, as wide
     * @param key the key to carry on with
     */
    public record Decoded(int[][][] sequences, float[][][] scores, int[] key) {}

    /**
     * Runs {@code sample_decode}.
     *
     * @param prompts token ids of each row
     * @param width the prefix's width; at least as long as the longest prompt
     * @param temperatures for each row; not read by greedy programs
     * @param key {@code uint32[4]}
     */
    public Decoded sampleDecode(int[][] prompts, int width, float[] temperatures, int[] key) {
        int batch = prompts.length;
        int decodes = runner.options().numDecodes();
        int length = runner.options().maxLength();
        InferenceProgram program = programs.sampleDecode(InputBatchSpec.prefix(batch, width));
        try (Arena arena = Arena.ofConfined();
                LoadedProgram ready = load(program)) {
            List<List<Buffer>> inputs = promptInputs(arena, program, prompts, width, temperatures, key);
            List<List<Buffer>> results = ready.run(inputs);
            try {
                List<TensorSpec> specs = program.results();
                int[] newKey =
                        arrays.gather(specs.get(0), results.get(0), arena).toArray(ValueLayout.JAVA_INT);
                int[] flat = arrays.gather(specs.get(1), results.get(1), arena).toArray(ValueLayout.JAVA_INT);
                float[] flatScores =
                        arrays.gather(specs.get(2), results.get(2), arena).toArray(ValueLayout.JAVA_FLOAT);
                int[][][] sequences = new int[batch][decodes][];
                float[][][] scores = new float[batch][decodes][];
                for (int b = 0; b < batch; b++) {
                    for (int n = 0; n < decodes; n++) {
                        int from = (b * decodes + n) * length;
                        sequences[b][n] = Arrays.copyOfRange(flat, from, from + length);
                        scores[b][n] = Arrays.copyOfRange(flatScores, from, from + length);
                    }
                }
                return new Decoded(sequences, scores, newKey);
            } finally {
                inputs.forEach(DecodeSession::close);
                results.forEach(DecodeSession::close);
            }
        }
    }

    /**
     * Reads prompts, and gives a stream of tokens that is advanced one step at a time.
     *
     * @param prompts token ids of each row
     * @param width the prefix's width; at least as long as the longest prompt
     * @param temperatures for each row; not read by greedy programs
     * @param key {@code uint32[4]}
     */
    public TokenStream stream(int[][] prompts, int width, float[] temperatures, int[] key) {
        InputBatchSpec batch = InputBatchSpec.prefix(prompts.length, width);
        LoadedProgram step = load(programs.decodeStep(batch));
        InferenceProgram program = programs.prefill(batch);
        try (Arena arena = Arena.ofConfined();
                LoadedProgram prefill = load(program)) {
            long start = System.nanoTime();
            List<List<Buffer>> inputs = promptInputs(arena, program, prompts, width, temperatures, key);
            List<List<Buffer>> results = prefill.run(inputs);
            float[] logits = arrays.gather(program.results().get(1), results.get(1), arena)
                    .toArray(ValueLayout.JAVA_FLOAT);
            double seconds = (System.nanoTime() - start) / 1e9;
            TokenStream stream = new TokenStream(step, results, temperatures, logits, seconds);
            inputs.forEach(DecodeSession::close);
            held.add(stream);
            return stream;
        }
    }

    /** Tokens of a batch as they come. */
    public final class TokenStream implements AutoCloseable {
        private final LoadedProgram program;
        private final float[] logits;
        private final double prefillSeconds;
        private final List<Buffer> temperatures;
        private final List<Buffer> lengths;
        private List<Buffer> key;
        private List<Buffer> tokens;
        private List<List<Buffer>> cache;
        private int[] current;
        private int step;

        private TokenStream(
                LoadedProgram program,
                List<List<Buffer>> prefilled,
                float[] temperatures,
                float[] logits,
                double seconds) {
            this.program = program;
            this.logits = logits;
            this.prefillSeconds = seconds;
            this.key = prefilled.get(0);
            this.tokens = prefilled.get(2);
            this.lengths = prefilled.get(4);
            this.cache = prefilled.subList(5, prefilled.size());
            this.current = read(tokens);
            DecodeSession.close(prefilled.get(1));
            DecodeSession.close(prefilled.get(3));
            this.temperatures = sampling() ? putTemperatures(program.program(), temperatures) : List.of();
        }

        /** Logits of the first new token, {@code [batch * vocabulary]}. */
        public float[] logits() {
            return logits;
        }

        /** How long reading the prompts took, in seconds. */
        public double prefillSeconds() {
            return prefillSeconds;
        }

        /** The token of each row that was chosen last. */
        public int[] tokens() {
            return current.clone();
        }

        /** Feeds the last tokens, chooses the next ones. */
        public int[] advance() {
            List<List<Buffer>> inputs = new ArrayList<>();
            inputs.add(key);
            List<Buffer> stepBuffers;
            try (Arena arena = Arena.ofConfined()) {
                stepBuffers = arrays.put(
                        program.program().inputSpecs().get(1), arena.allocateFrom(ValueLayout.JAVA_INT, step++));
            }
            inputs.add(stepBuffers);
            inputs.add(tokens);
            inputs.add(lengths);
            if (sampling()) {
                inputs.add(temperatures);
            }
            inputs.addAll(cache);
            List<List<Buffer>> results = program.run(inputs);
            DecodeSession.close(key);
            DecodeSession.close(stepBuffers);
            DecodeSession.close(tokens);
            cache.forEach(DecodeSession::close);
            key = results.get(0);
            tokens = results.get(1);
            DecodeSession.close(results.get(2));
            cache = results.subList(3, results.size());
            current = read(tokens);
            return tokens();
        }

        private int[] read(List<Buffer> buffers) {
            try (Arena arena = Arena.ofConfined()) {
                return arrays.gather(program.program().results().get(1), buffers, arena)
                        .toArray(ValueLayout.JAVA_INT);
            }
        }

        @Override
        public void close() {
            DecodeSession.close(key);
            DecodeSession.close(tokens);
            DecodeSession.close(lengths);
            DecodeSession.close(temperatures);
            cache.forEach(DecodeSession::close);
        }
    }

    private boolean sampling() {
        return runner.options().sampling() instanceof Sampling.Temperature;
    }

    private List<List<Buffer>> promptInputs(
            Arena arena, InferenceProgram program, int[][] prompts, int width, float[] temperatures, int[] key) {
        MemorySegment prefix = arena.allocate(4L * prompts.length * width, 64);
        int pad = runner.options().padId();
        for (int b = 0; b < prompts.length; b++) {
            if (prompts[b].length > width) {
                throw new AotException("prompt %d has %d tokens but the prefix is %d wide; widen the prefix"
                        .formatted(b, prompts[b].length, width));
            }
            for (int i = 0; i < width; i++) {
                prefix.setAtIndex(
                        ValueLayout.JAVA_INT, (long) b * width + i, i < prompts[b].length ? prompts[b][i] : pad);
            }
        }
        List<List<Buffer>> inputs = new ArrayList<>();
        inputs.add(arrays.put(program.inputSpecs().get(0), arena.allocateFrom(ValueLayout.JAVA_INT, key)));
        inputs.add(arrays.put(program.inputSpecs().get(1), prefix));
        if (sampling()) {
            inputs.add(putTemperatures(program, temperatures));
        }
        return inputs;
    }

    private List<Buffer> putTemperatures(InferenceProgram program, float[] temperatures) {
        TensorSpec spec = program.inputSpecs().stream()
                .filter(s -> s.path().endsWith("temperature"))
                .findFirst()
                .orElseThrow();
        try (Arena arena = Arena.ofConfined()) {
            return arrays.put(spec, arena.allocateFrom(ValueLayout.JAVA_FLOAT, temperatures));
        }
    }

    private static void close(List<Buffer> buffers) {
        buffers.forEach(Buffer::close);
    }

    @Override
    public void close() {
        for (AutoCloseable one : held.reversed()) {
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

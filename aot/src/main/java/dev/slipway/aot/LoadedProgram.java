// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.TensorSpec;
import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.ExecuteOptions;
import dev.slipway.runtime.LoadedExecutable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A program of a {@link DecodeSession} that is compiled and ready to run with the session's parameters. The session
 * closes what is not closed before it.
 */
public final class LoadedProgram implements AutoCloseable {
    private final InferenceProgram program;
    private final LoadedExecutable executable;
    private final ProgramParameters parameters;
    private final DeviceArrays arrays;

    LoadedProgram(
            InferenceProgram program, LoadedExecutable executable, ProgramParameters parameters, DeviceArrays arrays) {
        this.program = program;
        this.executable = executable;
        this.parameters = parameters;
        this.arrays = arrays;
    }

    /** What was compiled. */
    public InferenceProgram program() {
        return program;
    }

    /**
     * Runs with arrays from the host, cut over the mesh as the program wants them.
     *
     * @param inputs by the path of the argument, e.g. {@code input_batch/prefix}; all but the parameters
     * @return the results by path
     * @throws AotException if an input is missing or of another type than the argument
     */
    public Map<String, HostArray> run(Map<String, HostArray> inputs) {
        List<List<Buffer>> given = new ArrayList<>();
        List<List<Buffer>> results = List.of();
        try (Arena arena = Arena.ofConfined()) {
            for (TensorSpec spec : program.inputSpecs()) {
                given.add(arrays.put(spec, checked(spec, inputs.get(spec.path()), arena)));
            }
            results = run(given);
            Map<String, HostArray> byPath = new LinkedHashMap<>();
            for (int i = 0; i < results.size(); i++) {
                TensorSpec spec = program.results().get(i);
                byPath.put(
                        spec.path(), new HostArray(spec.type(), arrays.gather(spec, results.get(i), Arena.ofAuto())));
            }
            return byPath;
        } finally {
            given.forEach(LoadedProgram::close);
            results.forEach(LoadedProgram::close);
        }
    }

    private MemorySegment checked(TensorSpec spec, @org.jspecify.annotations.Nullable HostArray array, Arena arena) {
        if (array == null
                || !array.type().shape().equals(spec.type().shape())
                || array.data().byteSize() != DeviceArrays.type(spec).hostBytes()) {
            throw new AotException("input %s is %s; %s takes %s"
                    .formatted(spec.path(), array == null ? "missing" : array.type(), program.method(), spec.type()));
        }
        MemorySegment copy = arena.allocate(array.data().byteSize(), 64);
        return copy.copyFrom(array.data());
    }

    /**
     * Runs with buffers.
     *
     * @param inputs for each argument after the parameters, its buffers in mesh order
     * @return for each result its buffers in mesh order
     */
    List<List<Buffer>> run(List<List<Buffer>> inputs) {
        List<List<Buffer>> byDevice = new ArrayList<>();
        for (int d = 0; d < program.mesh().size(); d++) {
            List<Buffer> arguments = new ArrayList<>(parameters.of(d));
            for (List<Buffer> input : inputs) {
                arguments.add(input.get(d));
            }
            byDevice.add(arguments);
        }
        List<List<Buffer>> results = executable.execute(byDevice, ExecuteOptions.defaults());
        List<List<Buffer>> byResult = new ArrayList<>();
        for (int r = 0; r < program.results().size(); r++) {
            List<Buffer> buffers = new ArrayList<>();
            for (List<Buffer> ofDevice : results) {
                buffers.add(ofDevice.get(r));
            }
            byResult.add(buffers);
        }
        return byResult;
    }

    private static void close(List<Buffer> buffers) {
        buffers.forEach(Buffer::close);
    }

    @Override
    public void close() {
        if (!executable.isClosed()) {
            executable.close();
        }
    }
}

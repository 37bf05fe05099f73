// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import com.google.common.collect.Iterables;
import dev.slipway.lowering.InferenceProgram;
import dev.slipway.lowering.TensorSpec;
import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.ExecuteOptions;
import dev.slipway.runtime.LoadedExecutable;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.IntegerType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

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
        Map<String, List<Buffer>> given = new LinkedHashMap<>();
        Map<String, List<Buffer>> results = Map.of();
        try {
            for (TensorSpec spec : program.inputSpecs()) {
                given.put(spec.path(), put(spec.path(), inputs.get(spec.path())));
            }
            results = runBuffers(given);
            Map<String, HostArray> byPath = new LinkedHashMap<>();
            results.forEach((path, buffers) -> byPath.put(path, get(path, buffers)));
            return byPath;
        } finally {
            given.values().forEach(LoadedProgram::close);
            results.values().forEach(LoadedProgram::close);
        }
    }

    private MemorySegment checked(TensorSpec spec, @Nullable HostArray array, Arena arena) {
        if (array == null
                || !array.type().shape().equals(spec.type().shape())
                || !alike(array.type().element(), spec.type().element())
                || array.data().byteSize() != DeviceArrays.type(spec).hostBytes()) {
            throw refused(spec, array == null ? "missing" : array.type());
        }
        MemorySegment copy = arena.allocate(array.data().byteSize(), 64);
        return copy.copyFrom(array.data());
    }

    /** Whole numbers of one size stand for each other, signed or not; nothing else does. */
    private static boolean alike(ElementType given, ElementType wanted) {
        return given instanceof IntegerType ? wanted instanceof IntegerType : given.equals(wanted);
    }

    /**
     * Puts arguments on the devices.
     *
     * @param inputs by path
     * @param buffers takes what is there, also where a later array is refused
     */
    void putAll(Map<String, HostArray> inputs, Map<String, List<Buffer>> buffers) {
        inputs.forEach((path, array) -> buffers.put(path, put(path, array)));
    }

    /** Puts an argument on the devices. */
    List<Buffer> put(String path, @Nullable HostArray array) {
        TensorSpec spec = spec(program.inputSpecs(), path);
        try (Arena arena = Arena.ofConfined()) {
            return arrays.put(spec, checked(spec, array, arena));
        }
    }

    /** Fetches an argument or a result from the devices. */
    HostArray get(String path, List<Buffer> buffers) {
        TensorSpec spec = spec(Iterables.concat(program.results(), program.inputSpecs()), path);
        return new HostArray(spec.type(), arrays.gather(spec, buffers, Arena.ofAuto()));
    }

    private static TensorSpec spec(Iterable<TensorSpec> specs, String path) {
        return Iterables.find(specs, one -> one.path().equals(path));
    }

    /**
     * Runs with buffers.
     *
     * @param inputs by path, in mesh order each; more than the program takes does no harm
     * @return the results by path, in mesh order each
     */
    Map<String, List<Buffer>> runBuffers(Map<String, List<Buffer>> inputs) {
        List<List<Buffer>> given = program.inputSpecs().stream()
                .map(spec -> given(spec, inputs.get(spec.path())))
                .toList();
        List<List<Buffer>> byDevice = new ArrayList<>();
        for (int d = 0; d < program.mesh().size(); d++) {
            List<Buffer> arguments = new ArrayList<>(program.parameters() == 0 ? List.of() : parameters.of(d));
            for (List<Buffer> input : given) {
                arguments.add(input.get(d));
            }
            byDevice.add(arguments);
        }
        List<List<Buffer>> results = executable.execute(byDevice, ExecuteOptions.defaults());
        Map<String, List<Buffer>> byPath = new LinkedHashMap<>();
        for (int r = 0; r < program.results().size(); r++) {
            List<Buffer> buffers = new ArrayList<>();
            for (List<Buffer> ofDevice : results) {
                buffers.add(ofDevice.get(r));
            }
            byPath.put(program.results().get(r).path(), buffers);
        }
        return byPath;
    }

    private List<Buffer> given(TensorSpec spec, @Nullable List<Buffer> buffers) {
        if (buffers == null) {
            throw refused(spec, "missing");
        }
        return buffers;
    }

    private AotException refused(TensorSpec spec, Object what) {
        return new AotException(
                "input %s is %s; %s takes %s".formatted(spec.path(), what, program.method(), spec.type()));
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

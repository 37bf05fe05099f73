// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import dev.slipway.lowering.TensorSpec;
import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.Client.HostSemantics;
import dev.slipway.runtime.Device;
import dev.slipway.stablehlo.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A model's parameters on devices, shared by its programs. On one device the host's memory is the device's, so nothing is
 * copied; on several each gets its shards.
 */
final class ProgramParameters implements AutoCloseable {
    private static final String PARAMS = "params/";
    private static final String LAYERS = "layers/";

    private final Arena arena = Arena.ofShared();
    private final List<List<Buffer>> byDevice = new ArrayList<>();

    private ProgramParameters(int devices) {
        for (int i = 0; i < devices; i++) {
            byDevice.add(new ArrayList<>());
        }
    }

    /**
     * Reads all parameters and puts them on devices.
     *
     * @param specs the program's parameters, in order
     * @param devices in mesh order
     */
    static ProgramParameters load(
            List<TensorSpec> specs, ParameterSource source, DeviceArrays arrays, List<Device> devices) {
        ProgramParameters parameters = new ProgramParameters(devices.size());
        try {
            for (TensorSpec spec : specs) {
                parameters.add(spec, source, arrays, devices);
            }
            return parameters;
        } catch (RuntimeException e) {
            parameters.close();
            throw e;
        }
    }

    private void add(TensorSpec spec, ParameterSource source, DeviceArrays arrays, List<Device> devices) {
        dev.slipway.runtime.TensorType whole = DeviceArrays.type(spec);
        if (devices.size() == 1) {
            MemorySegment data = arena.allocate(whole.hostBytes(), 64);
            fill(spec, source, data);
            byDevice.getFirst()
                    .add(devices.getFirst()
                            .client()
                            .put(data, whole, devices.getFirst().defaultMemory(), HostSemantics.ZERO_COPY));
            return;
        }
        try (Arena scratch = Arena.ofShared()) {
            MemorySegment data = scratch.allocate(whole.hostBytes(), 64);
            fill(spec, source, data);
            List<Buffer> shards = arrays.put(spec, data);
            for (int i = 0; i < shards.size(); i++) {
                byDevice.get(i).add(shards.get(i));
            }
        }
    }

    /** Reads a parameter; one stacked over layers is read layer by layer, several at once. */
    private static void fill(TensorSpec spec, ParameterSource source, MemorySegment data) {
        String name = spec.path().substring(PARAMS.length());
        TensorType type = spec.type();
        @Nullable String stacked = stackedName(name);
        if (stacked == null) {
            source.read(name, data, type.element());
            return;
        }
        long layers = type.dim(0);
        long bytes = data.byteSize() / layers;
        IntStream.range(0, (int) layers)
                .parallel()
                .forEach(i -> source.read(LAYERS + i + "/" + stacked, data.asSlice(i * bytes, bytes), type.element()));
    }

    /** The weight's name within a layer if the parameter has all layers in it, else null. */
    private static @Nullable String stackedName(String name) {
        return name.startsWith(LAYERS) && !Character.isDigit(name.charAt(LAYERS.length()))
                ? name.substring(LAYERS.length())
                : null;
    }

    /** The buffers of a device, in the order of the specs. */
    List<Buffer> of(int device) {
        return byDevice.get(device);
    }

    @Override
    public void close() {
        byDevice.forEach(buffers -> buffers.forEach(Buffer::close));
        arena.close();
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.aot;

import com.google.common.collect.ImmutableMap;
import dev.slipway.lowering.Blocks;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.lowering.ParameterSource;
import dev.slipway.lowering.Parameters;
import dev.slipway.lowering.Parameters.Weight;
import dev.slipway.lowering.TensorSpec;
import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.Client.HostSemantics;
import dev.slipway.runtime.Device;
import dev.slipway.stablehlo.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
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
     * @param model whose parameters they are
     * @param devices in mesh order
     */
    static ProgramParameters load(
            List<TensorSpec> specs,
            DecoderConfig model,
            ParameterSource source,
            DeviceArrays arrays,
            List<Device> devices) {
        ProgramParameters parameters = new ProgramParameters(devices.size());
        try {
            int next = 0;
            while (next < specs.size()) {
                TensorSpec spec = specs.get(next);
                Optional<Blocks> blocks = Blocks.of(spec);
                int parts = blocks.map(each -> each.together().size()).orElse(1);
                if (blocks.isPresent()) {
                    parameters.addBlocks(
                            specs.subList(next, next + parts), blocks.get(), model, source, devices.getFirst());
                } else {
                    parameters.add(spec, source, arrays, devices);
                }
                next += parts;
            }
            return parameters;
        } catch (RuntimeException e) {
            parameters.close();
            throw e;
        }
    }

    private void add(TensorSpec spec, ParameterSource source, DeviceArrays arrays, List<Device> devices) {
        if (devices.size() == 1) {
            put(spec, fill(spec, source, arena), devices.getFirst());
            return;
        }
        try (Arena scratch = Arena.ofShared()) {
            List<Buffer> shards = arrays.put(spec, fill(spec, source, scratch));
            for (int i = 0; i < shards.size(); i++) {
                byDevice.get(i).add(shards.get(i));
            }
        }
    }

    private void put(TensorSpec spec, MemorySegment data, Device device) {
        byDevice.getFirst()
                .add(device.client()
                        .put(data, DeviceArrays.type(spec), device.defaultMemory(), HostSemantics.ZERO_COPY));
    }

    /** The parts of a matrix in blocks, which is read once for all of them. */
    private void addBlocks(
            List<TensorSpec> parts, Blocks blocks, DecoderConfig model, ParameterSource source, Device device) {
        ImmutableMap<String, Weight> weights =
                blocks.layers().isEmpty() ? Parameters.outside(model) : Parameters.ofLayer(model);
        List<MemorySegment> data = parts.stream()
                .map(spec -> arena.allocate(DeviceArrays.type(spec).hostBytes(), 64))
                .toList();
        TensorType type = parts.getFirst().type();
        int rank = type.rank();
        int bits = (int) type.dim(rank - 2);
        long in = type.dim(rank - 3) * Blocks.SIZE;
        long out = type.dim(rank - 1);
        int layers = rank == 4 ? (int) type.dim(0) : 1;
        IntStream.range(0, layers).parallel().forEach(i -> {
            List<MemorySegment> layer = data.stream()
                    .map(all -> all.asSlice(all.byteSize() / layers * i, all.byteSize() / layers))
                    .toList();
            MatrixWriter to = layer.size() == 1
                    ? new PlainWeights(bits, out, layer.getFirst())
                    : new BlockWeights(bits, out, layer.get(0), layer.get(1), layer.get(2));
            String prefix = rank == 4 ? LAYERS + i + "/" : blocks.layers();
            long first = 0;
            for (String matrix : blocks.weights()) {
                String name = prefix + matrix + "/weight";
                long count = Objects.requireNonNull(weights.get(matrix + "/weight"), matrix)
                        .out();
                try (Arena scratch = Arena.ofConfined()) {
                    MemorySegment numbers =
                            scratch.allocate(DeviceArrays.element(to.reads()).hostBytes() * count * in, 64);
                    source.read(name, numbers, to.reads());
                    to.write(numbers, in, first, count);
                }
                first += count;
            }
        });
        for (int i = 0; i < parts.size(); i++) {
            put(parts.get(i), data.get(i), device);
        }
    }

    /** Reads a parameter; one stacked over layers is read layer by layer, several at once. */
    private static MemorySegment fill(TensorSpec spec, ParameterSource source, Arena arena) {
        MemorySegment data = arena.allocate(DeviceArrays.type(spec).hostBytes(), 64);
        String name = spec.path().substring(PARAMS.length());
        TensorType type = spec.type();
        @Nullable String stacked = stackedName(name);
        if (stacked == null) {
            source.read(name, data, type.element());
            return data;
        }
        long layers = type.dim(0);
        long bytes = data.byteSize() / layers;
        IntStream.range(0, (int) layers)
                .parallel()
                .forEach(i -> source.read(LAYERS + i + "/" + stacked, data.asSlice(i * bytes, bytes), type.element()));
        return data;
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

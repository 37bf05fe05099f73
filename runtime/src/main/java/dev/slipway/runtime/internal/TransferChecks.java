// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.AliasBuffer;
import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.Client;
import dev.slipway.runtime.ElementType;
import dev.slipway.runtime.HostTransfer;
import dev.slipway.runtime.Layout;
import dev.slipway.runtime.Memory;
import dev.slipway.runtime.RawBuffer;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** Arrays on devices: there and back, whole and in pieces, with and without copies. */
final class TransferChecks extends CheckGroup {

    TransferChecks(Subject subject) {
        super(subject);
    }

    @Override
    void addTo(Map<String, Body> checks) {
        checks.put("buffer.all_element_types_there_and_back", this::allTypes);
        checks.put("buffer.large_there_and_back", () -> {
            byte[] data = new byte[16 << 20];
            ThreadLocalRandom.current().nextBytes(data);
            try (Buffer buffer =
                    client().put(MemorySegment.ofArray(data), TensorType.of(ElementType.U8, data.length), device())) {
                byte[] back = new byte[data.length];
                buffer.toHost(MemorySegment.ofArray(back));
                return "16 MiB: " + expect(true, Arrays.equals(data, back));
            }
        });
        checks.put("buffer.rank_zero_and_empty", () -> {
            try (Buffer scalar = client().put(
                                    MemorySegment.ofArray(new float[] {7}), TensorType.of(ElementType.F32), device());
                    Buffer empty = client().put(
                                    MemorySegment.ofArray(new float[0]),
                                    TensorType.of(ElementType.F32, 0, 3),
                                    device())) {
                expect(new float[] {7}, floats(scalar));
                return expect(new float[0], floats(empty));
            }
        });
        checks.put("buffer.describes_itself", () -> {
            try (Buffer buffer = vector()) {
                expect(VECTOR, buffer.type());
                expect(device(), buffer.device());
                return buffer.type() + " in " + buffer.memory() + ", " + buffer.onDeviceBytes() + " bytes";
            }
        });
        checks.put("buffer.layout", () -> {
            try (Buffer buffer = vector()) {
                return buffer.layout();
            }
        });
        checks.put("buffer.by_columns", () -> {
            MemorySegment data = MemorySegment.ofArray(new float[] {1, 2, 3, 4, 5, 6});
            try (Buffer buffer = client().put(data, TensorType.of(ElementType.F32, 2, 3), memory(), Layout.of(0, 1))) {
                expect(Layout.of(0, 1), buffer.layout());
                return expect(new float[] {1, 2, 3, 4, 5, 6}, floats(buffer)) + " in " + buffer.layout();
            }
        });
        checks.put("buffer.dynamic_dimensions", () -> {
            try (Buffer buffer = vector()) {
                return expect(
                        "[] [4]",
                        Arrays.toString(buffer.dynamicDimensions()) + " "
                                + Arrays.toString(buffer.unpaddedDimensions()));
            }
        });
        checks.put("buffer.ready_future", () -> {
            try (Buffer buffer = vector()) {
                buffer.ready().get(30, TimeUnit.SECONDS);
                return "ready";
            }
        });
        checks.put("buffer.to_host_async", () -> {
            try (Arena arena = Arena.ofShared();
                    Buffer buffer = vector()) {
                MemorySegment copy = arena.allocate(16, 64);
                buffer.toHostAsync(copy).get(30, TimeUnit.SECONDS);
                return expect(VALUES, copy.toArray(ValueLayout.JAVA_FLOAT));
            }
        });
        checks.put("buffer.copy_raw_to_host", () -> {
            try (Arena arena = Arena.ofShared();
                    Buffer buffer = vector()) {
                MemorySegment copy = arena.allocate(8, 64);
                buffer.copyRawToHost(copy, 8).get(30, TimeUnit.SECONDS);
                return expect(new float[] {3, 4}, copy.toArray(ValueLayout.JAVA_FLOAT));
            }
        });
        checks.put("buffer.zero_copy_in", () -> {
            try (Arena arena = Arena.ofShared()) {
                MemorySegment data = arena.allocate(16, 64).copyFrom(MemorySegment.ofArray(VALUES));
                try (Buffer buffer = client().put(data, VECTOR, memory(), Client.HostSemantics.ZERO_COPY)) {
                    buffer.await();
                    expect(VALUES, floats(buffer));
                    if (!buffer.isOnCpu() || buffer.unsafePointer() != data.address()) {
                        throw new UsageException.Unsupported("the plugin copies");
                    }
                    return "the same memory";
                }
            }
        });
        checks.put("buffer.zero_copy_out", () -> {
            try (Buffer buffer = vector()) {
                if (!buffer.isOnCpu()) {
                    throw new UsageException.Unsupported("the memory is not the CPU's");
                }
                try (Buffer.View view = buffer.view()) {
                    return expect(VALUES, view.segment().toArray(ValueLayout.JAVA_FLOAT));
                }
            }
        });
        checks.put("buffer.view_of_foreign_memory", () -> {
            try (Arena arena = Arena.ofShared()) {
                MemorySegment data = arena.allocate(64, 64);
                data.asSlice(0, 16).copyFrom(MemorySegment.ofArray(VALUES));
                try (Buffer probe = vector()) {
                    if (!probe.isOnCpu()) {
                        throw new UsageException.Unsupported("the memory is not the CPU's");
                    }
                }
                try (Buffer buffer = client().viewOf(data, VECTOR, device())) {
                    return expect(VALUES, floats(buffer));
                }
            }
        });
        checks.put("buffer.copy_to_device", () -> {
            needTwoDevices();
            try (Buffer buffer = vector();
                    Buffer copy = buffer.copyTo(client().addressableDevices().get(1))) {
                return expect(VALUES, floats(copy));
            }
        });
        checks.put("buffer.copy_to_memory", () -> {
            List<Memory> memories = device().memories();
            try (Buffer buffer = vector();
                    Buffer copy = buffer.copyTo(memories.getLast())) {
                return expect(VALUES, floats(copy)) + " in "
                        + memories.getLast().kind();
            }
        });
        checks.put("buffer.bitcast", () -> {
            try (Buffer buffer = vector();
                    Buffer cast = buffer.bitcast(TensorType.of(ElementType.S32, 2, 2));
                    Arena arena = Arena.ofConfined()) {
                return expect(Float.floatToRawIntBits(1), cast.toHost(arena).get(ValueLayout.JAVA_INT, 0));
            }
        });
        checks.put("buffer.uninitialized", () -> {
            try (Buffer buffer = client().uninitialized(VECTOR, memory())) {
                buffer.await();
                return expect(16L, buffer.onDeviceBytes()) + " bytes";
            }
        });
        checks.put("buffer.failed", () -> {
            try (Buffer buffer = client().failed(VECTOR, memory(), 14, "on purpose")) {
                return expectError(StatusException.Unavailable.class, () -> {
                    buffer.await();
                    return "no error";
                });
            }
        });
        checks.put("buffer.delete", () -> {
            try (Buffer buffer = vector()) {
                buffer.delete();
                return "deleted: " + expect(true, buffer.isDeleted());
            }
        });
        checks.put("buffer.alias", () -> {
            AliasBuffer alias = client().alias(VECTOR, memory());
            try (Buffer stands = alias.buffer();
                    Buffer real = vector()) {
                alias.fulfill(real);
                return expect(VALUES, floats(stands));
            }
        });
        checks.put("buffer.raw", () -> {
            try (Buffer buffer = vector();
                    RawBuffer raw = buffer.raw();
                    Arena arena = Arena.ofConfined()) {
                MemorySegment copy = arena.allocate(raw.bytes());
                raw.read(copy, 0).get(10, TimeUnit.SECONDS);
                raw.write(copy, 0).get(10, TimeUnit.SECONDS);
                return expect(VALUES.clone(), floats(buffer));
            }
        });
        checks.put("buffer.await_on_stream", () -> {
            try (Buffer buffer = vector()) {
                long stream = device().stream();
                buffer.awaitOn(stream);
                return "stream " + Long.toHexString(stream);
            }
        });
        checks.put("buffer.copy_raw_to_host_later", () -> {
            try (Arena arena = Arena.ofShared();
                    Buffer buffer = vector()) {
                CompletableFuture<MemorySegment> destination = new CompletableFuture<>();
                var done = buffer.copyRawToHostLater(destination, 0, 16);
                MemorySegment copy = arena.allocate(16, 64);
                destination.complete(copy);
                done.get(30, TimeUnit.SECONDS);
                return expect(VALUES, copy.toArray(ValueLayout.JAVA_FLOAT));
            }
        });
        checks.put("buffer.donate_after", () -> {
            CompletableFuture<String> dependency = new CompletableFuture<>();
            try (Buffer buffer = vector();
                    Buffer donated = buffer.donateAfter(dependency)) {
                dependency.complete("done");
                return expect(VALUES, floats(donated));
            }
        });
        checks.put("transfer.in_pieces", () -> {
            try (Arena arena = Arena.ofShared();
                    HostTransfer transfer = client().transfer(List.of(VECTOR), memory());
                    Buffer buffer = transfer.buffer(0)) {
                MemorySegment data = arena.allocate(16, 64).copyFrom(MemorySegment.ofArray(VALUES));
                transfer.send(0, data.asSlice(0, 8), 0, false).get(30, TimeUnit.SECONDS);
                transfer.send(0, data.asSlice(8, 8), 8, true).get(30, TimeUnit.SECONDS);
                return expect(VALUES, floats(buffer));
            }
        });
        checks.put("transfer.whole", () -> {
            try (Arena arena = Arena.ofShared();
                    HostTransfer transfer = client().transfer(List.of(VECTOR), memory());
                    Buffer buffer = transfer.buffer(0)) {
                transfer.sendWhole(0, arena.allocate(16, 64).copyFrom(MemorySegment.ofArray(VALUES)))
                        .get(30, TimeUnit.SECONDS);
                return expect(VALUES, floats(buffer));
            }
        });
        checks.put("transfer.failure_reaches_the_buffer", () -> {
            try (HostTransfer transfer = client().transfer(List.of(VECTOR), memory());
                    Buffer buffer = transfer.buffer(0)) {
                transfer.fail(0, 15, "the file was cut");
                return expectError(StatusException.DataLoss.class, () -> {
                    buffer.await();
                    return "no error";
                });
            }
        });
    }

    private Object allTypes() {
        Client here = client();
        List<String> refused = new ArrayList<>();
        int passed = 0;
        for (ElementType element : ElementType.values()) {
            if (element == ElementType.TOKEN) {
                continue;
            }
            byte[] data = new byte[6 * element.hostBytes()];
            for (int i = 0; i < data.length; i++) {
                data[i] = (byte)
                        (element == ElementType.PRED || element.bits() == 1
                                ? i % 2
                                : element.bits() < 8 ? i % 2 : i + 1);
            }
            try (Buffer buffer = here.put(MemorySegment.ofArray(data), TensorType.of(element, 2, 3), device())) {
                byte[] back = new byte[data.length];
                buffer.toHost(MemorySegment.ofArray(back));
                expect(Arrays.toString(data), Arrays.toString(back));
                passed++;
            } catch (StatusException | UsageException e) {
                refused.add(element.name());
            }
        }
        if (passed < 12) {
            throw new AssertionError("only " + passed + " types passed; refused: " + refused);
        }
        return passed + " types" + (refused.isEmpty() ? "" : "; refused: " + refused);
    }
}

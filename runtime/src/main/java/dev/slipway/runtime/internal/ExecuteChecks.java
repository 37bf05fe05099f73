// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.Buffer;
import dev.slipway.runtime.CompileOptions;
import dev.slipway.runtime.Device;
import dev.slipway.runtime.ElementType;
import dev.slipway.runtime.ExecuteContext;
import dev.slipway.runtime.ExecuteOptions;
import dev.slipway.runtime.LoadedExecutable;
import dev.slipway.runtime.PjrtException;
import dev.slipway.runtime.Program;
import dev.slipway.runtime.TensorType;
import dev.slipway.runtime.UsageException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Programs that run. */
final class ExecuteChecks extends CheckGroup {

    ExecuteChecks(Subject subject) {
        super(subject);
    }

    @Override
    void addTo(Map<String, Body> checks) {
        checks.put("execute.one_device", () -> {
            try (Buffer x = vector();
                    Buffer y = loaded().execute(x).getFirst()) {
                return expect(new float[] {2, 4, 6, 8}, floats(y));
            }
        });
        checks.put("execute.two_devices_and_a_collective", () -> {
            needTwoDevices();
            try (LoadedExecutable sum =
                    client().compile(Program.stablehlo(SUM_OF_TWO), CompileOptions.of(o -> o.numPartitions(2)))) {
                List<List<Buffer>> arguments = new ArrayList<>();
                for (Device device : sum.devices()) {
                    arguments.add(List.of(client().put(
                                    MemorySegment.ofArray(new float[] {device.id() + 1}),
                                    TensorType.of(ElementType.F32, 1),
                                    device)));
                }
                List<List<Buffer>> results = sum.execute(arguments, ExecuteOptions.of(o -> o.launchId(7)));
                try {
                    return expect(new float[] {3}, floats(results.getLast().getFirst()));
                } finally {
                    arguments.forEach(list -> list.forEach(Buffer::close));
                    results.forEach(list -> list.forEach(Buffer::close));
                }
            }
        });
        checks.put("execute.donation", () -> {
            try (LoadedExecutable donating = client().compile(Program.stablehlo(DONATING), CompileOptions.defaults());
                    Buffer x = vector();
                    Buffer y = donating.execute(x).getFirst()) {
                expect(new float[] {2, 4, 6, 8}, floats(y));
                return "argument deleted: " + expect(true, x.isDeleted());
            }
        });
        checks.put("execute.kept_from_donation", () -> {
            try (LoadedExecutable donating = client().compile(Program.stablehlo(DONATING), CompileOptions.defaults());
                    Buffer x = vector();
                    Buffer y = donating.execute(List.of(List.of(x)), ExecuteOptions.of(o -> o.nonDonatable(0)))
                            .getFirst()
                            .getFirst()) {
                expect(new float[] {2, 4, 6, 8}, floats(y));
                return expect(VALUES, floats(x));
            }
        });
        checks.put("execute.with_context", () -> {
            try (ExecuteContext context = plugin.executeContext();
                    Buffer x = vector();
                    Buffer y = loaded().execute(List.of(List.of(x)), ExecuteOptions.of(o -> o.context(context)))
                            .getFirst()
                            .getFirst()) {
                return expect(new float[] {2, 4, 6, 8}, floats(y));
            }
        });
        checks.put("execute.call_location", () -> {
            try (Buffer x = vector();
                    Buffer y = loaded().execute(
                                    List.of(List.of(x)), ExecuteOptions.of(o -> o.callLocation("Here.java:1")))
                            .getFirst()
                            .getFirst()) {
                return expect(new float[] {2, 4, 6, 8}, floats(y));
            }
        });
        checks.put(
                "execute.wrong_argument_count_is_an_error",
                () -> expectError(PjrtException.class, () -> {
                    try (Buffer x = vector()) {
                        return loaded().execute(x, x);
                    }
                }));
        checks.put(
                "execute.wrong_shape_is_an_error",
                () -> expectError(PjrtException.class, () -> {
                    try (Buffer x = client().put(
                                    MemorySegment.ofArray(new float[8]), TensorType.of(ElementType.F32, 8), device())) {
                        return loaded().execute(x);
                    }
                }));
        checks.put("execute.a_thousand_times", () -> {
            Buffer x = vector();
            for (int i = 0; i < 1000; i++) {
                Buffer y = loaded().execute(x).getFirst();
                x.close();
                x = y;
                if (i % 100 == 99) {
                    x.close();
                    x = vector();
                }
            }
            x.close();
            return "1000 runs";
        });
        checks.put("execute.custom_call_in_java", () -> {
            if (client().platform().name().equals("cpu")) {
                String name = "slipway_conformance_" + Long.toHexString(System.nanoTime());
                plugin.registerHandler(name, "Host", call -> {
                    for (long i = 0; i < 4; i++) {
                        float v = call.arguments().getFirst().data().getAtIndex(ValueLayout.JAVA_FLOAT, i);
                        call.results().getFirst().data().setAtIndex(ValueLayout.JAVA_FLOAT, i, 10 * v);
                    }
                });
                String program = """
                        func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
                          %y = stablehlo.custom_call @TARGET(%x) {api_version = 4 : i32} : (tensor<4xf32>) -> tensor<4xf32>
                          return %y : tensor<4xf32>
                        }
                        """.replace("TARGET", name);
                try (LoadedExecutable custom = client().compile(Program.stablehlo(program), CompileOptions.defaults());
                        Buffer x = vector();
                        Buffer y = custom.execute(x).getFirst()) {
                    return expect(new float[] {10, 20, 30, 40}, floats(y));
                }
            }
            throw new UsageException.Unsupported("handlers in Java run on the CPU only");
        });
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import dev.slipway.aot.AotCompiler;
import dev.slipway.lowering.Form;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.Module;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import dev.slipway.stablehlo.Verifier;
import dev.slipway.topology.Topology;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Modules built, printed, written, parsed, read and verified: the decode program of a model, and chains of additions of growing length.
 *
 * <p>{@code ./slipway-bench jmh StablehloBenchmark}
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class StablehloBenchmark {

    /** A decode program, as a module and as text. */
    @State(Scope.Benchmark)
    public static class Decode {
        /** Whose program. */
        @Param({"smollm2-135m", "llama-3-8b"})
        public String model = "smollm2-135m";

        /** Hundreds of operations, or thousands. */
        @Param({"SCANNED", "UNROLLED"})
        public Form.Layers layers = Form.Layers.SCANNED;

        private Module module = chain(1);
        private String text = "";
        private byte[] bytecode = new byte[0];

        /** Lowers and prints it. */
        @Setup
        public void lower() {
            Topology machine = Cases.machine("v5e-16");
            module = AotCompiler.lower(
                            Cases.runner(Cases.model(model), machine).withForm(Cases.form(machine, layers)),
                            Cases.batch(machine),
                            machine,
                            AotCompiler.SAMPLE_DECODE)
                    .program()
                    .module();
            text = module.toString();
            bytecode = module.toBytecode();
        }
    }

    /** How long a chain. */
    @State(Scope.Benchmark)
    public static class Chain {
        /** Operations in it. */
        @Param({"100", "1000", "10000"})
        public int ops = 100;
    }

    /** A module of one function that adds its argument to itself, and so on. */
    static Module chain(int ops) {
        return Module.build(
                "chain",
                m -> m.function("main", f -> {
                    Value value = f.argument(TensorType.of(ElementType.F32, 8, 128));
                    for (int i = 0; i < ops; i++) {
                        value = f.add(value, value);
                    }
                    f.returns(value);
                }));
    }

    /** Builds a chain; types are inferred and checked as it grows. */
    @Benchmark
    public Module build(Chain chain) {
        return chain(chain.ops);
    }

    /** A module to text. */
    @Benchmark
    public String print(Decode decode) {
        return decode.module.toString();
    }

    /** Text to a module. */
    @Benchmark
    public Module parse(Decode decode) {
        return Module.parse(decode.text);
    }

    /** A module to MLIR's bytecode. */
    @Benchmark
    public byte[] writeBytecode(Decode decode) {
        return decode.module.toBytecode();
    }

    /** Bytecode to a module. */
    @Benchmark
    public Module readBytecode(Decode decode) {
        return Module.fromBytecode(decode.bytecode);
    }

    /** A module held to all rules. */
    @Benchmark
    public Module verify(Decode decode) {
        Verifier.verify(decode.module);
        return decode.module;
    }
}

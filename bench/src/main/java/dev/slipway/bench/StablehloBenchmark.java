// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import com.google.common.base.Splitter;
import dev.slipway.aot.AotCompiler;
import dev.slipway.lowering.Form;
import dev.slipway.stablehlo.ComparisonDirection;
import dev.slipway.stablehlo.DotDimensionNumbers;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.Module;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Value;
import dev.slipway.stablehlo.Verifier;
import dev.slipway.topology.Topology;
import java.util.List;
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
    // With the two operations of the reducer's region and its initial value.
    private static final int OPS_OF_A_LAYER = 12;

    /** A program, as a module, as text and as bytecode. */
    @State(Scope.Benchmark)
    public static class Program {
        /**
         * A decode program with its layers scanned or unrolled, hundreds of operations or thousands; or how many operations of
         * many kinds: 130,000 make a text of 10 MB.
         */
        @Param({
            "smollm2-135m SCANNED",
            "smollm2-135m UNROLLED",
            "llama-3-8b SCANNED",
            "llama-3-8b UNROLLED",
            "10000",
            "130000"
        })
        public String program = "smollm2-135m SCANNED";

        private Module module = chain(1);
        private String text = "";
        private byte[] bytecode = new byte[0];

        /** Makes it. */
        @Setup
        public void make() {
            List<String> words = Splitter.on(' ').splitToList(program);
            module = words.size() == 1
                    ? program(Integer.parseInt(program))
                    : decode(words.get(0), Form.Layers.valueOf(words.get(1)));
            text = module.toString();
            bytecode = module.toBytecode();
        }
    }

    private static Module decode(String model, Form.Layers layers) {
        Topology machine = Cases.machine("v5e-16");
        return AotCompiler.lower(
                        Cases.runner(Cases.model(model), machine).withForm(Cases.form(machine, layers)),
                        Cases.batch(machine),
                        machine,
                        AotCompiler.SAMPLE_DECODE)
                .program()
                .module();
    }

    /** How much to build. */
    @State(Scope.Benchmark)
    public static class Chain {
        /** Operations. */
        @Param({"100", "1000", "10000"})
        public int ops = 100;
    }

    /** A module of one function: layers of products, constants, reductions with a region, comparisons and so on. */
    static Module program(int ops) {
        TensorType matrix = TensorType.of(ElementType.F32, 64, 64);
        return Module.build(
                "program",
                m -> m.function("main", f -> {
                    Value x = f.argument(matrix);
                    Value w = f.argument(matrix);
                    for (int i = 0; i < ops; i += OPS_OF_A_LAYER) {
                        Value product = f.dotGeneral(x, w, DotDimensionNumbers.contracting(1, 0), ElementType.F32);
                        Value scaled = f.multiply(f.tanh(f.add(product, x)), f.constant(matrix, 0.5 + i));
                        Value largest = f.broadcastInDim(f.reduceMax(scaled, 1), new long[] {64, 64}, 0);
                        x = f.select(f.compare(scaled, largest, ComparisonDirection.LT), scaled, largest);
                    }
                    f.returns(x);
                }));
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

    /** Builds operations of many kinds. */
    @Benchmark
    public Module buildProgram(Chain chain) {
        return program(chain.ops);
    }

    /** A module to text. */
    @Benchmark
    public String print(Program program) {
        return program.module.toString();
    }

    /** Text to a module. */
    @Benchmark
    public Module parse(Program program) {
        return Module.parse(program.text);
    }

    /** A module to MLIR's bytecode. */
    @Benchmark
    public byte[] writeBytecode(Program program) {
        return program.module.toBytecode();
    }

    /** Bytecode to a module. */
    @Benchmark
    public Module readBytecode(Program program) {
        return Module.fromBytecode(program.bytecode);
    }

    /** A module held to all rules. */
    @Benchmark
    public Module verify(Program program) {
        Verifier.verify(program.module);
        return program.module;
    }
}

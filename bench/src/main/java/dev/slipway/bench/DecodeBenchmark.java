// SPDX-License-Identifier: Apache-2.0
package dev.slipway.bench;

import dev.slipway.aot.DecodeSession;
import dev.slipway.aot.InferenceRunner;
import dev.slipway.aot.PluginLocator;
import dev.slipway.checkpoint.Checkpoint;
import dev.slipway.lowering.DecodeOptions;
import dev.slipway.lowering.DecoderConfig;
import dev.slipway.topology.Topologies;
import java.util.Map;
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
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * SmolLM2-135M on this CPU in the form that the CPU is given, 128 tokens of prompt in each row: a decode step, which gives a token to each row. Tokens a
 * second are {@code batch * 1000 / (ms per step)}.
 *
 * <p>{@code ./slipway-bench jmh DecodeBenchmark}
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 8)
@Measurement(iterations = 64)
@Fork(1)
public class DecodeBenchmark {
    private static final int PROMPT = 128;

    /** Rows. */
    @Param({"1", "8"})
    public int batch = 1;

    private final Checkpoint checkpoint = Cases.smollm2();
    private final DecoderConfig config = checkpoint.config();
    private final DecodeSession session = DecodeSession.open(
            PluginLocator.ofUser(),
            InferenceRunner.of(config, DecodeOptions.greedy(2 * PROMPT)),
            Topologies.resolve("cpu"),
            checkpoint.parameters());
    private DecodeSession.TokenStream stream = start(1);

    private DecodeSession.TokenStream start(int rows) {
        return session.stream(Cases.prompts(rows, PROMPT), PROMPT, Map.of(), new int[4]);
    }

    /** Reads the prompts. */
    @Setup
    public void prefill() {
        stream = start(batch);
    }

    /** Closes everything. */
    @TearDown
    public void close() {
        session.close();
        checkpoint.close();
    }

    /** A token for each row. */
    @Benchmark
    public int[] step() {
        return stream.advance();
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slipway.runtime.Partitioner;
import dev.slipway.runtime.Program;
import dev.slipway.runtime.Sharding;
import dev.slipway.runtime.internal.abi.JAX_CustomCallPartitioner_Callbacks;
import dev.slipway.runtime.internal.abi.JAX_CustomCallPartitioner_InferShardingFromOperands_Args;
import dev.slipway.runtime.internal.abi.JAX_CustomCallPartitioner_Partition_Args;
import dev.slipway.runtime.internal.abi.JAX_CustomCallPartitioner_PropagateUserSharding_Args;
import dev.slipway.runtime.internal.abi.JAX_CustomCallPartitioner_aval;
import dev.slipway.runtime.internal.abi.JAX_CustomCallPartitioner_string;
import dev.slipway.runtime.internal.abi.JAX_CustomCallPartitioner_version_and_error;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What a partitioner says while shardings are propagated, asked as XLA asks: through its C functions. */
class PartitionerUpcallTest {

    /** {@code f32[8,4]} as a {@code ShapeProto}. */
    private static final byte[] SHAPE = {16, 11, 26, 2, 8, 4};

    private static final Sharding ROWS = Sharding.tiled(List.of(2, 1), 1);
    private static final Sharding COLUMNS = Sharding.tiled(List.of(1, 2), 1);

    private final Arena arena = Arena.ofAuto();

    private void set(MemorySegment string, byte[] bytes) {
        JAX_CustomCallPartitioner_string.data(string, Native.bytes(arena, bytes).address());
        JAX_CustomCallPartitioner_string.size(string, bytes.length);
    }

    private static byte[] get(MemorySegment string) {
        return Native.bytes(
                JAX_CustomCallPartitioner_string.data(string), JAX_CustomCallPartitioner_string.size(string));
    }

    /** The shape and sharding of an argument. */
    private MemorySegment argument() {
        MemorySegment aval = JAX_CustomCallPartitioner_aval.in(arena);
        set(JAX_CustomCallPartitioner_aval.shape(aval), SHAPE);
        JAX_CustomCallPartitioner_aval.has_sharding(aval, true);
        set(JAX_CustomCallPartitioner_aval.sharding(aval), ROWS.proto());
        return aval;
    }

    private Optional<Sharding> infer(MemorySegment callbacks) {
        MemorySegment args = JAX_CustomCallPartitioner_InferShardingFromOperands_Args.in(arena);
        JAX_CustomCallPartitioner_InferShardingFromOperands_Args.num_args(args, 1);
        JAX_CustomCallPartitioner_InferShardingFromOperands_Args.op_args(
                args, argument().address());
        set(JAX_CustomCallPartitioner_InferShardingFromOperands_Args.result_shape(args), SHAPE);
        Native.free(JAX_CustomCallPartitioner_Callbacks.infer_sharding(callbacks), callbacks.address(), args.address());
        MemorySegment header = JAX_CustomCallPartitioner_InferShardingFromOperands_Args.header(args);
        assertThat(JAX_CustomCallPartitioner_version_and_error.has_error(header))
                .isFalse();
        Optional<Sharding> inferred = JAX_CustomCallPartitioner_InferShardingFromOperands_Args.has_result_sharding(args)
                ? Optional.of(Sharding.of(
                        get(JAX_CustomCallPartitioner_InferShardingFromOperands_Args.result_sharding(args))))
                : Optional.empty();
        cleanUp(header);
        return inferred;
    }

    private Sharding propagate(MemorySegment callbacks, Sharding wanted) {
        MemorySegment args = JAX_CustomCallPartitioner_PropagateUserSharding_Args.in(arena);
        set(JAX_CustomCallPartitioner_PropagateUserSharding_Args.result_shape(args), SHAPE);
        set(JAX_CustomCallPartitioner_PropagateUserSharding_Args.result_sharding(args), wanted.proto());
        Native.free(
                JAX_CustomCallPartitioner_Callbacks.propagate_user_sharding(callbacks),
                callbacks.address(),
                args.address());
        MemorySegment header = JAX_CustomCallPartitioner_PropagateUserSharding_Args.header(args);
        assertThat(JAX_CustomCallPartitioner_version_and_error.has_error(header))
                .isFalse();
        Sharding propagated =
                Sharding.of(get(JAX_CustomCallPartitioner_PropagateUserSharding_Args.result_sharding(args)));
        cleanUp(header);
        return propagated;
    }

    /** The error that partitioning ends in. */
    private String partitionError(MemorySegment callbacks) {
        MemorySegment args = JAX_CustomCallPartitioner_Partition_Args.in(arena);
        JAX_CustomCallPartitioner_Partition_Args.num_args(args, 1);
        JAX_CustomCallPartitioner_Partition_Args.op_args(args, argument().address());
        set(JAX_CustomCallPartitioner_aval.shape(JAX_CustomCallPartitioner_Partition_Args.op_result(args)), SHAPE);
        Native.free(JAX_CustomCallPartitioner_Callbacks.partition(callbacks), callbacks.address(), args.address());
        MemorySegment header = JAX_CustomCallPartitioner_Partition_Args.header(args);
        String error = JAX_CustomCallPartitioner_version_and_error.has_error(header)
                ? new String(get(JAX_CustomCallPartitioner_version_and_error.error_msg(header)), StandardCharsets.UTF_8)
                : "";
        cleanUp(header);
        return error;
    }

    private static void cleanUp(MemorySegment header) {
        Native.free(
                JAX_CustomCallPartitioner_version_and_error.cleanup_fn(header),
                JAX_CustomCallPartitioner_version_and_error.data(header));
    }

    /** A partitioner with one answer to both questions. */
    private static MemorySegment answering(Sharding answer) {
        return PartitionerUpcall.callbacks(new Partitioner() {
            @Override
            public Parts partition(Call call) {
                return new Parts(Program.stablehlo("func.func @main() { return }"), List.of(ROWS), ROWS);
            }

            @Override
            public Optional<Sharding> infer(Call call) {
                assertThat(call.arguments().getFirst().sharding()).contains(ROWS);
                return Optional.of(answer);
            }

            @Override
            public Sharding propagate(Array result, Sharding wanted, String config) {
                assertThat(result.type()).hasToString("tensor<8x4xf32>");
                return answer;
            }
        });
    }

    @Test
    void whatARuleInfersAndPropagatesIsTheCompilers() {
        MemorySegment callbacks = answering(COLUMNS);
        assertThat(infer(callbacks)).contains(COLUMNS);
        assertThat(propagate(callbacks, ROWS)).isEqualTo(COLUMNS);
        assertThat(partitionError(callbacks)).isEmpty();
    }

    @Test
    void aRuleThatSaysNothingLeavesItToTheCompiler() {
        MemorySegment callbacks = PartitionerUpcall.callbacks(call -> {
            throw new IllegalStateException("not asked");
        });
        assertThat(infer(callbacks)).isEmpty();
        assertThat(propagate(callbacks, ROWS)).isEqualTo(ROWS);
    }

    @Test
    void aShardingOfAnotherRankIsKeptFromXlaAndFailsTheCompilation() {
        MemorySegment callbacks = answering(Sharding.tiled(List.of(2, 1, 1), 1));
        // XLA ends the process on an error here, and on a sharding that does not fit.
        assertThat(infer(callbacks)).isEmpty();
        assertThat(propagate(callbacks, ROWS)).isEqualTo(ROWS);
        assertThat(partitionError(callbacks)).contains("does not fit tensor<8x4xf32>");
        assertThat(partitionError(callbacks)).isEmpty();
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal;

import dev.slipway.runtime.Partitioner;
import dev.slipway.runtime.Sharding;
import dev.slipway.runtime.StatusException;
import dev.slipway.runtime.TensorType;
import dev.slipway.runtime.UsageException;
import dev.slipway.runtime.internal.abi.JAX_CustomCallPartitioner_Callbacks;
import dev.slipway.runtime.internal.abi.JAX_CustomCallPartitioner_InferShardingFromOperands_Args;
import dev.slipway.runtime.internal.abi.JAX_CustomCallPartitioner_Partition_Args;
import dev.slipway.runtime.internal.abi.JAX_CustomCallPartitioner_PropagateUserSharding_Args;
import dev.slipway.runtime.internal.abi.JAX_CustomCallPartitioner_aval;
import dev.slipway.runtime.internal.abi.JAX_CustomCallPartitioner_string;
import dev.slipway.runtime.internal.abi.JAX_CustomCallPartitioner_version_and_error;
import dev.slipway.runtime.internal.hlo.ProtoReader;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A {@link Partitioner} as the C struct of functions that the compiler calls. XLA ends the process if {@code infer} or {@code propagate}
 * answers with an error, so theirs is kept and given by {@code partition}.
 */
public final class PartitionerUpcall {

    /** XLA wants a destructor, and may call it when the JVM is gone: this is a function of C's that does nothing. */
    private static final MemorySegment NOTHING =
            Linker.nativeLinker().defaultLookup().find("getpid").orElseThrow();

    private static final FunctionDescriptor FUNCTION =
            FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG);

    private final Partitioner partitioner;
    private volatile @Nullable Throwable failure;

    private PartitionerUpcall(Partitioner partitioner) {
        this.partitioner = partitioner;
    }

    /** The struct; it lives as long as the process, as registrations do. */
    public static MemorySegment callbacks(Partitioner partitioner) {
        PartitionerUpcall upcall = new PartitionerUpcall(partitioner);
        MemorySegment callbacks = JAX_CustomCallPartitioner_Callbacks.in(Arena.global());
        JAX_CustomCallPartitioner_Callbacks.dtor(callbacks, NOTHING.address());
        JAX_CustomCallPartitioner_Callbacks.partition(callbacks, upcall.stub("partition"));
        JAX_CustomCallPartitioner_Callbacks.infer_sharding(callbacks, upcall.stub("infer"));
        JAX_CustomCallPartitioner_Callbacks.propagate_user_sharding(callbacks, upcall.stub("propagate"));
        JAX_CustomCallPartitioner_Callbacks.can_side_effecting_have_replicated_sharding(
                callbacks, partitioner.mayReplicateSideEffects());
        return callbacks;
    }

    private long stub(String method) {
        return Native.upcall(MethodHandles.lookup(), this, method, FUNCTION).address();
    }

    @SuppressWarnings("unused") // called from C
    private void partition(long callbacks, long address) {
        MemorySegment args = Native.at(address, JAX_CustomCallPartitioner_Partition_Args.LAYOUT.byteSize());
        MemorySegment header = JAX_CustomCallPartitioner_Partition_Args.header(args);
        try {
            Throwable before = failure;
            failure = null;
            if (before != null) {
                throw before;
            }
            int count = Math.toIntExact(JAX_CustomCallPartitioner_Partition_Args.num_args(args));
            Partitioner.Parts parts = partitioner.partition(new Partitioner.Call(
                    arrays(JAX_CustomCallPartitioner_Partition_Args.op_args(args), count),
                    array(JAX_CustomCallPartitioner_Partition_Args.op_result(args)),
                    text(JAX_CustomCallPartitioner_Partition_Args.backend_config(args))));
            if (parts.arguments().size() != count) {
                throw new UsageException.BadArgument(
                        "the partitioner gave back " + parts.arguments().size() + " shardings for the " + count
                                + " arguments of the call: one for each is needed");
            }
            Answer answer = new Answer();
            for (Sharding sharding : parts.arguments()) {
                answer.add(sharding.proto());
            }
            answer.add(parts.program().code());
            answer.add(parts.result().proto());
            long strings = answer.give(header);
            JAX_CustomCallPartitioner_Partition_Args.args_sharding(args, strings);
            answer.copy(count, JAX_CustomCallPartitioner_Partition_Args.mlir_module(args));
            answer.copy(count + 1, JAX_CustomCallPartitioner_Partition_Args.result_sharding(args));
        } catch (Throwable e) {
            // Nothing may be thrown into C: whatever comes is the compilation's error.
            Answer answer = new Answer();
            answer.add(String.valueOf(e).getBytes(StandardCharsets.UTF_8));
            long _ = answer.give(header);
            answer.copy(0, JAX_CustomCallPartitioner_version_and_error.error_msg(header));
            JAX_CustomCallPartitioner_version_and_error.has_error(header, true);
            JAX_CustomCallPartitioner_version_and_error.code(
                    header, e instanceof StatusException status ? status.code() : 13);
        }
    }

    @SuppressWarnings("unused") // called from C
    private void infer(long callbacks, long address) {
        MemorySegment args =
                Native.at(address, JAX_CustomCallPartitioner_InferShardingFromOperands_Args.LAYOUT.byteSize());
        Answer answer = new Answer();
        JAX_CustomCallPartitioner_InferShardingFromOperands_Args.has_result_sharding(args, false);
        try {
            Partitioner.Array result = new Partitioner.Array(
                    types(JAX_CustomCallPartitioner_InferShardingFromOperands_Args.result_shape(args)),
                    Optional.empty());
            Optional<Sharding> inferred = partitioner.infer(new Partitioner.Call(
                    arrays(
                            JAX_CustomCallPartitioner_InferShardingFromOperands_Args.op_args(args),
                            Math.toIntExact(JAX_CustomCallPartitioner_InferShardingFromOperands_Args.num_args(args))),
                    result,
                    text(JAX_CustomCallPartitioner_InferShardingFromOperands_Args.backend_config(args))));
            if (inferred.isPresent()) {
                checkFits(inferred.get(), result);
                answer.add(inferred.get().proto());
            }
        } catch (Throwable e) {
            failure = e;
        }
        long _ = answer.give(JAX_CustomCallPartitioner_InferShardingFromOperands_Args.header(args));
        if (!answer.isEmpty()) {
            JAX_CustomCallPartitioner_InferShardingFromOperands_Args.has_result_sharding(args, true);
            answer.copy(0, JAX_CustomCallPartitioner_InferShardingFromOperands_Args.result_sharding(args));
        }
    }

    @SuppressWarnings("unused") // called from C
    private void propagate(long callbacks, long address) {
        MemorySegment args = Native.at(address, JAX_CustomCallPartitioner_PropagateUserSharding_Args.LAYOUT.byteSize());
        byte[] wanted = bytes(JAX_CustomCallPartitioner_PropagateUserSharding_Args.result_sharding(args));
        Answer answer = new Answer();
        try {
            Partitioner.Array result = new Partitioner.Array(
                    types(JAX_CustomCallPartitioner_PropagateUserSharding_Args.result_shape(args)), Optional.empty());
            Sharding propagated = partitioner.propagate(
                    result,
                    Sharding.of(wanted),
                    text(JAX_CustomCallPartitioner_PropagateUserSharding_Args.backend_config(args)));
            checkFits(propagated, result);
            answer.add(propagated.proto());
        } catch (Throwable e) {
            failure = e;
            answer.add(wanted);
        }
        long _ = answer.give(JAX_CustomCallPartitioner_PropagateUserSharding_Args.header(args));
        answer.copy(0, JAX_CustomCallPartitioner_PropagateUserSharding_Args.result_sharding(args));
    }

    private static void checkFits(Sharding sharding, Partitioner.Array result) {
        if (result.types().size() == 1
                && !sharding.fits(result.type().dimensions().size())) {
            throw new UsageException.BadArgument("the sharding " + sharding + " does not fit " + result.type()
                    + ": one part count for each dimension is needed");
        }
    }

    private static List<Partitioner.Array> arrays(long address, int count) {
        long stride = JAX_CustomCallPartitioner_aval.LAYOUT.byteSize();
        List<Partitioner.Array> arrays = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            arrays.add(array(Native.at(address + i * stride, stride)));
        }
        return arrays;
    }

    private static Partitioner.Array array(MemorySegment aval) {
        return new Partitioner.Array(
                types(JAX_CustomCallPartitioner_aval.shape(aval)),
                JAX_CustomCallPartitioner_aval.has_sharding(aval)
                        ? Optional.of(Sharding.of(bytes(JAX_CustomCallPartitioner_aval.sharding(aval))))
                        : Optional.empty());
    }

    /** The fields of {@code ShapeProto}; XLA's numbers of element types are those of FFI. */
    private static List<TensorType> types(MemorySegment shape) {
        ProtoReader proto = ProtoReader.of(bytes(shape));
        List<ProtoReader> elements = proto.messages(4);
        return (elements.isEmpty() ? List.of(proto) : elements)
                .stream()
                        .map(array -> TensorType.of(
                                FfiUpcall.elementType((int) array.number(2)),
                                array.numbers(3).stream()
                                        .mapToLong(Long::longValue)
                                        .toArray()))
                        .toList();
    }

    private static byte[] bytes(MemorySegment string) {
        return Native.bytes(
                JAX_CustomCallPartitioner_string.data(string), JAX_CustomCallPartitioner_string.size(string));
    }

    private static String text(MemorySegment string) {
        return new String(bytes(string), StandardCharsets.UTF_8);
    }

    /** Strings that are handed over in one block, which the compiler frees when it has read them. */
    private static final class Answer {
        private final List<byte[]> texts = new ArrayList<>();
        private MemorySegment strings = MemorySegment.NULL;

        void add(byte[] text) {
            texts.add(text);
        }

        boolean isEmpty() {
            return texts.isEmpty();
        }

        /** Puts the strings one after the other, with an array of them before; returns its address. */
        long give(MemorySegment header) {
            long stride = JAX_CustomCallPartitioner_string.LAYOUT.byteSize();
            long array = texts.size() * stride;
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            all.writeBytes(new byte[Math.toIntExact(array)]);
            texts.forEach(all::writeBytes);
            long block = Native.malloc(all.toByteArray());
            strings = Native.at(block, array);
            long at = block + array;
            for (int i = 0; i < texts.size(); i++) {
                MemorySegment string = strings.asSlice(i * stride, stride);
                JAX_CustomCallPartitioner_string.data(string, at);
                JAX_CustomCallPartitioner_string.size(string, texts.get(i).length);
                at += texts.get(i).length;
            }
            JAX_CustomCallPartitioner_version_and_error.data(header, block);
            JAX_CustomCallPartitioner_version_and_error.cleanup_fn(header, Native.FREE.address());
            JAX_CustomCallPartitioner_version_and_error.has_error(header, false);
            return block;
        }

        void copy(int index, MemorySegment to) {
            long stride = JAX_CustomCallPartitioner_string.LAYOUT.byteSize();
            MemorySegment.copy(strings, index * stride, to, 0, stride);
        }
    }
}

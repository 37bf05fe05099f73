// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime;

import java.util.List;
import java.util.Optional;

/**
 * Tells a plugin's compiler how a custom call is cut over devices (the custom partitioner extension, {@link Plugin#registerPartitioner}). It
 * is called on a thread of the compiler's and must not call the plugin.
 *
 * {@snippet :
 * cuda.registerPartitioner("rows_alone", call -> new Partitioner.Parts(
 *         Program.stablehlo("""
 *                 func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
 *                   %y = stablehlo.custom_call @rows_alone(%x) {api_version = 4 : i32} : (tensor<4x4xf32>) -> tensor<4x4xf32>
 *                   return %y : tensor<4x4xf32>
 *                 }
 *                 """),
 *         List.of(Sharding.tiled(List.of(2, 1), 1)),
 *         Sharding.tiled(List.of(2, 1), 1)));
 * }
 */
@FunctionalInterface
public interface Partitioner {

    /**
     * An argument or the result of a call, whole.
     *
     * @param types one, or those of the elements of a tuple
     */
    record Array(List<TensorType> types, Optional<Sharding> sharding) {
        public Array {
            types = List.copyOf(types);
        }

        /**
         * The type of what is no tuple.
         *
         * @throws UsageException.BadArgument if it is one
         */
        public TensorType type() {
            if (types.size() != 1) {
                throw new UsageException.BadArgument("a tuple of " + types + " has no one type");
            }
            return types.getFirst();
        }
    }

    /**
     * A call.
     *
     * @param config its {@code backend_config}
     */
    record Call(List<Array> arguments, Array result, String config) {
        public Call {
            arguments = List.copyOf(arguments);
        }
    }

    /**
     * A call that was cut.
     *
     * @param program what each device does in place of the call, on its parts: StableHLO with a {@code @main}
     * @param arguments how the arguments must lie for that, one for each
     * @param result how the result lies then
     */
    record Parts(Program program, List<Sharding> arguments, Sharding result) {
        /**
         * A call that was cut.
         *
         * @throws UsageException.BadArgument if the program is not StableHLO
         */
        public Parts {
            arguments = List.copyOf(arguments);
            if (!program.format().equals("mlir")) {
                throw new UsageException.BadArgument(
                        "the part of a device is to be StableHLO, not in the format '" + program.format() + "'");
            }
        }
    }

    /**
     * Cuts a call.
     *
     * @throws Exception and compiling fails, with its text in a {@link StatusException}
     */
    Parts partition(Call call) throws Exception;

    /**
     * How the result lies, from how the arguments do; empty if that says nothing. What is thrown here fails the compilation, once {@link
     * #partition} is due.
     */
    default Optional<Sharding> infer(Call call) throws Exception {
        return Optional.empty();
    }

    /** How the result is to lie, from how its user wants it. What is thrown here is treated as in {@link #infer}. */
    default Sharding propagate(Array result, Sharding wanted, String config) throws Exception {
        return wanted;
    }

    /** Whether a call that has side effects may be done on each device as a whole. */
    default boolean mayReplicateSideEffects() {
        return false;
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.OpDefinition.Trait;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import dev.slipway.stablehlo.Value;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The rule of each operation: what its operands, attributes and regions must be beyond the table, and what it gives. */
final class Rules {
    private Rules() {}

    /**
     * Checks an operation, and infers its result types.
     *
     * @return the types, or null where they cannot be inferred
     * @throws Violation if a rule is broken
     */
    static @Nullable List<Type> apply(Draft draft) {
        int id = draft.definition().id();
        return switch (id) {
            case OpTable.STABLEHLO_CONSTANT, OpTable.CHLO_CONSTANT, OpTable.SDY_CONSTANT ->
                ElementwiseRules.constant(draft);
            case OpTable.STABLEHLO_ABS, OpTable.STABLEHLO_REAL, OpTable.STABLEHLO_IMAG ->
                ElementwiseRules.realPart(draft);
            case OpTable.STABLEHLO_IS_FINITE, OpTable.CHLO_IS_INF, OpTable.CHLO_IS_NEG_INF, OpTable.CHLO_IS_POS_INF ->
                ElementwiseRules.predicate(draft);
            case OpTable.STABLEHLO_ADD -> ElementwiseRules.add(draft);
            case OpTable.STABLEHLO_COMPLEX -> ElementwiseRules.complex(draft);
            case OpTable.STABLEHLO_COMPARE -> ElementwiseRules.compare(draft);
            case OpTable.STABLEHLO_SELECT -> ElementwiseRules.select(draft);
            case OpTable.STABLEHLO_CLAMP -> ElementwiseRules.clamp(draft);
            case OpTable.STABLEHLO_CONVERT -> null;
            case OpTable.STABLEHLO_BITCAST_CONVERT -> ElementwiseRules.bitcastConvert(draft);
            case OpTable.STABLEHLO_IOTA -> ShapeRules.iota(draft);
            case OpTable.STABLEHLO_RESHAPE -> ShapeRules.reshape(draft);
            case OpTable.STABLEHLO_BROADCAST_IN_DIM -> ShapeRules.broadcastInDim(draft);
            case OpTable.STABLEHLO_TRANSPOSE -> ShapeRules.transpose(draft);
            case OpTable.STABLEHLO_SLICE -> ShapeRules.slice(draft);
            case OpTable.STABLEHLO_DYNAMIC_SLICE -> ShapeRules.dynamicSlice(draft);
            case OpTable.STABLEHLO_DYNAMIC_UPDATE_SLICE -> ShapeRules.dynamicUpdateSlice(draft);
            case OpTable.STABLEHLO_CONCATENATE -> ShapeRules.concatenate(draft);
            case OpTable.STABLEHLO_PAD -> ShapeRules.pad(draft);
            case OpTable.STABLEHLO_REVERSE -> ShapeRules.reverse(draft);
            case OpTable.STABLEHLO_GET_DIMENSION_SIZE -> ShapeRules.getDimensionSize(draft);
            case OpTable.STABLEHLO_GATHER -> IndexRules.gather(draft);
            case OpTable.STABLEHLO_SCATTER -> IndexRules.scatter(draft);
            case OpTable.STABLEHLO_DOT_GENERAL -> DotRules.dotGeneral(draft);
            case OpTable.STABLEHLO_REDUCE -> RegionRules.reduce(draft);
            case OpTable.STABLEHLO_REDUCE_WINDOW -> WindowRules.reduceWindow(draft);
            case OpTable.STABLEHLO_SORT -> RegionRules.sort(draft);
            case OpTable.STABLEHLO_WHILE -> RegionRules.whileLoop(draft);
            case OpTable.STABLEHLO_IF, OpTable.STABLEHLO_CASE -> RegionRules.branches(draft);
            case OpTable.STABLEHLO_RNG_BIT_GENERATOR -> RegionRules.rngBitGenerator(draft);
            case OpTable.STABLEHLO_OPTIMIZATION_BARRIER, OpTable.SDY_MANUAL_COMPUTATION -> operandTypesOrNull(draft);
            case OpTable.CHLO_TOP_K -> RegionRules.topK(draft);
            case OpTable.CHLO_SCAN -> ChloRules.scan(draft);
            case OpTable.CHLO_RAGGED_DOT -> DotRules.raggedDot(draft);
            case OpTable.CHLO_CONSTANT_LIKE -> ChloRules.constantLike(draft);
            case OpTable.CHLO_BROADCAST_SELECT -> ChloRules.broadcastSelect(draft);
            case OpTable.CHLO_BROADCAST_COMPARE, OpTable.CHLO_BROADCAST_COMPLEX -> ChloRules.broadcastBinary(draft);
            case OpTable.STABLEHLO_DOT -> DotRules.dot(draft);
            case OpTable.STABLEHLO_CONVOLUTION -> WindowRules.convolution(draft);
            case OpTable.STABLEHLO_DYNAMIC_CONV -> WindowRules.dynamicConv(draft);
            case OpTable.STABLEHLO_SELECT_AND_SCATTER -> WindowRules.selectAndScatter(draft);
            case OpTable.STABLEHLO_ALL_GATHER -> CollectiveRules.allGather(draft);
            case OpTable.STABLEHLO_ALL_REDUCE -> CollectiveRules.allReduce(draft);
            case OpTable.STABLEHLO_ALL_TO_ALL -> CollectiveRules.allToAll(draft);
            case OpTable.STABLEHLO_REDUCE_SCATTER -> CollectiveRules.reduceScatter(draft);
            case OpTable.STABLEHLO_COLLECTIVE_BROADCAST -> CollectiveRules.collectiveBroadcast(draft);
            case OpTable.STABLEHLO_COLLECTIVE_PERMUTE -> CollectiveRules.collectivePermute(draft);
            case OpTable.STABLEHLO_COLLECTIVE_REDUCE -> CollectiveRules.collectiveReduce(draft);
            case OpTable.STABLEHLO_INFEED -> CollectiveRules.infeed(draft);
            case OpTable.STABLEHLO_SEND -> CollectiveRules.send(draft);
            case OpTable.STABLEHLO_RECV -> CollectiveRules.recv(draft);
            case OpTable.STABLEHLO_OUTFEED, OpTable.STABLEHLO_AFTER_ALL, OpTable.STABLEHLO_CREATE_TOKEN ->
                List.of(Type.Token.INSTANCE);
            case OpTable.STABLEHLO_REPLICA_ID, OpTable.STABLEHLO_PARTITION_ID ->
                List.of(TensorType.of(ElementType.UI32));
            case OpTable.STABLEHLO_BATCH_NORM_GRAD -> MiscRules.batchNorm(draft, List.of(0, 4), true);
            case OpTable.STABLEHLO_BATCH_NORM_INFERENCE -> MiscRules.batchNorm(draft, List.of(0), false);
            case OpTable.STABLEHLO_BATCH_NORM_TRAINING -> MiscRules.batchNorm(draft, List.of(0), true);
            case OpTable.STABLEHLO_BROADCAST -> MiscRules.broadcast(draft);
            case OpTable.STABLEHLO_CHOLESKY -> MiscRules.cholesky(draft);
            case OpTable.STABLEHLO_TRIANGULAR_SOLVE -> MiscRules.triangularSolve(draft);
            case OpTable.STABLEHLO_FFT -> MiscRules.fft(draft);
            case OpTable.STABLEHLO_GET_TUPLE_ELEMENT -> MiscRules.getTupleElement(draft);
            case OpTable.STABLEHLO_TUPLE -> List.of(new Type.Tuple(types(draft)));
            case OpTable.STABLEHLO_MAP -> MiscRules.map(draft);
            case OpTable.STABLEHLO_RNG -> MiscRules.rng(draft);
            case OpTable.STABLEHLO_SET_DIMENSION_SIZE -> MiscRules.setDimensionSize(draft);
            case OpTable.STABLEHLO_UNIFORM_DEQUANTIZE -> MiscRules.uniformDequantize(draft);
            case OpTable.STABLEHLO_UNIFORM_QUANTIZE -> MiscRules.uniformQuantize(draft);
            case OpTable.STABLEHLO_COMPOSITE -> MiscRules.composite(draft);
            case OpTable.FUNC_CALL -> MiscRules.call(draft);
            case OpTable.STABLEHLO_CUSTOM_CALL -> MiscRules.customCall(draft);
            case OpTable.STABLEHLO_ASYNC_START -> MiscRules.asyncStart(draft);
            case OpTable.STABLEHLO_ASYNC_DONE -> MiscRules.asyncDone(draft);
            case OpTable.STABLEHLO_DYNAMIC_IOTA -> MiscRules.dynamicIota(draft);
            case OpTable.STABLEHLO_DYNAMIC_RESHAPE -> MiscRules.dynamicReshape(draft);
            case OpTable.STABLEHLO_DYNAMIC_BROADCAST_IN_DIM -> MiscRules.dynamicBroadcastInDim(draft);
            case OpTable.STABLEHLO_DYNAMIC_PAD -> MiscRules.dynamicPad(draft);
            case OpTable.STABLEHLO_REAL_DYNAMIC_SLICE -> MiscRules.realDynamicSlice(draft);
            case OpTable.STABLEHLO_EINSUM, OpTable.STABLEHLO_UNARY_EINSUM -> MiscRules.einsum(draft);
            case OpTable.STABLEHLO_DYNAMIC_GATHER -> MiscRules.dynamicGather(draft);
            case OpTable.INTERPRETER_RUN_PARALLEL -> MiscRules.runParallel(draft);
            case OpTable.ARITH_CONSTANT -> List.of(typeOf(draft.attribute("value")));
            case OpTable.TENSOR_DIM -> List.of(Type.Index.INSTANCE);
            case OpTable.TENSOR_EXTRACT -> List.of(Types.element(draft.type(0)));
            case OpTable.SHAPE_CSTR_BROADCASTABLE -> List.of(new Type.Opaque("!shape.witness"));
            default -> byTrait(draft);
        };
    }

    private static @Nullable List<Type> operandTypesOrNull(Draft draft) {
        return draft.definition().id() == OpTable.STABLEHLO_OPTIMIZATION_BARRIER ? types(draft) : null;
    }

    private static @Nullable List<Type> byTrait(Draft draft) {
        if (draft.definition().name().startsWith("chlo.broadcast_")) {
            return ChloRules.broadcastBinary(draft);
        }
        if (draft.definition().has(Trait.COMPATIBLE_TYPES)) {
            return List.of(Types.mostSpecific(types(draft)));
        }
        if (draft.definition().has(Trait.SAME_TYPES)) {
            return List.of(draft.type(0));
        }
        return draft.definition().results().isEmpty() ? List.of() : null;
    }

    private static Type typeOf(@Nullable Attribute value) {
        return switch (value) {
            case DenseElements dense -> dense.type();
            case Attribute.Int integer -> integer.type();
            case Attribute.Real real -> real.type();
            case null, default -> throw new Violation("requires the attribute 'value', a typed constant");
        };
    }

    static List<Type> types(Draft draft) {
        return types(draft.operands());
    }

    /** The types of values; a loop, since it runs several times for every operation. */
    static List<Type> types(List<? extends Value> values) {
        Type[] types = new Type[values.size()];
        for (int i = 0; i < types.length; i++) {
            types[i] = values.get(i).type();
        }
        return List.of(types);
    }
}

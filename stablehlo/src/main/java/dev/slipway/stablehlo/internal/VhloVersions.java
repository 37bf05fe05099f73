// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.BytecodeException;
import dev.slipway.stablehlo.FloatType;
import dev.slipway.stablehlo.IntegerType;
import dev.slipway.stablehlo.MeshReplicaGroups;
import dev.slipway.stablehlo.Operation;
import dev.slipway.stablehlo.QuantizedType;
import dev.slipway.stablehlo.ResultAccuracy;
import dev.slipway.stablehlo.ResultAccuracyMode;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Since which version types, attributes and uses of operations are there. */
final class VhloVersions {
    /** Operations that accumulate in another type since {@link #PROMOTION}. */
    private static final Set<String> REDUCTIONS = Set.of(
            "stablehlo.all_reduce",
            "stablehlo.reduce",
            "stablehlo.reduce_scatter",
            "stablehlo.reduce_window",
            "stablehlo.scatter",
            "stablehlo.select_and_scatter");

    private static final Version PROMOTION = new Version(0, 17, 0);

    /** The {@code api_version} of custom calls that take a dictionary. */
    private static final int TYPED_FFI = 4;

    private VhloVersions() {}

    private static boolean promotes(Operation operation) {
        for (int i = 0;
                i < Math.min(operation.operands().size(), operation.results().size());
                i++) {
            if (!element(operation.operand(i).type())
                    .equals(element(operation.result(i).type()))) {
                return true;
            }
        }
        return false;
    }

    private static Type element(Type type) {
        return type instanceof TensorType tensor ? tensor.element() : type;
    }

    /** The first version that has a type or an attribute, without what it consists of. */
    static Version since(Object value) {
        return switch (value) {
            case FloatType floating ->
                switch (floating) {
                    case F8E4M3FNUZ, F8E5M2FNUZ -> new Version(0, 10, 0);
                    case F8E4M3B11FNUZ -> new Version(0, 11, 0);
                    case TF32 -> new Version(1, 6, 0);
                    case F8E3M4, F8E4M3 -> new Version(1, 7, 0);
                    case F4E2M1FN, F6E2M3FN, F6E3M2FN, F8E8M0FNU -> new Version(1, 8, 0);
                    default -> Version.OLDEST;
                };
            case IntegerType integer when integer.width() == 2 -> new Version(1, 2, 0);
            case QuantizedType quantized when quantized.isPerAxis() -> new Version(0, 18, 0);
            case Type.None _ -> new Version(1, 6, 0);
            case Type.Buffer _ -> new Version(1, 13, 0);
            case Type.Future _ -> new Version(1, 15, 0);
            case ResultAccuracy _, ResultAccuracyMode _ -> new Version(1, 9, 0);
            case MeshReplicaGroups _,
                    MeshReplicaGroups.Mesh _,
                    MeshReplicaGroups.Axis _,
                    MeshReplicaGroups.AxisRef _,
                    VhloCodec.SubAxis _ -> new Version(1, 16, 0);
            default -> Version.OLDEST;
        };
    }

    /** Refuses what an older version of an operation has no place for. */
    static void checkRegions(Operation operation, VhloOps.Row row, @Nullable Version target) {
        boolean variadic =
                row.name().equals("all_reduce_v1") && operation.operands().size() != 1;
        boolean regions =
                row.name().equals("composite_v1") && !operation.regions().isEmpty();
        if (variadic || regions) {
            throw new BytecodeException(operation.name() + " with "
                    + (variadic ? operation.operands().size() + " operands" : "regions")
                    + " cannot be written for StableHLO " + target);
        }
    }

    /** Refuses operands and attributes that an older version of an operation does not take. */
    static void checkOperands(Operation operation, VhloOps.Row row, Version target) {
        boolean one = row.name().equals("all_gather_v1") || row.name().equals("all_to_all_v1");
        if (one && operation.operands().size() != 1) {
            throw new BytecodeException(operation.name() + " with "
                    + operation.operands().size() + " operands cannot be written for StableHLO " + target);
        }
        if (REDUCTIONS.contains(operation.name()) && target.compareTo(PROMOTION) < 0 && promotes(operation)) {
            throw new BytecodeException(operation.name() + " with a result of another element type than its operand"
                    + " cannot be written for StableHLO " + target + ": it is there since " + PROMOTION);
        }
        if (row.name().startsWith("custom_call")) {
            boolean dictionary = operation.attribute("backend_config") instanceof Attribute.Dictionary
                    || (operation.attribute("api_version") instanceof Attribute.Int api && api.value() == TYPED_FFI);
            boolean future = operation.operands().stream().anyMatch(value -> value.type() instanceof Type.Future)
                    || operation.results().stream().anyMatch(value -> value.type() instanceof Type.Future);
            Version since = future ? new Version(1, 17, 0) : dictionary ? new Version(1, 3, 0) : Version.OLDEST;
            if (target.compareTo(since) < 0) {
                throw new BytecodeException(operation.name() + " with "
                        + (future ? "futures" : "a dictionary as backend_config, or api_version " + TYPED_FFI + ",")
                        + " cannot be written for StableHLO " + target + ": it is there since " + since);
            }
        }
    }
}

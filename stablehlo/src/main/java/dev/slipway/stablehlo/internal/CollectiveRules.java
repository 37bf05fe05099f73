// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo.internal;

import dev.slipway.stablehlo.Attribute;
import dev.slipway.stablehlo.ChannelHandle;
import dev.slipway.stablehlo.DenseElements;
import dev.slipway.stablehlo.ElementType;
import dev.slipway.stablehlo.MeshReplicaGroups;
import dev.slipway.stablehlo.TensorType;
import dev.slipway.stablehlo.Type;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Rules of operations that several processes run together. */
final class CollectiveRules {
    private CollectiveRules() {}

    private static void replicaGroups(Draft draft, boolean oneSize, boolean globalIds, long expectedSize) {
        Attribute value = draft.attribute("replica_groups");
        if (value instanceof MeshReplicaGroups mesh) {
            meshGroups(draft, mesh);
        }
        if (!(value instanceof DenseElements groups)) {
            return;
        }
        Violation.check(groups.type().rank() == 2, "replica groups must have rank 2, got %s", groups.type());
        Violation.check(!globalIds || groups.size() != 0, "replica groups cannot be empty with use_global_device_ids");
        Set<Long> seen = new HashSet<>();
        for (long id : groups.toLongs()) {
            if (id == -1) {
                Violation.check(!oneSize, "replica groups of one size cannot have the id -1");
                continue;
            }
            Violation.check(seen.add(id), "replica id %s is in the groups more than once", id);
        }
        for (long id = 0; id < seen.size(); id++) {
            Violation.check(seen.contains(id), "replica id %s is in no group", id);
        }
        if (oneSize && expectedSize >= 0) {
            Violation.check(
                    groups.type().dim(0) != 0 && groups.type().dim(1) == expectedSize,
                    "replica groups must have the size %s, got %s",
                    expectedSize,
                    groups.type());
        }
    }

    private static void meshGroups(Draft draft, MeshReplicaGroups groups) {
        if (groups.mesh() instanceof Attribute.SymbolRef mesh && draft.hasSymbols()) {
            Violation.check(
                    draft.symbols().apply(mesh.root()) != null,
                    "replica_groups: the module has no mesh @%s",
                    mesh.root());
        }
        Violation.check(
                groups.mesh() instanceof Attribute.SymbolRef || groups.mesh() instanceof MeshReplicaGroups.Mesh,
                "replica_groups: expected a mesh or the name of one, got %s",
                groups.mesh());
        for (Attribute axis : groups.axes().elements()) {
            Violation.check(
                    axis instanceof MeshReplicaGroups.AxisRef, "replica_groups: expected an axis_ref, got %s", axis);
        }
    }

    private static long channel(Draft draft) {
        return draft.attribute("channel_handle") instanceof ChannelHandle channel ? channel.handle() : 0;
    }

    private static void positiveChannel(Draft draft) {
        Violation.check(
                !draft.has("use_global_device_ids") || channel(draft) > 0,
                "the channel must be positive with use_global_device_ids, got %s",
                channel(draft));
    }

    static @Nullable List<Type> allGather(Draft draft) {
        boolean global = draft.has("use_global_device_ids");
        replicaGroups(draft, true, global, -1);
        Violation.check(!global || channel(draft) >= 0, "the channel cannot be negative with use_global_device_ids");
        int dimension = Math.toIntExact(draft.integer("all_gather_dim"));
        List<? extends Type> results = draft.results();
        for (int i = 0;
                results != null && i < Math.min(results.size(), draft.operands().size());
                i++) {
            TensorType operand = draft.tensor(i);
            if (!(results.get(i) instanceof TensorType result)) {
                continue;
            }
            Violation.check(dimension < operand.rank(), "all_gather_dim %s is no dimension of %s", dimension, operand);
            Violation.check(operand.dim(dimension) != 0, "the size of all_gather_dim cannot be zero, got %s", operand);
            Violation.check(
                    result.rank() == operand.rank(),
                    "operand and result must have one rank, got %s and %s",
                    operand,
                    result);
            for (int d = 0; d < operand.rank(); d++) {
                Violation.check(
                        d == dimension || Types.compatibleSizes(operand.dim(d), result.dim(d)),
                        "operand and result must agree in all dimensions but all_gather_dim, got %s and %s",
                        operand,
                        result);
            }
            Violation.check(
                    operand.isDynamic(dimension)
                            || result.isDynamic(dimension)
                            || result.dim(dimension) % operand.dim(dimension) == 0,
                    "the result's size %s of all_gather_dim must be a multiple of the operand's %s",
                    Types.show(result.dim(dimension)),
                    Types.show(operand.dim(dimension)));
        }
        return null;
    }

    static List<Type> allReduce(Draft draft) {
        replicaGroups(draft, false, draft.has("use_global_device_ids"), -1);
        positiveChannel(draft);
        return reduced(draft, draft.operands().size());
    }

    private static List<Type> reduced(Draft draft, int count) {
        List<Type> results = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            TensorType operand = draft.tensor(i);
            RegionRules.checkReducer(
                    draft.regions().getFirst(),
                    List.of(operand),
                    List.of(TensorType.of(operand.element())),
                    new long[0]);
            TensorType accumulator = (TensorType)
                    RegionRules.returned(draft.regions().getFirst()).getFirst();
            results.add(operand.withElement(accumulator.element()));
        }
        return results;
    }

    private static int dataOperands(Draft draft) {
        int count = draft.operands().size();
        String name = draft.definition().name();
        if (!draft.has("has_dynamic_root")) {
            Violation.check(count > 0, "%s needs at least one operand", name);
            return count;
        }
        Violation.check(count >= 2, "%s with has_dynamic_root needs data and a root", name);
        Violation.check(
                draft.type(count - 1) instanceof TensorType root
                        && root.rank() == 1
                        && root.element().equals(ElementType.I32),
                "the last operand of %s with has_dynamic_root must be a 1-dimensional tensor of i32, got %s",
                name,
                draft.type(count - 1));
        Violation.check(
                draft.tensor(count - 1).dim(0) == count - 1,
                "the root must have an element for each of the %s other operands, got %s",
                count - 1,
                draft.type(count - 1));
        return count - 1;
    }

    static List<Type> collectiveReduce(Draft draft) {
        replicaGroups(draft, false, draft.has("use_global_device_ids"), -1);
        positiveChannel(draft);
        return reduced(draft, dataOperands(draft));
    }

    static List<Type> collectiveBroadcast(Draft draft) {
        if (draft.attribute("replica_groups") instanceof DenseElements groups) {
            Violation.check(groups.type().rank() == 2, "replica groups must have rank 2, got %s", groups.type());
            Set<Long> seen = new HashSet<>();
            for (long id : groups.toLongs()) {
                Violation.check(id >= 0, "replica ids cannot be negative, got %s", id);
                Violation.check(seen.add(id), "replica id %s is in the groups more than once", id);
            }
        } else if (draft.attribute("replica_groups") instanceof MeshReplicaGroups mesh) {
            meshGroups(draft, mesh);
        }
        return Rules.types(draft).subList(0, dataOperands(draft));
    }

    static List<Type> allToAll(Draft draft) {
        long count = draft.integer("split_count");
        replicaGroups(draft, true, false, count);
        int split = Math.toIntExact(draft.integer("split_dimension"));
        int concat = Math.toIntExact(draft.integer("concat_dimension"));
        List<Type> results = new ArrayList<>();
        for (int i = 0; i < draft.operands().size(); i++) {
            TensorType operand = draft.tensor(i);
            Violation.check(split < operand.rank(), "split_dimension %s is no dimension of %s", split, operand);
            Violation.check(concat < operand.rank(), "concat_dimension %s is no dimension of %s", concat, operand);
            Violation.check(
                    operand.isDynamic(split) || operand.dim(split) % count == 0,
                    "the size of split_dimension must be a multiple of split_count %s, got %s",
                    count,
                    operand);
            long[] shape = operand.shape().toArray();
            long[] bounds = new long[shape.length];
            for (int d = 0; d < shape.length; d++) {
                bounds[d] = operand.bound(d);
            }
            for (long[] sizes : new long[][] {shape, bounds}) {
                sizes[split] = sizes[split] == TensorType.DYNAMIC ? TensorType.DYNAMIC : sizes[split] / count;
                sizes[concat] = sizes[concat] == TensorType.DYNAMIC ? TensorType.DYNAMIC : sizes[concat] * count;
            }
            results.add(Types.tensor(operand.element(), shape, bounds, operand.encoding()));
        }
        return results;
    }

    static @Nullable List<Type> reduceScatter(Draft draft) {
        boolean global = draft.has("use_global_device_ids");
        replicaGroups(draft, true, global, -1);
        TensorType operand = draft.tensor(0);
        RegionRules.checkReducer(
                draft.regions().getFirst(), List.of(operand), List.of(TensorType.of(operand.element())), new long[0]);
        TensorType result = draft.resultTensor();
        Violation.check(
                operand.rank() == result.rank(),
                "operand and result must have one rank, got %s and %s",
                operand,
                result);
        int dimension = Math.toIntExact(draft.integer("scatter_dimension"));
        Violation.check(dimension < operand.rank(), "scatter_dimension %s is no dimension of %s", dimension, operand);
        positiveChannel(draft);
        long from = operand.dim(dimension);
        long to = result.dim(dimension);
        if (from != TensorType.DYNAMIC && to != TensorType.DYNAMIC) {
            Violation.check(to != 0 && from != 0, "the size of scatter_dimension cannot be zero");
            Violation.check(
                    from % to == 0,
                    "the operand's size %s of scatter_dimension must be a multiple of the result's %s",
                    from,
                    to);
            for (int d = 0; d < operand.rank(); d++) {
                Violation.check(
                        d == dimension || Types.compatibleSizes(operand.dim(d), result.dim(d)),
                        "operand and result must agree in all dimensions but scatter_dimension, got %s and %s",
                        operand,
                        result);
            }
            TensorType accumulator = (TensorType)
                    RegionRules.returned(draft.regions().getFirst()).getFirst();
            Violation.check(
                    result.element().equals(accumulator.element()),
                    "the result's elements must be of type %s, got %s",
                    accumulator.element(),
                    result);
        }
        return null;
    }

    static List<Type> collectivePermute(Draft draft) {
        DenseElements pairs = draft.attribute("source_target_pairs", DenseElements.class);
        sourceTargetPairs(pairs);
        return Rules.types(draft);
    }

    static void sourceTargetPairs(DenseElements pairs) {
        Violation.check(
                pairs.type().rank() == 2 && pairs.type().dim(1) == 2,
                "source_target_pairs must have the shape [N, 2], got %s",
                pairs.type());
        Set<Long> sources = new HashSet<>();
        Set<Long> targets = new HashSet<>();
        long[] ids = pairs.toLongs();
        for (int i = 0; i < ids.length; i++) {
            Violation.check(ids[i] >= 0, "ids in source_target_pairs cannot be negative, got %s", ids[i]);
            Violation.check(
                    (i % 2 == 0 ? sources : targets).add(ids[i]),
                    "id %s is twice a %s in source_target_pairs",
                    ids[i],
                    i % 2 == 0 ? "source" : "target");
        }
    }

    static @Nullable List<Type> infeed(Draft draft) {
        tensorsAndToken(draft);
        if (draft.attribute("layout") instanceof Attribute.Array layouts && draft.results() != null) {
            Violation.check(
                    layouts.elements().size() == draft.results().size() - 1,
                    "layout must have an entry for each result but the token, got %s",
                    layouts.elements().size());
            for (Attribute layout : layouts.elements()) {
                Violation.check(
                        layout instanceof Attribute.Array array
                                && array.elements().stream().allMatch(Attribute.Int.class::isInstance),
                        "layout must be an array of arrays of integers, got %s",
                        layout);
            }
        }
        return null;
    }

    private static void tensorsAndToken(Draft draft) {
        List<? extends Type> results = draft.results();
        if (results == null) {
            return;
        }
        Violation.check(!results.isEmpty(), "needs a token as its last result");
        for (Type type : results.subList(0, results.size() - 1)) {
            Violation.check(type instanceof TensorType, "all results but the last must be tensors, got %s", type);
        }
        Violation.check(
                results.getLast() instanceof Type.Token, "the last result must be a token, got %s", results.getLast());
    }

    static @Nullable List<Type> recv(Draft draft) {
        long type = draft.attribute("channel_handle", ChannelHandle.class).type();
        boolean host = draft.flag("is_host_transfer", false);
        Violation.check(
                host ? type == 3 : type == 1,
                "the channel's type must be %s, got %s",
                host ? "3 (host to device)" : "1 (device to device)",
                type);
        tensorsAndToken(draft);
        transferPairs(draft);
        return null;
    }

    static List<Type> send(Draft draft) {
        long type = draft.attribute("channel_handle", ChannelHandle.class).type();
        boolean host = draft.flag("is_host_transfer", false);
        Violation.check(
                host ? type == 2 : type == 1,
                "the channel's type must be %s, got %s",
                host ? "2 (device to host)" : "1 (device to device)",
                type);
        transferPairs(draft);
        return List.of(Type.Token.INSTANCE);
    }

    private static void transferPairs(Draft draft) {
        if (draft.attribute("source_target_pairs") instanceof DenseElements pairs && pairs.size() != 0) {
            sourceTargetPairs(pairs);
        }
    }
}

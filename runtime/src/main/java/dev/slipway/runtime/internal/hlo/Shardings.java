// SPDX-License-Identifier: Apache-2.0
package dev.slipway.runtime.internal.hlo;

import java.util.List;
import java.util.stream.Collectors;

/** {@code OpSharding}s as XLA writes them: <code>{devices=[2,1]&lt;=[2]}</code>. */
public final class Shardings {

    private static final List<String> TYPES =
            List.of("replicated", "maximal", "tuple", "other", "manual", "unknown", "unreduced");

    private Shardings() {}

    /** The text of a serialized {@code OpSharding}. */
    public static String text(byte[] proto) {
        return text(ProtoReader.of(proto));
    }

    static String text(ProtoReader sharding) {
        int type = (int) sharding.number(1);
        return switch (type) {
            case 1 ->
                "{maximal device=" + sharding.numbers(4).stream().findFirst().orElse(0L) + "}";
            case 2 ->
                "{"
                        + Shapes.indexed(sharding.messages(5).stream()
                                .map(Shardings::text)
                                .toList()) + "}";
            case 3 -> "{" + tiled(sharding) + "}";
            default -> "{" + (type < TYPES.size() ? TYPES.get(type) : "type " + type) + "}";
        };
    }

    private static String tiled(ProtoReader sharding) {
        List<Long> devices = sharding.numbers(4);
        String assignment =
                devices.isEmpty() ? "<=" + iota(sharding.numbers(9), sharding.numbers(10)) : Shapes.join(devices);
        String last = sharding.numbers(8).isEmpty()
                ? ""
                : sharding.numbers(8).stream()
                        .map(t -> TYPES.get(t.intValue()))
                        .collect(Collectors.joining(", ", " last_tile_dims={", "}"));
        return "devices=[" + Shapes.join(sharding.numbers(3)) + "]" + assignment
                + (sharding.flag(6) ? " last_tile_dim_replicate" : last);
    }

    /** A mesh and some of its axes: <code>mesh['x'=2,'y'=4] {'x'}</code>. */
    static String axes(ProtoReader groups) {
        List<ProtoReader> axes = groups.message(1).map(mesh -> mesh.messages(1)).orElse(List.of());
        String mesh = axes.stream()
                .map(axis -> "'" + axis.text(1) + "'=" + axis.number(2))
                .collect(Collectors.joining(",", "mesh[", "]"));
        List<Long> devices = groups.message(1).map(m -> m.numbers(2)).orElse(List.of());
        String order = devices.isEmpty() ? "" : ", device_ids=(" + Shapes.join(devices) + ")";
        return mesh + order + " "
                + groups.messages(2).stream()
                        .map(ref -> "'" + axes.get((int) ref.number(1)).text(1) + "'"
                                + ref.message(2)
                                        .map(part -> ":(" + part.number(1) + ")" + part.number(2))
                                        .orElse(""))
                        .collect(Collectors.joining(",", "{", "}"));
    }

    /** Devices 0 to n-1, reshaped and transposed. */
    static String iota(List<Long> dimensions, List<Long> order) {
        boolean plain = dimensions.size() < 2;
        return "[" + Shapes.join(dimensions) + "]" + (plain ? "" : "T(" + Shapes.join(order) + ")");
    }
}

// SPDX-License-Identifier: Apache-2.0
package dev.slipway.stablehlo;

import com.google.common.primitives.ImmutableLongArray;
import dev.slipway.stablehlo.internal.AttributePrinter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A mesh of devices, as Shardy has it: {@code <["data"=2, "model"=4]>}.
 *
 * @param axes names and sizes, major to minor
 * @param deviceIds the order of the devices, empty for 0, 1, 2 ...; without axes, the one device of a maximal sharding
 */
public record DeviceMesh(List<Axis> axes, ImmutableLongArray deviceIds) implements StructAttribute {

    /** One axis. */
    public record Axis(String name, long size) {}

    public DeviceMesh {
        axes = List.copyOf(axes);
    }

    /** A mesh with devices in their usual order. */
    public static DeviceMesh of(Map<String, ? extends Number> axes) {
        List<Axis> list = new ArrayList<>();
        axes.forEach((name, size) -> list.add(new Axis(name, size.longValue())));
        return new DeviceMesh(list, ImmutableLongArray.of());
    }

    /** Number of devices. */
    public long deviceCount() {
        return axes.stream().mapToLong(Axis::size).reduce(1, Math::multiplyExact);
    }

    @Override
    public String toString() {
        return AttributePrinter.toText(this);
    }
}

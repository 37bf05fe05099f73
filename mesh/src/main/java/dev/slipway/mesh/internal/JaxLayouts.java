// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh.internal;

import dev.slipway.mesh.DeviceLayoutException;
import dev.slipway.mesh.LayoutRule;
import dev.slipway.mesh.MeshShapeException;
import dev.slipway.topology.Coords;
import dev.slipway.topology.Platform;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** {@code mesh_utils.create_device_mesh} of JAX 0.10.2: devices of one slice (or host) in mesh order. */
final class JaxLayouts {
    private static final int[] RING_2X2 = {0, 1, 3, 2};
    private static final int[] RING_2X4 = {0, 1, 2, 3, 7, 6, 5, 4};
    private static final int[] ORDER_2X2X2 = {0, 4, 2, 6, 1, 5, 3, 7};
    private static final int[] RING_4X4 = {0, 1, 2, 3, 7, 6, 5, 9, 10, 11, 15, 14, 13, 12, 8, 4};
    private static final int[] RING_OF_8_DEVICES = {0, 1, 2, 3, 6, 7, 4, 5};

    private static final int[] KEEP = {0, 1, 2};
    private static final int[] SWAP_Y_AND_Z = {0, 2, 1};

    /** Torus, then mesh shape without ones, to the transposition that keeps each host's devices together. */
    private static final Map<List<Integer>, Map<List<Integer>, int[]>> CONTIGUOUS = Map.of(
            List.of(2, 2, 1), Map.of(List.of(2, 2), KEEP),
            List.of(2, 2, 4), Map.of(List.of(4, 4), KEEP),
            List.of(4, 4, 4), Map.of(List.of(16, 4), SWAP_Y_AND_Z),
            List.of(4, 8, 8), Map.of(List.of(64, 4), SWAP_Y_AND_Z, List.of(4, 64), SWAP_Y_AND_Z),
            List.of(8, 8, 8), Map.of(List.of(64, 8), SWAP_Y_AND_Z),
            List.of(8, 16, 16), Map.of(List.of(256, 8), SWAP_Y_AND_Z, List.of(8, 256), SWAP_Y_AND_Z));

    private JaxLayouts() {}

    /**
     * Lays out a group of devices.
     *
     * @throws MeshShapeException if the sizes do not multiply to the number of devices
     * @throws DeviceLayoutException if no rule serves the shape
     */
    static Layout create(
            DeviceGroup devices, int[] shape, boolean allowSplit, boolean contiguousSubmeshes, List<String> axes) {
        if (Sizes.product(shape) != devices.size()) {
            throw new MeshShapeException(Sizes.describe(axes, shape) + " multiplies to " + Sizes.product(shape)
                    + ", but there are " + devices.size() + " devices");
        }
        int[] table = bySmallSliceTable(devices, shape);
        if (table != null) {
            return Layout.of(table, LayoutRule.SMALL_SLICE_TABLE);
        }
        if (devices.topology().platform() != Platform.TPU) {
            return Layout.of(devices.positions().toArray(), LayoutRule.ROW_MAJOR);
        }
        Torus torus = devices.torus();
        if (!contiguousSubmeshes) {
            return torus.assign(shape, allowSplit, axes);
        }
        Layout layout = keepHostsTogether(torus, shape, axes).assign(shape, allowSplit, axes);
        return Layout.of(layout.order(), LayoutRule.CONTIGUOUS_SUBMESHES, layout.assignment());
    }

    private static int @Nullable [] bySmallSliceTable(DeviceGroup devices, int[] shape) {
        return switch (devices.topology().chip().deviceKind()) {
            case "TPU v5 lite", "TPU v6 lite" -> smallSquare(devices, shape);
            case "TPU7x" -> smallIronwood(devices);
            default -> null;
        };
    }

    private static int @Nullable [] smallSquare(DeviceGroup devices, int[] shape) {
        return switch (devices.size()) {
            case 4 -> spans(devices, 2, 2, 1) ? pick(devices.sortedByCoords(), RING_2X2) : null;
            case 8 -> pick(devices.sortedByCoords(), spans(devices, 2, 2, 2) ? ORDER_2X2X2 : RING_2X4);
            case 16 ->
                Arrays.stream(shape).max().orElse(0) == 16 && spans(devices, 4, 4, 1)
                        ? pick(devices.sortedByCoords(), RING_4X4)
                        : null;
            default -> null;
        };
    }

    private static boolean spans(DeviceGroup devices, int x, int y, int z) {
        Coords extent = devices.extentByGreatest();
        return extent.x() == x && extent.y() == y && extent.z() == z;
    }

    private static int @Nullable [] smallIronwood(DeviceGroup devices) {
        int count = devices.size();
        if (count % 8 != 0 || count > 32) {
            return null;
        }
        int[] dims = devices.torus().dims();
        if (dims[0] > 2 || dims[1] > 2) {
            return null;
        }
        return IntStream.range(0, count)
                .map(i -> devices.first() + i / 8 * 8 + RING_OF_8_DEVICES[i % 8])
                .toArray();
    }

    private static int[] pick(int[] from, int[] order) {
        return IntStream.of(order).map(i -> from[i]).toArray();
    }

    private static Torus keepHostsTogether(Torus torus, int[] shape, List<String> axes) {
        Map<List<Integer>, int[]> rules = CONTIGUOUS.getOrDefault(Sizes.list(torus.dims()), Map.of());
        int[] order =
                rules.get(Sizes.list(IntStream.of(shape).filter(s -> s != 1).toArray()));
        if (order == null) {
            throw new DeviceLayoutException("Contiguous submeshes of the torus " + Arrays.toString(torus.dims())
                    + " are only known for " + rules.keySet() + ", not for " + Sizes.describe(axes, shape));
        }
        int[] dims = IntStream.of(order).map(i -> torus.dims()[i]).toArray();
        return new Torus(dims, Transposition.apply(torus.grid(), torus.dims(), order));
    }
}

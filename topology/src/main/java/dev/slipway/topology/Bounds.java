// SPDX-License-Identifier: Apache-2.0
package dev.slipway.topology;

import com.google.common.base.Splitter;
import java.util.List;

/**
 * The extents of a box of chips: a slice, or the part of it that one host holds. Machines without a third (or second)
 * dimension have extent 1 there.
 *
 * @param x chips along x, at least 1
 * @param y chips along y, at least 1
 * @param z chips along z, at least 1
 */
public record Bounds(int x, int y, int z) {
    public static final Bounds ONE = new Bounds(1, 1, 1);

    /** @throws InvalidTopologyException if an extent is below 1 or the box holds more than {@code Integer.MAX_VALUE} chips */
    public Bounds {
        if (x < 1 || y < 1 || z < 1) {
            throw new InvalidTopologyException("Bounds " + x + "x" + y + "x" + z + " have an extent below 1");
        }
        if ((long) x * y > Integer.MAX_VALUE || (long) x * y * z > Integer.MAX_VALUE) {
            throw new InvalidTopologyException(
                    "Bounds " + x + "x" + y + "x" + z + " hold more chips than an int counts");
        }
    }

    public static Bounds of(int x, int y, int z) {
        return new Bounds(x, y, z);
    }

    /**
     * Reads {@code 4x4}, {@code 4x4x8} or {@code 8}.
     *
     * @throws InvalidTopologyException if the text is anything else
     */
    public static Bounds parse(String text) {
        List<String> parts = Splitter.on('x').splitToList(text);
        if (parts.size() > 3 || !parts.stream().allMatch(p -> p.matches("[0-9]{1,9}"))) {
            throw new InvalidTopologyException(
                    "\"" + text + "\" is not a shape: expected one to three whole numbers with x between, as in 4x4x8");
        }
        int[] d = {1, 1, 1};
        for (int i = 0; i < parts.size(); i++) {
            d[i] = Integer.parseInt(parts.get(i));
        }
        return new Bounds(d[0], d[1], d[2]);
    }

    /** The number of chips in the box. */
    public int volume() {
        return x * y * z;
    }

    /** Whether boxes of size {@code part} tile this one. */
    public boolean isMultipleOf(Bounds part) {
        return x % part.x == 0 && y % part.y == 0 && z % part.z == 0;
    }

    public List<Integer> toList() {
        return List.of(x, y, z);
    }

    /** {@code AxBxC}, always with three extents. */
    @Override
    public String toString() {
        return x + "x" + y + "x" + z;
    }
}

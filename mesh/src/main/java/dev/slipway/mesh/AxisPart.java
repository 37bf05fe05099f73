// SPDX-License-Identifier: Apache-2.0
package dev.slipway.mesh;

/**
 * An axis of a mesh or a part of one, as an entry of a {@link PartitionSpec}. An axis of 16 devices is one of 8 by one of 2
 * as well: {@code model:(1)8} is the former and {@code model:(8)2} the latter, in Shardy's spelling. JAX's specs name whole
 * axes only.
 *
 * @param axis its name
 * @param before product of the sizes of the parts before this one; 0 for the whole axis
 * @param size of this part, in devices; 0 for the whole axis
 */
public record AxisPart(String axis, int before, int size) {
    /** @throws ShardingException if a part is of fewer than 2 devices, or follows fewer than 1, or they are more than 2^31 */
    public AxisPart {
        if (size != 0 && (size < 2 || before < 1 || (long) before * size > Integer.MAX_VALUE)) {
            throw new ShardingException("Part (" + before + ")" + size + " of axis \"" + axis
                    + "\": at least 2 devices behind at least 1 are expected");
        }
    }

    /** The leading part of an axis. */
    public static AxisPart first(String axis, int size) {
        return new AxisPart(axis, 1, size);
    }

    /**
     * Reads an entry of a spec: {@code model} or {@code model:(1)8}.
     *
     * @throws ShardingException if what follows the colon is no such part
     */
    public static AxisPart parse(String entry) {
        int colon = entry.indexOf(":(");
        if (colon < 0) {
            return new AxisPart(entry, 0, 0);
        }
        int close = entry.indexOf(')', colon);
        try {
            int before = Integer.parseInt(entry, colon + 2, close, 10);
            int size = Integer.parseInt(entry, close + 1, entry.length(), 10);
            if (size != 0) {
                return new AxisPart(entry.substring(0, colon), before, size);
            }
        } catch (NumberFormatException | IndexOutOfBoundsException e) {
            // Refused below.
        }
        throw new ShardingException(
                "\"" + entry + "\" is no axis nor part of one: expected one like model or model:(1)8");
    }

    /** Whether this is a part of an axis only. */
    public boolean isPart() {
        return size != 0;
    }

    /** Product of the sizes of the parts up to this one. */
    int end() {
        return before * size;
    }

    boolean overlaps(AxisPart other) {
        boolean apart = isPart() && other.isPart() && (end() <= other.before || other.end() <= before);
        return axis.equals(other.axis) && !apart;
    }

    /** What Shardy writes behind the axis' name. */
    String suffix() {
        return isPart() ? ":(" + before + ")" + size : "";
    }

    @Override
    public String toString() {
        return axis + suffix();
    }
}
